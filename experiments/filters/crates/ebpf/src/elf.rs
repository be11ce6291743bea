//! An object file of `clang -target bpf`: one of its programs, linked with the functions it calls, the
//! maps it names and its data sections.
//!
//! Source: the kernel's Documentation/bpf/llvm_reloc.rst. `R_BPF_64_64` names a map or a byte of a data
//! section in a 64-bit load; `R_BPF_64_32` names the function of a call. Data sections become arrays
//! of one value, as libbpf has them.

use std::collections::BTreeMap;

use object::elf::{EM_BPF, R_BPF_64_32, R_BPF_64_64, SHT_NOBITS};
use object::read::elf::{ElfFile64, FileHeader, SectionHeader};
use object::{
    LittleEndian, Object as _, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget,
    SectionIndex, SymbolKind,
};
use thiserror::Error;

use crate::btf::{Btf, BtfError, MapFields};
use crate::helpers;
use crate::insn::{Raw, SLOT};
use crate::program::{MapKind, MapSpec, Program, ProgramError};
use crate::sources::Sources;

/// The longest data section, in bytes.
const MAX_DATA: u64 = 1 << 20;
/// The opcode of calls.
const CALL: u8 = 0x85;

/// The reason why an object file contains no program.
#[derive(Clone, Debug, Error)]
pub enum ElfError {
    /// Not an object file that can be read.
    #[error("not a readable object file: {0}; compile with clang -target bpf -c")]
    Malformed(String),
    /// An object file for another machine.
    #[error("the object file is for another machine; compile with clang -target bpf -c")]
    Machine,
    /// No program in a section of this name.
    #[error("there is no program in section {wanted:?}; found {found:?}")]
    NoProgram {
        /// The section asked for.
        wanted: String,
        /// The sections with instructions.
        found: Vec<String>,
    },
    /// More than one program in the section.
    #[error("section {section:?} has several programs, {found:?}; give each a section of its own")]
    Several {
        /// The section asked for.
        section: String,
        /// The programs' names.
        found: Vec<String>,
    },
    /// A relocation that cannot be done.
    #[error("section {section}, instruction {at}: {reason}")]
    Relocation {
        /// The section that it changes.
        section: String,
        /// The instruction that it changes.
        at: u64,
        /// The fault.
        reason: &'static str,
    },
    /// A function or variable that is declared only.
    #[error(
        "section {section}, instruction {at}: uses {name:?}, which the object does not define; define it in the same file, functions with static inline"
    )]
    Undefined {
        /// The section that uses it.
        section: String,
        /// The instruction that uses it.
        at: u64,
        /// Its name.
        name: String,
    },
    /// A map whose declaration is of an unknown kind.
    #[error(
        "map {name:?} has type {kind}; expected hash (1), array (2), perf_event_array (4) or ringbuf (27)"
    )]
    MapKind {
        /// The map.
        name: String,
        /// The declared type.
        kind: u32,
    },
    /// A data section that is too large.
    #[error("section {0} has more than {MAX_DATA} bytes; use a map")]
    Data(String),
    /// Unusable type information.
    #[error(transparent)]
    Btf(#[from] BtfError),
    /// Instructions that are no program.
    #[error(transparent)]
    Program(#[from] ProgramError),
}

impl From<object::Error> for ElfError {
    fn from(error: object::Error) -> Self {
        Self::Malformed(error.to_string())
    }
}

type Elf<'a> = ElfFile64<'a, LittleEndian>;

/// Links the program of section `name`: it comes first, then every section that it calls into.
pub fn load(bytes: &[u8], name: &str) -> Result<Program, ElfError> {
    let elf = Elf::parse(bytes)?;
    if elf.elf_header().e_machine(LittleEndian) != EM_BPF {
        return Err(ElfError::Machine);
    }
    let btf = match elf.section_by_name(".BTF") {
        Some(section) => Some(Btf::parse(section.data()?)?),
        None => None,
    };
    let declared = btf.as_ref().map(Btf::maps).transpose()?.unwrap_or_default();
    let mut linker = Linker {
        elf: &elf,
        declared: declared.into_iter().collect(),
        slots: Vec::new(),
        placed: BTreeMap::new(),
        maps: Vec::new(),
        numbers: BTreeMap::new(),
    };
    let entry = linker.entry(name)?;
    linker.link(entry)?;
    let sources = btf.and_then(|btf| linker.sources(&btf));
    let program = Program::new(&linker.slots, linker.maps)?;
    Ok(program.with_sources(sources.unwrap_or_default()))
}

/// The origin of a map.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum MapOrigin {
    Declared(String),
    Data(usize),
}

struct Linker<'a> {
    elf: &'a Elf<'a>,
    declared: BTreeMap<String, Result<MapFields, BtfError>>,
    slots: Vec<Raw>,
    /// The start of each section of instructions in `slots`.
    placed: BTreeMap<usize, usize>,
    maps: Vec<MapSpec>,
    numbers: BTreeMap<MapOrigin, usize>,
}

impl Linker<'_> {
    fn entry(&self, name: &str) -> Result<SectionIndex, ElfError> {
        let mut found = Vec::new();
        for section in self.elf.sections() {
            if section.kind() == object::SectionKind::Text && section.size() > 0 {
                let here = section.name()?;
                if here == name {
                    self.only(section.index(), name)?;
                    return Ok(section.index());
                }
                found.push(here.to_owned());
            }
        }
        Err(ElfError::NoProgram {
            wanted: name.to_owned(),
            found,
        })
    }

    /// Check that a section has one program.
    fn only(&self, index: SectionIndex, section: &str) -> Result<(), ElfError> {
        let here = |symbol: &object::read::elf::ElfSymbol64<'_, '_, LittleEndian>| {
            symbol.section_index() == Some(index) && symbol.kind() == SymbolKind::Text
        };
        let found: Vec<String> = self
            .elf
            .symbols()
            .filter(here)
            .filter_map(|symbol| Some(symbol.name().ok()?.to_owned()))
            .collect();
        if found.len() > 1 {
            let section = section.to_owned();
            return Err(ElfError::Several { section, found });
        }
        Ok(())
    }

    /// Place a section and everything that it calls; gives where it begins.
    fn link(&mut self, index: SectionIndex) -> Result<usize, ElfError> {
        let mut waiting = vec![index];
        let mut calls = Vec::new();
        while let Some(index) = waiting.pop() {
            if self.placed.contains_key(&index.0) {
                continue;
            }
            self.place(index)?;
            for call in self.relocate(index)? {
                waiting.push(call.1);
                calls.push(call);
            }
        }
        for (at, section, slot) in calls {
            // Every section in `calls` has been placed by the loop above.
            let target = self.placed[&section.0] as i64 + slot;
            let distance = i32::try_from(target - at as i64 - 1);
            self.slots[at].imm = distance.map_err(|_| ElfError::Relocation {
                section: "calls".to_owned(),
                at: at as u64,
                reason: "calls a function out of reach",
            })?;
        }
        Ok(self.placed[&index.0])
    }

    fn place(&mut self, index: SectionIndex) -> Result<(), ElfError> {
        let section = self.elf.section_by_index(index)?;
        let data = section.data()?;
        let (slots, rest) = data.as_chunks::<SLOT>();
        if section.kind() != object::SectionKind::Text || slots.is_empty() || !rest.is_empty() {
            return Err(ElfError::Malformed(format!(
                "section {} holds no whole instructions",
                section.name()?
            )));
        }
        self.placed.insert(index.0, self.slots.len());
        self.slots.extend(slots.iter().map(Raw::read));
        Ok(())
    }

    /// Does a section's relocations; calls come back as (slot, section called, slot in it).
    fn relocate(
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
                R_BPF_64_64 if slot.opcode == 0x18 && number + 1 < length => {
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

    /// The places that instructions come from, if the object says so properly; only messages need them.
    fn sources(&self, btf: &Btf<'_>) -> Option<Sources> {
        let section = self.elf.section_by_name(".BTF.ext")?;
        let placed = |name: &str| {
            let index = self.elf.section_by_name(name)?.index();
            self.placed.get(&index.0).copied()
        };
        Sources::parse(btf, section.data().ok()?, placed).ok()
    }

    fn is_data(&self, index: SectionIndex) -> Result<bool, ElfError> {
        Ok(self.elf.section_by_index(index)?.name()? != ".maps")
    }

    /// The number of a map, made when first named, and whether it is a data section.
    fn map(
        &mut self,
        index: SectionIndex,
        symbol: &str,
        is_section: bool,
    ) -> Result<(usize, bool), ElfError> {
        let data = self.is_data(index)?;
        let origin = if data {
            MapOrigin::Data(index.0)
        } else if is_section {
            return Err(ElfError::Malformed("a map without a name".to_owned()));
        } else {
            MapOrigin::Declared(symbol.to_owned())
        };
        if let Some(&number) = self.numbers.get(&origin) {
            return Ok((number, data));
        }
        let spec = match &origin {
            MapOrigin::Declared(name) => self.declared_map(name)?,
            MapOrigin::Data(_) => self.data_map(index)?,
        };
        self.maps.push(spec);
        self.numbers.insert(origin, self.maps.len() - 1);
        Ok((self.maps.len() - 1, data))
    }

    fn declared_map(&self, name: &str) -> Result<MapSpec, ElfError> {
        /// `BPF_F_RDONLY_PROG`.
        const READ_ONLY: u32 = 1 << 7;
        let fields = self
            .declared
            .get(name)
            .ok_or(BtfError("does not describe a map that the program uses"))?
            .as_ref()
            .map_err(BtfError::clone)?;
        let (kind, entries) = match fields.kind {
            1 => (MapKind::Hash, fields.max_entries),
            2 => (MapKind::Array, fields.max_entries),
            // Declared per CPU and without a size of its own: one queue serves all here.
            4 => (MapKind::Events, 1 << 16),
            27 => (MapKind::Events, fields.max_entries),
            kind => {
                return Err(ElfError::MapKind {
                    name: name.to_owned(),
                    kind,
                });
            }
        };
        let events = kind == MapKind::Events;
        Ok(MapSpec {
            name: name.to_owned(),
            kind,
            key_size: if events { 0 } else { fields.key_size },
            value_size: if events { 0 } else { fields.value_size },
            max_entries: entries,
            read_only: fields.flags & READ_ONLY != 0,
            initial: Vec::new(),
        })
    }

    fn data_map(&self, index: SectionIndex) -> Result<MapSpec, ElfError> {
        let section = self.elf.section_by_index(index)?;
        let name = section.name()?.to_owned();
        let known = [".rodata", ".data", ".bss"]
            .iter()
            .any(|known| name == *known || name.starts_with(&format!("{known}.")));
        if !known {
            return Err(ElfError::Malformed(format!(
                "the program uses section {name} as data"
            )));
        }
        if section.size() > MAX_DATA {
            return Err(ElfError::Data(name));
        }
        let zeroed = section.elf_section_header().sh_type(LittleEndian) == SHT_NOBITS;
        Ok(MapSpec {
            kind: MapKind::Array,
            key_size: 4,
            value_size: section.size() as u32,
            max_entries: 1,
            read_only: name.starts_with(".rodata"),
            initial: if zeroed {
                Vec::new()
            } else {
                section.data()?.to_vec()
            },
            name,
        })
    }
}
