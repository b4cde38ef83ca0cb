//! Tables: where a view's time goes by function and by thread, with what the threads were doing.
//!
//! [`functions`] and [`threads`] make them, their `write_text` prints them for terminals; as `serde` values they are
//! what `--json` prints.

mod functions;
mod split;
mod text;
mod threads;

pub use functions::{FunctionRow, FunctionTable, Sort, functions};
pub use split::Split;
pub use threads::{ThreadRow, ThreadTable, threads};
