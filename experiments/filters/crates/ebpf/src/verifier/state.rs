//! The abstract state at one point of the program: registers and the stack frames of all active
//! calls.

use std::collections::BTreeSet;

use super::bytes::Bytes;
use super::value::{Link, Region, Value};
use crate::insn::Reg;

/// Bytes of a stack frame.
pub const FRAME: usize = 512;
const SLOTS: usize = FRAME / 8;

/// Eight bytes of a stack frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Slot {
    /// Numbers byte by byte.
    Bytes(Bytes),
    /// A value stored in one piece.
    Whole(Value),
}

/// The frame of one call.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// Its memory, lowest address first.
    pub slots: [Slot; SLOTS],
    /// The caller's r6…r9.
    pub saved: [Value; 4],
}

impl Frame {
    /// A frame in which nothing was written.
    pub fn new(saved: [Value; 4]) -> Self {
        Self {
            slots: [Slot::Bytes(Bytes::NONE); SLOTS],
            saved,
        }
    }
}

/// Registers r0…r9 and the frames, the running function's last.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    registers: [Value; 10],
    /// One for each call under way.
    pub frames: Vec<Frame>,
    /// The bytes that each window is known to have at least.
    pub sizes: Vec<i64>,
    /// The slots whose helper has reserved memory, unless addresses of it may be null, and are.
    pub reserved: BTreeSet<usize>,
}

impl State {
    /// A first call, with nothing in its registers.
    pub fn new(windows: usize) -> Self {
        Self {
            sizes: vec![0; windows],
            reserved: BTreeSet::new(),
            registers: [Value::Unusable; 10],
            frames: vec![Frame::new([Value::Unusable; 4])],
        }
    }

    /// Return the abstract value of a register.
    pub fn get(&self, register: Reg) -> Value {
        match self.registers.get(usize::from(register)) {
            Some(value) => *value,
            None => {
                use super::value::Pointer;
                let region = Region::Stack(self.frames.len() - 1);
                Value::Pointer(Pointer::new(region, FRAME as i64, FRAME as i64))
            }
        }
    }

    /// Put a value into a register, r0…r9.
    pub fn set(&mut self, register: Reg, value: Value) {
        self.registers[usize::from(register)] = value;
    }

    /// The values of the running function in one piece.
    pub fn values(&self) -> impl Iterator<Item = &Value> {
        let slots = self
            .frames
            .last()
            .into_iter()
            .flat_map(|frame| &frame.slots);
        let slots = slots.filter_map(|slot| match slot {
            Slot::Whole(value) => Some(value),
            Slot::Bytes(_) => None,
        });
        self.registers.iter().chain(slots)
    }

    /// Every place that holds a value in one piece.
    pub fn places(&mut self) -> impl Iterator<Item = &mut Value> {
        let frames = self.frames.iter_mut().flat_map(|frame| {
            let slots = frame.slots.iter_mut().filter_map(|slot| match slot {
                Slot::Whole(value) => Some(value),
                Slot::Bytes(_) => None,
            });
            slots.chain(frame.saved.iter_mut())
        });
        self.registers.iter_mut().chain(frames)
    }

    /// Make `id` a number that no value has. Values that had it are no longer linked.
    pub fn free_link(&mut self, id: u32) {
        for link in self.places().flat_map(Value::links) {
            if link.id == id {
                *link = Link::default();
            }
        }
    }

    /// Return a state that covers both, widened where bounds grew if `thresholds` are given. Both
    /// must have been made at the same point of the same call.
    pub fn join(&self, other: &Self, thresholds: Option<&[i64]>) -> Self {
        let mut links = Links::default();
        let mut merge = |a: &Value, b: &Value| {
            let mut joined = a.join(b);
            if let Some(thresholds) = thresholds {
                joined = a.widen(&joined, thresholds);
            }
            if self.is_null_alone(other, a, b) {
                joined = Value::Unusable;
            }
            joined.set_link(links.joined(a.link(), b.link()));
            match (a, b, &mut joined) {
                (Value::Pointer(a), Value::Pointer(b), Value::Pointer(joined)) => {
                    joined.index = links.joined(a.index, b.index);
                }
                (Value::Scalar(a, _), Value::Scalar(b, _), Value::Scalar(joined, _)) => {
                    joined.room = self.joined_room(*a, other, *b, thresholds.is_some());
                }
                _ => {}
            }
            joined
        };
        let registers = std::array::from_fn(|n| merge(&self.registers[n], &other.registers[n]));
        let frames = self.frames.iter().zip(&other.frames).map(|(a, b)| Frame {
            slots: std::array::from_fn(|n| match (&a.slots[n], &b.slots[n]) {
                (Slot::Whole(a), Slot::Whole(b)) => match merge(a, b) {
                    Value::Unusable => Slot::Bytes(Bytes::NONE),
                    value => Slot::Whole(value),
                },
                (a, b) => Slot::Bytes(numbers(a).join(numbers(b), thresholds.is_some())),
            }),
            saved: std::array::from_fn(|n| merge(&a.saved[n], &b.saved[n])),
        });
        let frames = frames.collect();
        let sizes = self.sizes.iter().zip(&other.sizes);
        let sizes = sizes.map(|(a, b)| *a.min(b)).collect();
        let mut joined = Self {
            registers,
            frames,
            sizes,
            reserved: &self.reserved | &other.reserved,
        };
        joined.normalise();
        joined
    }

    /// Make every address in a region unusable: its memory is gone.
    pub fn forget(&mut self, region: Region) {
        for place in self.places() {
            if place.region() == Some(region) {
                *place = Value::Unusable;
            }
        }
        for slot in self.frames.iter_mut().flat_map(|frame| &mut frame.slots) {
            if *slot == Slot::Whole(Value::Unusable) {
                *slot = Slot::Bytes(Bytes::NONE);
            }
        }
    }

    /// Numbers all links by where they first occur, so that equal states compare as equal.
    pub fn normalise(&mut self) {
        let mut seen: Vec<Link> = Vec::new();
        for place in self.places().flat_map(Value::links) {
            let link = *place;
            if link.id == 0 {
                *place = Link::default();
                continue;
            }
            let index = seen.iter().position(|first| first.id == link.id);
            let index = index.unwrap_or_else(|| {
                seen.push(link);
                seen.len() - 1
            });
            *place = Link {
                id: index as u32 + 1,
                delta: link.delta - seen[index].delta,
            };
        }
    }
}

/// The bytes of a slot as numbers.
pub fn numbers(slot: &Slot) -> Bytes {
    match slot {
        Slot::Bytes(bytes) => *bytes,
        Slot::Whole(Value::Scalar(scalar, _)) => Bytes::number(scalar.bits),
        Slot::Whole(_) => Bytes::NONE,
    }
}

/// Links of a joined state: values stay tied if they were in both states, at the same distance.
#[derive(Default)]
struct Links(Vec<(Link, Link)>);

impl Links {
    fn joined(&mut self, a: Link, b: Link) -> Link {
        if a.id == 0 || b.id == 0 {
            return Link::default();
        }
        let same = |(first_a, first_b): &(Link, Link)| {
            let distance = a.delta - first_a.delta;
            first_a.id == a.id && first_b.id == b.id && distance == b.delta - first_b.delta
        };
        let index = self.0.iter().position(same).unwrap_or_else(|| {
            self.0.push((a, b));
            self.0.len() - 1
        });
        Link {
            id: index as u32 + 1,
            delta: a.delta - self.0[index].0.delta,
        }
    }
}
