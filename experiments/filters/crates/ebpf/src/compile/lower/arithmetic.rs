//! Arithmetic, as the instruction set has it where the machine has it otherwise.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value};

use super::lowering::Lowering;
use crate::insn::{Alu, Source};
use crate::planted::{Fault, planted};

impl Lowering<'_, '_> {
    pub(super) fn alu(&mut self, op: Alu, a: Value, b: Value, source: Source) -> Value {
        let ins = self.builder.ins();
        match op {
            Alu::Add => ins.iadd(a, b),
            Alu::Sub => ins.isub(a, b),
            Alu::Mul => ins.imul(a, b),
            Alu::Or => ins.bor(a, b),
            Alu::And => ins.band(a, b),
            Alu::Xor => ins.bxor(a, b),
            // No operation of two operands: the caller has no use for the first.
            Alu::Mov => b,
            Alu::Neg => ins.ineg(a),
            // Both machines count the amount modulo the width.
            Alu::Lsh => ins.ishl(a, b),
            Alu::Rsh => ins.ushr(a, b),
            Alu::Arsh => ins.sshr(a, b),
            Alu::Div | Alu::Mod | Alu::SignedDiv | Alu::SignedMod => self.divide(op, a, b, source),
        }
    }

    /// Division that never traps: by zero as the instruction set has it, and the one signed quotient
    /// that does not fit wraps.
    fn divide(&mut self, op: Alu, a: Value, b: Value, source: Source) -> Value {
        let kind = self.builder.func.dfg.value_type(a);
        let zero = self.builder.ins().iconst(kind, 0);
        let one = self.builder.ins().iconst(kind, 1);
        let signed = matches!(op, Alu::SignedDiv | Alu::SignedMod);
        if !signed && matches!(source, Source::Imm(_)) {
            // Never the constant 0.
            return match op {
                Alu::Div => self.builder.ins().udiv(a, b),
                _ => self.builder.ins().urem(a, b),
            };
        }
        let by_zero = self.builder.ins().icmp(IntCC::Equal, b, zero);
        let mut divisor = self.builder.ins().select(by_zero, one, b);
        if !signed {
            let result = match op {
                Alu::Div => self.builder.ins().udiv(a, divisor),
                _ => self.builder.ins().urem(a, divisor),
            };
            let quotient = op == Alu::Div || planted(Fault::QuotientByZero);
            let instead = if quotient { zero } else { a };
            return self.builder.ins().select(by_zero, instead, result);
        }
        // By -1: the negated dividend, and no remainder.
        let by_minus_one = self.builder.ins().icmp_imm_s(IntCC::Equal, b, -1);
        divisor = self.builder.ins().select(by_minus_one, one, divisor);
        let (result, negated, instead) = match op {
            Alu::SignedDiv => {
                let result = self.builder.ins().sdiv(a, divisor);
                (result, self.builder.ins().ineg(a), zero)
            }
            _ => (self.builder.ins().srem(a, divisor), zero, a),
        };
        let result = self.builder.ins().select(by_minus_one, negated, result);
        self.builder.ins().select(by_zero, instead, result)
    }
}
