//! The way through the program to a fixed point.

use std::collections::{BTreeMap, BTreeSet};

use super::facts::Facts;
use super::rejection::{MAX_FRAMES, MAX_STEPS, Rejection, reject};
use super::state::State;
use super::value::{Link, Pointer, Region, Value};
use crate::context::ContextLayout;
use crate::helpers::Helper;
use crate::insn::{Op, Source};
use crate::planted;
use crate::program::Program;

/// Joins of states at the head of a loop before they are widened.
pub(super) const JOINS: usize = 3;
/// Fresh links are numbered by instruction from here on; links in joined states have small numbers.
const FRESH: u32 = 1 << 28;

/// The verification under way.
pub struct Walk<'a> {
    pub(super) program: &'a Program,
    pub(super) layout: &'a ContextLayout,
    pub(super) facts: Facts,
    /// Numbers that bounds of loops are likely to be, ascending.
    pub(super) thresholds: Vec<i64>,
    pub(super) targets: BTreeSet<usize>,
    heads: BTreeSet<usize>,
    steps: usize,
    /// Stack frames in the states that are kept.
    frames: usize,
}

/// The states after a conditional jump: taken, and not. `None` is a way that no run goes.
pub(super) type Ways = (Option<State>, Option<State>);

/// The successors of an instruction, with their states.
pub(super) enum Next {
    Fall(State),
    Jump(usize, State),
    /// Taken, to the slot, and not taken.
    Branch(usize, Box<Ways>),
    Exit(State),
    /// The function returns in the first state, or goes on in the second.
    Ended(Box<State>, State),
    Nowhere,
}

fn joined(known: Option<State>, mut state: State) -> State {
    state.normalise();
    match known {
        Some(known) => known.join(&state, None),
        None => state,
    }
}

impl<'a> Walk<'a> {
    pub(super) fn new(program: &'a Program, layout: &'a ContextLayout) -> Self {
        let ops = program.ops();
        let mut walk = Self {
            program,
            layout,
            facts: Facts::new(ops.len()),
            thresholds: vec![0],
            targets: BTreeSet::new(),
            heads: BTreeSet::new(),
            steps: 0,
            frames: 0,
        };
        for (at, op) in ops.iter().enumerate() {
            match *op {
                Op::Jump { target } | Op::Branch { target, .. } => {
                    walk.targets.insert(target);
                    if target <= at {
                        walk.heads.insert(target);
                    }
                }
                _ => {}
            }
            let number = match *op {
                Op::LoadImm { value, .. } => value as i64,
                Op::Alu {
                    src: Source::Imm(imm),
                    ..
                }
                | Op::Branch {
                    src: Source::Imm(imm),
                    ..
                } => i64::from(imm),
                _ => continue,
            };
            let near = [number.checked_sub(1), Some(number), number.checked_add(1)];
            walk.thresholds.extend(near.into_iter().flatten());
        }
        walk.thresholds
            .extend([i64::from(i32::MAX), i64::from(u32::MAX)]);
        walk.thresholds.sort_unstable();
        walk.thresholds.dedup();
        walk
    }

    /// Verify the entry, and all programs that a run may go on with, with a context in r1.
    pub(super) fn run(&mut self) -> Result<(), Rejection> {
        let mut programs = self.program.continuations();
        programs.insert(0);
        programs
            .into_iter()
            .try_for_each(|number| self.begin(number))
    }

    fn begin(&mut self, number: usize) -> Result<(), Rejection> {
        let mut state = State::new(self.layout.fields.len() / 2);
        let size = i64::from(u16::MAX);
        state.set(1, Value::Pointer(Pointer::new(Region::Context, 0, size)));
        self.function(number, state).map(|_| ())
    }

    /// Verify a function for one state at its start. Return the state in which it returns, if it does.
    pub(super) fn function(
        &mut self,
        number: usize,
        entry: State,
    ) -> Result<Option<State>, Rejection> {
        let start = self.program.functions()[number].start;
        let mut states: BTreeMap<usize, (State, usize)> = BTreeMap::new();
        let mut waiting = BTreeSet::new();
        let mut exit: Option<State> = None;
        let depth = entry.frames.len();
        self.arrive(start, entry, &mut states, &mut waiting)?;
        // The smallest first: a loop settles before what follows it.
        while let Some(first) = waiting.pop_first() {
            let mut at = first;
            let mut state = states[&at].0.clone();
            loop {
                let next = match self.step(at, state)? {
                    Next::Fall(state) => (self.after(at), state),
                    Next::Jump(target, state) => {
                        if target <= at {
                            self.facts.jumps_back(at, &state);
                        }
                        (target, state)
                    }
                    Next::Branch(target, ways) => {
                        let (taken, fallen) = *ways;
                        let seen = &mut self.facts.ways[at];
                        seen.0 |= taken.is_some();
                        seen.1 |= fallen.is_some();
                        if let Some(taken) = taken {
                            if target <= at {
                                self.facts.jumps_back(at, &taken);
                            }
                            self.arrive(target, taken, &mut states, &mut waiting)?;
                        }
                        match fallen {
                            Some(state) => (self.after(at), state),
                            None => break,
                        }
                    }
                    Next::Exit(state) => {
                        exit = Some(joined(exit, state));
                        break;
                    }
                    Next::Ended(ended, state) => {
                        exit = Some(joined(exit, *ended));
                        (self.after(at), state)
                    }
                    Next::Nowhere => break,
                };
                (at, state) = next;
                if self.targets.contains(&at) {
                    self.arrive(at, state, &mut states, &mut waiting)?;
                    break;
                }
            }
        }
        self.frames -= states.len() * depth;
        Ok(exit)
    }

    fn after(&self, at: usize) -> usize {
        match self.program.ops().get(at + 1) {
            Some(Op::SecondHalf) => at + 2,
            _ => at + 1,
        }
    }

    fn arrive(
        &mut self,
        at: usize,
        mut state: State,
        states: &mut BTreeMap<usize, (State, usize)>,
        waiting: &mut BTreeSet<usize>,
    ) -> Result<(), Rejection> {
        state.normalise();
        let Some((known, joins)) = states.get_mut(&at) else {
            self.frames += state.frames.len();
            if self.frames > MAX_FRAMES {
                return Err(reject(
                    at,
                    "the program takes too much memory to verify; make it of fewer branches",
                ));
            }
            states.insert(at, (state, 0));
            waiting.insert(at);
            return Ok(());
        };
        let widen = self.heads.contains(&at) && *joins >= JOINS;
        let joined = known.join(&state, widen.then_some(&self.thresholds[..]));
        if joined != *known {
            *known = joined;
            *joins += 1;
            waiting.insert(at);
        }
        Ok(())
    }

    /// A link number that no value has, for a value made by the instruction `at`.
    pub(super) fn fresh(at: usize, state: &mut State) -> Link {
        Self::numbered(FRESH + 2 * at as u32, state)
    }

    /// Another one, for a value that the instruction uses.
    pub(super) fn fresh_operand(at: usize, state: &mut State) -> Link {
        Self::numbered(FRESH + 2 * at as u32 + 1, state)
    }

    fn numbered(id: u32, state: &mut State) -> Link {
        state.free_link(id);
        Link { id, delta: 0 }
    }

    fn step(&mut self, at: usize, mut state: State) -> Result<Next, Rejection> {
        self.steps += 1;
        self.facts.reached[at] = true;
        if self.steps > MAX_STEPS {
            return Err(reject(
                at,
                "the program takes too many steps to verify; make it simpler",
            ));
        }
        match planted::verified(self.program.ops()[at]) {
            // Both shifts were looked at with the first.
            Op::Alu { .. } if at > 0 && self.extends(at - 1).is_some() => {}
            Op::Alu { wide, op, dst, src } => match self.extends(at) {
                Some(signed) => self.extend(at, &mut state, dst, signed)?,
                None => self.alu(at, &mut state, wide, op, dst, src)?,
            },
            Op::MoveSigned {
                wide,
                bits,
                dst,
                src,
            } => {
                let extended = self.number(at, &state, src)?.sign_extend(bits);
                let value = if wide { extended } else { extended.low32() };
                state.set(dst, Value::scalar(value));
            }
            Op::ByteSwap { swap, bits, dst } => {
                let value = self.swapped(at, &state, swap, bits, dst)?;
                state.set(dst, value);
            }
            Op::Load {
                bytes,
                signed,
                dst,
                base,
                offset,
            } => {
                self.facts.touches(at, &state, base, offset, bytes.into());
                let loaded = self.load(at, &mut state, base, offset, bytes)?;
                let value = match loaded {
                    Value::Scalar(scalar, _) if signed => {
                        Value::scalar(scalar.sign_extend(bytes * 8))
                    }
                    _ if signed => return Err(reject(at, "loads a part of an address")),
                    value => value,
                };
                state.set(dst, value);
            }
            Op::Store {
                bytes,
                base,
                offset,
                value,
            } => {
                self.facts.touches(at, &state, base, offset, bytes.into());
                self.store(at, &mut state, base, offset, bytes, value)?;
            }
            Op::Atomic {
                bytes,
                op,
                fetch,
                base,
                offset,
                src,
            } => {
                self.facts.touches(at, &state, base, offset, bytes.into());
                self.atomic(at, &mut state, (op, fetch), (base, offset, bytes), src)?;
            }
            Op::LoadImm { dst, value } => {
                state.set(dst, Value::scalar(super::scalar::Scalar::constant(value)));
            }
            Op::LoadMap { dst, map } => state.set(dst, Value::Map(map as usize)),
            Op::LoadMapValue { dst, map, offset } => {
                let value = self.map_value(at, map as usize, offset)?;
                state.set(dst, value);
            }
            Op::SecondHalf => return Err(reject(at, "runs into the middle of a 64-bit load")),
            Op::Jump { target } => return Ok(Next::Jump(target, state)),
            Op::Branch {
                wide,
                cond,
                dst,
                src,
                target,
            } => {
                let ways = self.branch(at, state, wide, cond, dst, src)?;
                return Ok(Next::Branch(target, Box::new(ways)));
            }
            Op::LoadFunction { dst, target } => {
                // Every target begins a function.
                let number = self.program.function_at(target).unwrap_or(0);
                state.set(dst, Value::Function(number));
            }
            Op::Helper { number } => match Helper::by_number(number) {
                Some(Helper::Loop) => return Ok(Next::Fall(self.repeat(at, state)?)),
                Some(Helper::TailCall) => return self.tail_call(at, state),
                _ => self.helper(at, &mut state, number)?,
            },
            Op::Call { target } => {
                return Ok(match self.call(at, state, target)? {
                    Some(state) => Next::Fall(state),
                    None => Next::Nowhere,
                });
            }
            Op::Exit => {
                self.exit(at, &state)?;
                return Ok(Next::Exit(state));
            }
        }
        Ok(Next::Fall(state))
    }
}
