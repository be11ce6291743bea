//! Rules by which callers are found without frame pointers, from a file's .eh_frame (System V ABI, AMD64 supplement,
//! section 4.2.4). src/bpf/unwind.bpf.h applies them.

use gimli::{
    BaseAddresses, CfaRule, CieOrFde, EhFrame, EndianSlice, FrameDescriptionEntry, LittleEndian,
    Operation, Register, RegisterRule, UnwindContext, UnwindSection, UnwindTableRow, X86_64,
};
use object::elf::PF_X;
use object::{Architecture, Object, ObjectSection, ObjectSegment, ReadRef, SegmentFlags};

type Bytes<'a> = EndianSlice<'a, LittleEndian>;

const WORD: i64 = 8;
const PAGE: u64 = 4096;
/// A narrower gap between functions holds no code.
const ALIGNMENT: u64 = 16;

/// The way to the canonical frame address (CFA) of a frame; `enum rule` in unwind.bpf.h.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Rule {
    /// There is no information: by frame pointer.
    FramePointer,
    /// From the stack pointer.
    FromStack,
    /// From the frame pointer.
    FromFrame,
    /// From rax, as some assembler code.
    FromRax,
    /// From rsi.
    FromRsi,
    /// From r11.
    FromR11,
    /// The kernel interrupted the caller to handle a signal, and saved its registers.
    Signal,
    /// It has no caller.
    Last,
    /// The rule is one that the BPF programs do not know.
    Unknown,
}

/// The registers from which a CFA may be counted.
const BASES: [(Register, Rule); 5] = [
    (X86_64::RSP, Rule::FromStack),
    (X86_64::RBP, Rule::FromFrame),
    (X86_64::RAX, Rule::FromRax),
    (X86_64::RSI, Rule::FromRsi),
    (X86_64::R11, Rule::FromR11),
];

/// The rule of the code from `begin` on, up to the next row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// From the file's lowest address on.
    pub begin: u32,
    /// The rule.
    pub rule: Rule,
    /// The CFA's distance from the register, in words.
    pub cfa: i16,
    /// The distance of the saved frame pointer from the CFA, in words; 0 if it was not saved.
    pub frame: i8,
}

impl Row {
    fn simple(rule: Rule) -> Self {
        Self {
            begin: 0,
            rule,
            cfa: 0,
            frame: 0,
        }
    }

    /// Return a value of a table of the BPF programs.
    pub fn bytes(self) -> [u8; 8] {
        let mut bytes = [0; 8];
        bytes[..4].copy_from_slice(&self.begin.to_ne_bytes());
        bytes[4..6].copy_from_slice(&self.cfa.to_ne_bytes());
        bytes[6] = self.rule as u8;
        bytes[7] = self.frame as u8;
        bytes
    }

    fn same_rule(self, other: Self) -> bool {
        Self { begin: 0, ..self } == Self { begin: 0, ..other }
    }
}

/// The rules of a file, by address.
#[derive(Debug)]
pub struct Table {
    /// In the order of their addresses.
    pub rows: Vec<Row>,
    lowest: u64,
    /// Of those with code: offset in the file, size and address.
    segments: Vec<(u64, u64, u64)>,
}

impl Table {
    /// Read the rules of an ELF file. None if it has none, or is made for another kind of processor.
    pub fn of<'a>(file: impl ReadRef<'a>) -> Option<Self> {
        let file = object::File::parse(file).ok()?;
        if file.architecture() != Architecture::X86_64 {
            return None;
        }
        let lowest = file.segments().map(|each| each.address()).min()? & !(PAGE - 1);
        let segments: Vec<(u64, u64, u64)> = file
            .segments()
            .filter(
                |each| matches!(each.flags(), SegmentFlags::Elf { p_flags } if p_flags & PF_X != 0),
            )
            .map(|each| (each.file_range().0, each.file_range().1, each.address()))
            .collect();
        let section = file.section_by_name(".eh_frame")?;
        let address = |name| {
            file.section_by_name(name)
                .map_or(0, |section| section.address())
        };
        let bases = BaseAddresses::default()
            .set_eh_frame(section.address())
            .set_text(address(".text"))
            .set_got(address(".got"));
        let mut rows = rows(&EhFrame::new(section.data().ok()?, LittleEndian), &bases);
        rows.sort_by_key(|(begin, _, _)| *begin);
        let rows = joined(&rows, lowest);
        (!rows.is_empty()).then_some(Self {
            rows,
            lowest,
            segments,
        })
    }

    /// Return where the file's lowest address lies in a process that has mapped it from `offset` on at `start`.
    pub fn base(&self, start: u64, offset: u64) -> Option<u64> {
        let holds = |&&(from, size, _): &&(u64, u64, u64)| {
            (from & !(PAGE - 1)..from + size).contains(&offset)
        };
        let (from, _, address) = self.segments.iter().find(holds)?;
        let there = offset.wrapping_sub(*from).wrapping_add(*address);
        Some(start.wrapping_sub(there.wrapping_sub(self.lowest)))
    }
}

/// All rules with the addresses where they begin and end.
fn rows(section: &EhFrame<Bytes<'_>>, bases: &BaseAddresses) -> Vec<(u64, u64, Row)> {
    let mut rows = Vec::new();
    let mut context = UnwindContext::new();
    let mut entries = section.entries(bases);
    // What follows a damaged entry cannot be read.
    while let Ok(Some(entry)) = entries.next() {
        let CieOrFde::Fde(partial) = entry else {
            continue;
        };
        let Ok(entry) = partial.parse(EhFrame::cie_from_offset) else {
            continue;
        };
        let Ok(mut table) = entry.rows(section, bases, &mut context) else {
            continue;
        };
        while let Ok(Some(row)) = table.next_row() {
            rows.push((
                row.start_address(),
                row.end_address(),
                rule(row, section, &entry),
            ));
        }
    }
    rows
}

fn rule(
    row: &UnwindTableRow<usize>,
    section: &EhFrame<Bytes<'_>>,
    entry: &FrameDescriptionEntry<Bytes<'_>>,
) -> Row {
    if entry.is_signal_trampoline() {
        return Row::simple(Rule::Signal);
    }
    match row.register(X86_64::RA) {
        RegisterRule::Undefined => return Row::simple(Rule::Last),
        RegisterRule::Offset(at) if at == -WORD => (),
        _ => return Row::simple(Rule::Unknown),
    }
    let cfa = match row.cfa() {
        CfaRule::RegisterAndOffset { register, offset } => BASES
            .iter()
            .find(|(base, _)| base == register)
            .map(|(_, rule)| (*rule, *offset)),
        CfaRule::Expression(expression) => expression
            .get(section)
            .is_ok_and(|expression| is_of_linkage(expression.operations(entry.cie().encoding())))
            .then_some((Rule::FromStack, WORD)),
    };
    let frame = match row.register(X86_64::RBP) {
        RegisterRule::Undefined | RegisterRule::SameValue => Some(0),
        RegisterRule::Offset(at) => words(at),
        _ => None,
    };
    let (Some((rule, cfa)), Some(frame)) = (cfa, frame) else {
        return Row::simple(Rule::Unknown);
    };
    match words(cfa) {
        Some(cfa) => Row {
            begin: 0,
            rule,
            cfa,
            frame,
        },
        None => Row::simple(Rule::Unknown),
    }
}

fn words<T: TryFrom<i64>>(bytes: i64) -> Option<T> {
    (bytes % WORD == 0)
        .then(|| T::try_from(bytes / WORD).ok())
        .flatten()
}

/// Return true if the rule depends on the instruction's address: it is a linkage table's. Once its function is known,
/// only the first instruction of an entry runs, which has pushed nothing.
fn is_of_linkage(mut operations: gimli::OperationIter<Bytes<'_>>) -> bool {
    let mut found = false;
    while let Ok(Some(operation)) = operations.next() {
        found |= matches!(operation, Operation::RegisterOffset { register, .. } if register == X86_64::RA);
    }
    found
}

/// Join equal neighbours, and let what no entry covers go by frame pointer.
fn joined(sorted: &[(u64, u64, Row)], lowest: u64) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let mut covered = 0_u64;
    for &(begin, end, row) in sorted {
        if begin > covered.saturating_add(ALIGNMENT) && covered > 0 {
            push(&mut rows, covered, lowest, Row::simple(Rule::FramePointer));
        }
        if begin >= covered && begin < end {
            push(&mut rows, begin, lowest, row);
            covered = end;
        }
    }
    push(&mut rows, covered, lowest, Row::simple(Rule::FramePointer));
    rows
}

fn push(rows: &mut Vec<Row>, begin: u64, lowest: u64, row: Row) {
    let begin = begin
        .checked_sub(lowest)
        .and_then(|begin| u32::try_from(begin).ok());
    if let Some(begin) = begin.filter(|_| rows.last().is_none_or(|last| !last.same_rule(row))) {
        rows.push(Row { begin, ..row });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(rule: Rule, cfa: i16) -> Row {
        Row {
            cfa,
            ..Row::simple(rule)
        }
    }

    fn own() -> Vec<u8> {
        std::fs::read("/proc/self/exe").expect("it is there")
    }

    #[test]
    fn equal_neighbours_are_one_row_and_gaps_go_by_frame_pointer() {
        let (one, two) = (row(Rule::FromStack, 1), row(Rule::FromStack, 2));
        let sorted = [
            (0x1010, 0x1020, one),
            (0x1020, 0x1030, two),
            (0x1038, 0x1040, two),
            (0x1100, 0x1110, one),
        ];
        let found: Vec<(u32, Rule, i16)> = joined(&sorted, 0x1000)
            .iter()
            .map(|row| (row.begin, row.rule, row.cfa))
            .collect();
        let expected = [
            (0x10, Rule::FromStack, 1),
            (0x20, Rule::FromStack, 2),
            (0x40, Rule::FramePointer, 0),
            (0x100, Rule::FromStack, 1),
            (0x110, Rule::FramePointer, 0),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_file_s_lowest_address_is_found_by_each_mapping_of_it() {
        let table = Table {
            rows: Vec::new(),
            lowest: 0x400000,
            segments: vec![(0, 0x500, 0x400000), (0x1e10, 0x3000, 0x402e10)],
        };
        assert_eq!(table.base(0x7f0000, 0), Some(0x7f0000));
        // Its second segment begins in the middle of a page.
        assert_eq!(table.base(0x7f2000, 0x1000), Some(0x7f0000));
        assert_eq!(table.base(0x7f3000, 0x2000), Some(0x7f0000));
        assert_eq!(table.base(0x7f3000, 0x9000), None);
    }

    #[test]
    fn words_fit_or_there_are_none() {
        assert_eq!(words::<i16>(16), Some(2));
        assert_eq!(words::<i8>(-16), Some(-2));
        assert_eq!(words::<i8>(-2048), None);
        assert_eq!(words::<i16>(12), None);
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn this_program_has_rules_for_its_code() {
        let table = Table::of(&own()[..]).expect("it has .eh_frame");
        assert!(table.rows.is_sorted_by_key(|row| row.begin));
        let known = |rule| table.rows.iter().filter(|row| row.rule == rule).count();
        assert!(known(Rule::FromStack) > 1000);
        assert!(known(Rule::Unknown) < table.rows.len() / 100);
        assert!(known(Rule::Last) > 0, "_start has no caller");
        let vdso = crate::vdso::bytes().expect("it is mapped");
        assert!(Table::of(&vdso[..]).is_some());
    }

    #[test]
    fn damaged_files_have_fewer_rules_or_none() {
        let whole = own();
        for length in [0, 4, 64, whole.len() / 2, whole.len() - 1] {
            Table::of(&whole[..length]);
        }
        let file = object::File::parse(&whole[..]).expect("it is a program");
        let section = file.section_by_name(".eh_frame").expect("it has it");
        let (start, size) = section.file_range().expect("in the file");
        for step in [1usize, 7, 64, 4096] {
            let mut damaged = whole.clone();
            for at in (start as usize..(start + size) as usize).step_by(step) {
                damaged[at] ^= 0x55;
            }
            Table::of(&damaged[..]);
        }
        assert!(Table::of(&b"no program"[..]).is_none());
    }
}
