//! The meaning of each instruction, with results from the text of RFC 9669, both ways to run it.

mod common;

use common::agree::check;
use common::*;
use filter_ebpf::insn::Raw;

/// r0 after an instruction on r0 and r2.
fn run(instruction: &[Raw], dst: u64, src: u64) -> Option<u64> {
    let halves = |number: u64| (number as i32, (number >> 32) as i32);
    let ((low, high), (src_low, src_high)) = (halves(dst), halves(src));
    let start = [wide(0, 0, low, high), wide(2, 0, src_low, src_high)].concat();
    let verified = verify(&[&start[..], instruction, &[exit()]].concat()).expect("harmless");
    check(&verified, [b"", b""])
}

const REGISTER: u8 = 8;
const WIDE: u8 = 7;
const HALF: u8 = 4;
const TOP: u64 = 1 << 63;
const MINUS: u64 = u64::MAX;

/// The operation's number, its offset field, r0, the operand, and r0 afterwards in 64 and in 32 bits.
type Operation = (u8, i16, u64, u64, u64, u64);

const OPERATIONS: &[Operation] = &[
    // add, sub
    (0x00, 0, 1, 2, 3, 3),
    (0x00, 0, MINUS, 1, 0, 0),
    (0x00, 0, 0xffff_ffff, 1, 0x1_0000_0000, 0),
    (0x00, 0, 5, MINUS - 1, 3, 3),
    (0x10, 0, 5, 7, MINUS - 1, 0xffff_fffe),
    (0x10, 0, 0x1_0000_0000, 1, 0xffff_ffff, 0xffff_ffff),
    // mul
    (0x20, 0, 6, 7, 42, 42),
    (0x20, 0, 0x1_0000_0001, 3, 0x3_0000_0003, 3),
    (0x20, 0, MINUS, MINUS, 1, 1),
    // div, unsigned and signed; by zero
    (0x30, 0, 42, 5, 8, 8),
    (0x30, 0, MINUS - 9, 2, 0x7fff_ffff_ffff_fffb, 0x7fff_fffb),
    (0x30, 0, 42, 0, 0, 0),
    (0x30, 1, MINUS - 9, 2, MINUS - 4, 0xffff_fffb),
    (0x30, 1, 7, MINUS - 1, MINUS - 2, 0xffff_fffd),
    (0x30, 1, 42, 0, 0, 0),
    (0x30, 1, TOP, MINUS, TOP, 0),
    // or, and, xor
    (0x40, 0, 0xf0, 0x0f, 0xff, 0xff),
    (0x40, 0, 0xff_0000_0000, 1, 0xff_0000_0001, 1),
    (0x50, 0, 0xff_0000_00ff, 0x0f, 0x0f, 0x0f),
    (0x50, 0, MINUS, MINUS - 15, MINUS - 15, 0xffff_fff0),
    (0xa0, 0, 0xff, 0x0f, 0xf0, 0xf0),
    (0xa0, 0, MINUS, 0, MINUS, 0xffff_ffff),
    // lsh, rsh, arsh: amounts count modulo the width
    (0x60, 0, 1, 31, 0x8000_0000, 0x8000_0000),
    (0x60, 0, 1, 33, 0x2_0000_0000, 2),
    (0x60, 0, 3, 64, 3, 3),
    (0x70, 0, TOP, 63, 1, 0),
    (0x70, 0, 0x8000_0000, 31, 1, 1),
    (0x70, 0, 0xf0, 36, 0, 0xf),
    (0xc0, 0, TOP, 63, MINUS, 0),
    (0xc0, 0, 0x8000_0000, 31, 1, 0xffff_ffff),
    (0xc0, 0, MINUS - 15, 2, MINUS - 3, 0xffff_fffc),
    // mod, unsigned and signed; by zero it gives the dividend
    (0x90, 0, 42, 5, 2, 2),
    (0x90, 0, 0x1_0000_0007, 0, 0x1_0000_0007, 7),
    (0x90, 0, MINUS, 10, 5, 5),
    (0x90, 1, MINUS - 6, 3, MINUS, 0xffff_ffff),
    (0x90, 1, 7, MINUS - 2, 1, 1),
    (0x90, 1, TOP, MINUS, 0, 0),
    (0x90, 1, 42, 0, 42, 42),
    // mov; with the sign of 8, 16 and 32 bits
    (0xb0, 0, 1, MINUS, MINUS, 0xffff_ffff),
    (0xb0, 8, 0, 0x180, 0xffff_ffff_ffff_ff80, 0xffff_ff80),
    (0xb0, 16, 0, 0x1_7fff, 0x7fff, 0x7fff),
];

#[test]
fn arithmetic() {
    for &(operation, offset, dst, src, wide, half) in OPERATIONS {
        for (class, expected) in [(WIDE, wide), (HALF, half)] {
            let register = [raw(operation | REGISTER | class, 0, 2, offset, 0)];
            let found = run(&register, dst, src);
            assert_eq!(
                found,
                Some(expected),
                "{operation:#x} {class} {dst:#x} {src:#x}"
            );
            // The same with a constant, where it is one that is allowed.
            let shift = matches!(operation, 0x60 | 0x70 | 0xc0);
            let limit = if class == WIDE { 64 } else { 32 };
            let refused = shift && src >= limit || matches!(operation, 0x30 | 0x90) && src == 0;
            let Ok(constant) = i32::try_from(src as i64) else {
                continue;
            };
            if !refused && !matches!((operation, offset), (0xb0, 8 | 16)) {
                let constant = [raw(operation | class, 0, 0, offset, constant)];
                assert_eq!(
                    run(&constant, dst, src),
                    Some(expected),
                    "{constant:?} {dst:#x}"
                );
            }
        }
    }
    let sign = [raw(0xb0 | REGISTER | WIDE, 0, 2, 32, 0)];
    assert_eq!(run(&sign, 0, 0x8000_0000), Some(0xffff_ffff_8000_0000));
    for (class, expected) in [(WIDE, MINUS - 4), (HALF, 0xffff_fffb)] {
        assert_eq!(run(&[raw(0x80 | class, 0, 0, 0, 0)], 5, 0), Some(expected));
    }
}

#[test]
fn byte_order() {
    let number = 0x0123_4567_89ab_cdef;
    let (little, big, swap) = (0xd4, 0xdc, 0xd7);
    for (opcode, bits, expected) in [
        (little, 16, 0xcdef),
        (little, 32, 0x89ab_cdef),
        (little, 64, number),
        (big, 16, 0xefcd),
        (big, 32, 0xefcd_ab89),
        (big, 64, 0xefcd_ab89_6745_2301),
        (swap, 16, 0xefcd),
        (swap, 32, 0xefcd_ab89),
        (swap, 64, 0xefcd_ab89_6745_2301),
    ] {
        let found = run(&[raw(opcode, 0, 0, 0, bits)], number, 0);
        assert_eq!(found, Some(expected), "{opcode:#x} {bits}");
    }
}

#[test]
fn conditions() {
    // The condition's number, r0, the operand, and whether it holds in 64 and in 32 bits.
    let conditions: &[(u8, u64, u64, bool, bool)] = &[
        (0x10, 5, 5, true, true),
        (0x10, 0x1_0000_0005, 5, false, true),
        (0x50, 5, 5, false, false),
        (0x50, 0x1_0000_0005, 5, true, false),
        (0x20, 6, 5, true, true),
        (0x20, 5, 5, false, false),
        (0x20, MINUS, 5, true, true),
        (0x20, 0x1_0000_0000, 5, true, false),
        (0x30, 5, 5, true, true),
        (0x30, 4, 5, false, false),
        (0x40, 6, 4, true, true),
        (0x40, 6, 1, false, false),
        (0x40, 0x4_0000_0000, MINUS, true, false),
        (0xa0, 4, 5, true, true),
        (0xa0, MINUS, 5, false, false),
        (0xa0, 0x1_0000_0000, 5, false, true),
        (0xb0, 5, 5, true, true),
        (0xb0, 6, 5, false, false),
        (0x60, 5, MINUS, true, true),
        (0x60, MINUS, 5, false, false),
        (0x60, 0xffff_ffff, 5, true, false),
        (0x70, MINUS, MINUS, true, true),
        (0x70, MINUS - 1, MINUS, false, false),
        (0xc0, MINUS, 5, true, true),
        (0xc0, 5, MINUS, false, false),
        (0xc0, 0x8000_0000, 5, false, true),
        (0xd0, MINUS, MINUS, true, true),
        (0xd0, 6, MINUS, false, false),
    ];
    for &(condition, dst, src, wide, half) in conditions {
        for (class, expected) in [(5, wide), (6, half)] {
            let answer = [mov(0, 0), exit(), mov(0, 1)];
            let register = raw(condition | REGISTER | class, 0, 2, 2, 0);
            let found = run(&[&[register][..], &answer].concat(), dst, src);
            assert_eq!(
                found,
                Some(expected.into()),
                "{condition:#x} {class} {dst:#x} {src:#x}"
            );
            if let Ok(constant) = i32::try_from(src as i64) {
                let constant = raw(condition | class, 0, 0, 2, constant);
                let found = run(&[&[constant][..], &answer].concat(), dst, src);
                assert_eq!(found, Some(expected.into()), "{constant:?} {dst:#x}");
            }
        }
    }
}

#[test]
fn loads_and_stores() {
    let number = 0x8182_8384_8586_8788;
    for (bytes, zeros, signed) in [
        (1, 0x88, Some(0xffff_ffff_ffff_ff88)),
        (2, 0x8788, Some(0xffff_ffff_ffff_8788)),
        (4, 0x8586_8788, Some(0xffff_ffff_8586_8788)),
        (8, number, None),
    ] {
        let stored = [store(8, 10, -8, 0), load(bytes, 0, 10, -8)];
        assert_eq!(run(&stored, number, 0), Some(zeros));
        if let Some(signed) = signed {
            let extended = raw(load(bytes, 0, 10, -8).opcode & 0x1f | 0x80, 0, 10, -8, 0);
            assert_eq!(
                run(&[store(8, 10, -8, 0), extended], number, 0),
                Some(signed)
            );
        }
        // A store changes its own bytes only.
        let around = [
            store(8, 10, -8, 0),
            store_imm(bytes, 10, -8, 0),
            load(8, 0, 10, -8),
        ];
        let kept = if bytes == 8 {
            0
        } else {
            number >> (bytes * 8) << (bytes * 8)
        };
        assert_eq!(run(&around, number, 0), Some(kept));
        let around = [
            store(8, 10, -8, 0),
            store(bytes, 10, -8, 2),
            load(8, 0, 10, -8),
        ];
        assert_eq!(run(&around, number, 0), Some(kept));
    }
}

#[test]
fn atomic_operations() {
    // The operation, memory before, the operand, memory afterwards; with 0x01 the register gets the first.
    for (operation, before, operand, after) in [
        (0x00, 5, 7, 12),
        (0x40, 5, 2, 7),
        (0x50, 7, 2, 2),
        (0xa0, 7, 2, 5),
        (0x00, MINUS, 1, 0),
    ] {
        for bytes in [4, 8] {
            let mask = if bytes == 8 { MINUS } else { 0xffff_ffff };
            let start = [store_imm(8, 10, -8, 0), store(bytes, 10, -8, 0)];
            let memory = [atomic(bytes, 10, -8, 2, operation), load(8, 0, 10, -8)];
            let found = run(&[&start[..], &memory].concat(), before, operand);
            assert_eq!(found, Some(after & mask), "{operation:#x}");
            let fetched = [atomic(bytes, 10, -8, 2, operation | 1), copy(0, 2)];
            let found = run(&[&start[..], &fetched].concat(), before, operand);
            assert_eq!(found, Some(before & mask), "{operation:#x} with 0x01");
        }
    }
    let start = [store_imm(8, 10, -8, 5)];
    let exchange = [atomic(8, 10, -8, 2, 0xe1), copy(0, 2)];
    assert_eq!(run(&[&start[..], &exchange].concat(), 0, 7), Some(5));
    // r0 is compared, and becomes what was there.
    for (compared, memory) in [(5, 7), (6, 5)] {
        let compare = [atomic(8, 10, -8, 2, 0xf1)];
        assert_eq!(run(&[&start[..], &compare].concat(), compared, 7), Some(5));
        let compare = [atomic(8, 10, -8, 2, 0xf1), load(8, 0, 10, -8)];
        assert_eq!(
            run(&[&start[..], &compare].concat(), compared, 7),
            Some(memory)
        );
    }
}

#[test]
fn jumps_and_calls() {
    assert_eq!(run(&[jump(1), mov(0, 9), add(0, 1)], 1, 0), Some(2));
    // A jump with 32 bits of distance.
    let far = raw(0x06, 0, 0, 0, 1);
    assert_eq!(run(&[far, mov(0, 9), add(0, 1)], 1, 0), Some(2));
    // A function has r1 to r5 from its caller, who keeps r6 to r9.
    let calls = [
        copy(6, 0),
        copy(1, 2),
        call(2),
        add_register(0, 6),
        exit(),
        mov(6, 100),
        copy(0, 1),
        add_register(0, 6),
    ];
    assert_eq!(run(&calls, 1, 10), Some(111));
}
