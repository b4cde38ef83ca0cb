//! End-to-end tests: the built command on real processes that know their own truth (`tests/targets/README.md`).
//!
//! Each test takes the machine for itself (`Workplace`), also when several run at once.

mod browser;
mod conservation;
mod dump;
mod harmless;
mod launch;
mod modules;
mod nested;
mod nonblocking;
mod outputs;
mod refusals;
mod server;
mod states;
mod support;
mod threads;
mod top;
