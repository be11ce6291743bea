//! Loads, stores and atomics: that they stay in their region, and what they find there.

use super::rejection::{Rejection, reject};
use super::scalar::Scalar;
use super::state::{FRAME, Slot, State, numbers};
use super::tnum::Tnum;
use super::value::{Pointer, Region, Value};
use super::walk::Walk;
use crate::context::FieldKind;
use crate::insn::{Atomic, Reg, Source};
use crate::planted::{Fault, planted};
use crate::program::MapKind;

/// Any number of so many bytes.
fn any(bytes: u8) -> Scalar {
    match bytes {
        8 => Scalar::UNKNOWN,
        _ => Scalar::range(0, (1 << (bytes * 8)) - 1),
    }
}

impl Walk<'_> {
    /// The address in a register, which is not null.
    pub(super) fn address(
        &self,
        at: usize,
        state: &State,
        base: Reg,
    ) -> Result<Pointer, Rejection> {
        match state.get(base) {
            Value::Pointer(pointer) if pointer.nullable => Err(reject(
                at,
                &format!("r{base} may be null; compare it with 0 first"),
            )),
            Value::Pointer(pointer) => Ok(pointer),
            Value::Unusable => Err(super::arithmetic::unusable(at, base)),
            _ => Err(reject(at, &format!("r{base} holds no address"))),
        }
    }

    pub(super) fn load(
        &self,
        at: usize,
        state: &mut State,
        base: Reg,
        offset: i16,
        bytes: u8,
    ) -> Result<Value, Rejection> {
        let pointer = self.address(at, state, base)?;
        let offset = i64::from(offset);
        match pointer.region {
            Region::Context => self.context_field(at, state, &pointer, offset, bytes),
            Region::WindowEnd(_) => Err(reject(at, "reads at the end of a window")),
            Region::Inner(_) => Err(reject(at, "reads a map itself; look something up in it")),
            _ if !state.covers(&pointer, offset, bytes.into()) => Err(outside(at, &pointer)),
            Region::Stack(depth) => stack_load(at, state, depth, &pointer, offset, bytes),
            Region::MapValue(_) | Region::Reserved(_) | Region::Window(_) => {
                Ok(Value::scalar(any(bytes)))
            }
        }
    }

    fn context_field(
        &self,
        at: usize,
        state: &mut State,
        pointer: &Pointer,
        offset: i64,
        bytes: u8,
    ) -> Result<Value, Rejection> {
        let place = pointer.at().map(|at| at + offset);
        let field = self
            .layout
            .fields
            .iter()
            .find(|field| Some(i64::from(field.offset)) == place && field.bytes == bytes);
        let field = field.ok_or_else(|| {
            reject(
                at,
                &format!("reads {bytes} bytes of the context where it has no field of that size"),
            )
        })?;
        let region = match field.kind {
            FieldKind::Number => return Ok(Value::scalar(any(bytes))),
            FieldKind::Start(n) => Region::Window(n),
            FieldKind::End(n) => Region::WindowEnd(n),
        };
        let mut window = Pointer::new(region, 0, 0);
        window.link = Self::fresh(at, state);
        Ok(Value::Pointer(window))
    }

    pub(super) fn store(
        &self,
        at: usize,
        state: &mut State,
        base: Reg,
        offset: i16,
        bytes: u8,
        source: Source,
    ) -> Result<(), Rejection> {
        let pointer = self.address(at, state, base)?;
        let value = self.operand(at, state, source)?;
        let offset = i64::from(offset);
        self.writable(at, &pointer, offset, bytes)?;
        let Region::Stack(depth) = pointer.region else {
            return match value {
                Value::Scalar(..) => Ok(()),
                _ => Err(reject(at, "writes an address where others can read it")),
            };
        };
        if let Some(place) = pointer.at().map(|at| (at + offset) as usize)
            && bytes == 8
            && place.is_multiple_of(8)
            && !matches!(value, Value::Map(_) | Value::Function(_))
        {
            let value = self.shared(at, state, source, value);
            state.frames[depth].slots[place / 8] = Slot::Whole(value);
            return Ok(());
        }
        let Value::Scalar(..) = value else {
            return Err(reject(
                at,
                "writes an address to the stack in another way than as 8 aligned bytes at a known place",
            ));
        };
        let bits = match value {
            Value::Scalar(scalar, _) => scalar.bits,
            _ => Tnum::UNKNOWN,
        };
        stack_write(at, state, depth, &pointer, (offset, bytes), bits)
    }

    /// Check that the bytes are in memory that programs may write.
    fn writable(
        &self,
        at: usize,
        pointer: &Pointer,
        offset: i64,
        bytes: u8,
    ) -> Result<(), Rejection> {
        match pointer.region {
            Region::Context => Err(reject(at, "writes the context, which is read-only")),
            Region::Window(_) | Region::WindowEnd(_) => {
                Err(reject(at, "writes a window, which is read-only"))
            }
            Region::Inner(_) => Err(reject(at, "writes a map itself; use a helper")),
            Region::MapValue(map) if self.program.maps()[map].read_only => Err(reject(
                at,
                &format!(
                    "writes {}, which is read-only",
                    self.program.maps()[map].name
                ),
            )),
            _ if !pointer.covers(offset, i64::from(bytes)) => Err(outside(at, pointer)),
            _ => Ok(()),
        }
    }

    pub(super) fn atomic(
        &self,
        at: usize,
        state: &mut State,
        (op, fetch): (Atomic, bool),
        (base, offset, bytes): (Reg, i16, u8),
        src: Reg,
    ) -> Result<(), Rejection> {
        self.number(at, state, src)?;
        if op == Atomic::CompareExchange {
            self.number(at, state, 0)?;
        }
        let pointer = self.address(at, state, base)?;
        let offset = i64::from(offset);
        self.writable(at, &pointer, offset, bytes)?;
        let place = pointer.offset.add(Tnum::constant(offset as u64));
        if !place.is_multiple_of(u64::from(bytes)) {
            return Err(reject(
                at,
                &format!("is atomic at an address that may not be a multiple of {bytes}"),
            ));
        }
        if let Region::Stack(depth) = pointer.region {
            if !matches!(
                stack_load(at, state, depth, &pointer, offset, bytes)?,
                Value::Scalar(..)
            ) {
                return Err(reject(at, "changes an address"));
            }
            stack_write(at, state, depth, &pointer, (offset, bytes), Tnum::UNKNOWN)?;
        }
        if fetch {
            let result = if op == Atomic::CompareExchange {
                0
            } else {
                src
            };
            state.set(result, Value::scalar(any(bytes)));
        }
        Ok(())
    }

    /// The address of a byte in a data section.
    pub(super) fn map_value(&self, at: usize, map: usize, offset: u32) -> Result<Value, Rejection> {
        let spec = &self.program.maps()[map];
        if spec.kind != MapKind::Array || offset > spec.value_size {
            return Err(reject(
                at,
                &format!("{} has no value at byte {offset}", spec.name),
            ));
        }
        let (offset, size) = (i64::from(offset), i64::from(spec.value_size));
        Ok(Value::Pointer(Pointer::new(
            Region::MapValue(map),
            offset,
            size,
        )))
    }

    /// The greatest key of 4 bytes that a register may point at.
    pub(super) fn greatest_key(&self, state: &State, register: Reg) -> u64 {
        let key = match state.get(register) {
            Value::Pointer(pointer) => match pointer.region {
                Region::Stack(depth) => stack_number(state, depth, &pointer, 0, 4),
                _ => any(4),
            },
            _ => any(4),
        };
        if planted(Fault::LeastKey) {
            key.umin
        } else {
            key.umax
        }
    }

    /// Check that a helper may read up to `bytes` bytes at the value of a register, all of them
    /// numbers.
    pub(super) fn readable(
        &self,
        at: usize,
        state: &State,
        register: Reg,
        bytes: u64,
    ) -> Result<(), Rejection> {
        let pointer = self.address(at, state, register)?;
        let bytes = bytes as i64;
        match pointer.region {
            Region::Context | Region::WindowEnd(_) | Region::Inner(_) => Err(reject(
                at,
                &format!("r{register} is no memory that a helper may read"),
            )),
            _ if !state.covers(&pointer, 0, bytes) => Err(outside(at, &pointer)),
            Region::Stack(depth) => all_written(at, state, depth, &pointer, 0, bytes),
            Region::MapValue(_) | Region::Reserved(_) | Region::Window(_) => Ok(()),
        }
    }
}

fn outside(at: usize, pointer: &Pointer) -> Rejection {
    let what = match pointer.region {
        Region::Stack(_) => "its stack frame",
        Region::MapValue(_) => "the map's value; compare the index with its size first",
        Region::Reserved(_) => "what was reserved; compare the index with its size first",
        Region::Window(_) => {
            "the window; compare the address after the last byte with the window's end first"
        }
        _ => "its region",
    };
    reject(at, &format!("may reach outside {what}"))
}

/// The bytes of the frame that an access may touch.
fn touched(pointer: &Pointer, offset: i64, bytes: i64) -> std::ops::Range<usize> {
    let first = pointer.from_start + offset;
    let last = FRAME as i64 - pointer.to_end + offset + bytes;
    // `covers` holds: both are within the frame.
    first as usize..last as usize
}

fn all_written(
    at: usize,
    state: &State,
    depth: usize,
    pointer: &Pointer,
    offset: i64,
    bytes: i64,
) -> Result<(), Rejection> {
    let slots = &state.frames[depth].slots;
    for byte in touched(pointer, offset, bytes) {
        if numbers(&slots[byte / 8]).written >> (byte % 8) & 1 == 0 {
            return Err(reject(
                at,
                "reads bytes of the stack that were not written on every path, or are part of an address",
            ));
        }
    }
    Ok(())
}

fn stack_load(
    at: usize,
    state: &mut State,
    depth: usize,
    pointer: &Pointer,
    offset: i64,
    bytes: u8,
) -> Result<Value, Rejection> {
    if let Some(place) = pointer.at().map(|at| (at + offset) as usize)
        && bytes == 8
        && place.is_multiple_of(8)
        && let Slot::Whole(mut value) = state.frames[depth].slots[place / 8]
    {
        if value.link().id == 0 {
            value.set_link(Walk::fresh(at, state));
            state.frames[depth].slots[place / 8] = Slot::Whole(value);
        }
        return Ok(value);
    }
    all_written(at, state, depth, pointer, offset, i64::from(bytes))?;
    let number = stack_number(state, depth, pointer, offset, bytes);
    Ok(Value::scalar(number))
}

/// The number on the stack, as far as its place and its bits are known.
fn stack_number(state: &State, depth: usize, pointer: &Pointer, offset: i64, bytes: u8) -> Scalar {
    let Some(first) = pointer.at() else {
        return any(bytes);
    };
    let first = (first + offset) as usize;
    let (mut value, mut mask) = ([0; 8], [0; 8]);
    for index in 0..usize::from(bytes) {
        let place = first + index;
        let slot = numbers(&state.frames[depth].slots[place / 8]);
        (value[index], mask[index]) = slot.known(place % 8);
    }
    let bits = Tnum {
        value: u64::from_le_bytes(value),
        mask: u64::from_le_bytes(mask),
    };
    let all = ((0, u64::MAX), (i64::MIN, i64::MAX));
    Scalar::new(bits, all.0, all.1).unwrap_or(any(bytes))
}

/// Write a number somewhere in the frame.
fn stack_write(
    at: usize,
    state: &mut State,
    depth: usize,
    pointer: &Pointer,
    (offset, bytes): (i64, u8),
    bits: Tnum,
) -> Result<(), Rejection> {
    let known = pointer.at().is_some();
    let (value, unknown) = (bits.value.to_le_bytes(), bits.mask.to_le_bytes());
    for (index, byte) in touched(pointer, offset, i64::from(bytes)).enumerate() {
        let slot = &mut state.frames[depth].slots[byte / 8];
        if !known && matches!(slot, Slot::Whole(Value::Pointer(_))) {
            return Err(reject(at, "may write over an address on the stack"));
        }
        let mut bytes = numbers(slot);
        if known {
            bytes.write(byte % 8, value[index], unknown[index]);
        } else {
            bytes.forget(byte % 8);
        }
        *slot = Slot::Bytes(bytes);
    }
    Ok(())
}
