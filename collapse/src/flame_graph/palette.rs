//! The colours of flame graphs.
//!
//! Warm and green colours are code, blue is waiting, red is trouble, so that a glance at the tips of a graph
//! tells on-CPU from off-CPU:
//!
//! | frame | colour |
//! |---|---|
//! | Python / native / inlined / kernel code | green / yellow / pale yellow / brown |
//! | `[runnable]` | orange |
//! | `[gil]` | violet |
//! | `[blocked: ...]`, `[uninterruptible]` | blue, dark blue |
//! | `[stopped]`, processes and threads | grey |
//! | errors | red |

use inferno::flamegraph::color::Color;

use crate::{Frame, FrameKind, RunState};

/// The colour of the box that stands for everything.
pub(super) const ALL: Color = Color { r: 190, g: 190, b: 190 };

/// The colour of a frame: its kind's hue, in a shade that its name decides, so that neighbours differ and a
/// function has the same colour in every graph.
pub(super) fn color(frame: &Frame) -> Color {
    let (from, to) = shades(frame);
    let part = shade_of(&frame.name);
    let mix = |from: u8, to: u8| ((u32::from(from) * (255 - part) + u32::from(to) * part) / 255) as u8;
    Color { r: mix(from.0, to.0), g: mix(from.1, to.1), b: mix(from.2, to.2) }
}

/// The two ends of a frame's range of shades: red, green and blue.
fn shades(frame: &Frame) -> ((u8, u8, u8), (u8, u8, u8)) {
    match frame.kind {
        FrameKind::Python => ((126, 200, 120), (178, 223, 138)),
        FrameKind::Native => ((240, 200, 80), (250, 222, 130)),
        FrameKind::Inlined => ((248, 230, 170), (252, 240, 200)),
        FrameKind::Kernel => ((190, 140, 95), (210, 165, 120)),
        FrameKind::Error => ((224, 64, 56), (235, 90, 80)),
        FrameKind::Root => ((205, 205, 205), (222, 222, 222)),
        FrameKind::State => match RunState::from_frame_name(&frame.name) {
            Some(RunState::Runnable) => ((255, 140, 26), (255, 140, 26)),
            Some(RunState::GilWait) => ((170, 120, 220), (170, 120, 220)),
            Some(RunState::Uninterruptible) => ((70, 105, 165), (70, 105, 165)),
            Some(RunState::Stopped) => ((150, 150, 150), (150, 150, 150)),
            Some(RunState::Blocked(_) | RunState::Running) | None => ((105, 155, 220), (145, 185, 235)),
        },
    }
}

/// 0 to 255 by the name alone: the FNV-1a hash, folded.
fn shade_of(name: &str) -> u32 {
    let hash =
        name.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    (hash ^ (hash >> 16)) & 0xff
}
