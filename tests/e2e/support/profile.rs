//! Reading what a recording wrote, with nothing of the product's own readers.

use std::path::Path;

use serde_json::Value;

/// One thread of a speedscope file.
#[derive(Debug)]
pub struct Thread {
    /// The profile's name: process and thread.
    pub name: String,
    /// Its first and last instant, ns.
    pub start_ns: f64,
    /// See `start_ns`.
    pub end_ns: f64,
    /// Stacks, root first, and their weights in ns.
    pub samples: Vec<(Vec<String>, f64)>,
}

impl Thread {
    /// Whether its name has this word in it: a thread's name, or a pid or tid.
    pub fn is_named(&self, word: &str) -> bool {
        let in_word = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
        self.name.split(|c| !in_word(c)).any(|part| part == word)
    }

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

/// The one thread that [`is_named`](Thread::is_named) so.
#[track_caller]
pub fn thread<'a>(threads: &'a [Thread], word: &str) -> &'a Thread {
    let mut found = threads.iter().filter(|thread| thread.is_named(word));
    let names = || threads.iter().map(|thread| thread.name.as_str()).collect::<Vec<_>>();
    let first = found.next().unwrap_or_else(|| panic!("no thread {word:?} among {:?}", names()));
    assert!(found.next().is_none(), "more than one thread {word:?} among {:?}", names());
    first
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
    code.is_empty() || code.iter().any(|frame| frame.starts_with('['))
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
    let stacks = stacks.iter().map(|stack| array(stack).iter().map(frame).collect());
    Thread {
        name: profile["name"].as_str().expect("a name").to_owned(),
        start_ns: profile["startValue"].as_f64().expect("startValue"),
        end_ns: profile["endValue"].as_f64().expect("endValue"),
        samples: stacks.zip(weights.iter().map(|weight| weight.as_f64().expect("a weight"))).collect(),
    }
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
