//! Jumps, which cost fuel when they go backwards without a proof of an end, and calls of the program's
//! own functions.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value};
use cranelift_module::Module;

use super::lowering::Lowering;
use crate::insn::{Cond, Reg, Source};
use crate::planted::{Fault, planted};

impl Lowering<'_, '_> {
    pub(super) fn branch(
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
        // A block of its own for the way to the target: what only the target needs is computed there.
        let (taken, fallen) = (self.builder.create_block(), self.builder.create_block());
        self.builder.ins().brif(truth, taken, &[], fallen, &[]);
        if self.verified.turns(at).is_some() {
            // A loop goes on more often than it ends: its next turn follows without a jump.
            self.builder.set_cold_block(fallen);
        }
        self.builder.switch_to_block(taken);
        let block = self.jump_target(at, target);
        self.builder.ins().jump(block, &[]);
        self.builder.switch_to_block(fallen);
    }

    /// The block to jump to; backwards only with fuel left, unless the loop is paid for.
    pub(super) fn jump_target(&mut self, at: usize, target: usize) -> Block {
        if target <= at
            && let Some(cost) = self.verified.cost_back(at)
        {
            let cost = if planted(Fault::JumpCostsOne) {
                1
            } else {
                cost
            };
            self.charge(cost, None);
        }
        self.blocks[&target]
    }

    /// Take a constant from the fuel, and `more` if there is any; leave when it is used up.
    pub(super) fn charge(&mut self, cost: u64, more: Option<Value>) {
        let fuel = self.builder.use_var(self.fuel);
        let mut fuel = self.builder.ins().iadd_imm_s(fuel, -(cost as i64));
        if let Some(more) = more {
            fuel = self.builder.ins().isub(fuel, more);
        }
        self.builder.def_var(self.fuel, fuel);
        self.leave_if_exhausted(fuel);
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

    /// Call a function of the program. Return its result.
    pub(super) fn call(&mut self, number: usize, arguments: [Value; 5]) -> Value {
        let callee = self
            .module
            .declare_func_in_func(self.ids[number], self.builder.func);
        let mut arguments = arguments.to_vec();
        arguments.push(self.builder.use_var(self.fuel));
        arguments.extend(self.gone_on);
        let call = self.builder.ins().call(callee, &arguments);
        let results = self.builder.inst_results(call);
        let (result, fuel) = (results[0], results[1]);
        self.builder.def_var(self.fuel, fuel);
        self.leave_if_exhausted(fuel);
        result
    }
}
