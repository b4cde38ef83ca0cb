//! A pure C++ server, stripped, under load: Debian's redis-server.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::support::Workplace;
use crate::support::profile::{self, function, is_broken};
use crate::support::profiler::{run, stackclock};

/// A child that is killed and reaped when dropped.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn stacks_of_a_stripped_server_reach_the_root() {
    let work = Workplace::new("redis");
    let socket = work.file("redis.sock");
    let server = redis_server(&socket);
    let _load = redis_benchmark(&socket);

    let (folded, speedscope) = (work.file("redis.folded"), work.file("redis.speedscope.json"));
    let pid = server.0.id().to_string();
    run(stackclock()
        .args(["record", "-p", &pid, "--counts", "-r", "500", "-d", "5", "-o"])
        .arg(&folded)
        .arg("-o")
        .arg(&speedscope));

    let stacks = profile::folded(&folded);
    let count = |wanted: &dyn Fn(&[String]) -> bool| -> u64 {
        stacks.iter().filter(|(stack, _)| wanted(stack)).map(|(_, samples)| samples).sum()
    };
    let all = count(&|_| true);
    // 99 % of fewer would say little. The server has work for about one CPU all the time.
    assert!(all >= 1000, "only {all} samples");
    let whole = count(&|stack| !is_broken(stack));
    assert!(whole as f64 >= 0.99 * all as f64, "{whole} of {all} samples reach the root");

    // libc's start function is among the few names that a stripped program's main thread has to show at its root.
    let main =
        profile::speedscope(&speedscope).into_iter().max_by(|a, b| a.total_ns().total_cmp(&b.total_ns()));
    let from_start = main
        .expect("a thread")
        .share(|stack| stack.iter().take(4).any(|frame| function(frame).starts_with("__libc_start_main")));
    assert!(
        from_start >= 0.99,
        "{:.1} % of the main thread's time is below __libc_start_main",
        100.0 * from_start
    );
}

fn redis_server(socket: &Path) -> Killed {
    let mut server = Killed(
        Command::new("redis-server")
            .args(["--port", "0", "--save", "", "--appendonly", "no", "--unixsocket"])
            .arg(socket)
            .stdout(Stdio::piped())
            .spawn()
            .expect("run redis-server (scripts/setup.sh installs it)"),
    );
    let mut stdout = BufReader::new(server.0.stdout.take().expect("stdout is piped"));
    let mut said = String::new();
    while !said.contains("ready to accept connections") && !said.contains("Ready to accept connections") {
        let read = stdout.read_line(&mut said).expect("read redis-server's log");
        assert!(read > 0, "redis-server ended: {said}");
    }
    // The log may go on; nobody has to read it, but the pipe must stay open.
    std::thread::spawn(move || std::io::copy(&mut stdout, &mut std::io::sink()));
    server
}

/// Load without end.
fn redis_benchmark(socket: &Path) -> Killed {
    Killed(
        Command::new("redis-benchmark")
            .arg("-s")
            .arg(socket)
            .args(["-l", "-q", "-c", "20", "-n", "100000", "-t", "set,get,lpush,lrange_100"])
            .stdout(Stdio::null())
            .spawn()
            .expect("run redis-benchmark (scripts/setup.sh installs it)"),
    )
}
