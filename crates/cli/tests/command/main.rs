//! The command as people use it: the real binary, in a directory of its own, against real sockets on loopback.
//!
//! In scope: what a user or a script can see, which is exact counts from the record, exit statuses, and the sentences.
//! Out of scope: how it is done; the rooms below test that themselves. One binary for all of it, so that it is linked
//! once.

mod bench;
mod compared;
mod compared_records;
mod counts;
mod died;
mod doctor;
mod documented;
mod encrypted;
mod encrypted_refusals;
mod faults;
mod gate;
mod hanging;
mod injected;
mod interrupts;
mod judgement;
mod manual;
mod observed;
mod open_loop;
mod orphans;
mod other_tools;
mod output;
mod parsers;
mod pauses;
mod planned;
mod processes;
mod protocol;
mod quotas;
mod refusals;
mod report;
mod scarcity;
mod scripted;
mod scripting;
mod sealing;
mod secrets;
mod serving;
mod settling;
mod started;
mod statuses;
mod sweeping;
mod tampered;
mod targets;
mod truth;
mod two_generators;
