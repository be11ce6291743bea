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
    RingbufReserve,
    RingbufSubmit,
    RingbufDiscard,
    RingbufQuery,
    /// Goes on with another program, with the same context. It comes back only if it cannot.
    TailCall,
    /// Calls a function of the program again and again.
    Loop,
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
    /// A map with keys and values, or with keys and other maps.
    AnyMap,
    /// A map with keys and values that the program may write.
    WritableMap,
    /// A queue of events.
    Events,
    /// A map of programs.
    Programs,
    /// A function of the program.
    Callback,
    /// Memory of the stack for a callback, or null.
    StackOrNull,
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
    /// The size of memory that is made, the same on every path.
    KnownSize,
    /// Memory that was reserved in a queue, from its first byte.
    Reserved,
}

/// The kind of a helper's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Returns {
    /// A number.
    Number,
    /// The address of a value of the map, or null. Of a map of maps, the map, or null.
    ValueOrNull,
    /// The address of memory that was reserved, or null.
    ReservedOrNull,
    /// Nothing.
    Nothing,
}

/// The number of [`Helper::Memcmp`], none of the kernel's.
const MEMCMP: u32 = 1 << 24;

/// Return the number of the helper that does what the function of C does.
pub fn by_name(name: &str) -> Option<u32> {
    // Compilers call the second where the sign does not matter.
    matches!(name, "memcmp" | "bcmp").then_some(MEMCMP)
}

/// The most turns of [`Helper::Loop`].
pub const MAX_TURNS: u64 = 1 << 23;
/// The most times that a run goes on with another program.
pub const MAX_TAIL_CALLS: usize = 33;

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
            12 => Self::TailCall,
            25 => Self::PerfEventOutput,
            130 => Self::RingbufOutput,
            131 => Self::RingbufReserve,
            132 => Self::RingbufSubmit,
            133 => Self::RingbufDiscard,
            134 => Self::RingbufQuery,
            181 => Self::Loop,
            182 => Self::Strncmp,
            MEMCMP => Self::Memcmp,
            _ => return None,
        })
    }

    /// Return the requirements on r1…r5.
    pub fn arguments(self) -> [Argument; 5] {
        use Argument::{
            AnyMap, AsMuch, Callback, Context, Events, Key, KnownSize, Memory, Number, Programs,
            Reserved, Size, SizeOrZero, StackOrNull, Unused, Value, WritableMap,
        };
        match self {
            Self::MapLookup => [AnyMap, Key, Unused, Unused, Unused],
            Self::MapUpdate => [WritableMap, Key, Value, Number, Unused],
            Self::MapDelete => [WritableMap, Key, Unused, Unused, Unused],
            Self::KtimeNs | Self::RandomU32 | Self::ProcessorId => [Unused; 5],
            // Programs rarely set all three numbers: those not set are not looked at.
            Self::TracePrintk => [Memory, Size, Unused, Unused, Unused],
            Self::PerfEventOutput => [Context, Events, Number, Memory, SizeOrZero],
            Self::Strncmp => [Memory, Size, AsMuch, Unused, Unused],
            Self::Memcmp => [Memory, Memory, SizeOrZero, Unused, Unused],
            Self::RingbufOutput => [Events, Memory, SizeOrZero, Number, Unused],
            Self::RingbufReserve => [Events, KnownSize, Number, Unused, Unused],
            Self::RingbufSubmit | Self::RingbufDiscard => {
                [Reserved, Number, Unused, Unused, Unused]
            }
            Self::RingbufQuery => [Events, Number, Unused, Unused, Unused],
            Self::TailCall => [Context, Programs, Number, Unused, Unused],
            Self::Loop => [Number, Callback, StackOrNull, Number, Unused],
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
            Self::RingbufReserve => Returns::ReservedOrNull,
            Self::RingbufSubmit | Self::RingbufDiscard => Returns::Nothing,
            _ => Returns::Number,
        }
    }
}
