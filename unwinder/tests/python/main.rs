//! The reader of CPython frames on live interpreters of every version that this machine has.

mod frames;
mod gil;
mod pythons;
mod reader;
mod target;
