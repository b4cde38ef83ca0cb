//! When and whom: targets, threads, states, ticks and the capture backends.
