//! Servers of commits, made of repositories that each test makes for itself.

mod bisecting;
mod building;
mod environment;
mod keeping;
mod naming;
mod repository;
