//! Operations read as others.

use super::Misread;
use crate::insn::{Alu, Atomic, Cond, Op};

impl Misread {
    /// Return what this misreads the operation as.
    pub fn read(self, op: Op) -> Op {
        match op {
            Op::Alu { wide, op, dst, src } => {
                let (wide, op) = self.arithmetic(wide, op);
                Op::Alu { wide, op, dst, src }
            }
            Op::Branch {
                wide,
                cond,
                dst,
                src,
                target,
            } => {
                let (wide, cond) = self.comparison(wide, cond);
                Op::Branch {
                    wide,
                    cond,
                    dst,
                    src,
                    target,
                }
            }
            Op::MoveSigned { bits, dst, src, .. } if self == Self::MoveKeepsUpperHalf => {
                let wide = true;
                Op::MoveSigned {
                    wide,
                    bits,
                    dst,
                    src,
                }
            }
            Op::Load {
                bytes,
                dst,
                base,
                offset,
                ..
            } if self == Self::SignedLoadAsUnsigned => {
                let signed = false;
                Op::Load {
                    bytes,
                    signed,
                    dst,
                    base,
                    offset,
                }
            }
            Op::ByteSwap {
                swap,
                bits: 16,
                dst,
            } if self == Self::SwapOfMore => Op::ByteSwap {
                swap,
                bits: 32,
                dst,
            },
            Op::Atomic {
                bytes,
                op,
                fetch,
                base,
                offset,
                src,
            } => {
                let fetch = fetch && self != Self::FetchForgotten;
                let op = match op {
                    Atomic::Or if self == Self::AtomicOrAsXor => Atomic::Xor,
                    op => op,
                };
                Op::Atomic {
                    bytes,
                    op,
                    fetch,
                    base,
                    offset,
                    src,
                }
            }
            Op::LoadImm { dst, value } if self == Self::ConstantOfHalf => {
                let value = value as i32 as u64;
                Op::LoadImm { dst, value }
            }
            op => op,
        }
    }

    fn arithmetic(self, wide: bool, op: Alu) -> (bool, Alu) {
        match (self, op) {
            (Self::SignedShiftAsUnsigned, Alu::Arsh) => (wide, Alu::Rsh),
            (Self::NarrowShiftAsWide, Alu::Lsh | Alu::Rsh | Alu::Arsh) => (true, op),
            (Self::NarrowSumAsWide, Alu::Add | Alu::Sub | Alu::Mul) => (true, op),
            (Self::SignedQuotientAsUnsigned, Alu::SignedDiv) => (wide, Alu::Div),
            (Self::SignedQuotientAsUnsigned, Alu::SignedMod) => (wide, Alu::Mod),
            _ => (wide, op),
        }
    }

    fn comparison(self, wide: bool, cond: Cond) -> (bool, Cond) {
        match (self, cond) {
            (Self::SignedComparisonAsUnsigned, Cond::SignedGt) => (wide, Cond::Gt),
            (Self::SignedComparisonAsUnsigned, Cond::SignedGe) => (wide, Cond::Ge),
            (Self::SignedComparisonAsUnsigned, Cond::SignedLt) => (wide, Cond::Lt),
            (Self::SignedComparisonAsUnsigned, Cond::SignedLe) => (wide, Cond::Le),
            (Self::NarrowComparisonAsWide, _) => (true, cond),
            (Self::AboveAsNotBelow, Cond::Gt) => (wide, Cond::Ge),
            (Self::AboveAsNotBelow, Cond::SignedGt) => (wide, Cond::SignedGe),
            (Self::BitTestAsDifference, Cond::Set) => (wide, Cond::Ne),
            _ => (wide, cond),
        }
    }
}
