//! A hand-made profile with one of everything: all states, all kinds of frames, several threads and processes,
//! names that the formats cannot take as they are.

use std::time::{Duration, SystemTime};

use stackclock_collapse::{
    Counters, Frame, FrameKind, Process, Profile, Recorded, RunState, Seen, StackId, Syscall, ThreadId,
    ThreadTotals, Timeline,
};

const MS: u64 = 1_000_000;

fn code(kind: FrameKind, name: &str, file: Option<(&str, u32)>, module: &str) -> Frame {
    Frame {
        name: name.into(),
        file: file.map(|(file, _)| file.into()),
        line: file.map(|(_, line)| line),
        module: (!module.is_empty()).then(|| module.into()),
        kind,
    }
}

fn python(name: &str, file: &str, line: u32) -> Frame {
    code(FrameKind::Python, name, Some((file, line)), "")
}

fn native(name: &str, module: &str) -> Frame {
    code(FrameKind::Native, name, None, module)
}

/// The stacks of the example, root first, in the order of their numbers.
fn stacks() -> Vec<Vec<Frame>> {
    const LIBC: &str = "/usr/lib/x86_64-linux-gnu/libc.so.6";
    const OPS: &str = "/srv/app/libops.so";
    let start = || native("__libc_start_main", LIBC);
    let main = |line| python("<module>", "/srv/app/train.py", line);
    let step = |line| python("Trainer.step", "/venv/lib/python3.11/site-packages/engine/__init__.py", line);
    let matmul =
        code(FrameKind::Native, "ops::matmul<[u8; 4]>(float*)", Some(("/build/ops/matmul.cpp", 88)), OPS);
    let fma = code(FrameKind::Inlined, "ops::fma", Some(("/build/ops/simd.h", 12)), OPS);
    let pool = || native("ThreadPool::run()", OPS);
    let wait = || native("pthread_cond_wait", LIBC);
    let truncated = Frame::remark(FrameKind::Error, "[truncated: no unwind information]");
    vec![
        vec![start(), main(30), step(10), matmul.clone(), fma],
        vec![start(), main(30), step(14), python("größe;λ", "/srv/app/größe.py", 3)],
        vec![start(), main(31), python("fib", "/srv/app/train.py", 5), python("fib", "/srv/app/train.py", 5)],
        vec![start(), main(32), native("epoll_wait", LIBC)],
        vec![pool(), matmul],
        vec![pool(), wait()],
        vec![truncated, native("libmystery.so+0x1f30", "")],
        vec![
            native("redis\\main # 7", "/usr/bin/redis-server"),
            code(FrameKind::Kernel, "do_sys_poll", None, "[kernel]"),
        ],
        vec![],
    ]
}

/// What a thread was seen doing: until when in ms (and a few ns, so that rounding shows), how, with which stack.
type Script = &'static [(u64, State, usize)];

#[derive(Clone, Copy)]
enum State {
    Run,
    RunWithGil,
    Runnable,
    Gil,
    In(&'static str),
    Disk,
    Stopped,
}

use State::*;

const MAIN: Script = &[
    (200, RunWithGil, 0),
    (230, RunWithGil, 1),
    (250, Runnable, 1),
    (330, RunWithGil, 2),
    (400, Gil, 2),
    (900, In("epoll_wait"), 3),
    (950, RunWithGil, 0),
    (1000, Stopped, 3),
];
const WORKER: Script = &[(300, Run, 4), (310, Runnable, 4), (980, In("futex"), 5), (1000, Run, 6)];
const SERVER: Script = &[(100, Run, 7), (130, Disk, 7), (990, In("poll"), 7), (1000, Run, 8)];
/// Ends before the recording does, and begins later.
const SHORT: Script = &[(400, Run, 4), (600, In("read"), 5)];

fn add(
    timeline: &mut Timeline,
    (process, tid, name): (usize, u32, &str),
    start_ms: u64,
    script: Script,
) -> ThreadId {
    let table: Vec<StackId> = stack_ids();
    let seen = |&(_, state, stack): &(u64, State, usize)| Seen {
        state: match state {
            Run | RunWithGil => RunState::Running,
            Runnable => RunState::Runnable,
            Gil => RunState::GilWait,
            In(call) => RunState::Blocked(Syscall::from_name(call).unwrap()),
            Disk => RunState::Uninterruptible,
            Stopped => RunState::Stopped,
        },
        stack: table[stack],
        holds_gil: matches!(state, RunWithGil),
    };
    let process = stackclock_collapse::ProcessId(process as u32);
    let thread = timeline.add_thread(process, tid, name.to_owned(), start_ms * MS, seen(&script[0]));
    for (before, now) in script.iter().zip(&script[1..]) {
        timeline.observe_same(thread);
        timeline.observe(thread, before.0 * MS + 333 * u64::from(tid % 3), seen(now), None);
    }
    let wait_ns = 20 * MS;
    timeline.thread_mut(thread).unwrap().totals = ThreadTotals { cpu_ns: 300 * MS, wait_ns };
    thread
}

/// Ids that stand for the places in [`stacks`], from a table of their own, as a sampler's raw stacks do.
fn stack_ids() -> Vec<StackId> {
    let mut raw = stackclock_collapse::StackTable::default();
    (0..stacks().len()).map(|at| raw.push(StackId::EMPTY, stackclock_collapse::FrameId(at as u32))).collect()
}

/// The profile.
pub fn profile() -> Profile {
    let mut timeline = Timeline::default();
    let trainer =
        Process { pid: 1200, name: "python3 train.py --name \"a;b\"".into(), python: Some("3.11.7".into()) };
    timeline.add_process(trainer);
    timeline.add_process(Process { pid: 1300, name: "redis-server *:6379".into(), python: None });
    add(&mut timeline, (0, 1200, "MainThread"), 0, MAIN);
    add(&mut timeline, (0, 1201, "pool-1"), 0, WORKER);
    add(&mut timeline, (1, 1300, "redis-server"), 0, SERVER);
    let short = add(&mut timeline, (0, 1202, ""), 250, SHORT);
    timeline.end_thread(short, 600 * MS + 1, None);
    let stacks = stacks();
    let mut profile = timeline.finish(1000 * MS, |profile, raw| {
        let ids: Vec<_> =
            stacks[raw.index() - 1].iter().map(|frame| profile.frames.intern(frame.clone())).collect();
        profile.stacks.intern(ids)
    });
    let started = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    profile.recorded = Recorded { started, duration_ns: 1000 * MS, rate_hz: 100.0 };
    profile.counters = Counters { ticks: 100, late: 2, ..Counters::default() };
    profile.check().expect("the example conserves time");
    profile
}
