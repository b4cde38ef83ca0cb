//! The decoders against tables made, and read, by real interpreters.

use super::{LineTable, moved};
use crate::python::PythonVersion;
use crate::python::layout::LineFormat;

#[path = "../../../tests/python/pythons.rs"]
mod pythons;

fn format_of(version: (u8, u8, u8)) -> LineFormat {
    let (major, minor, patch) = version;
    match crate::python::layout::layout_of(PythonVersion { major, minor, patch }) {
        Some(layout) => layout.code.line_format,
        None => LineFormat::LocationTable,
    }
}

fn from_hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.chars().map(|digit| digit.to_digit(16).expect("hex") as u8).collect();
    digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

fn check_python(python: &pythons::Python) {
    let output = python.runs("line_tables.py").output().expect("an installed Python starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let (mut tables, mut instructions) = (0, 0);
    for line in String::from_utf8(output.stdout).expect("JSON").lines() {
        let code: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let number = |value: &serde_json::Value| value.as_u64().map(|number| number as u32);
        let first_line = number(&code["first"]).expect("a line");
        let table = from_hex(code["table"].as_str().expect("hex"));
        let decoded = LineTable::decode(format_of(python.version), &table, first_line);
        let size = number(&code["size"]).expect("a size");
        tables += 1;
        for range in code["lines"].as_array().expect("ranges") {
            let (start, end) = (number(&range[0]).expect("offset"), number(&range[1]).expect("offset"));
            for offset in (start..end.min(size)).step_by(2) {
                assert_eq!(
                    decoded.line(offset),
                    number(&range[2]),
                    "{:?} at {offset} of {line}",
                    python.version
                );
                instructions += 1;
            }
        }
    }
    assert!(tables > 500, "{:?}: only {tables} tables", python.version);
    println!("{:?}: {tables} tables, {instructions} instructions, all lines equal", python.version);
}

#[test]
fn lines_are_those_of_the_interpreter() {
    pythons::pythons().iter().for_each(check_python);
}

/// Any bytes decode to something, in bounded time.
#[test]
fn any_bytes_are_a_table() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for length in 0..2000 {
        let bytes: Vec<u8> = (0..length % 97)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 56) as u8
            })
            .collect();
        for format in [LineFormat::Lnotab, LineFormat::LineTable, LineFormat::LocationTable] {
            for first_line in [0, 1, u32::MAX] {
                let table = LineTable::decode(format, &bytes, first_line);
                assert!(table.starts.len() <= bytes.len() + 1);
                table.line(0);
                table.line(u32::MAX);
            }
        }
    }
}

#[test]
fn line_numbers_do_not_overflow() {
    assert_eq!(moved(0, -1), 0);
    assert_eq!(moved(u32::MAX, i64::MAX), u32::MAX);
    assert_eq!(moved(7, -3), 4);
}
