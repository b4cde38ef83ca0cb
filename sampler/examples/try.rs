use stackclock_sampler::*;
use std::time::Duration;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let targets = if a[1] == "--" {
        Targets::Launch(a[2..].iter().map(Into::into).collect())
    } else {
        Targets::Attach(vec![a[1].parse().unwrap()])
    };
    let s = Session::start(SessionOptions {
        targets,
        interval: Duration::from_millis(10),
        duration: Some(Duration::from_secs(3)),
        subprocesses: Subprocesses::Ignore,
        frames: FrameSelection::Merged,
    })
    .unwrap();
    let stop = std::sync::atomic::AtomicBool::new(false);
    let mut last = None;
    let r = s.run(&stop, &mut |p| last = Some(*p)).unwrap();
    println!("{last:?}");
    let p = r.into_profile();
    println!("{:?}", p.counters);
    let view = stackclock_collapse::View::new(
        &p,
        &stackclock_collapse::ViewOptions {
            clock: stackclock_collapse::Clock::WallClock,
            ..Default::default()
        },
    );
    let mut out = std::io::stdout();
    stackclock_collapse::folded::write(&view, stackclock_collapse::folded::Numbers::Microseconds, &mut out)
        .unwrap();
    println!("{:?}", p.check());
    for t in &p.threads {
        println!("{t:?}");
    }
}
