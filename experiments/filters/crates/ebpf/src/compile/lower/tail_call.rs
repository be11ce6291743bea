//! Going on with another program: a call of it, whose result is this function's.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, StackSlotData, StackSlotKind, types};
use cranelift_frontend::FunctionBuilder;
use cranelift_module::Module;

use super::Unit;
use super::lowering::Lowering;
use super::memory::flags;
use crate::helpers::MAX_TAIL_CALLS;
use crate::maps::MapError;

/// Lower what begins a run before its first program: a count of how often it went on with another.
pub fn begin(unit: Unit<'_>) {
    let mut builder = FunctionBuilder::new(unit.function, unit.scratch);
    let entry = builder.create_block();
    builder.append_block_params_for_function_params(entry);
    builder.switch_to_block(entry);
    let context = builder.block_params(entry)[0];
    let size = StackSlotData::new(StackSlotKind::ExplicitSlot, 8, 3);
    let slot = builder.create_sized_stack_slot(size);
    let count = builder.ins().stack_addr(types::I64, slot, 0);
    let zero = builder.ins().iconst(types::I64, 0);
    builder.ins().store(flags(), zero, count, 0);
    let fuel = builder.ins().iconst(types::I64, i64::from(unit.fuel));
    let first = unit.module.declare_func_in_func(unit.ids[0], builder.func);
    let arguments = [context, zero, zero, zero, zero, fuel, count];
    let call = builder.ins().call(first, &arguments);
    let results = builder.inst_results(call).to_vec();
    builder.ins().return_(&results);
    builder.seal_all_blocks();
    let config = unit.module.target_config();
    builder.finalize(config);
}

impl Lowering<'_, '_> {
    pub(super) fn tail_call(&mut self, at: usize) {
        // The verifier accepts one known map only.
        let Some(map) = self.verified.programs_at(at) else {
            return;
        };
        let map = &self.maps.all()[map];
        let Some((base, stride)) = map.array() else {
            return;
        };
        self.charge(self.verified.cost_helper(at), None);
        let failed = self.constant(-(MapError::NoEntry as i64) as u64);
        // Runs count how often they go on if any map names a program.
        let Some(count) = self.gone_on else {
            return self.set(0, failed);
        };
        let (context, index) = (self.get(1), self.get(3));
        let [look, back] = [(); 2].map(|()| self.builder.create_block());
        let index = self.builder.ins().ireduce(types::I32, index);
        let entries = i64::from(map.spec().max_entries);
        let below = IntCC::UnsignedLessThan;
        let inside = self.builder.ins().icmp_imm_u(below, index, entries);
        let gone_on = self.builder.ins().load(types::I64, flags(), count, 0);
        let most = MAX_TAIL_CALLS as i64;
        let may = self.builder.ins().icmp_imm_u(below, gone_on, most);
        let may = self.builder.ins().band(inside, may);
        self.builder.ins().brif(may, look, &[], back, &[]);

        self.builder.switch_to_block(look);
        let index = self.builder.ins().uextend(types::I64, index);
        let stride = self.constant(stride as u64);
        let offset = self.builder.ins().imul(index, stride);
        let base = self.constant(base as u64);
        let value = self.builder.ins().iadd(base, offset);
        // Others may change it meanwhile.
        self.builder.ins().sequence_point();
        let choice = self.builder.ins().load(types::I32, flags(), value, 0);
        for (number, &start) in (1..).zip(&map.spec().choices) {
            let Some(function) = self.verified.program().function_at(start) else {
                continue;
            };
            let [this, other] = [(); 2].map(|()| self.builder.create_block());
            let equal = self.builder.ins().icmp_imm_s(IntCC::Equal, choice, number);
            self.builder.ins().brif(equal, this, &[], other, &[]);
            self.builder.switch_to_block(this);
            let gone_on = self.builder.ins().iadd_imm_s(gone_on, 1);
            self.builder.ins().store(flags(), gone_on, count, 0);
            self.charge(self.verified.cost_function(function), None);
            let zero = self.constant(0);
            let result = self.call(function, [context, zero, zero, zero, zero]);
            let fuel = self.builder.use_var(self.fuel);
            self.builder.ins().return_(&[result, fuel]);
            self.builder.switch_to_block(other);
        }
        self.builder.ins().jump(back, &[]);

        self.builder.switch_to_block(back);
        self.set(0, failed);
    }
}
