//! Ctrl-C and SIGTERM: the first asks us to finish, the second ends us.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// Lets the first SIGINT or SIGTERM raise the flag that is returned. A further one does what it does to any
/// program, so that a shell sees that we were interrupted; outputs have no name yet then, and vanish.
pub fn finish_on_interrupt() -> io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // Actions run in the order of registration: the flag must be looked at before it is raised.
        flag::register_conditional_default(signal, Arc::clone(&stop))?;
        flag::register(signal, Arc::clone(&stop))?;
    }
    Ok(stop)
}
