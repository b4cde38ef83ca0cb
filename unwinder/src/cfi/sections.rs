//! Where a module's call frame information is, and a walk over it that one bad entry cannot end.

use gimli::{BaseAddresses, EndianSlice, LittleEndian, UnwindSection};

use crate::module::{Module, SectionBytes};

pub(super) type Bytes<'a> = EndianSlice<'a, LittleEndian>;

/// The bytes of both sections, and the addresses that their pointers are relative to.
#[derive(Debug, Default)]
pub(super) struct CfiSections {
    pub(super) eh_frame: Vec<u8>,
    pub(super) debug_frame: Vec<u8>,
    pub(super) bases: BaseAddresses,
}

impl CfiSections {
    /// Reads what the module has. A section that cannot be read counts as absent.
    pub(super) fn read(module: &Module) -> Self {
        let section = |name| module.section(name).ok().flatten();
        let eh_frame = section(".eh_frame").or_else(|| eh_frame_by_header(module)).unwrap_or_default();
        let debug_frame = section(".debug_frame").unwrap_or_default();
        let mut bases = BaseAddresses::default().set_eh_frame(eh_frame.svma.0);
        if let Some(text) = module.section_svma(".text") {
            bases = bases.set_text(text.0);
        }
        if let Some(got) = module.section_svma(".got") {
            bases = bases.set_got(got.0);
        }
        CfiSections { eh_frame: eh_frame.bytes, debug_frame: debug_frame.bytes, bases }
    }
}

/// Follows `PT_GNU_EH_FRAME` in files without section headers.
fn eh_frame_by_header(module: &Module) -> Option<SectionBytes> {
    let header = module.eh_frame_hdr()?;
    let bases = BaseAddresses::default().set_eh_frame_hdr(header.svma.0);
    let parsed = gimli::EhFrameHdr::new(&header.bytes, LittleEndian).parse(&bases, 8).ok()?;
    let gimli::Pointer::Direct(eh_frame) = parsed.eh_frame_ptr() else { return None };
    module.rest_of_segment(crate::Svma(eh_frame))
}

/// What differs between the two sections in the framing of their entries.
pub(super) trait FrameSection<'a>:
    UnwindSection<Bytes<'a>, Offset: From<usize> + std::hash::Hash>
{
    /// The id field that marks a CIE, in entries of the 32-bit and of the 64-bit format.
    const CIE_ID: (u64, u64);
    /// Bytes of the id field in the 64-bit format.
    const LONG_ID_SIZE: usize;
}

impl<'a> FrameSection<'a> for gimli::EhFrame<Bytes<'a>> {
    const CIE_ID: (u64, u64) = (0, 0);
    const LONG_ID_SIZE: usize = 4;
}

impl<'a> FrameSection<'a> for gimli::DebugFrame<Bytes<'a>> {
    const CIE_ID: (u64, u64) = (0xffff_ffff, u64::MAX);
    const LONG_ID_SIZE: usize = 8;
}

/// Offsets of the FDEs of a section, found by the entries' lengths alone. gimli's own iterator ends at the first
/// entry that it cannot parse, and at a zero length, which some linkers leave between two objects' entries.
pub(super) fn fde_offsets<'a, S: FrameSection<'a>>(section: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    let mut next = 0;
    std::iter::from_fn(move || {
        loop {
            let start: usize = next;
            let rest = section.get(start..)?;
            let short = u32::from_le_bytes(*rest.first_chunk()?);
            let (header, length, cie_id) = match short {
                0 => {
                    next = start.checked_add(4)?;
                    continue;
                }
                u32::MAX => (12, u64::from_le_bytes(*rest.get(4..)?.first_chunk()?), S::CIE_ID.1),
                length => (4, length.into(), S::CIE_ID.0),
            };
            let body = rest.get(header..)?;
            next = start.checked_add(header)?.checked_add(usize::try_from(length).ok()?)?;
            let id = match (header, S::LONG_ID_SIZE) {
                (12, 8) => u64::from_le_bytes(*body.first_chunk()?),
                _ => u32::from_le_bytes(*body.first_chunk()?).into(),
            };
            if id != cie_id {
                return Some(start);
            }
        }
    })
}
