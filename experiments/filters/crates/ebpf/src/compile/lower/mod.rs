//! One function of a program into Cranelift's intermediate representation.

mod arithmetic;
mod atomic;
mod flow;
mod frame;
mod helper;
mod lowering;
mod memory;
mod repeat;
mod tail_call;

use std::collections::BTreeMap;

use cranelift_codegen::ir::{self, InstBuilder, StackSlotData, StackSlotKind, TrapCode, types};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::JITModule;
use cranelift_module::{FuncId, Module};

use self::lowering::{Lowering, integer};
use crate::insn::{Alu, FRAME_POINTER, Op};
use crate::maps::Maps;
use crate::planted;
use crate::verifier::{FRAME, Verified};

pub use tail_call::begin;

/// A function to lower, and what it takes.
pub struct Unit<'a> {
    pub verified: &'a Verified,
    pub maps: &'a Maps,
    pub ids: &'a [FuncId],
    pub module: &'a mut JITModule,
    pub function: &'a mut ir::Function,
    pub scratch: &'a mut FunctionBuilderContext,
    /// True if its arguments are the context's fields, instead of r1 and what follows.
    pub fields: bool,
    /// The fuel that is left when the entry begins; other functions are passed what is left.
    pub fuel: u32,
    /// True if runs go on with other programs, and count how often.
    pub goes_on: bool,
}

/// Lower a function, by its number.
pub fn function(unit: Unit<'_>, number: usize) {
    let mut builder = FunctionBuilder::new(unit.function, unit.scratch);
    let registers = std::array::from_fn(|_| builder.declare_var(types::I64));
    let fuel = builder.declare_var(types::I64);
    let entry = builder.create_block();
    builder.append_block_params_for_function_params(entry);
    builder.switch_to_block(entry);
    let zero = builder.ins().iconst(types::I64, 0);
    for register in registers {
        builder.def_var(register, zero);
    }
    let parameters = builder.block_params(entry).to_vec();
    // The fuel comes after r1…r5.
    let (first, left) = if number > 0 || unit.goes_on {
        (&parameters[..5], parameters[5])
    } else {
        let left = builder.ins().iconst(types::I64, i64::from(unit.fuel));
        (&parameters[..], left)
    };
    let gone_on = parameters.get(6).copied();
    builder.def_var(fuel, left);
    let fields = if unit.fields {
        first.to_vec()
    } else {
        Vec::new()
    };
    if unit.fields {
        // The context's address, which is not null and nothing else that a program can find out.
        let context = builder.ins().iconst(types::I64, 8);
        builder.def_var(registers[1], context);
    } else {
        for (register, parameter) in registers[1..].iter().zip(first) {
            builder.def_var(*register, *parameter);
        }
    }
    let size = StackSlotData::new(StackSlotKind::ExplicitSlot, FRAME as u32, 4);
    let frame = builder.create_sized_stack_slot(size);
    let pointer = builder.ins().stack_addr(types::I64, frame, FRAME as i32);
    builder.def_var(registers[usize::from(FRAME_POINTER)], pointer);
    let mut slots = BTreeMap::new();
    for (start, bytes) in frame::values(unit.verified, number) {
        let slot = builder.declare_var(integer(bytes));
        let zero = builder.ins().iconst(integer(bytes), 0);
        builder.def_var(slot, zero);
        slots.insert(start, slot);
    }
    let exhausted = builder.create_block();
    let lowering = Lowering {
        verified: unit.verified,
        maps: unit.maps,
        ids: unit.ids,
        module: unit.module,
        builder,
        registers,
        fuel,
        slots,
        fields,
        gone_on,
        blocks: BTreeMap::new(),
        exhausted,
    };
    lowering.body(number);
}

impl Lowering<'_, '_> {
    fn body(mut self, number: usize) {
        let ops = self.verified.program().ops();
        let function = self.verified.program().functions()[number];
        for op in &ops[function.start..function.end] {
            if let Op::Jump { target } | Op::Branch { target, .. } = *op {
                self.block(target);
            }
        }
        let first = self.block(function.start);
        self.builder.ins().jump(first, &[]);
        let mut open = false;
        for (at, &op) in ops
            .iter()
            .enumerate()
            .take(function.end)
            .skip(function.start)
        {
            if let Some(&block) = self.blocks.get(&at) {
                if open {
                    self.builder.ins().jump(block, &[]);
                }
                self.builder.switch_to_block(block);
                open = true;
            }
            if !open || op == Op::SecondHalf {
                continue;
            }
            if !self.verified.reaches(at) {
                // No run comes here.
                self.builder.ins().trap(TrapCode::unwrap_user(1));
                open = false;
                continue;
            }
            open = self.op(at, op);
        }
        self.builder.switch_to_block(self.exhausted);
        let zero = self.builder.ins().iconst(types::I64, 0);
        let fuel = self.builder.use_var(self.fuel);
        self.builder.ins().return_(&[zero, fuel]);
        self.builder.seal_all_blocks();
        let config = self.module.target_config();
        self.builder.finalize(config);
    }

    /// Lower one operation. Return whether the next slot follows it.
    fn op(&mut self, at: usize, op: Op) -> bool {
        match planted::compiled(op) {
            Op::Alu { wide, op, dst, src } => {
                let b = self.value(src);
                let b = self.sized(wide, b);
                let result = if op == Alu::Mov {
                    b
                } else {
                    let a = self.get(dst);
                    let a = self.sized(wide, a);
                    self.alu(op, a, b, src)
                };
                let result = self.widened(result);
                self.set(dst, result);
            }
            Op::MoveSigned {
                wide,
                bits,
                dst,
                src,
            } => {
                let value = self.get(src);
                let narrow = self.builder.ins().ireduce(integer(bits / 8), value);
                let kind = if wide { types::I64 } else { types::I32 };
                let extended = self.builder.ins().sextend(kind, narrow);
                let extended = self.widened(extended);
                self.set(dst, extended);
            }
            Op::ByteSwap { swap, bits, dst } => {
                let mut value = self.get(dst);
                if bits < 64 {
                    value = self.builder.ins().ireduce(integer(bits / 8), value);
                }
                if swap {
                    value = self.builder.ins().bswap(value);
                }
                let value = self.widened(value);
                self.set(dst, value);
            }
            Op::Load {
                bytes,
                signed,
                dst,
                base,
                offset,
            } => self.load(at, (bytes, signed), dst, (base, offset)),
            Op::Store {
                bytes,
                base,
                offset,
                value,
            } => self.store(at, bytes, (base, offset), value),
            Op::Atomic {
                bytes,
                op,
                fetch,
                base,
                offset,
                src,
            } => self.atomic((op, fetch), (base, offset, bytes), src),
            Op::LoadImm { dst, value } => {
                let value = self.constant(value);
                self.set(dst, value);
            }
            Op::LoadMap { dst, map } => {
                let map = std::ptr::from_ref(&self.maps.all()[map as usize]);
                let map = self.constant(map as u64);
                self.set(dst, map);
            }
            Op::LoadFunction { dst, .. } => {
                // Helpers know which one it is, and nobody else looks at it.
                let handle = self.constant(0);
                self.set(dst, handle);
            }
            Op::LoadMapValue { dst, map, offset } => {
                // The verifier accepts these for arrays only.
                let base = self.maps.all()[map as usize]
                    .array()
                    .map_or(0, |(base, _)| base as u64);
                let address = self.constant(base + u64::from(offset));
                self.set(dst, address);
            }
            Op::SecondHalf => {}
            Op::Jump { target } => {
                let block = self.jump_target(at, target);
                self.builder.ins().jump(block, &[]);
                return false;
            }
            Op::Branch {
                wide,
                cond,
                dst,
                src,
                target,
            } => match self.verified.ways(at) {
                (true, true) => self.branch(at, wide, cond, (dst, src), target),
                (false, _) => {}
                (true, false) => return self.op(at, Op::Jump { target }),
            },
            Op::Helper { number } => self.helper(at, number),
            Op::Call { target } => {
                // Every target of a call begins a function.
                let number = self.verified.program().function_at(target).unwrap_or(0);
                let arguments = [1, 2, 3, 4, 5].map(|register| self.get(register));
                let result = self.call(number, arguments);
                self.set(0, result);
            }
            Op::Exit => {
                let result = self.get(0);
                let fuel = self.builder.use_var(self.fuel);
                self.builder.ins().return_(&[result, fuel]);
                return false;
            }
        }
        true
    }
}
