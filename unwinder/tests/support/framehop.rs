//! framehop on the same captures: the oracle where it is right, and the peer to be faster than.

use ::framehop::x86_64::{CacheX86_64, UnwindRegsX86_64, UnwinderX86_64};
use ::framehop::{ExplicitModuleSectionInfo, Unwinder};
use stackclock_unwinder::native::SectionBytes;
use stackclock_unwinder::{Capture, Memory, Registers};

use super::captures::MappedModule;

pub struct Framehop {
    unwinder: UnwinderX86_64<Vec<u8>>,
    cache: CacheX86_64,
}

impl Framehop {
    pub fn new(modules: &[MappedModule]) -> Self {
        let mut unwinder = UnwinderX86_64::new();
        for mapped in modules {
            let section = |name: &str| mapped.module.section(name).ok().flatten();
            let range = |section: &SectionBytes| section.svma.0..section.svma.0 + section.bytes.len() as u64;
            let (text, got) = (section(".text"), section(".got"));
            let (eh_frame, header) = (section(".eh_frame"), section(".eh_frame_hdr"));
            let info = ExplicitModuleSectionInfo {
                base_svma: 0,
                text_svma: text.as_ref().map(range),
                got_svma: got.as_ref().map(range),
                eh_frame_svma: eh_frame.as_ref().map(range),
                eh_frame_hdr_svma: header.as_ref().map(range),
                text: text.map(|section| section.bytes),
                eh_frame: eh_frame.map(|section| section.bytes),
                eh_frame_hdr: header.map(|section| section.bytes),
                debug_frame: section(".debug_frame").map(|section| section.bytes),
                ..Default::default()
            };
            let name = mapped.module.path().to_owned();
            unwinder.add_module(::framehop::Module::new(
                name,
                mapped.start.0..mapped.end.0,
                mapped.bias,
                info,
            ));
        }
        Framehop { unwinder, cache: CacheX86_64::new() }
    }

    /// The lookup addresses of a capture's frames, leaf first; returns how many.
    pub fn unwind(&mut self, capture: &Capture, out: &mut Vec<u64>) -> usize {
        out.clear();
        let registers = &capture.registers;
        let (ip, sp) = (registers.ip.0, registers.sp.0);
        let start = UnwindRegsX86_64::new(ip, sp, registers.get(Registers::RBP).unwrap_or(0));
        let mut read = |address| capture.stack.read_u64(stackclock_unwinder::Avma(address)).map_err(|_| ());
        let mut frames = self.unwinder.iter_frames(ip, start, &mut self.cache, &mut read);
        while let Ok(Some(frame)) = frames.next() {
            out.push(frame.address_for_lookup());
        }
        out.len()
    }
}
