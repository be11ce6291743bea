//! Relocations of instructions.

use object::elf::{R_BPF_64_32, R_BPF_64_64};
use object::{
    Object as _, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget, SectionIndex,
    SectionKind, SymbolKind,
};

use super::{ElfError, Linker};
use crate::helpers;
use crate::insn::SLOT;

/// The opcode of calls.
const CALL: u8 = 0x85;
/// The opcode of 64-bit loads, which name maps, functions and bytes of data.
const LOAD: u8 = 0x18;

/// The kind of a 64-bit load that names a function.
const FUNCTION: u8 = 4;

impl Linker<'_> {
    /// Does a section's relocations; calls come back as (slot, section called, slot in it).
    pub(super) fn relocate(
        &mut self,
        index: SectionIndex,
    ) -> Result<Vec<(usize, SectionIndex, i64)>, ElfError> {
        let section = self.elf.section_by_index(index)?;
        let base = self.placed[&index.0];
        let length = section.size() / SLOT as u64;
        let mut calls = Vec::new();
        for (offset, relocation) in section.relocations() {
            let number = offset / SLOT as u64;
            let wrong = |reason| ElfError::Relocation {
                section: section.name().unwrap_or("?").to_owned(),
                at: number,
                reason,
            };
            let RelocationFlags::Elf { r_type } = relocation.flags() else {
                return Err(wrong("has a relocation that is not ELF's"));
            };
            let RelocationTarget::Symbol(symbol) = relocation.target() else {
                return Err(wrong("has a relocation without a symbol"));
            };
            let symbol = self.elf.symbol_by_index(symbol)?;
            if !offset.is_multiple_of(SLOT as u64) || number >= length {
                return Err(wrong("has a relocation between instructions"));
            }
            let at = base + number as usize;
            let slot = self.slots[at];
            let Some(target) = symbol.section_index() else {
                let name = symbol.name()?;
                let (R_BPF_64_32, CALL, Some(helper)) =
                    (r_type, slot.opcode, helpers::by_name(name))
                else {
                    return Err(ElfError::Undefined {
                        section: section.name()?.to_owned(),
                        at: number,
                        name: name.to_owned(),
                    });
                };
                self.slots[at].src = 0;
                self.slots[at].imm = helper as i32;
                continue;
            };
            match r_type {
                R_BPF_64_32 if slot.opcode == CALL && slot.src == 1 => {
                    let from_symbol = symbol.address() as i64 / SLOT as i64;
                    calls.push((at, target, from_symbol + i64::from(slot.imm) + 1));
                }
                R_BPF_64_64
                    if slot.opcode == LOAD
                        && number + 1 < length
                        && self.elf.section_by_index(target)?.kind() == SectionKind::Text =>
                {
                    let bytes = symbol.address() as i64 + i64::from(slot.imm);
                    calls.push((at, target, bytes / SLOT as i64));
                    self.slots[at].src = FUNCTION;
                }
                R_BPF_64_64 if slot.opcode == LOAD && number + 1 < length => {
                    let within = symbol.address().checked_add(u64::from(slot.imm as u32));
                    let is_section = symbol.kind() == SymbolKind::Section;
                    let (map, place) = self.map(target, symbol.name()?, is_section)?;
                    let place = if place { within } else { Some(0) };
                    let place = place
                        .and_then(|place| i32::try_from(place).ok())
                        .ok_or_else(|| wrong("names a byte out of reach"))?;
                    let direct = self.is_data(target)?;
                    self.slots[at].src = if direct { 2 } else { 1 };
                    self.slots[at].imm = map as i32;
                    self.slots[at + 1].imm = place;
                }
                _ => return Err(wrong("has a relocation that does not fit it")),
            }
        }
        Ok(calls)
    }
}
