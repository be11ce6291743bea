//! One function of a program into Cranelift's intermediate representation.

use std::collections::BTreeMap;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    self, AbiParam, AtomicRmwOp, Block, InstBuilder, MemFlagsData, StackSlotData, StackSlotKind,
    TrapCode, Value, types,
};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext, Variable};
use cranelift_jit::JITModule;
use cranelift_module::{FuncId, Module};

use crate::calls;
use crate::helpers::Helper;
use crate::insn::{Alu, Atomic, Cond, FRAME_POINTER, Op, Reg, Source};
use crate::maps::Maps;
use crate::verifier::{FRAME, MapAt, Verified};

/// A function to lower, and what it takes.
pub struct Unit<'a> {
    pub verified: &'a Verified,
    pub maps: &'a Maps,
    pub number: usize,
    pub ids: &'a [FuncId],
    pub module: &'a mut JITModule,
    pub function: &'a mut ir::Function,
    pub scratch: &'a mut FunctionBuilderContext,
}

struct Lowering<'a, 'f> {
    verified: &'a Verified,
    maps: &'a Maps,
    ids: &'a [FuncId],
    module: &'a mut JITModule,
    builder: FunctionBuilder<'f>,
    registers: [Variable; 11],
    fuel: Variable,
    blocks: BTreeMap<usize, Block>,
    /// Where a run goes that is out of fuel.
    exhausted: Block,
}

/// Memory that the verifier has proved to be there; it may lie at any alignment.
fn flags() -> MemFlagsData {
    MemFlagsData::new().with_notrap()
}

/// Lowers the function.
pub fn function(unit: Unit<'_>) {
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
    // The last parameter is the fuel; those before it are r1 and what follows.
    for (register, parameter) in registers[1..]
        .iter()
        .zip(&parameters[..parameters.len() - 1])
    {
        builder.def_var(*register, *parameter);
    }
    builder.def_var(fuel, parameters[parameters.len() - 1]);
    let size = StackSlotData::new(StackSlotKind::ExplicitSlot, FRAME as u32, 4);
    let frame = builder.create_sized_stack_slot(size);
    let pointer = builder.ins().stack_addr(types::I64, frame, FRAME as i32);
    builder.def_var(registers[usize::from(FRAME_POINTER)], pointer);
    let exhausted = builder.create_block();
    let lowering = Lowering {
        verified: unit.verified,
        maps: unit.maps,
        ids: unit.ids,
        module: unit.module,
        builder,
        registers,
        fuel,
        blocks: BTreeMap::new(),
        exhausted,
    };
    lowering.body(unit.number);
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

    fn block(&mut self, at: usize) -> Block {
        if let Some(&block) = self.blocks.get(&at) {
            return block;
        }
        let block = self.builder.create_block();
        self.blocks.insert(at, block);
        block
    }

    fn get(&mut self, register: Reg) -> Value {
        self.builder.use_var(self.registers[usize::from(register)])
    }

    fn set(&mut self, register: Reg, value: Value) {
        self.builder
            .def_var(self.registers[usize::from(register)], value);
    }

    fn constant(&mut self, value: u64) -> Value {
        self.builder.ins().iconst(types::I64, value as i64)
    }

    fn value(&mut self, source: Source) -> Value {
        match source {
            Source::Reg(register) => self.get(register),
            Source::Imm(imm) => self.constant(i64::from(imm) as u64),
        }
    }

    /// The operand in 64 bits or its lower half in 32.
    fn sized(&mut self, wide: bool, value: Value) -> Value {
        if wide {
            value
        } else {
            self.builder.ins().ireduce(types::I32, value)
        }
    }

    fn widened(&mut self, value: Value) -> Value {
        if self.builder.func.dfg.value_type(value) == types::I64 {
            value
        } else {
            self.builder.ins().uextend(types::I64, value)
        }
    }

    /// One operation; whether the next slot follows it.
    fn op(&mut self, at: usize, op: Op) -> bool {
        match op {
            Op::Alu { wide, op, dst, src } => {
                let a = self.get(dst);
                let a = self.sized(wide, a);
                let b = self.value(src);
                let b = self.sized(wide, b);
                let result = self.alu(op, a, b, src);
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
            } => {
                let base = self.get(base);
                let mut value =
                    self.builder
                        .ins()
                        .load(integer(bytes), flags(), base, i32::from(offset));
                if signed {
                    value = self.builder.ins().sextend(types::I64, value);
                }
                let value = self.widened(value);
                self.set(dst, value);
            }
            Op::Store {
                bytes,
                base,
                offset,
                value,
            } => {
                let base = self.get(base);
                let mut value = self.value(value);
                if bytes < 8 {
                    value = self.builder.ins().ireduce(integer(bytes), value);
                }
                self.builder
                    .ins()
                    .store(flags(), value, base, i32::from(offset));
            }
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
            } => self.branch(at, wide, cond, (dst, src), target),
            Op::Helper { number } => self.helper(at, number),
            Op::Call { target } => self.call(target),
            Op::Exit => {
                let result = self.get(0);
                let fuel = self.builder.use_var(self.fuel);
                self.builder.ins().return_(&[result, fuel]);
                return false;
            }
        }
        true
    }

    fn alu(&mut self, op: Alu, a: Value, b: Value, source: Source) -> Value {
        let ins = self.builder.ins();
        match op {
            Alu::Add => ins.iadd(a, b),
            Alu::Sub => ins.isub(a, b),
            Alu::Mul => ins.imul(a, b),
            Alu::Or => ins.bor(a, b),
            Alu::And => ins.band(a, b),
            Alu::Xor => ins.bxor(a, b),
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
            let instead = if op == Alu::Div { zero } else { a };
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

    fn branch(
        &mut self,
        at: usize,
        wide: bool,
        cond: Cond,
        (dst, src): (Reg, Source),
        target: usize,
    ) {
        let a = self.get(dst);
        let a = self.sized(wide, a);
        let b = self.value(src);
        let b = self.sized(wide, b);
        let code = match cond {
            Cond::Set => None,
            Cond::Eq => Some(IntCC::Equal),
            Cond::Ne => Some(IntCC::NotEqual),
            Cond::Gt => Some(IntCC::UnsignedGreaterThan),
            Cond::Ge => Some(IntCC::UnsignedGreaterThanOrEqual),
            Cond::Lt => Some(IntCC::UnsignedLessThan),
            Cond::Le => Some(IntCC::UnsignedLessThanOrEqual),
            Cond::SignedGt => Some(IntCC::SignedGreaterThan),
            Cond::SignedGe => Some(IntCC::SignedGreaterThanOrEqual),
            Cond::SignedLt => Some(IntCC::SignedLessThan),
            Cond::SignedLe => Some(IntCC::SignedLessThanOrEqual),
        };
        let truth = match code {
            Some(code) => self.builder.ins().icmp(code, a, b),
            None => self.builder.ins().band(a, b),
        };
        let fallen = self.builder.create_block();
        if target > at {
            let taken = self.blocks[&target];
            self.builder.ins().brif(truth, taken, &[], fallen, &[]);
        } else {
            let back = self.builder.create_block();
            self.builder.ins().brif(truth, back, &[], fallen, &[]);
            self.builder.switch_to_block(back);
            let block = self.jump_target(at, target);
            self.builder.ins().jump(block, &[]);
        }
        self.builder.switch_to_block(fallen);
    }

    /// The block to jump to; backwards only with fuel left.
    fn jump_target(&mut self, at: usize, target: usize) -> Block {
        if target <= at {
            let fuel = self.builder.use_var(self.fuel);
            let fuel = self.builder.ins().iadd_imm_s(fuel, -1);
            self.builder.def_var(self.fuel, fuel);
            self.leave_if_exhausted(fuel);
        }
        self.blocks[&target]
    }

    fn leave_if_exhausted(&mut self, fuel: Value) {
        let empty = self
            .builder
            .ins()
            .icmp_imm_s(IntCC::SignedLessThan, fuel, 0);
        let enough = self.builder.create_block();
        self.builder
            .ins()
            .brif(empty, self.exhausted, &[], enough, &[]);
        self.builder.switch_to_block(enough);
    }

    fn atomic(&mut self, (op, fetch): (Atomic, bool), place: (Reg, i16, u8), src: Reg) {
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

    fn helper(&mut self, at: usize, number: u32) {
        // The verifier accepts known helpers only.
        let Some(helper) = Helper::by_number(number) else {
            return;
        };
        if helper == Helper::MapLookup
            && let MapAt::One(map) = self.verified.map_at(at)
            && let Some((base, stride)) = self.maps.all()[map].array()
        {
            let count = self.maps.all()[map].spec().max_entries;
            return self.array_lookup(base as u64, stride, count);
        }
        let mut signature = self.module.make_signature();
        signature.call_conv = CallConv::SystemV;
        signature.params = vec![AbiParam::new(types::I64); 5];
        signature.returns = vec![AbiParam::new(types::I64)];
        let signature = self.builder.import_signature(signature);
        let address = self.constant(calls::function(helper) as usize as u64);
        let arguments: Vec<Value> = (1..=5).map(|register| self.get(register)).collect();
        let call = self
            .builder
            .ins()
            .call_indirect(signature, address, &arguments);
        let result = self.builder.inst_results(call)[0];
        self.set(0, result);
    }

    /// A lookup in an array without a call: the index below the count, or null.
    fn array_lookup(&mut self, base: u64, stride: usize, count: u32) {
        let key = self.get(2);
        let index = self.builder.ins().load(types::I32, flags(), key, 0);
        let inside =
            self.builder
                .ins()
                .icmp_imm_u(IntCC::UnsignedLessThan, index, i64::from(count));
        let index = self.builder.ins().uextend(types::I64, index);
        let stride = self.constant(stride as u64);
        let offset = self.builder.ins().imul(index, stride);
        let base = self.constant(base);
        let address = self.builder.ins().iadd(base, offset);
        let null = self.constant(0);
        let result = self.builder.ins().select(inside, address, null);
        self.set(0, result);
    }

    fn call(&mut self, target: usize) {
        // Every target of a call begins a function.
        let number = self.verified.program().function_at(target).unwrap_or(0);
        let callee = self
            .module
            .declare_func_in_func(self.ids[number], self.builder.func);
        let mut arguments: Vec<Value> = (1..=5).map(|register| self.get(register)).collect();
        arguments.push(self.builder.use_var(self.fuel));
        let call = self.builder.ins().call(callee, &arguments);
        let results = self.builder.inst_results(call);
        let (result, fuel) = (results[0], results[1]);
        self.set(0, result);
        self.builder.def_var(self.fuel, fuel);
        self.leave_if_exhausted(fuel);
    }
}

fn integer(bytes: u8) -> ir::Type {
    match bytes {
        1 => types::I8,
        2 => types::I16,
        4 => types::I32,
        _ => types::I64,
    }
}
