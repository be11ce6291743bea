//! A function that `bpf_loop` calls again and again: a loop in place, each turn of which costs fuel.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, types};

use super::lowering::Lowering;
use crate::fuel;
use crate::helpers::MAX_TURNS;
use crate::maps::MapError;
use crate::planted::{Fault, planted};

impl Lowering<'_, '_> {
    pub(super) fn repeat(&mut self, at: usize) {
        // The verifier accepts one known function only.
        let Some(function) = self.verified.callback(at) else {
            return;
        };
        self.charge(self.verified.cost_helper(at), None);
        let [count, context, flags] = [1, 3, 4].map(|register| self.get(register));
        let count = if planted(Fault::TurnsCountWide) {
            count
        } else {
            let half = self.builder.ins().ireduce(types::I32, count);
            self.builder.ins().uextend(types::I64, half)
        };
        let [check, head, turn, after, done] = [(); 5].map(|()| self.builder.create_block());
        self.builder.append_block_param(head, types::I64);
        self.builder.append_block_param(done, types::I64);
        let error = |error: MapError| -(error as i64) as u64;

        let too_big = self.constant(error(MapError::TooBig));
        let limit = self.constant(MAX_TURNS);
        let many = IntCC::UnsignedGreaterThan;
        let beyond = self.builder.ins().icmp(many, count, limit);
        let many = [too_big.into()];
        self.builder.ins().brif(beyond, done, &many, check, &[]);

        self.builder.switch_to_block(check);
        let invalid = self.constant(error(MapError::Invalid));
        let zero = self.constant(0);
        let (wrong, first) = ([invalid.into()], [zero.into()]);
        self.builder.ins().brif(flags, done, &wrong, head, &first);

        self.builder.switch_to_block(head);
        let index = self.builder.block_params(head)[0];
        let more = self
            .builder
            .ins()
            .icmp(IntCC::UnsignedLessThan, index, count);
        let all = [index.into()];
        self.builder.ins().brif(more, turn, &[], done, &all);

        self.builder.switch_to_block(turn);
        if !planted(Fault::TurnCostsNothing) {
            self.charge(self.verified.cost_function(function) + fuel::TURN, None);
        }
        let zero = self.constant(0);
        let stopped = self.call(function, [index, context, zero, zero, zero]);
        self.builder.ins().jump(after, &[]);

        self.builder.switch_to_block(after);
        let step = if planted(Fault::EverySecondTurn) {
            2
        } else {
            1
        };
        let next = self.builder.ins().iadd_imm_s(index, step);
        let next = [next.into()];
        let stops = if planted(Fault::TurnsDoNotStop) {
            head
        } else {
            done
        };
        self.builder.ins().brif(stopped, stops, &next, head, &next);

        self.builder.switch_to_block(done);
        let result = self.builder.block_params(done)[0];
        self.set(0, result);
    }
}
