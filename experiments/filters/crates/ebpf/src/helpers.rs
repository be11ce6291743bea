//! The helpers that a program may call: their numbers, and what they take and give.
//!
//! Source: the kernel's include/uapi/linux/bpf.h, whose numbers these are. There is no `probe_read`:
//! what a program may read, it reads itself.

/// A function that programs can call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is named as the kernel has it")]
pub enum Helper {
    MapLookup,
    MapUpdate,
    MapDelete,
    KtimeNs,
    TracePrintk,
    RandomU32,
    ProcessorId,
    PerfEventOutput,
    RingbufOutput,
    Strncmp,
    /// C's function, which programs call by its name.
    Memcmp,
}

/// The requirement on an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument {
    /// Not looked at.
    Unused,
    /// A number.
    Number,
    /// The context.
    Context,
    /// A map with keys and values.
    Map,
    /// A map with keys and values that the program may write.
    WritableMap,
    /// A queue of events.
    Events,
    /// Memory with a key of the map before.
    Key,
    /// Memory with a value of the map before.
    Value,
    /// Memory with as many bytes as the next size says.
    Memory,
    /// The size of the memories before.
    Size,
    /// The same, which may be 0.
    SizeOrZero,
    /// Memory with as many bytes as the size before says.
    AsMuch,
}

/// The kind of a helper's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Returns {
    /// A number.
    Number,
    /// The address of a value of the map, or null.
    ValueOrNull,
}

/// The number of [`Helper::Memcmp`], none of the kernel's.
const MEMCMP: u32 = 1 << 24;

/// Return the number of the helper that does what the function of C does.
pub fn by_name(name: &str) -> Option<u32> {
    // Compilers call the second where the sign does not matter.
    matches!(name, "memcmp" | "bcmp").then_some(MEMCMP)
}

/// The most bytes that a helper takes in one piece.
pub const MAX_MEMORY: u64 = 1 << 16;

impl Helper {
    /// The helper with a number of the kernel's.
    pub fn by_number(number: u32) -> Option<Self> {
        Some(match number {
            1 => Self::MapLookup,
            2 => Self::MapUpdate,
            3 => Self::MapDelete,
            5 => Self::KtimeNs,
            6 => Self::TracePrintk,
            7 => Self::RandomU32,
            8 => Self::ProcessorId,
            25 => Self::PerfEventOutput,
            130 => Self::RingbufOutput,
            182 => Self::Strncmp,
            MEMCMP => Self::Memcmp,
            _ => return None,
        })
    }

    /// Return the requirements on r1…r5.
    pub fn arguments(self) -> [Argument; 5] {
        use Argument::{
            AsMuch, Context, Events, Key, Map, Memory, Number, Size, SizeOrZero, Unused, Value,
            WritableMap,
        };
        match self {
            Self::MapLookup => [Map, Key, Unused, Unused, Unused],
            Self::MapUpdate => [WritableMap, Key, Value, Number, Unused],
            Self::MapDelete => [WritableMap, Key, Unused, Unused, Unused],
            Self::KtimeNs | Self::RandomU32 | Self::ProcessorId => [Unused; 5],
            // Programs rarely set all three numbers: those not set are not looked at.
            Self::TracePrintk => [Memory, Size, Unused, Unused, Unused],
            Self::PerfEventOutput => [Context, Events, Number, Memory, SizeOrZero],
            Self::Strncmp => [Memory, Size, AsMuch, Unused, Unused],
            Self::Memcmp => [Memory, Memory, SizeOrZero, Unused, Unused],
            Self::RingbufOutput => [Events, Memory, SizeOrZero, Number, Unused],
        }
    }

    /// Return the register with the size of the memory that is passed, r1…r5.
    pub fn size_register(self) -> Option<u8> {
        let arguments = self.arguments();
        let index = arguments
            .iter()
            .position(|argument| matches!(argument, Argument::Size | Argument::SizeOrZero))?;
        Some(index as u8 + 1)
    }

    /// Return the kind of the result in r0.
    pub fn returns(self) -> Returns {
        match self {
            Self::MapLookup => Returns::ValueOrNull,
            _ => Returns::Number,
        }
    }
}
