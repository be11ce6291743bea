//! Loads and stores, of memory or of values that stand for it.

use cranelift_codegen::ir::{InstBuilder, MemFlagsData, types};
use cranelift_frontend::Variable;

use super::lowering::{Lowering, integer};
use crate::insn::{Reg, Source};
use crate::verifier::Touched;

/// Memory that the verifier has proved to be there; it may lie at any alignment.
pub(super) fn flags() -> MemFlagsData {
    MemFlagsData::new().with_notrap()
}

impl Lowering<'_, '_> {
    pub(super) fn load(
        &mut self,
        at: usize,
        (bytes, signed): (u8, bool),
        dst: Reg,
        (base, offset): (Reg, i16),
    ) {
        let known = match self.verified.touched(at) {
            Touched::Context(offset) => self.fields.get(offset / 8).copied(),
            _ => self.slot_at(at).map(|slot| self.builder.use_var(slot)),
        };
        let mut value = match known {
            Some(value) => value,
            None => {
                self.keep(at);
                let (kind, base) = (integer(bytes), self.get(base));
                let ins = self.builder.ins();
                ins.load(kind, flags(), base, i32::from(offset))
            }
        };
        if signed {
            value = self.builder.ins().sextend(types::I64, value);
        }
        let value = self.widened(value);
        self.set(dst, value);
    }

    pub(super) fn store(
        &mut self,
        at: usize,
        bytes: u8,
        (base, offset): (Reg, i16),
        value: Source,
    ) {
        let mut value = self.value(value);
        if bytes < 8 {
            value = self.builder.ins().ireduce(integer(bytes), value);
        }
        if let Some(slot) = self.slot_at(at) {
            return self.builder.def_var(slot, value);
        }
        self.keep(at);
        let base = self.get(base);
        let ins = self.builder.ins();
        ins.store(flags(), value, base, i32::from(offset));
    }

    /// The piece of the frame that an instruction touches, if that is a value.
    pub(super) fn slot_at(&self, at: usize) -> Option<Variable> {
        match self.verified.touched(at) {
            Touched::Own { start, .. } => self.slots.get(&start).copied(),
            _ => None,
        }
    }

    /// Keep an access in its place: others read and write the maps between two accesses, and the
    /// compiler must neither merge them nor leave one out.
    pub(super) fn keep(&mut self, at: usize) {
        match self.verified.touched(at) {
            Touched::Own { .. } | Touched::Context(_) => {}
            _ => {
                self.builder.ins().sequence_point();
            }
        }
    }
}
