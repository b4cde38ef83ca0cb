//! Names, files and lines of real compiled code; what is expected is written in the compiled sources.

mod fixture;
mod kinds;
mod mutation;
mod variants;
