//! The places of an ELF file's parts in a guest's memory.

use std::ops::Range;

use elf::ElfBytes;
use elf::abi::{ET_DYN, PF_R, PF_W, PF_X, PT_INTERP, PT_LOAD};
use elf::endian::LittleEndian;

use super::areas::{Access, PAGE};

/// The address of position-independent programs: the customary address of linked ones.
const USUAL: u64 = 0x40_0000;

/// A part of the file and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its first byte's address.
    pub at: u64,
    /// Bytes of memory, zero where the file has none.
    pub size: u64,
    /// Its bytes in the file.
    pub file: Range<usize>,
    /// The guest's rights in it.
    pub access: Access,
}

impl Segment {
    /// The pages that it touches.
    pub fn pages(&self) -> Range<u64> {
        self.at / PAGE * PAGE..(self.at + self.size).next_multiple_of(PAGE)
    }
}

/// A static program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Address of its first instruction.
    pub entry: u64,
    /// Address of its program headers, which it reads itself; 0 if they are in no segment.
    pub headers: u64,
    /// The number of program headers.
    pub header_count: u64,
    /// Its segments in the file's order.
    pub segments: Vec<Segment>,
}

impl Image {
    /// Read a static x86-64 program that must lie within `room`.
    ///
    /// # Errors
    ///
    /// The fault, in words.
    pub fn read(bytes: &[u8], room: Range<u64>) -> Result<Self, String> {
        let broken = |error: elf::ParseError| format!("a broken ELF file: {error}");
        let file = ElfBytes::<LittleEndian>::minimal_parse(bytes).map_err(broken)?;
        let table = file
            .segments()
            .ok_or("an ELF file without program headers")?;
        if table.iter().any(|header| header.p_type == PT_INTERP) {
            return Err("it names a dynamic loader; link it with -static".into());
        }
        let loaded = || {
            table
                .iter()
                .filter(|header| header.p_type == PT_LOAD && header.p_memsz > 0)
        };
        let lowest = loaded().map(|header| header.p_vaddr).min();
        let lowest = lowest.ok_or("an ELF file with nothing to load")?;
        let shift = if file.ehdr.e_type == ET_DYN {
            USUAL.wrapping_sub(lowest / PAGE * PAGE)
        } else {
            0
        };
        let mut segments = Vec::new();
        for header in loaded() {
            let at = header.p_vaddr.wrapping_add(shift);
            let end = at.checked_add(header.p_memsz);
            if at < room.start || end.is_none_or(|end| end > room.end) {
                return Err(format!(
                    "a segment of {:#x} bytes at {at:#x} lies outside the guest's memory, {:#x} to {:#x}; give it \
                     more memory, or link it lower",
                    header.p_memsz, room.start, room.end
                ));
            }
            let file_end = header.p_offset.checked_add(header.p_filesz);
            let file_end = file_end.filter(|end| *end <= bytes.len() as u64);
            let (Some(file_end), true) = (file_end, header.p_filesz <= header.p_memsz) else {
                return Err("a segment that has more bytes than the file, or than memory".into());
            };
            let may = |flag: u32| header.p_flags & flag != 0;
            segments.push(Segment {
                at,
                size: header.p_memsz,
                file: header.p_offset as usize..file_end as usize,
                access: Access {
                    read: may(PF_R),
                    write: may(PF_W),
                    execute: may(PF_X),
                },
            });
        }
        let entry = file.ehdr.e_entry.wrapping_add(shift);
        let runs = |segment: &Segment| {
            segment.access.execute && (segment.at..segment.at + segment.size).contains(&entry)
        };
        if !segments.iter().any(runs) {
            return Err(format!(
                "its entry {entry:#x} lies in no segment that can be executed"
            ));
        }
        let at = file.ehdr.e_phoff as usize;
        let holder = segments.iter().find(|segment| segment.file.contains(&at));
        Ok(Image {
            entry,
            headers: holder.map_or(0, |segment| segment.at + (at - segment.file.start) as u64),
            header_count: file.ehdr.e_phnum.into(),
            segments,
        })
    }

    /// The first page after all segments.
    pub fn end(&self) -> u64 {
        self.segments
            .iter()
            .map(|segment| segment.pages().end)
            .max()
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial;
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    const ROOM: Range<u64> = 0x1_0000..0x400_0000;

    #[test]
    fn the_smallest_binary_is_placed_as_it_is_linked() {
        let bytes = trial::binary();
        let image = Image::read(&bytes, ROOM).unwrap();
        assert_eq!(
            (image.entry, image.headers, image.header_count),
            (0x40_0078, 0x40_0040, 1)
        );
        assert_eq!(image.segments[0].pages(), 0x40_0000..0x40_1000);
        assert_eq!(image.end(), 0x40_1000);
        assert!(image.segments[0].access.execute && !image.segments[0].access.write);
    }

    #[test]
    fn what_cannot_be_placed_is_refused_in_words() {
        let good = trial::binary();
        let refusal = |at: usize, bytes: &[u8]| {
            let mut bad = good.clone();
            bad[at..at + bytes.len()].copy_from_slice(bytes);
            Image::read(&bad, ROOM).unwrap_err()
        };
        assert!(refusal(24, &0x10u64.to_le_bytes()).contains("entry"));
        assert!(refusal(64, &3u32.to_le_bytes()).contains("-static"));
        assert!(refusal(64, &0u32.to_le_bytes()).contains("nothing to load"));
        assert!(refusal(80, &(1u64 << 40).to_le_bytes()).contains("outside"));
        assert!(refusal(80, &u64::MAX.to_le_bytes()).contains("outside"));
        assert!(refusal(96, &0xffffu64.to_le_bytes()).contains("more bytes"));
        assert!(
            Image::read(&good[..70], ROOM)
                .unwrap_err()
                .contains("broken")
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(22), ..ProptestConfig::with_cases(1024) })]

        #[test]
        fn whatever_is_changed_in_a_binary_nothing_lies_outside(
            changes in prop::collection::vec((16usize..120, any::<u8>()), 1..6),
        ) {
            let mut bytes = trial::binary();
            for (at, byte) in changes {
                bytes[at] = byte;
            }
            if let Ok(image) = Image::read(&bytes, ROOM) {
                for segment in image.segments {
                    let pages = segment.pages();
                    prop_assert!(pages.start >= ROOM.start && pages.end <= ROOM.end);
                    prop_assert!(segment.file.len() as u64 <= segment.size && segment.file.end <= bytes.len());
                }
            }
        }
    }
}
