//! Programs with known shares are reported within 3 percentage points of the truth they print about themselves.
//!
//! Why 3 points are enough to ask for and enough to trust: a share p found with n independent samples has a standard
//! error of sqrt(p (1-p) / n), at worst 0.5 / sqrt(n). Each test takes n >= 5000 samples of a thread, so that is at
//! most 0.7 points, and the tolerance more than four of them. The truth is told when sampling has begun and before it
//! ends.

use std::time::Duration;

use crate::support::profile;
use crate::support::profiler::{TruthfulRecording, record_with_truth};
use crate::support::target::{Target, debian_python, growth, program};
use crate::support::{Workplace, assert_share};

const TOLERANCE: f64 = 0.03;

#[test]
fn a_thread_that_spins_sleeps_and_waits_for_a_lock_shows_these_shares() {
    let work = Workplace::new("shares");
    let mut target = Target::start(program("shares"), &[]);
    let file = work.file("shares.speedscope.json");
    let TruthfulRecording { before, after, threads } =
        record_with_truth(&mut target, 1000, Duration::from_secs(8), &file);

    let thread = profile::thread(&threads, "phases");
    let share = |what| growth(&before, &after, what) / growth(&before, &after, "/wall_ns");
    assert_share("spinning", thread.share_in("spin_phase"), share("/spin_ns"), TOLERANCE);
    assert_share("sleeping", thread.share_in("sleep_phase"), share("/sleep_ns"), TOLERANCE);
    assert_share("waiting for the lock", thread.share_in("lock_phase"), share("/lock_ns"), TOLERANCE);
    assert_share("on a CPU", thread.share_running(), share("/cpu_ns"), TOLERANCE);
    assert_share("waiting for a CPU", thread.share_in_state("[runnable]"), share("/wait_ns"), TOLERANCE);

    let asleep = thread.share(|stack| {
        profile::contains(stack, "sleep_phase")
            && profile::state_of(stack) == Some("[blocked: clock_nanosleep]")
    });
    let locked_out = thread.share(|stack| {
        profile::contains(stack, "lock_phase") && profile::state_of(stack) == Some("[blocked: futex]")
    });
    assert_share("blocked in clock_nanosleep", asleep, share("/sleep_ns"), TOLERANCE);
    assert_share("blocked in futex", locked_out, share("/lock_ns"), TOLERANCE);
}

#[test]
fn a_thread_behind_a_hog_on_its_cpu_is_runnable_for_as_long_as_the_scheduler_says() {
    let work = Workplace::new("hog");
    let mut target = Target::start(program("hog"), &[]);
    let file = work.file("hog.speedscope.json");
    let TruthfulRecording { before, after, threads } =
        record_with_truth(&mut target, 250, Duration::from_secs(16), &file);

    for name in ["victim", "rival"] {
        let cpu_ns = growth(&before, &after, &format!("/{name}/cpu_ns"));
        let wait_ns = growth(&before, &after, &format!("/{name}/wait_ns"));
        let thread = profile::thread(&threads, name);
        let what = format!("{name} waiting for the CPU");
        assert_share(&what, thread.share_in_state("[runnable]"), wait_ns / (cpu_ns + wait_ns), TOLERANCE);
        let in_function = thread.share_in(&format!("{name}_spins"));
        assert!(in_function > 0.98, "{name}: {:.1} % of its time in its function", 100.0 * in_function);
    }
}

#[test]
fn python_threads_that_fight_for_the_gil_wait_for_it_as_long_as_they_say() {
    let work = Workplace::new("gil");
    let mut target = Target::start_python(&debian_python(), "gil.py", &["3"]);
    let file = work.file("gil.speedscope.json");
    let TruthfulRecording { before, after, threads } =
        record_with_truth(&mut target, 250, Duration::from_secs(16), &file);

    let wall_ns = growth(&before, &after, "/wall_ns");
    let tids = after["threads"].as_object().expect("threads").keys();
    for tid in tids {
        let cpu_ns = growth(&before, &after, &format!("/threads/{tid}/cpu_ns"));
        let wait_ns = growth(&before, &after, &format!("/threads/{tid}/wait_ns"));
        let thread = threads.iter().find(|thread| thread.tid.to_string() == *tid).expect("a recorded thread");
        let gil_ns = wall_ns - cpu_ns - wait_ns;
        assert_share(
            &format!("{tid} in wait for the GIL"),
            thread.share_in_state("[gil]"),
            gil_ns / wall_ns,
            TOLERANCE,
        );
        assert_share(&format!("{tid} on a CPU"), thread.share_running(), cpu_ns / wall_ns, TOLERANCE);
        assert!(thread.share_in("compute") > 0.98, "{tid}: {:?}", thread.share_in("compute"));
    }
}
