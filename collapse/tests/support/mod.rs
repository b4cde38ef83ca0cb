//! What the tests of `collapse` and `speedscope` share.

pub mod example;
pub mod golden;
