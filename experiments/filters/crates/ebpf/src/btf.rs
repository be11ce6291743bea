//! BTF, as far as map declarations need it: variables of the section `.maps` and their structures.
//!
//! Source: the kernel's Documentation/bpf/btf.rst. A map is a variable whose type is a structure of
//! pointers; a number N is written as a pointer to an array of N elements (libbpf's `__uint`), a type
//! as a pointer to it (`__type`).

use thiserror::Error;

/// The fault in the type information.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("the type information in .BTF {0}; compile with clang -target bpf -g")]
pub struct BtfError(pub(crate) &'static str);

/// A map's declaration: the fields that were given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is named as in the declaration")]
pub struct MapFields {
    pub kind: u32,
    pub key_size: u32,
    pub value_size: u32,
    pub max_entries: u32,
    pub flags: u32,
    /// Bytes from the start of the declaration to what its values are initialised with.
    pub values: Option<u32>,
}

const MAGIC: u16 = 0xeb9f;
/// The most steps from a type to what it finally is: no honest chain of typedefs is longer.
const MAX_CHAIN: usize = 32;

#[derive(Clone, Copy)]
struct Type<'a> {
    name: u32,
    kind: u32,
    /// A size or another type.
    size: u32,
    /// The data after the common fields: members, an array's description, variables of a section.
    rest: &'a [u8],
}

/// A map's name, and its fields or what is wrong with them: programs may use another one.
pub type Declared = (String, Result<MapFields, BtfError>);

/// All types of an object, and their names.
pub struct Btf<'a> {
    types: Vec<Type<'a>>,
    strings: &'a [u8],
}

/// A number of four bytes, by its index.
pub(crate) fn word(bytes: &[u8], index: usize) -> Result<u32, BtfError> {
    let at = index.checked_mul(4).ok_or(BtfError("is cut off"))?;
    let bytes = bytes.get(at..).and_then(|rest| rest.first_chunk());
    bytes
        .map(|bytes| u32::from_le_bytes(*bytes))
        .ok_or(BtfError("is cut off"))
}

impl<'a> Btf<'a> {
    /// Read the section's contents.
    pub fn parse(section: &'a [u8]) -> Result<Self, BtfError> {
        if word(section, 0)? & 0xffff != u32::from(MAGIC) {
            return Err(BtfError("does not begin with its magic number"));
        }
        let part = |offset: u32, length: u32| {
            let header = word(section, 1)? as usize;
            let start = header.checked_add(offset as usize);
            let end = start.and_then(|start| start.checked_add(length as usize));
            start
                .zip(end)
                .and_then(|(start, end)| section.get(start..end))
                .ok_or(BtfError("is cut off"))
        };
        let mut rest = part(word(section, 2)?, word(section, 3)?)?;
        let strings = part(word(section, 4)?, word(section, 5)?)?;
        let mut types = Vec::new();
        while !rest.is_empty() {
            let info = word(rest, 1)?;
            let (kind, count) = (info >> 24 & 31, info & 0xffff);
            let extra = match kind {
                1 | 14 | 17 => 4,
                2 | 7..=12 | 16 | 18 => 0,
                3 => 12,
                4 | 5 | 15 | 19 => count as usize * 12,
                6 | 13 => count as usize * 8,
                _ => return Err(BtfError("has a type of an unknown kind")),
            };
            let own = rest.get(12..12 + extra).ok_or(BtfError("is cut off"))?;
            types.push(Type {
                name: word(rest, 0)?,
                kind,
                size: word(rest, 2)?,
                rest: own,
            });
            rest = &rest[12 + extra..];
        }
        Ok(Self { types, strings })
    }

    /// The maps that `.maps` declares, by the names of their variables.
    pub fn maps(&self) -> Result<Vec<Declared>, BtfError> {
        let mut maps = Vec::new();
        for section in self.types.iter().filter(|found| found.kind == 15) {
            if self.name(section.name)? != ".maps" {
                continue;
            }
            for entry in section.rest.chunks_exact(12) {
                let variable = self.get(word(entry, 0)?)?;
                if variable.kind != 14 {
                    return Err(BtfError("has something in .maps that is no variable"));
                }
                maps.push((self.name(variable.name)?, self.fields(variable.size)));
            }
        }
        Ok(maps)
    }

    fn fields(&self, id: u32) -> Result<MapFields, BtfError> {
        let structure = self.resolve(id)?;
        if structure.kind != 4 {
            return Err(BtfError("has a map that is no structure"));
        }
        let mut fields = MapFields::default();
        for member in structure.rest.chunks_exact(12) {
            let id = word(member, 1)?;
            match self.name(word(member, 0)?)?.as_str() {
                "type" => fields.kind = self.number(id)?,
                "key_size" => fields.key_size = self.number(id)?,
                "value_size" => fields.value_size = self.number(id)?,
                "max_entries" => fields.max_entries = self.number(id)?,
                "map_flags" => fields.flags = self.number(id)?,
                "key" => fields.key_size = self.size(self.pointee(id)?, 0)?,
                "value" => fields.value_size = self.size(self.pointee(id)?, 0)?,
                "values" => fields.values = Some(word(member, 2)? / 8),
                "pinning" => {}
                _ => return Err(BtfError("has a map with an unknown field")),
            }
        }
        Ok(fields)
    }

    fn get(&self, id: u32) -> Result<Type<'a>, BtfError> {
        let index = (id as usize).checked_sub(1);
        index
            .and_then(|index| self.types.get(index).copied())
            .ok_or(BtfError("names a type that is not there"))
    }

    /// The type behind typedefs and qualifiers.
    fn resolve(&self, mut id: u32) -> Result<Type<'a>, BtfError> {
        for _ in 0..MAX_CHAIN {
            let found = self.get(id)?;
            match found.kind {
                8..=11 | 18 => id = found.size,
                _ => return Ok(found),
            }
        }
        Err(BtfError("has types that lead in a circle"))
    }

    fn pointee(&self, id: u32) -> Result<u32, BtfError> {
        let pointer = self.resolve(id)?;
        match pointer.kind {
            2 => Ok(pointer.size),
            _ => Err(BtfError("has a map whose field is no pointer")),
        }
    }

    fn number(&self, id: u32) -> Result<u32, BtfError> {
        let array = self.resolve(self.pointee(id)?)?;
        match array.kind {
            3 => word(array.rest, 2),
            _ => Err(BtfError("has a map whose number is no array")),
        }
    }

    fn size(&self, id: u32, depth: usize) -> Result<u32, BtfError> {
        if depth > MAX_CHAIN {
            return Err(BtfError("has types that lead in a circle"));
        }
        let found = self.resolve(id)?;
        match found.kind {
            1 | 4 | 5 | 6 | 16 | 19 => Ok(found.size),
            2 => Ok(8),
            3 => self
                .size(word(found.rest, 0)?, depth + 1)?
                .checked_mul(word(found.rest, 2)?)
                .ok_or(BtfError("has a type larger than 4 GiB")),
            _ => Err(BtfError("has a key or value without a size")),
        }
    }

    /// The name of a function, by its type.
    pub(crate) fn function(&self, id: u32) -> Result<String, BtfError> {
        self.name(self.get(id)?.name)
    }

    pub(crate) fn name(&self, offset: u32) -> Result<String, BtfError> {
        let bytes = self.strings.get(offset as usize..);
        let end = bytes.and_then(|bytes| bytes.iter().position(|&byte| byte == 0));
        bytes
            .zip(end)
            .map(|(bytes, end)| String::from_utf8_lossy(&bytes[..end]).into_owned())
            .ok_or(BtfError("has a name that is cut off"))
    }
}
