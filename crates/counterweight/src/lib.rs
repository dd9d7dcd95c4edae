//! counterweight
