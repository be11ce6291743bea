//! Atomic operations on memory.

use cranelift_codegen::ir::{AtomicRmwOp, InstBuilder};

use super::lowering::{Lowering, integer};
use super::memory::flags;
use crate::insn::{Atomic, Reg};

impl Lowering<'_, '_> {
    pub(super) fn atomic(&mut self, (op, fetch): (Atomic, bool), place: (Reg, i16, u8), src: Reg) {
        let (base, offset, bytes) = place;
        let kind = integer(bytes);
        let base = self.get(base);
        let address = self.builder.ins().iadd_imm_s(base, i64::from(offset));
        let operand = self.get(src);
        let operand = self.sized(bytes == 8, operand);
        let aligned = flags().with_aligned();
        let operation = match op {
            Atomic::Add => AtomicRmwOp::Add,
            Atomic::Or => AtomicRmwOp::Or,
            Atomic::And => AtomicRmwOp::And,
            Atomic::Xor => AtomicRmwOp::Xor,
            Atomic::Exchange => AtomicRmwOp::Xchg,
            Atomic::CompareExchange => {
                let expected = self.get(0);
                let expected = self.sized(bytes == 8, expected);
                let before = self
                    .builder
                    .ins()
                    .atomic_cas(aligned, address, expected, operand);
                let before = self.widened(before);
                self.set(0, before);
                return;
            }
        };
        let before = self
            .builder
            .ins()
            .atomic_rmw(kind, aligned, operation, address, operand);
        if fetch {
            let before = self.widened(before);
            self.set(src, before);
        }
    }
}
