//! The reader of CPython frames on live interpreters of every version that this machine has.

mod frames;
mod gil;
mod merge;
mod oracle;
mod pythons;
mod reader;
#[path = "../support/mod.rs"]
mod support;
mod target;
mod threads;
