use super::*;
use crate::insn::Alu;

const ALL: [Alu; 14] = [
    Alu::Add,
    Alu::Sub,
    Alu::Mul,
    Alu::Div,
    Alu::SignedDiv,
    Alu::Or,
    Alu::And,
    Alu::Lsh,
    Alu::Rsh,
    Alu::Neg,
    Alu::Mod,
    Alu::SignedMod,
    Alu::Xor,
    Alu::Arsh,
];

const EDGES: [u64; 12] = [
    0,
    1,
    2,
    7,
    63,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x1_0000_0000,
    i64::MAX as u64,
    1 << 63,
    u64::MAX,
];

/// The set of two numbers, and of what lies between them in either order.
fn hull(a: u64, b: u64) -> Scalar {
    Scalar::constant(a).union(Scalar::constant(b))
}

#[test]
fn every_result_is_in_the_set_of_results() {
    for (a, b) in EDGES.iter().flat_map(|a| EDGES.map(|b| (*a, b))) {
        for (c, d) in EDGES.iter().flat_map(|c| EDGES.map(|d| (*c, d))) {
            let (left, right) = (hull(a, b), hull(c, d));
            for (op, wide) in ALL.iter().flat_map(|op| [(*op, false), (*op, true)]) {
                let set = left.alu(wide, op, right);
                for (x, y) in [(a, c), (a, d), (b, c), (b, d)] {
                    let result = concrete::alu(wide, op, x, y);
                    assert!(set.contains(result), "{op:?} {wide} {x:#x} {y:#x}: {set:?}");
                }
            }
        }
    }
}

#[test]
fn extending_the_sign_keeps_every_number() {
    for (a, b) in EDGES.iter().flat_map(|a| EDGES.map(|b| (*a, b))) {
        for bits in [8, 16, 32] {
            let set = hull(a, b).sign_extend(bits);
            for x in [a, b] {
                assert!(
                    set.contains(concrete::sign_extend(x, bits)),
                    "{bits} {x:#x}: {set:?}"
                );
            }
        }
    }
}

#[test]
fn widening_keeps_every_number_and_settles() {
    let thresholds = [0, 9, 10, 11, i64::from(u32::MAX)];
    for (a, b) in EDGES.iter().flat_map(|a| EDGES.map(|b| (*a, b))) {
        let mut set = Scalar::constant(a);
        for x in [b, a, b.wrapping_add(1), b.wrapping_sub(1), b] {
            let next = set.union(Scalar::constant(x));
            set = set.widen(next, &thresholds);
            assert!(set.contains(x) && set.contains(a), "{x:#x}: {set:?}");
        }
    }
}
