//! Quoted disassembly, and what must not matter.

use super::{Base, CallersBp, Place, ReturnRule, return_rules};
use crate::{Registers, Svma};

const START: u64 = 0x10_0000;

fn rules_at(code: &[u8], offset: u64) -> Vec<ReturnRule> {
    return_rules(code, Svma(START), Svma(START + offset))
}

fn at(register: u16, offset: i32) -> Place {
    Place { base: Base::Register(register), offset }
}

/// The word at a register plus an offset.
fn word(register: u16, offset: i32) -> CallersBp {
    CallersBp::Is(Place { base: Base::Word { register, offset }, offset: 0 })
}

const RBP_KEPT: CallersBp = CallersBp::Is(Place { base: Base::Register(Registers::RBP), offset: 0 });

#[track_caller]
fn assert_returns(code: &[u8], offset: u64, return_address: Place, bp: CallersBp) {
    assert_eq!(rules_at(code, offset), [ReturnRule { return_address, bp }], "at {offset}");
}

const RSP: u16 = Registers::RSP;
const RBX: u16 = Registers::RBX;

/// The first and last instructions of OpenBLAS' `dgemm_kernel_HASWELL`.
const OPENBLAS: [u8; 71] = [
    0x48, 0x83, 0xec, 0x60, //                      0: sub $0x60,%rsp
    0x48, 0x89, 0x1c, 0x24, //                      4: mov %rbx,(%rsp)
    0x48, 0x89, 0x6c, 0x24, 0x08, //                8: mov %rbp,0x8(%rsp)
    0x48, 0x89, 0xe3, //                           13: mov %rsp,%rbx
    0x48, 0x81, 0xec, 0x80, 0x70, 0, 0, //         16: sub $0x7080,%rsp
    0x48, 0x81, 0xe4, 0, 0xf0, 0xff, 0xff, //      23: and $-4096,%rsp
    0x48, 0x89, 0x74, 0x24, 0x28, //               30: mov %rsi,0x28(%rsp)
    0x48, 0x83, 0xc7, 0x40, //                     35: add $0x40,%rdi
    0x48, 0xff, 0xc8, //                           39: dec %rax
    0x75, 0xf7, //                                 42: jne 35
    0xc5, 0xfb, 0x10, 0x44, 0x24, 0x30, //         44: vmovsd 0x30(%rsp),%xmm0
    0xc5, 0xf8, 0x77, //                           50: vzeroupper
    0x48, 0x89, 0xdc, //                           53: mov %rbx,%rsp
    0x48, 0x8b, 0x1c, 0x24, //                     56: mov (%rsp),%rbx
    0x48, 0x8b, 0x6c, 0x24, 0x08, //               60: mov 0x8(%rsp),%rbp
    0x48, 0x83, 0xc4, 0x60, //                     65: add $0x60,%rsp
    0xc3, //                                       69: ret
    0xcc, //                                       70: int3
];

#[test]
fn a_kernel_of_openblas_returns_by_rbx() {
    let saved = word(RBX, 8);
    assert_returns(&OPENBLAS, 0, at(RSP, 0), RBP_KEPT);
    assert_returns(&OPENBLAS, 4, at(RSP, 0x60), RBP_KEPT);
    assert_returns(&OPENBLAS, 13, at(RSP, 0x60), word(RSP, 8));
    for offset in [16, 23, 30, 35, 39, 42, 44, 50, 53] {
        assert_returns(&OPENBLAS, offset, at(RBX, 0x60), saved);
    }
    assert_returns(&OPENBLAS, 56, at(RSP, 0x60), word(RSP, 8));
    assert_returns(&OPENBLAS, 65, at(RSP, 0x60), RBP_KEPT);
    assert_returns(&OPENBLAS, 69, at(RSP, 0), RBP_KEPT);
    assert_eq!(rules_at(&OPENBLAS, 70), []);
}

#[test]
fn a_leaf_that_pushes_nothing_returns_to_the_top_of_the_stack() {
    let code = [
        0xc5, 0xfd, 0x6f, 0x06, // vmovdqa (%rsi),%ymm0
        0xc5, 0xfd, 0x7f, 0x07, // vmovdqa %ymm0,(%rdi)
        0xc3, //                   ret
    ];
    for offset in [0, 4, 8] {
        assert_returns(&code, offset, at(RSP, 0), RBP_KEPT);
    }
}

#[test]
fn what_was_pushed_is_popped() {
    let code = [
        0x55, //                   0: push %rbp
        0x53, //                   1: push %rbx
        0x9c, //                   2: pushf
        0x6a, 0x07, //             3: push $7
        0x48, 0x8d, 0x64, 0x24, 0x10, // 5: lea 0x10(%rsp),%rsp
        0x5b, //                  10: pop %rbx
        0x5d, //                  11: pop %rbp
        0xc3, //                  12: ret
    ];
    for (offset, return_address, bp) in [
        (0, 0, RBP_KEPT),
        (1, 8, word(RSP, 0)),
        (2, 16, word(RSP, 8)),
        (3, 24, word(RSP, 16)),
        (5, 32, word(RSP, 24)),
        (10, 16, word(RSP, 8)),
        (11, 8, word(RSP, 0)),
        (12, 0, RBP_KEPT),
    ] {
        assert_returns(&code, offset, at(RSP, return_address), bp);
    }
}

#[test]
fn leave_returns_by_the_frame_pointer() {
    let code = [
        0x55, //                         0: push %rbp
        0x48, 0x89, 0xe5, //             1: mov %rsp,%rbp
        0x48, 0x83, 0xe4, 0xe0, //       4: and $-32,%rsp
        0x48, 0x29, 0xc4, //             8: sub %rax,%rsp
        0xe8, 0, 0, 0, 0,    //            11: call
        0xc9, //                        16: leave
        0xc3, //                        17: ret
    ];
    for offset in [4, 8, 11, 16] {
        assert_returns(&code, offset, at(Registers::RBP, 8), word(Registers::RBP, 0));
    }
    assert_returns(&code, 0, at(RSP, 0), RBP_KEPT);
}

#[test]
fn an_old_stack_pointer_kept_on_a_realigned_stack_is_found() {
    let code = [
        0x48, 0x8b, 0x64, 0x24, 0x18, // 0: mov 0x18(%rsp),%rsp
        0x5d, //                         5: pop %rbp
        0xc3, //                         6: ret
    ];
    let old = Base::Word { register: RSP, offset: 0x18 };
    let expected = ReturnRule {
        return_address: Place { base: old, offset: 8 },
        bp: CallersBp::At(Place { base: old, offset: 0 }),
    };
    assert_eq!(rules_at(&code, 0), [expected]);
}

#[test]
fn loops_end_though_their_registers_change() {
    let code = [
        0x48, 0x83, 0xc7, 0x40, //       0: add $0x40,%rdi
        0x48, 0xff, 0xcb, //             4: dec %rbx
        0x75, 0xf7, //                   7: jne 0
        0x50, //                         9: push %rax
        0xeb, 0xfd, //                  10: jmp 9
    ];
    assert_eq!(rules_at(&code, 0), []);
    let mut with_return = code;
    with_return[9] = 0xc3;
    assert_returns(&with_return, 0, at(RSP, 0), RBP_KEPT);
}

#[test]
fn two_epilogues_give_two_candidates_the_nearer_one_first() {
    let code = [
        0x48, 0x85, 0xff, //             0: test %rdi,%rdi
        0x74, 0x05, //                   3: je 10
        0x48, 0x83, 0xc4, 0x10, //       5: add $0x10,%rsp
        0xc3, //                         9: ret
        0x48, 0x83, 0xc4, 0x20, //      10: add $0x20,%rsp
        0xeb, 0x00, //                  14: jmp 16
        0xc3, //                        16: ret
    ];
    let places: Vec<Place> = rules_at(&code, 0).iter().map(|rule| rule.return_address).collect();
    assert_eq!(places, [at(RSP, 0x10), at(RSP, 0x20)]);
    assert_returns(&code, 10, at(RSP, 0x20), RBP_KEPT);
}

#[test]
fn a_jump_table_ends_a_path_and_a_fixed_jump_returns_to_the_caller() {
    assert_eq!(rules_at(&[0xff, 0xe0], 0), [], "jmp *%rax");
    assert_eq!(rules_at(&[0xff, 0x24, 0xc5, 0, 0, 0, 0], 0), [], "jmp *table(,%rax,8)");
    assert_returns(&[0xff, 0x25, 1, 0, 0, 0], 0, at(RSP, 0), RBP_KEPT);
    // push $1; jmp *(%rip): what is on top is no return address.
    assert_eq!(rules_at(&[0x6a, 0x01, 0xff, 0x25, 1, 0, 0, 0], 0), []);
    // The other way still returns: je 4; jmp *%rax; ret
    assert_returns(&[0x74, 0x02, 0xff, 0xe0, 0xc3], 0, at(RSP, 0), RBP_KEPT);
}

#[test]
fn what_a_path_overwrites_it_does_not_find() {
    // mov %eax,0xc(%rsp); mov 8(%rsp),%rbp; ret: half of the word is new.
    let half = [0x89, 0x44, 0x24, 0x0c, 0x48, 0x8b, 0x6c, 0x24, 0x08, 0xc3];
    assert_returns(&half, 0, at(RSP, 0), CallersBp::Unknown);
    // vmovups %ymm0,-0x10(%rsp); ret: the return address itself.
    assert_eq!(rules_at(&[0xc5, 0xfc, 0x11, 0x44, 0x24, 0xf0, 0xc3], 0), []);
    // mov %rdi,%rsp; ret: another stack.
    assert_eq!(rules_at(&[0x48, 0x89, 0xfc, 0xc3], 0), []);
    // mov (%rbx,%rax),%rbp; ret
    assert_returns(&[0x48, 0x8b, 0x2c, 0x03, 0xc3], 0, at(RSP, 0), CallersBp::Unknown);
    // ret $8
    assert_eq!(rules_at(&[0xc2, 8, 0], 0), []);
}

#[test]
fn random_bytes_end_somehow() {
    let mut state = 1u64;
    for _ in 0..200 {
        let code: Vec<u8> = (0..4000)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                // Many stack instructions, and branches.
                match state >> 61 {
                    0 => [0x50, 0x58, 0x74, 0x75, 0xeb, 0xe8, 0x48, 0xc9][(state >> 40) as usize % 8],
                    _ => (state >> 48) as u8,
                }
            })
            .collect();
        for offset in [0, 1, 17, 1999, 3999, 4000, u64::MAX - START] {
            assert!(rules_at(&code, offset).len() <= super::MAX_CANDIDATES);
        }
    }
}
