//! Reading what a recording wrote, with nothing of the product's own readers.

use std::path::Path;

use serde_json::Value;

/// One thread of a speedscope file.
#[derive(Debug)]
pub struct Thread {
    /// Process id.
    pub pid: u32,
    /// Thread id.
    pub tid: u32,
    /// The thread's name; empty if it has none.
    pub name: String,
    /// Its first and last instant, ns.
    pub start_ns: f64,
    /// See `start_ns`.
    pub end_ns: f64,
    /// Stacks, root first, and their weights in ns.
    pub samples: Vec<(Vec<String>, f64)>,
}

impl Thread {
    /// The weights' sum, ns.
    pub fn total_ns(&self) -> f64 {
        self.samples.iter().map(|(_, weight)| weight).sum()
    }

    /// The share of this thread's time for which `holds` is true of the stack.
    pub fn share(&self, holds: impl Fn(&[String]) -> bool) -> f64 {
        let part: f64 = self.samples.iter().filter(|(stack, _)| holds(stack)).map(|(_, weight)| weight).sum();
        part / self.total_ns()
    }

    /// The share of its time in a function or below it.
    pub fn share_in(&self, function: &str) -> f64 {
        self.share(|stack| contains(stack, function))
    }

    /// The share of its time in a state other than running, by its state frame (`[gil]`); a prefix will do.
    pub fn share_in_state(&self, state: &str) -> f64 {
        self.share(|stack| state_of(stack).is_some_and(|found| found.starts_with(state)))
    }

    /// The share of its time on a CPU.
    pub fn share_running(&self) -> f64 {
        self.share(|stack| state_of(stack).is_none())
    }
}

/// The one thread of this name.
#[track_caller]
pub fn thread<'a>(threads: &'a [Thread], name: &str) -> &'a Thread {
    let mut found = threads.iter().filter(|thread| thread.name == name);
    let first = found.next().unwrap_or_else(|| panic!("no thread {name:?} among {:?}", names(threads)));
    assert!(found.next().is_none(), "more than one thread {name:?} among {:?}", names(threads));
    first
}

/// What was recorded, for failure texts: pid, tid and name of each thread.
pub fn names(threads: &[Thread]) -> Vec<(u32, u32, &str)> {
    threads.iter().map(|thread| (thread.pid, thread.tid, thread.name.as_str())).collect()
}

/// The state frame at the leaf, if the thread was not running.
pub fn state_of(stack: &[String]) -> Option<&str> {
    let leaf = stack.last()?.as_str();
    let states = ["[runnable]", "[gil]", "[uninterruptible]", "[stopped]"];
    (states.contains(&leaf) || leaf.starts_with("[blocked: ")).then_some(leaf)
}

/// Whether some frame says that this stack is not whole.
pub fn is_broken(stack: &[String]) -> bool {
    let code = &stack[..stack.len() - usize::from(state_of(stack).is_some())];
    code.is_empty() || code.iter().any(|frame| frame.starts_with('[') && frame.ends_with(']'))
}

/// `name` of a frame that may be written as `name (file:line)`.
pub fn function(frame: &str) -> &str {
    match frame.rsplit_once(" (") {
        Some((name, place)) if place.ends_with(')') => name,
        _ => frame,
    }
}

/// Whether a function is on the stack.
pub fn contains(stack: &[String], name: &str) -> bool {
    stack.iter().any(|frame| function(frame) == name)
}

/// The threads of a speedscope file whose profiles are sampled, one for each thread, in nanoseconds.
pub fn speedscope(path: &Path) -> Vec<Thread> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let file: Value = serde_json::from_str(&text).expect("the file is JSON");
    let frames: Vec<&str> = array(&file["shared"]["frames"])
        .iter()
        .map(|frame| frame["name"].as_str().expect("a name"))
        .collect();
    array(&file["profiles"]).iter().map(|profile| sampled_profile(profile, &frames)).collect()
}

fn sampled_profile(profile: &Value, frames: &[&str]) -> Thread {
    assert_eq!(profile["type"], "sampled");
    assert_eq!(profile["unit"], "nanoseconds");
    let (stacks, weights) = (array(&profile["samples"]), array(&profile["weights"]));
    assert_eq!(stacks.len(), weights.len());
    let frame = |index: &Value| frames[index.as_u64().expect("a frame index") as usize].to_owned();
    let stacks = stacks.iter().map(|stack| array(stack).iter().map(frame).collect::<Vec<_>>());
    let weights = weights.iter().map(|weight| weight.as_f64().expect("a weight"));
    let title = profile["name"].as_str().expect("a name");
    let (tid, name, pid) =
        parse_title(title).unwrap_or_else(|| panic!("not the title of a thread: {title:?}"));
    Thread {
        pid,
        tid,
        name: name.to_owned(),
        start_ns: profile["startValue"].as_f64().expect("startValue"),
        end_ns: profile["endValue"].as_f64().expect("endValue"),
        // Without a frame: time that is not shown (nobody looked, or it was idle). It is no sample, and must not
        // make up for missing ones.
        samples: stacks.zip(weights).filter(|(stack, _)| !stack.is_empty()).collect(),
    }
}

/// Tid, name and pid of `thread (12): worker, process 11:"python3 train.py"`.
fn parse_title(title: &str) -> Option<(u32, &str, u32)> {
    let (thread, process) = title.strip_prefix("thread (")?.split_once(", process ")?;
    let (tid, name) = thread.split_once(')')?;
    let (pid, _) = process.split_once(':')?;
    Some((tid.parse().ok()?, name.strip_prefix(": ").unwrap_or_default(), pid.parse().ok()?))
}

#[track_caller]
fn array(value: &Value) -> &Vec<Value> {
    value.as_array().unwrap_or_else(|| panic!("not an array: {value}"))
}

/// The lines of folded text: stacks, root first, and their numbers.
pub fn folded(path: &Path) -> Vec<(Vec<String>, u64)> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines()
        .map(|line| {
            let (stack, number) =
                line.rsplit_once(' ').unwrap_or_else(|| panic!("not a folded line: {line:?}"));
            let number = number.parse().unwrap_or_else(|error| panic!("{error}: {line:?}"));
            (stack.split(';').map(str::to_owned).collect(), number)
        })
        .collect()
}
