//! Files that come, go or hide while the process that maps them is profiled.

use std::process::Command;

use crate::support::Workplace;
use crate::support::profile;
use crate::support::profiler::record_threads;
use crate::support::target::{Target, growth, library, program};

#[test]
fn a_library_that_is_loaded_and_unloaded_keeps_its_names() {
    let work = Workplace::new("dlopen");
    let library = library("plugin");
    let mut target = Target::start(program("dlopen"), &[library.to_str().expect("a UTF-8 path")]);
    let before = target.truth();
    let threads = record_threads(&target, "--idle -r 200 -d 3", &work.file("dlopen.speedscope.json"));
    let rounds = growth(&before, &target.truth(), "/rounds");
    assert!(rounds > 20.0, "only {rounds} rounds of loading in 3 s");

    // It works for 20 ms of each round, which otherwise takes a fraction of one.
    let loader = profile::thread(&threads, "loader");
    let in_plugin = loader.share_in("plugin_work");
    assert!(in_plugin > 0.8, "{:.1} % of the time in plugin_work", 100.0 * in_plugin);
    let in_order = loader.share(|stack| {
        let position = |name| stack.iter().position(|frame| profile::function(frame) == name);
        position("use_plugin").is_some() && position("use_plugin") < position("plugin_work")
    });
    assert!(in_order > 0.8, "{:.1} % of the time in plugin_work below use_plugin", 100.0 * in_order);
}

#[test]
fn a_deleted_executable_keeps_its_names() {
    let work = Workplace::new("deleted");
    let copy = work.file("soon-deleted");
    std::fs::copy(program("spinners"), &copy).expect("copy the program");
    let target = Target::start(&copy, &["1"]);
    std::fs::remove_file(&copy).expect("delete the running program");
    check_spinner(&target, &work);
}

#[test]
fn an_executable_replaced_by_another_keeps_its_own_names() {
    let work = Workplace::new("replaced");
    let path = work.file("upgraded");
    std::fs::copy(program("spinners"), &path).expect("copy the program");
    let target = Target::start(&path, &["1"]);
    // As an upgrade does it: a new file under the old name.
    std::fs::remove_file(&path).expect("delete the running program");
    std::fs::copy(program("hog"), &path).expect("put another in its place");
    check_spinner(&target, &work);
}

#[test]
fn an_executable_that_only_the_target_can_see_keeps_its_names() {
    let work = Workplace::new("mount-namespace");
    let mounted = work.file("mounted");
    std::fs::create_dir(&mounted).expect("create the mount point");
    let built = program("spinners");
    let script = r#"mount --bind "$1" "$2" && cd / && exec "$2/spinners" 1"#;
    // Without root, a user namespace gives the right to mount.
    let flags = if nix::unistd::geteuid().is_root() { "-m" } else { "-Urm" };
    let target = Target::spawn(
        Command::new("unshare")
            .args([flags, "sh", "-c", script, "sh"])
            .arg(built.parent().expect("a directory"))
            .arg(&mounted),
    );
    assert!(!mounted.join("spinners").exists(), "the mount must be the target's own");
    check_spinner(&target, &work);
}

fn check_spinner(target: &Target, work: &Workplace) {
    let threads = record_threads(target, "-d 1", &work.file("spinner.speedscope.json"));
    let in_function = profile::thread(&threads, "spin-0").share_in("spin_for_ever");
    assert!(in_function > 0.98, "{:.1} % of the time in spin_for_ever", 100.0 * in_function);
}
