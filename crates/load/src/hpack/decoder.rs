//! Header blocks, decoded field by field (RFC 7541, section 6).

use super::table::{Table, is_dynamic};
use super::{Fault, huffman, integer};

/// The table size that every connection starts with, and that we leave at that (RFC 9113,
/// section 6.5.2).
const TABLE: usize = 4096;

/// Most bytes of the fields of one block, each counted with 32 more as RFC 9113 does in
/// section 10.5.1: a block of small references could otherwise make many megabytes.
const LIST: usize = 64 * 1024;

/// The decoder of one direction of one connection.
#[derive(Debug)]
pub struct Decoder {
    table: Table,
}

/// A block's use of the dynamic table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effect {
    /// True if it used entries of the table, so that its meaning can change.
    pub used: bool,
    /// True if it changed the table.
    pub changed: bool,
    /// Bytes that it inserted, as RFC 7541 counts them in section 4.1.
    pub inserted: usize,
}

impl Effect {
    /// The number of repetitions of a block without references after which the table stops
    /// changing: nothing of its earlier content is left.
    pub fn turns(self) -> usize {
        1 + TABLE / self.inserted.max(32)
    }
}

/// Buffers that strings are decoded into; many decoders can share them.
#[derive(Debug, Default)]
pub struct Scratch {
    name: Vec<u8>,
    value: Vec<u8>,
}

impl Default for Decoder {
    fn default() -> Self {
        Decoder {
            table: Table::new(TABLE),
        }
    }
}

impl Decoder {
    /// Decode a whole `block` and pass each name and value to `seen`.
    ///
    /// # Errors
    /// The [`Fault`], after which nothing more can be decoded.
    pub fn decode(
        &mut self,
        block: &[u8],
        scratch: &mut Scratch,
        mut seen: impl FnMut(&[u8], &[u8]),
    ) -> Result<Effect, Fault> {
        let mut rest = block;
        let mut effect = Effect::default();
        let mut list = 0;
        let mut count = |name: &[u8], value: &[u8]| {
            list += name.len() + value.len() + 32;
            if list > LIST {
                Err(Fault::TooLong)
            } else {
                Ok(())
            }
        };
        let mut fields = false;
        while let Some(first) = rest.first().copied() {
            if first & 0b1110_0000 == 0b0010_0000 {
                let max = usize::try_from(take_integer(&mut rest, 5)?).unwrap_or(usize::MAX);
                if fields || max > TABLE {
                    return Err(Fault::Resize);
                }
                self.table.resize(max);
                effect.changed = true;
                continue;
            }
            fields = true;
            if first & 0b1000_0000 != 0 {
                let index = take_integer(&mut rest, 7)?;
                effect.used |= is_dynamic(index);
                let (name, value) = self.table.get(index)?;
                count(name, value)?;
                seen(name, value);
                continue;
            }
            let insert = first & 0b0100_0000 != 0;
            let index = take_integer(&mut rest, if insert { 6 } else { 4 })?;
            effect.used |= is_dynamic(index);
            scratch.name.clear();
            if index == 0 {
                take_string(&mut rest, &mut scratch.name)?;
            } else {
                scratch.name.extend_from_slice(self.table.get(index)?.0);
            }
            scratch.value.clear();
            take_string(&mut rest, &mut scratch.value)?;
            count(&scratch.name, &scratch.value)?;
            if insert {
                effect.changed = true;
                effect.inserted += self.table.insert(&scratch.name, &scratch.value);
            }
            seen(&scratch.name, &scratch.value);
        }
        Ok(effect)
    }

    /// A number that changes with the dynamic table: a block that was decoded without a change
    /// means the same as long as the number stays.
    pub fn version(&self) -> u64 {
        self.table.version()
    }
}

fn take_integer(rest: &mut &[u8], prefix: u32) -> Result<u64, Fault> {
    let (value, length) = integer::read(rest, prefix)?;
    *rest = &rest[length..];
    Ok(value)
}

/// Append the string literal that `rest` starts with (RFC 7541, section 5.2).
fn take_string(rest: &mut &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
    let coded = rest.first().is_some_and(|first| first & 0x80 != 0);
    let length = take_integer(rest, 7)?;
    let length = usize::try_from(length).map_err(|_| Fault::Cut)?;
    let (string, after) = rest.split_at_checked(length).ok_or(Fault::Cut)?;
    *rest = after;
    if coded {
        huffman::decode(string, out)
    } else {
        out.extend_from_slice(string);
        Ok(())
    }
}
