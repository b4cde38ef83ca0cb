//! A `/proc` file that is opened once and read again and again.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Enough of any of the files read this way: of `stat`, the fields up to the 28th; of `status`, which is the longest,
/// all of it on a machine with a thousand CPUs and memory nodes.
const TEXT_BYTES: usize = 4096;

/// An open `/proc` file. Every read from offset 0 makes the kernel write it anew; for a one-line file that costs
/// 0.5-1.4 us against the 3.9 us of opening, reading and closing.
#[derive(Debug)]
pub struct KeptOpen {
    file: File,
}

impl KeptOpen {
    /// Opens the file.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        Ok(KeptOpen { file: File::open(path)? })
    }

    /// Reads the text as it is now and parses it. `ESRCH` tells that the thread is gone; a text that does not
    /// parse is `InvalidData`.
    pub fn read<T>(&self, parse: impl FnOnce(&str) -> Option<T>) -> io::Result<T> {
        let mut text = [0; TEXT_BYTES];
        let length = self.file.read_at(&mut text, 0)?;
        // Thread names are any bytes, and no business of ours here.
        let text = String::from_utf8_lossy(text.get(..length).unwrap_or_default());
        parse(&text).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proc::TaskState;

    #[test]
    fn a_thread_may_be_called_anything() {
        let named = std::thread::spawn(|| {
            let name = std::ffi::CString::new(b"\xff\xfe) R (".to_vec()).expect("no NUL");
            nix::sys::prctl::set_name(&name).expect("a name");
            let stat = KeptOpen::open("/proc/thread-self/stat").expect("stat");
            stat.read(TaskState::parse).expect("a state")
        });
        assert_eq!(named.join().expect("a thread"), TaskState::Running);
    }
}
