//! Calls of helpers, and the one that needs no call.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{AbiParam, InstBuilder, Value, types};
use cranelift_codegen::isa::CallConv;
use cranelift_module::Module;

use super::lowering::Lowering;
use super::memory::flags;
use crate::calls;
use crate::helpers::Helper;
use crate::planted::{Fault, planted};

impl Lowering<'_, '_> {
    pub(super) fn helper(&mut self, at: usize, number: u32) {
        // The verifier accepts known helpers only.
        let Some(helper) = Helper::by_number(number) else {
            return;
        };
        if let Some(map) = self.verified.array_looked_up(at)
            && let Some((base, stride)) = self.maps.all()[map].array()
        {
            let more = u32::from(planted(Fault::ArrayOneMore));
            let count = self.maps.all()[map].spec().max_entries + more;
            return self.array_lookup(at, base as u64, stride, count);
        }
        match helper {
            Helper::Loop => return self.repeat(at),
            Helper::TailCall => return self.tail_call(at),
            _ => {}
        }
        let Some(function) = calls::function(helper) else {
            return;
        };
        let bytes = helper.size_register().map(|register| self.get(register));
        if !planted(Fault::HelperCostsNothing) {
            self.charge(self.verified.cost_helper(at), bytes);
        }
        let mut signature = self.module.make_signature();
        signature.call_conv = CallConv::SystemV;
        signature.params = vec![AbiParam::new(types::I64); 5];
        signature.returns = vec![AbiParam::new(types::I64)];
        let signature = self.builder.import_signature(signature);
        let address = self.constant(function as usize as u64);
        let arguments: Vec<Value> = (1..=5).map(|register| self.get(register)).collect();
        let call = self
            .builder
            .ins()
            .call_indirect(signature, address, &arguments);
        let result = self.builder.inst_results(call)[0];
        self.set(0, result);
    }

    /// A lookup in an array without a call: the index below the count, or null.
    fn array_lookup(&mut self, at: usize, base: u64, stride: usize, count: u32) {
        let index = match self.slot_at(at) {
            Some(slot) => self.builder.use_var(slot),
            None => {
                self.keep(at);
                let key = self.get(2);
                self.builder.ins().load(types::I32, flags(), key, 0)
            }
        };
        let wide = self.builder.ins().uextend(types::I64, index);
        let stride = self.constant(stride as u64);
        let offset = self.builder.ins().imul(wide, stride);
        let base = self.constant(base);
        let mut result = self.builder.ins().iadd(base, offset);
        if self.verified.may_miss(at) {
            let below = IntCC::UnsignedLessThan;
            let inside = self
                .builder
                .ins()
                .icmp_imm_u(below, index, i64::from(count));
            let null = self.constant(0);
            result = self.builder.ins().select(inside, result, null);
        }
        self.set(0, result);
    }
}
