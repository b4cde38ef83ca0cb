//! What the end-to-end tests share: a place to work, target programs, the profiler, and readers of what it wrote.

pub mod profile;
pub mod profiler;
pub mod target;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A directory for the files of one test, and the machine to itself while the test runs: two profiled programs
/// at once would take each other's CPU, and shares of time would mean little.
pub struct Workplace {
    directory: PathBuf,
    _lock: File,
}

impl Workplace {
    /// Waits for its turn (a file lock, so that it works between processes too) and starts with an empty directory.
    pub fn new(test: &str) -> Self {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let lock = File::create(root.join("one-at-a-time.lock")).expect("create the lock file");
        lock.lock().expect("lock");
        let directory = root.join("e2e").join(test);
        match std::fs::remove_dir_all(&directory) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                panic!("{}: {error}", directory.display())
            }
            _ => std::fs::create_dir_all(&directory).expect("create the test's directory"),
        }
        Workplace { directory, _lock: lock }
    }

    /// A file of this test. Files stay after the test, to be looked at.
    pub fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }
}

/// Waits until `condition` holds, and says so whether it came to hold within `limit`.
pub fn eventually(limit: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + limit;
    while !condition() {
        if Instant::now() > deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    true
}

/// `measured` is within `tolerance` of `truth`; all three are shares of one.
#[track_caller]
pub fn assert_share(what: &str, measured: f64, truth: f64, tolerance: f64) {
    assert!(
        (measured - truth).abs() <= tolerance,
        "{what}: the profile says {:.2} %, the truth is {:.2} % (tolerance {} percentage points)",
        100.0 * measured,
        100.0 * truth,
        100.0 * tolerance,
    );
}
