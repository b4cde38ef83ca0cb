//! Whether an address can be a return address.

use iced_x86::{Decoder, DecoderOptions, FlowControl};

/// Bytes before a return address that [`follows_call`] wants to see: the longest call instruction has 8
/// (`41 ff 94 24 disp32`), or one more with a prefix.
pub(crate) const LONGEST_CALL: usize = 9;

/// Whether the last bytes of `before` can be read as a call instruction.
///
/// x86 code can be read from any byte, so this says *possible*, not *certain*.
pub(crate) fn follows_call(before: &[u8]) -> bool {
    (2..=LONGEST_CALL.min(before.len())).any(|length| {
        let Some(bytes) = before.len().checked_sub(length).and_then(|from| before.get(from..)) else {
            return false;
        };
        let instruction = Decoder::new(64, bytes, DecoderOptions::NONE).decode();
        instruction.len() == length
            && matches!(instruction.flow_control(), FlowControl::Call | FlowControl::IndirectCall)
    })
}

#[cfg(test)]
mod tests {
    use super::follows_call;

    #[test]
    fn every_form_of_call_is_accepted_and_nothing_else() {
        for call in [
            &[0xe8, 1, 2, 3, 4][..],               // call rel32
            &[0xff, 0xd0],                         // call *%rax
            &[0x41, 0xff, 0xd4],                   // call *%r12
            &[0xff, 0x50, 0x18],                   // call *0x18(%rax)
            &[0xff, 0x15, 1, 2, 3, 4],             // call *disp(%rip)
            &[0x41, 0xff, 0x94, 0x24, 1, 2, 3, 4], // call *disp32(%r12)
            &[0x66, 0x48, 0xe8, 1, 2, 3, 4],       // data16 rex.W call __tls_get_addr
        ] {
            let mut before = vec![0xcc; 4];
            before.extend_from_slice(call);
            assert!(follows_call(&before), "{call:x?}");
        }
        // mov %rsp,%rbp; sub $0x10,%rsp; nothing; jmp *%rax
        for other in [&[0x48, 0x89, 0xe5][..], &[0x48, 0x83, 0xec, 0x10], &[], &[0xff, 0xe0]] {
            assert!(!follows_call(other), "{other:x?}");
        }
    }
}
