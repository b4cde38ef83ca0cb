//! The speedscope file format (<https://www.speedscope.app/file-format-schema.json>): types, writer, reader.
#![forbid(unsafe_code)]
