//! The reasons why an object file contains no program.

use thiserror::Error;

use crate::btf::BtfError;
use crate::program::ProgramError;

/// The longest data section, in bytes.
pub(super) const MAX_DATA: u64 = 1 << 20;

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
        "map {name:?} has type {kind}; expected hash (1), array (2), prog_array (3), perf_event_array (4), percpu_hash (5), percpu_array (6), lru_hash (9), lru_percpu_hash (10), array_of_maps (12), hash_of_maps (13) or ringbuf (27)"
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
