//! Names of Go functions by the table that the runtime itself needs, .gopclntab: stripped programs keep it.
//! Its layout since Go 1.18 is that of Go's src/debug/gosym/pclntab.go.

use std::fs::File;
use std::path::Path;

use object::{Object, ObjectSection, ObjectSegment, ReadCache};

/// The first byte of a table, little end first; three of 0xff and two of 0 follow.
const SINCE_1_18: u8 = 0xf0;
const SINCE_1_20: u8 = 0xf1;
/// The size of a pointer.
const WORD: u8 = 8;
/// Words of the header, behind its first eight bytes.
const FUNCTIONS: usize = 0;
const TEXT: usize = 2;
const NAMES: usize = 3;
const TABLE: usize = 7;
/// A pair of places: of the function's code behind the text's begin, of what is known of it behind the table's.
const PAIR: usize = 8;
/// The program's first function begins with that, where Go's own linker made all.
const ENTRY: &str = "_rt0_";

/// The functions of a Go program.
#[derive(Debug)]
pub struct GoFunctions {
    table: Table,
    /// Place in the file, size, and address of what is loaded.
    segments: Vec<(u64, u64, u64)>,
}

impl GoFunctions {
    /// Read a program's table; none if it has none, or an unknown or damaged one.
    pub fn of(path: &Path) -> Option<Self> {
        let cache = ReadCache::new(File::open(path).ok()?);
        let file = object::File::parse(&cache).ok()?;
        let section = file.section_by_name(".gopclntab")?;
        let mut table = Table::of(section.data().ok()?.to_vec())?;
        if table.text == 0 {
            // Go's own linker puts its code first; another one may put C code there.
            table.text = file.section_by_name(".text")?.address();
            table.name(file.entry())?.starts_with(ENTRY).then_some(())?;
        }
        let segments = file.segments().map(|segment| {
            let (at, size) = segment.file_range();
            (at, size, segment.address())
        });
        Some(Self {
            table,
            segments: segments.collect(),
        })
    }

    /// The function at a place in the file.
    pub fn name(&self, offset: u64) -> Option<String> {
        let within =
            |(at, size, _): &&(u64, u64, u64)| offset.checked_sub(*at).is_some_and(|by| by < *size);
        let (at, _, address) = self.segments.iter().find(within)?;
        self.table.name(address.checked_add(offset - at)?)
    }
}

#[derive(Debug)]
struct Table {
    bytes: Vec<u8>,
    functions: usize,
    /// The address of the first function; 0 where the table does not tell.
    text: u64,
    names: usize,
    pairs: usize,
}

impl Table {
    fn of(bytes: Vec<u8>) -> Option<Self> {
        let [SINCE_1_18 | SINCE_1_20, 0xff, 0xff, 0xff, 0, 0, _, WORD] =
            *bytes.first_chunk::<8>()?
        else {
            return None;
        };
        let word = |number: usize| {
            let at = bytes.get(8 + 8 * number..)?;
            Some(u64::from_le_bytes(*at.first_chunk::<8>()?))
        };
        let place = |number| usize::try_from(word(number)?).ok();
        let table = Self {
            functions: place(FUNCTIONS)?,
            text: word(TEXT)?,
            names: place(NAMES)?,
            pairs: place(TABLE)?,
            bytes,
        };
        // The end of the last function stands behind the pairs.
        table.begin(table.functions)?;
        Some(table)
    }

    fn half(&self, at: usize) -> Option<u32> {
        Some(u32::from_le_bytes(
            *self.bytes.get(at..)?.first_chunk::<4>()?,
        ))
    }

    /// The place at which a function begins, behind the text's begin.
    fn begin(&self, number: usize) -> Option<u32> {
        self.half(number.checked_mul(PAIR)?.checked_add(self.pairs)?)
    }

    fn name(&self, address: u64) -> Option<String> {
        let place = u32::try_from(address.checked_sub(self.text)?).ok()?;
        let (mut low, mut high) = (0, self.functions);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.begin(middle)? <= place {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        let number = low.checked_sub(1)?;
        if place >= self.begin(number + 1)? {
            return None;
        }
        let known = self.half(self.pairs + number * PAIR + 4)? as usize;
        let name = self.half(self.pairs.checked_add(known)?.checked_add(4)?)? as usize;
        let name = self.bytes.get(self.names.checked_add(name)?..)?;
        let end = name.iter().position(|byte| *byte == 0)?;
        let name = String::from_utf8_lossy(&name[..end]).into_owned();
        (!name.is_empty()).then_some(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT_AT: u64 = 0x40_1000;

    /// A table of functions with these names, 16 bytes of code each.
    fn table(names: &[&str]) -> Vec<u8> {
        let header = 8 + 8 * 8;
        let mut text = Vec::new();
        let mut at = Vec::new();
        for name in names {
            at.push(text.len() as u32);
            text.extend(name.bytes().chain([0]));
        }
        let pairs = header + text.len();
        let known = PAIR * names.len() + 4;
        let words = [names.len(), 0, TEXT_AT as usize, header, 0, 0, 0, pairs];
        let mut bytes = vec![SINCE_1_20, 0xff, 0xff, 0xff, 0, 0, 1, WORD];
        bytes.extend(words.iter().flat_map(|word| (*word as u64).to_le_bytes()));
        bytes.extend(text);
        for number in 0..names.len() {
            let pair = [16 * number, known + 8 * number];
            bytes.extend(pair.iter().flat_map(|half| (*half as u32).to_le_bytes()));
        }
        bytes.extend((16 * names.len() as u32).to_le_bytes());
        for (number, at) in at.iter().enumerate() {
            let known = [16 * number as u32, *at];
            bytes.extend(known.iter().flat_map(|half| half.to_le_bytes()));
        }
        bytes
    }

    #[test]
    fn functions_are_found_by_address() {
        let found = Table::of(table(&["_rt0_amd64", "main.(*T).f", "main.main"])).expect("whole");
        let name = |by| found.name(TEXT_AT + by);
        assert_eq!(name(0).as_deref(), Some("_rt0_amd64"));
        assert_eq!(name(16).as_deref(), Some("main.(*T).f"));
        assert_eq!(name(31).as_deref(), Some("main.(*T).f"));
        assert_eq!(name(47).as_deref(), Some("main.main"));
        assert_eq!(name(48), None, "behind the last one");
        assert_eq!(found.name(TEXT_AT - 1), None);
        assert_eq!(found.name(u64::MAX), None);
    }

    #[test]
    fn damaged_tables_have_fewer_names_or_none() {
        let whole = table(&["_rt0_amd64", "main.f", "main.main"]);
        let look = |bytes: Vec<u8>| {
            if let Some(found) = Table::of(bytes) {
                for by in 0..64 {
                    found.name(TEXT_AT + by);
                }
            }
        };
        for length in 0..whole.len() {
            look(whole[..length].to_vec());
        }
        for at in 0..whole.len() {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut damaged = whole.clone();
                damaged[at] = value;
                look(damaged);
            }
        }
        assert!(Table::of(Vec::new()).is_none());
    }

    #[test]
    fn a_program_that_is_not_go_s_has_no_table() {
        let own = std::env::current_exe().expect("it has a path");
        assert!(GoFunctions::of(&own).is_none());
        assert!(GoFunctions::of(Path::new("/proc/self/nothing")).is_none());
    }
}
