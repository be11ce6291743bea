//! The state of a lowering, and the smallest steps of it.

use std::collections::BTreeMap;

use cranelift_codegen::ir::{self, Block, InstBuilder, Value, types};
use cranelift_frontend::{FunctionBuilder, Variable};
use cranelift_jit::JITModule;
use cranelift_module::FuncId;

use crate::insn::{Reg, Source};
use crate::maps::Maps;
use crate::verifier::Verified;

/// A function on its way into Cranelift's intermediate representation.
pub struct Lowering<'a, 'f> {
    pub(super) verified: &'a Verified,
    pub(super) maps: &'a Maps,
    pub(super) ids: &'a [FuncId],
    pub(super) module: &'a mut JITModule,
    pub(super) builder: FunctionBuilder<'f>,
    pub(super) registers: [Variable; 11],
    pub(super) fuel: Variable,
    /// Pieces of the frame that are values instead of memory, by their first byte.
    pub(super) slots: BTreeMap<usize, Variable>,
    /// The context's fields of 8 bytes each, if the function got them instead of its address.
    pub(super) fields: Vec<Value>,
    /// The address of the number that counts how often a run went on with another program.
    pub(super) gone_on: Option<Value>,
    pub(super) blocks: BTreeMap<usize, Block>,
    /// The block that a run without fuel ends in.
    pub(super) exhausted: Block,
}

impl Lowering<'_, '_> {
    pub(super) fn block(&mut self, at: usize) -> Block {
        if let Some(&block) = self.blocks.get(&at) {
            return block;
        }
        let block = self.builder.create_block();
        self.blocks.insert(at, block);
        block
    }

    pub(super) fn get(&mut self, register: Reg) -> Value {
        self.builder.use_var(self.registers[usize::from(register)])
    }

    pub(super) fn set(&mut self, register: Reg, value: Value) {
        self.builder
            .def_var(self.registers[usize::from(register)], value);
    }

    pub(super) fn constant(&mut self, value: u64) -> Value {
        self.builder.ins().iconst(types::I64, value as i64)
    }

    pub(super) fn value(&mut self, source: Source) -> Value {
        match source {
            Source::Reg(register) => self.get(register),
            Source::Imm(imm) => self.constant(i64::from(imm) as u64),
        }
    }

    /// The operand in 64 bits, or its lower half in 32.
    pub(super) fn sized(&mut self, wide: bool, value: Value) -> Value {
        if wide {
            value
        } else {
            self.builder.ins().ireduce(types::I32, value)
        }
    }

    pub(super) fn widened(&mut self, value: Value) -> Value {
        if self.builder.func.dfg.value_type(value) == types::I64 {
            value
        } else {
            self.builder.ins().uextend(types::I64, value)
        }
    }
}

/// Return the type of an integer of so many bytes.
pub fn integer(bytes: u8) -> ir::Type {
    match bytes {
        1 => types::I8,
        2 => types::I16,
        4 => types::I32,
        _ => types::I64,
    }
}
