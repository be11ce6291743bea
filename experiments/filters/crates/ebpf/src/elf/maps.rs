//! Maps: those that are declared, what their values are initialised with, and data sections.

use object::elf::SHT_NOBITS;
use object::read::elf::SectionHeader;
use object::{
    LittleEndian, Object as _, ObjectSection, ObjectSymbol, RelocationTarget, SectionIndex,
    SectionKind, SymbolKind,
};

use super::error::MAX_DATA;
use super::{ElfError, Linker, MapOrigin, Named};
use crate::btf::BtfError;
use crate::insn::SLOT;
use crate::maps::NAME_SIZE;
use crate::program::{MapKind, MapSpec};

impl Linker<'_> {
    pub(super) fn is_data(&self, index: SectionIndex) -> Result<bool, ElfError> {
        Ok(self.elf.section_by_index(index)?.name()? != ".maps")
    }

    /// The number of a map, made when first named, and whether it is a data section.
    pub(super) fn map(
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
        let number = self.maps.len();
        self.maps.push(spec);
        self.numbers.insert(origin.clone(), number);
        if let (MapOrigin::Declared(name), true) = (&origin, self.maps[number].kind.names()) {
            self.name_values(number, name)?;
        }
        Ok((number, data))
    }

    /// Find what the values of a map are initialised with.
    fn name_values(&mut self, number: usize, name: &str) -> Result<(), ElfError> {
        let declared = self
            .declared
            .get(name)
            .and_then(|found| found.as_ref().ok());
        let Some(offset) = declared.and_then(|fields| fields.values) else {
            return Ok(());
        };
        let symbol = self.elf.symbol_by_name(name);
        let section = symbol.as_ref().and_then(ObjectSymbol::section_index);
        let (Some(symbol), Some(section)) = (symbol, section) else {
            return Ok(());
        };
        let section = self.elf.section_by_index(section)?;
        let first = symbol.address().saturating_add(offset.into());
        let end = symbol.address().saturating_add(symbol.size());
        for (at, relocation) in section.relocations() {
            if !(first..end).contains(&at) {
                continue;
            }
            let index = ((at - first) / 8) as u32;
            let RelocationTarget::Symbol(target) = relocation.target() else {
                return Err(ElfError::Malformed(format!("{name} names no symbol")));
            };
            let target = self.elf.symbol_by_index(target)?;
            let Some(there) = target.section_index() else {
                return Err(ElfError::Malformed(format!(
                    "{name} names {}, which is not defined",
                    target.name()?
                )));
            };
            // What is in its place is added to the symbol's address.
            let place = section.data()?.get(at as usize..);
            let address = place
                .and_then(|bytes| bytes.first_chunk())
                .and_then(|added| target.address().checked_add(u64::from_le_bytes(*added)))
                .ok_or_else(|| ElfError::Malformed(format!("{name} names nothing")))?;
            if self.elf.section_by_index(there)?.kind() == SectionKind::Text {
                let slot = (address / SLOT as u64) as i64;
                self.programs.push(Named {
                    map: number,
                    index,
                    section: there,
                    slot,
                });
                continue;
            }
            let inner = self.map_at(there, address)?;
            let (inner, _) = self.map(there, &inner, false)?;
            self.maps[number].name_choice(index, inner);
        }
        Ok(())
    }

    /// The name of the map at an address.
    fn map_at(&self, section: SectionIndex, address: u64) -> Result<String, ElfError> {
        let mut symbols = self.elf.symbols();
        let found = symbols.find(|symbol| {
            let named = symbol.kind() != SymbolKind::Section;
            named && symbol.section_index() == Some(section) && symbol.address() == address
        });
        let found = found.ok_or_else(|| ElfError::Malformed("a map without a name".to_owned()))?;
        Ok(found.name()?.to_owned())
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
            3 => (MapKind::Programs, fields.max_entries),
            5 => (MapKind::PerCpuHash, fields.max_entries),
            6 => (MapKind::PerCpuArray, fields.max_entries),
            9 => (MapKind::LruHash, fields.max_entries),
            10 => (MapKind::LruPerCpuHash, fields.max_entries),
            12 => (MapKind::ArrayOfMaps, fields.max_entries),
            13 => (MapKind::HashOfMaps, fields.max_entries),
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
        // Programs and maps are named by 4 bytes, whether the declaration says so or not.
        let named = |size| if kind.names() { NAME_SIZE } else { size };
        let key_size = match kind {
            MapKind::Programs | MapKind::ArrayOfMaps => 4,
            _ => fields.key_size,
        };
        Ok(MapSpec {
            name: name.to_owned(),
            kind,
            key_size: if events { 0 } else { key_size },
            value_size: if events { 0 } else { named(fields.value_size) },
            max_entries: entries,
            read_only: fields.flags & READ_ONLY != 0,
            initial: Vec::new(),
            choices: Vec::new(),
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
            choices: Vec::new(),
            name,
        })
    }
}
