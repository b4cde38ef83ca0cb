//! The command line: what it offers, what it refuses and how, and what it leaves behind. The real binary on real
//! processes; what recordings contain is the business of the end-to-end tests.

mod diff;
mod doctor;
mod help;
mod launch;
mod outputs;
mod report;
mod streams;
mod support;
mod targets;
mod usage;
