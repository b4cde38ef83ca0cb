//! `top`: on a real terminal, which tmux provides, and once for scripts. Nothing here waits for time to pass: each step
//! waits for the text that it must lead to.

use std::process::{Command, Output};
use std::time::Duration;

use serde_json::Value;

use crate::support::profiler::{run, stackclock};
use crate::support::target::{Target, debian_python};
use crate::support::{Workplace, eventually};

const SOON: Duration = Duration::from_secs(20);

/// A terminal with a program in it, taken away when dropped.
struct Terminal {
    server: String,
}

impl Terminal {
    fn start(name: &str, command: &str) -> Self {
        let terminal = Terminal { server: format!("stackclock-{name}-{}", std::process::id()) };
        let size = ["-x", "120", "-y", "30"];
        // A shell is left when the program ends, so that its last words can be read.
        let command = format!("{command}; echo status $?; read -r _");
        terminal.tmux(&[
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            size[0],
            size[1],
            size[2],
            size[3],
            &command,
        ]);
        terminal
    }

    fn tmux(&self, arguments: &[&str]) -> Output {
        let output = Command::new("tmux").args(["-L", &self.server]).args(arguments).output();
        let output = output.expect("run tmux (scripts/setup.sh installs it)");
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        output
    }

    fn screen(&self) -> String {
        String::from_utf8_lossy(&self.tmux(&["capture-pane", "-p"]).stdout).into_owned()
    }

    fn press(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat());
    }

    /// The screen as soon as it is as it should be.
    #[track_caller]
    fn wait_for(&self, what: &str, holds: impl Fn(&str) -> bool) -> String {
        assert!(eventually(SOON, || holds(&self.screen())), "no {what} on\n{}", self.screen());
        self.screen()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = Command::new("tmux").args(["-L", &self.server, "kill-server"]).output();
    }
}

fn fighting_for_the_gil() -> Target {
    Target::start_python(&debian_python(), "gil.py", &["3"])
}

#[test]
fn functions_threads_filter_pause_and_help_are_a_key_away() {
    let _work = Workplace::new("top-keys");
    let target = fighting_for_the_gil();
    let pid = target.pid();
    let terminal = Terminal::start("keys", &format!("{} top -p {pid}", env!("CARGO_BIN_EXE_stackclock")));

    let first = terminal.wait_for("function", |screen| screen.contains("compute (gil.py)"));
    for part in
        [&format!("{pid} python3"), "(Python 3.11.", "waits for GIL ", "GIL held ", "4 threads", "by on CPU"]
    {
        assert!(first.contains(part), "no {part:?} on\n{first}");
    }
    terminal.press(&["s"]);
    terminal.wait_for("other order", |screen| screen.contains("by self"));
    terminal.press(&["t"]);
    terminal.wait_for("threads", |screen| screen.contains("has GIL") && screen.contains(&format!("{pid} ")));
    terminal.press(&["t"]);
    terminal.press(&["?"]);
    terminal.wait_for("help", |screen| screen.contains("Any key closes this."));
    terminal.press(&["x"]);
    terminal.wait_for("functions", |screen| screen.contains("compute") && !screen.contains("Any key closes"));
    terminal.press(&["p"]);
    terminal.wait_for("pause", |screen| screen.contains("PAUSED"));
    terminal.press(&["/"]);
    terminal.press(&["-l", "COMPUTE"]);
    terminal.press(&["Enter"]);
    let filtered = terminal.wait_for("filter", |screen| screen.contains("filter: COMPUTE   Esc"));
    let functions =
        filtered.lines().filter(|line| line.ends_with(')') && line.contains('%') && line.contains(" ("));
    let functions: Vec<&str> = functions.filter(|line| !line.contains("GIL")).collect();
    assert!(functions.len() == 1 && functions[0].ends_with("compute (gil.py)"), "{filtered}");
    terminal.press(&["q"]);
    terminal.wait_for("end", |screen| screen.contains("status 0"));
}

#[test]
fn the_end_of_the_process_is_said_and_leaves_the_figures() {
    let _work = Workplace::new("top-end");
    let mut target = fighting_for_the_gil();
    let terminal =
        Terminal::start("end", &format!("{} top -p {}", env!("CARGO_BIN_EXE_stackclock"), target.pid()));
    terminal.wait_for("function", |screen| screen.contains("compute (gil.py)"));
    target.end();
    terminal.wait_for("end of the process", |screen| {
        screen.contains("ENDED") && screen.contains("compute (gil.py)")
    });
    terminal.press(&["C-c"]);
    terminal.wait_for("end", |screen| screen.contains("status 0"));
}

#[test]
fn once_as_json_adds_up() {
    let _work = Workplace::new("top-json");
    let target = fighting_for_the_gil();
    let output =
        run(stackclock().args(["top", "--once", "--json", "-r", "200", "-p", &target.pid().to_string()]));
    let printed: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let number =
        |value: &Value| value.as_f64().unwrap_or_else(|| panic!("no number: {value} in {printed:#}"));
    let window_ns = number(&printed["window_ns"]);
    assert!((1e9..1.5e9).contains(&window_ns), "{window_ns}");
    assert_eq!(printed["processes"][0]["pid"], target.pid());
    let sum = |split: &Value| -> f64 {
        ["running_ns", "runnable_ns", "gil_ns", "blocked_ns"].iter().map(|state| number(&split[state])).sum()
    };
    let threads = printed["threads"].as_array().expect("threads");
    assert_eq!(threads.len(), 4);
    // Every thread lives all the time; kept back for the next window is what a thread that wants a CPU has waited since
    // its last observation: two ticks, or more on a machine that is very busy.
    for thread in threads {
        let share = sum(&thread["time"]) / window_ns;
        assert!((0.7..=1.01).contains(&share), "{share} of the window in {thread:#}");
    }
    assert!(number(&printed["all_threads"]["time"]["gil_ns"]) > 0.5 * window_ns, "{printed:#}");
    assert!(number(&printed["all_threads"]["holds_gil_ns"]) > 0.5 * window_ns, "{printed:#}");
    let functions = printed["functions"].as_array().expect("functions");
    let compute = functions.iter().find(|row| row["function"] == "compute (gil.py)").expect("compute");
    assert!(sum(&compute["total"]) > 2.0 * window_ns, "{compute:#}");
    let own: f64 = functions.iter().map(|row| sum(&row["self"])).sum();
    let lived: f64 = threads.iter().map(|thread| sum(&thread["time"])).sum();
    assert!((own - lived).abs() <= 1.0, "self times {own}, threads {lived}");
}

#[test]
fn a_command_is_watched_and_ended_with_top() {
    let work = Workplace::new("top-command");
    let file = work.file("pid");
    let script = format!("echo $$ > {}; while :; do :; done", file.display());
    let output = run(stackclock().args(["top", "--once", "--native-only", "--", "sh", "-c", &script]));
    let table = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(table.contains("  sh\n"), "{table}");
    let pid = std::fs::read_to_string(file).expect("the command has run");
    assert!(!std::path::Path::new(&format!("/proc/{}", pid.trim())).exists(), "it still runs");
    let missing = stackclock().args(["top", "--once", "--", "/no/such/program"]).output().expect("run");
    assert_eq!(missing.status.code(), Some(127));
}

#[test]
fn without_a_terminal_there_is_an_error_and_a_table_for_the_asking() {
    let _work = Workplace::new("top-text");
    let target = fighting_for_the_gil();
    let pid = target.pid().to_string();
    let refused =
        stackclock().args(["top", "-p", &pid]).stdin(std::process::Stdio::null()).output().expect("run");
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--once"));
    let table = run(stackclock().args(["top", "--once", "-p", &pid]));
    let table = String::from_utf8(table.stdout).expect("UTF-8");
    assert!(table.contains("  compute (gil.py)\n") && table.contains("has GIL"), "{table}");
}
