//! An object file of `clang -target bpf`: one of its programs, linked with the functions it calls, the
//! maps it names and its data sections.
//!
//! Source: the kernel's Documentation/bpf/llvm_reloc.rst. `R_BPF_64_64` names a map or a byte of a data
//! section in a 64-bit load; `R_BPF_64_32` names the function of a call. Data sections become arrays
//! of one value, as libbpf has them. `R_BPF_64_ABS64` in `.maps` names what a map's values are initialised with.

mod error;
mod maps;
mod relocate;

use std::collections::BTreeMap;

use crate::btf::{Btf, BtfError, MapFields};
use crate::insn::{Raw, SLOT};
use crate::program::{MapSpec, Program};
use crate::sources::Sources;
use object::elf::EM_BPF;
use object::read::elf::{ElfFile64, FileHeader};
use object::{LittleEndian, Object as _, ObjectSection, ObjectSymbol, SectionIndex, SymbolKind};

pub use error::ElfError;

type Elf<'a> = ElfFile64<'a, LittleEndian>;

/// A program's instructions with all that they name in its place.
#[derive(Debug)]
pub struct Linked {
    /// The instructions: the program's section and those that it calls into, then the programs that maps name.
    pub slots: Vec<Raw>,
    /// The maps by their number.
    pub maps: Vec<MapSpec>,
    sources: Sources,
}

/// Links the program of section `name`: it comes first, then every section that it calls into.
pub fn load(bytes: &[u8], name: &str) -> Result<Program, ElfError> {
    let linked = link(bytes, name)?;
    let program = Program::new(&linked.slots, linked.maps)?;
    Ok(program.with_sources(linked.sources))
}

/// The same without a look at what the instructions are.
pub fn link(bytes: &[u8], name: &str) -> Result<Linked, ElfError> {
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
        programs: Vec::new(),
    };
    let entry = linker.entry(name)?;
    linker.link(entry)?;
    let sources = btf.and_then(|btf| linker.sources(&btf));
    Ok(Linked {
        sources: sources.unwrap_or_default(),
        slots: linker.slots,
        maps: linker.maps,
    })
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
    /// Programs that maps name, until their places are known.
    programs: Vec<Named>,
}

/// A program that a map names: by its index, the section and the slot in it.
struct Named {
    map: usize,
    index: u32,
    section: SectionIndex,
    slot: i64,
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

    /// Place a section and everything that it calls, then the programs that its maps name.
    fn link(&mut self, index: SectionIndex) -> Result<(), ElfError> {
        let mut waiting = vec![index];
        let mut calls = Vec::new();
        let mut named = 0;
        loop {
            let next = waiting.pop().or_else(|| {
                named += 1;
                self.programs.get(named - 1).map(|program| program.section)
            });
            let Some(index) = next else {
                break;
            };
            if self.placed.contains_key(&index.0) {
                continue;
            }
            self.place(index)?;
            for call in self.relocate(index)? {
                waiting.push(call.1);
                calls.push(call);
            }
        }
        for named in std::mem::take(&mut self.programs) {
            let start = self.placed[&named.section.0] as i64 + named.slot;
            let start = usize::try_from(start).unwrap_or(usize::MAX);
            self.maps[named.map].name_choice(named.index, start);
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
        Ok(())
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

    /// The places that instructions come from, if the object says so properly; only messages need them.
    fn sources(&self, btf: &Btf<'_>) -> Option<Sources> {
        let section = self.elf.section_by_name(".BTF.ext")?;
        let placed = |name: &str| {
            let index = self.elf.section_by_name(name)?.index();
            self.placed.get(&index.0).copied()
        };
        Sources::parse(btf, section.data().ok()?, placed).ok()
    }
}
