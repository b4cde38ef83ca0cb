//! Debug offsets as the versions have them, and as none has them.

use super::debug_offsets::read_debug_offsets;
use super::{FrameModel, GilPlace, Layout, StackedFrames, TopFrame};
use crate::python::{PythonError, PythonVersion};
use crate::{Avma, SliceMemory};

pub(crate) const RUNTIME: Avma = Avma(0x7f00_0000_0000);

/// Which build the debug offsets are of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Build {
    Default,
    FreeThreaded,
}

/// `_Py_DebugOffsets` as 3.13 (debug offsets of 3.13.0), 3.14 and 3.15 have them: the fields in use.
pub(crate) fn debug_offsets(minor: u8, build: Build) -> Vec<u8> {
    let free_threaded = build == Build::FreeThreaded;
    let head = if free_threaded { 0x10 } else { 0 };
    let extra = u64::from(minor >= 14);
    let mut groups: Vec<(usize, Vec<u64>)> = vec![
        (0x8, vec![0x0300_00f0 | u64::from(minor) << 16, u64::from(free_threaded)]),
        (0x18, vec![0x50000, 0x100, 0x278]),
        (0x160, vec![0x10 + head, 8 + head]),
    ];
    let mut interpreter = vec![0x60000, 0x8, 0x10, 0x18];
    interpreter.extend((0..extra).map(|_| 0x20));
    let gil = [0x500, 0x600, 0x600, 0x610 + head / 2, 0x608 + head / 2];
    interpreter.extend([0x100, 0x110, 0x118, 0x120].into_iter().chain(gil));
    groups.push((0x30, interpreter));
    let (thread, frame, code, object, kind, bytes, text) = match minor {
        13 => (0x98, 0xe0, 0x110, 0x160, 0x170, 0x200, 0x218),
        14 => (0xb0, 0xf8, 0x138, 0x190, 0x1a0, 0x250, 0x268),
        _ => (0xb0, 0x138, 0x178, 0x1d0, 0x1e0, 0x2b0, 0x2c8),
    };
    groups.push((
        thread,
        match minor {
            13 | 14 => vec![0x1c8, 0, 8, 0x10, 0x48, 0x98, 0xa0, 0xe8, 0x20],
            _ => vec![0x1c8, 0, 8, 0x10, 0x48, 0x50, 0x58, 0x60, 0xb0, 0xb8, 0x100, 0x20],
        },
    ));
    groups.push((
        frame,
        match (minor, free_threaded) {
            (13, _) => vec![0x50, 8, 0, 0x38, 0x48, 0x46],
            (_, false) => vec![0x58, 8, 0, 0x38, 0x50, 0x4a, 0x40, 0],
            (_, true) => vec![0x58, 8, 0, 0x38, 0x50, 0x4e, 0x40, 0x48],
        },
    ));
    let adaptive = if minor == 13 { 0xc8 + head } else { 0xd0 + head + head / 2 };
    let pointers = [0x70, 0x78, 0x80, 0x88, 0x44, 0x34, 0x60, 0x68].map(|at| at + head);
    let mut fields = vec![0x120];
    fields.extend(pointers.into_iter().chain([adaptive, adaptive.saturating_sub(8)]));
    groups.push((code, fields));
    groups.push((object, vec![0x10 + head, 8 + head]));
    groups.push((kind, vec![0x1a0, 0x18 + head]));
    groups.push((bytes, vec![0x28 + head, 0x10 + head, 0x20 + head]));
    groups.push((text, vec![0x40 + head, 0x20 + head, 0x10 + head, 0x28 + head]));
    let mut table = b"xdebugpy".to_vec();
    table.resize(0x300, 0);
    for (at, words) in groups {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        table[at..at + bytes.len()].copy_from_slice(&bytes);
    }
    table
}

pub(crate) fn version(minor: u8) -> PythonVersion {
    PythonVersion { major: 3, minor, patch: 0 }
}

fn read(table: &[u8], minor: u8) -> Result<Layout, PythonError> {
    read_debug_offsets(RUNTIME, version(minor), &SliceMemory { start: RUNTIME, bytes: table })
}

fn layout(minor: u8, build: Build) -> (Layout, StackedFrames) {
    let layout = read(&debug_offsets(minor, build), minor).expect("valid debug offsets");
    let FrameModel::Stacked(frames) = layout.frames else { panic!("3.13 on has no heap frames") };
    (layout, frames)
}

#[test]
fn default_builds() {
    let (layout_13, frames_13) = layout(13, Build::Default);
    assert_eq!((layout_13.text.kind_shift, layout_13.text.wide_data), (2, 0x38));
    assert_eq!((frames_13.size, frames_13.owner, frames_13.tlbc_index), (0x50, 0x46, None));
    assert_eq!((layout_13.code.version, layout_13.code.tlbc), (Some(0x5c), None));
    let (layout_14, frames_14) = layout(14, Build::Default);
    assert_eq!((frames_14.size, frames_14.owner, frames_14.base_frame), (0x58, 0x4a, None));
    assert_eq!(layout_14.code.code_adaptive, 0xd0);
    let (layout_15, frames_15) = layout(15, Build::Default);
    assert_eq!((frames_15.top, frames_15.base_frame), (TopFrame::Thread(0x48), Some(0x50)));
    assert_eq!((layout_15.thread.thread_id, layout_15.thread.native_thread_id), (0xb0, Some(0xb8)));
    assert_eq!(frames_15.datastack_chunk, 0x100);
}

#[test]
fn free_threaded_builds() {
    let (layout_13, frames_13) = layout(13, Build::FreeThreaded);
    assert_eq!((layout_13.text.kind_shift, frames_13.tlbc_index), (2, None));
    assert_eq!((layout_13.code.name, layout_13.code.ob_type), (0x88, 0x18));
    let (layout_14, frames_14) = layout(14, Build::FreeThreaded);
    assert_eq!((layout_14.text.kind_shift, layout_14.text.wide_data), (8, 0x48));
    assert_eq!((frames_14.owner, frames_14.tlbc_index), (0x4e, Some(0x48)));
    assert_eq!((layout_14.code.tlbc, layout_14.code.code_adaptive), (Some(0xe0), 0xe8));
    let GilPlace::Interpreter { pointer, fields } = layout_14.gil else { panic!("a lock per interpreter") };
    assert_eq!((pointer, fields.locked, fields.last_holder, fields.enabled), (0x500, 0x18, 0x10, Some(0)));
    assert_eq!(fields.size, 0xd8);
}

#[test]
fn what_is_not_debug_offsets_is_refused() {
    let table = debug_offsets(13, Build::Default);
    let refused = |at: usize, value: u64| {
        let mut table = table.clone();
        table[at..at + 8].copy_from_slice(&value.to_le_bytes());
        read(&table, 13).expect_err("refused")
    };
    assert!(matches!(refused(0, 0), PythonError::NoDebugOffsets(RUNTIME)));
    assert!(matches!(refused(8, 0x030e_00f0), PythonError::OtherVersion { .. }));
    // Each size in use made huge and zero; then each field pushed out of its structure.
    for size in [0x18, 0x30, 0x98, 0xe0, 0x110, 0x160, 0x170, 0x200, 0x218] {
        assert!(matches!(refused(size, u64::MAX), PythonError::BadDebugOffset { .. }), "{size:#x}");
        assert!(matches!(refused(size, 0), PythonError::BadDebugOffset { .. }), "{size:#x}");
    }
    for field in
        [0x28, 0x40, 0x48, 0x70, 0x78, 0x90, 0xa8, 0xb8, 0xc0, 0xe8, 0x108, 0x118, 0x138, 0x208, 0x220]
    {
        assert!(matches!(refused(field, u64::MAX - 3), PythonError::BadDebugOffset { .. }), "{field:#x}");
    }
    assert!(matches!(
        refused(0xe0, 0x88),
        PythonError::BadDebugOffset { field: "interpreter_frame.size", .. }
    ));
}

#[test]
fn an_unknown_minor_version_is_refused_by_name() {
    let error = read(&debug_offsets(13, Build::Default), 16).expect_err("refused");
    assert_eq!(error.to_string(), "CPython 3.16.0 is not supported (3.6 to 3.15 are)");
    assert_eq!(read(&debug_offsets(13, Build::Default), 5), Err(PythonError::UnsupportedVersion(version(5))));
}
