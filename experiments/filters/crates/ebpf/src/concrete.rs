//! The results of arithmetic and comparisons, value by value (RFC 9669, section 4).

use crate::insn::{Alu, Cond};

/// `dst op src` in 64 or 32 bits; a 32-bit result has its upper half zero. Dividing by zero gives 0,
/// and the remainder of it gives `dst`.
pub fn alu(wide: bool, op: Alu, dst: u64, src: u64) -> u64 {
    if wide {
        alu64(op, dst, src)
    } else {
        u64::from(alu32(op, dst as u32, src as u32))
    }
}

macro_rules! arithmetic {
    ($name:ident, $unsigned:ty, $signed:ty) => {
        fn $name(op: Alu, dst: $unsigned, src: $unsigned) -> $unsigned {
            let (signed_dst, signed_src) = (dst as $signed, src as $signed);
            match op {
                Alu::Add => dst.wrapping_add(src),
                Alu::Sub => dst.wrapping_sub(src),
                Alu::Mul => dst.wrapping_mul(src),
                Alu::Div => dst.checked_div(src).unwrap_or(0),
                Alu::SignedDiv if src == 0 => 0,
                Alu::SignedDiv => signed_dst.wrapping_div(signed_src) as $unsigned,
                Alu::Or => dst | src,
                Alu::And => dst & src,
                Alu::Lsh => dst.wrapping_shl(src as u32),
                Alu::Rsh => dst.wrapping_shr(src as u32),
                Alu::Neg => dst.wrapping_neg(),
                Alu::Mod => dst.checked_rem(src).unwrap_or(dst),
                Alu::SignedMod if src == 0 => dst,
                Alu::SignedMod => signed_dst.wrapping_rem(signed_src) as $unsigned,
                Alu::Xor => dst ^ src,
                Alu::Mov => src,
                Alu::Arsh => signed_dst.wrapping_shr(src as u32) as $unsigned,
            }
        }
    };
}

arithmetic!(alu64, u64, i64);
arithmetic!(alu32, u32, i32);

/// Return true if a conditional jump is taken; in 32 bits only the lower halves count.
pub fn holds(wide: bool, cond: Cond, dst: u64, src: u64) -> bool {
    let (a, b) = if wide {
        (dst, src)
    } else {
        // Extended with their signs, 32-bit values keep both their orders.
        (dst as i32 as i64 as u64, src as i32 as i64 as u64)
    };
    let (signed_a, signed_b) = (a as i64, b as i64);
    match cond {
        Cond::Eq => a == b,
        Cond::Ne => a != b,
        Cond::Set => a & b != 0,
        Cond::Gt => a > b,
        Cond::Ge => a >= b,
        Cond::Lt => a < b,
        Cond::Le => a <= b,
        Cond::SignedGt => signed_a > signed_b,
        Cond::SignedGe => signed_a >= signed_b,
        Cond::SignedLt => signed_a < signed_b,
        Cond::SignedLe => signed_a <= signed_b,
    }
}

/// The low `bits` of `value`, extended with their sign.
pub fn sign_extend(value: u64, bits: u8) -> u64 {
    let shift = 64 - u32::from(bits);
    (((value << shift) as i64) >> shift) as u64
}

/// The low `bits` of `value`, their bytes reversed if `swap`.
pub fn byte_swap(swap: bool, bits: u8, value: u64) -> u64 {
    let shift = 64 - u32::from(bits);
    if swap {
        value.swap_bytes() >> shift
    } else {
        value << shift >> shift
    }
}
