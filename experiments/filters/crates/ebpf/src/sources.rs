//! The places that instructions come from: file, line and function, of an object's section .BTF.ext.
//!
//! Source: the kernel's Documentation/bpf/btf.rst.

use crate::btf::{Btf, BtfError, word};
use crate::insn::SLOT;

/// The lines and functions of a program's slots.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// The first slot of each line, with the line's file and number; ascending.
    lines: Vec<(usize, String, u32)>,
    /// The first slot of each function, with its name; ascending.
    functions: Vec<(usize, String)>,
}

impl Sources {
    /// Read the section. `placed` says at which slot a section of instructions begins in the program.
    pub fn parse(
        btf: &Btf<'_>,
        section: &[u8],
        placed: impl Fn(&str) -> Option<usize>,
    ) -> Result<Self, BtfError> {
        let header = word(section, 1)? as usize;
        let part = |index: usize| {
            let start = header.checked_add(word(section, index)? as usize);
            let length = word(section, index + 1)? as usize;
            let end = start.and_then(|start| start.checked_add(length));
            start
                .zip(end)
                .and_then(|(start, end)| section.get(start..end))
                .ok_or(BtfError("is cut off"))
        };
        let mut sources = Self::default();
        records(btf, part(2)?, |name, record| {
            if let Some(base) = placed(name) {
                let slot = base + word(record, 0)? as usize / SLOT;
                sources
                    .functions
                    .push((slot, btf.function(word(record, 1)?)?));
            }
            Ok(())
        })?;
        records(btf, part(4)?, |name, record| {
            if let Some(base) = placed(name) {
                let slot = base + word(record, 0)? as usize / SLOT;
                let path = btf.name(word(record, 1)?)?;
                let file = path.rsplit('/').next().unwrap_or_default().to_owned();
                // Below the number is the column.
                sources.lines.push((slot, file, word(record, 3)? >> 10));
            }
            Ok(())
        })?;
        sources.functions.sort_by_key(|(slot, _)| *slot);
        sources.lines.sort_by_key(|(slot, ..)| *slot);
        Ok(sources)
    }

    /// Return file, line and function of a slot, if they are known.
    pub fn of(&self, slot: usize) -> Option<String> {
        let index = self.lines.partition_point(|(first, ..)| *first <= slot);
        let (_, file, line) = self.lines.get(index.checked_sub(1)?)?;
        let index = self.functions.partition_point(|(first, _)| *first <= slot);
        let function = index
            .checked_sub(1)
            .and_then(|index| self.functions.get(index));
        let function = function.map(|(_, name)| format!(", in {name}"));
        Some(format!("{file}:{line}{}", function.unwrap_or_default()))
    }
}

/// Call `each` with every record and the name of the section that it is about.
fn records<'a>(
    btf: &Btf<'_>,
    part: &'a [u8],
    mut each: impl FnMut(&str, &'a [u8]) -> Result<(), BtfError>,
) -> Result<(), BtfError> {
    let cut = BtfError("is cut off");
    let size = match word(part, 0)? as usize {
        size @ 8..=4096 => size,
        _ => return Err(BtfError("has records of an unknown size")),
    };
    let mut rest = &part[4..];
    while !rest.is_empty() {
        let (name, count) = (btf.name(word(rest, 0)?)?, word(rest, 1)? as usize);
        let length = count.checked_mul(size).ok_or(cut.clone())?;
        let (own, others) = rest[8..].split_at_checked(length).ok_or(cut.clone())?;
        for record in own.chunks_exact(size) {
            each(&name, record)?;
        }
        rest = others;
    }
    Ok(())
}
