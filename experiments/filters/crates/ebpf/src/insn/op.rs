//! The operations, typed.

/// A register: r0…r9 are general, r10 is the frame pointer.
pub type Reg = u8;
/// The frame pointer, which no instruction may write.
pub const FRAME_POINTER: Reg = 10;

/// The operation of an arithmetic instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is named as the instruction set has it")]
pub enum Alu {
    Add,
    Sub,
    Mul,
    Div,
    SignedDiv,
    Or,
    And,
    Lsh,
    Rsh,
    Neg,
    Mod,
    SignedMod,
    Xor,
    Mov,
    Arsh,
}

/// The condition of a jump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is named as the instruction set has it")]
pub enum Cond {
    Eq,
    Ne,
    Set,
    Gt,
    Ge,
    Lt,
    Le,
    SignedGt,
    SignedGe,
    SignedLt,
    SignedLe,
}

/// The operation of an atomic instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Atomic {
    /// Memory becomes memory + register.
    Add,
    /// Memory becomes memory | register.
    Or,
    /// Memory becomes memory & register.
    And,
    /// Memory becomes memory ^ register.
    Xor,
    /// Memory and register change places.
    Exchange,
    /// Memory becomes the register if it equals r0; r0 becomes what was there.
    CompareExchange,
}

/// The second operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A register.
    Reg(Reg),
    /// A constant, extended with its sign to 64 bits.
    Imm(i32),
}

/// One operation. `wide` tells 64 bits from 32; `bytes` is the width of a memory access; `offset` is
/// added to the address; targets are slots counted from the program's first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are described above")]
pub enum Op {
    Alu {
        wide: bool,
        op: Alu,
        dst: Reg,
        src: Source,
    },
    /// Moves the low `bits` of `src`, extended with their sign.
    MoveSigned {
        wide: bool,
        bits: u8,
        dst: Reg,
        src: Reg,
    },
    /// Keeps the low `bits` of `dst`, their bytes reversed if `swap`. Machines here are little-endian.
    ByteSwap {
        swap: bool,
        bits: u8,
        dst: Reg,
    },
    Load {
        bytes: u8,
        signed: bool,
        dst: Reg,
        base: Reg,
        offset: i16,
    },
    Store {
        bytes: u8,
        base: Reg,
        offset: i16,
        value: Source,
    },
    Atomic {
        bytes: u8,
        op: Atomic,
        fetch: bool,
        base: Reg,
        offset: i16,
        src: Reg,
    },
    LoadImm {
        dst: Reg,
        value: u64,
    },
    /// A handle on a map, for helpers only.
    LoadMap {
        dst: Reg,
        map: u32,
    },
    /// The address of a byte in the only value of an array map.
    LoadMapValue {
        dst: Reg,
        map: u32,
        offset: u32,
    },
    /// A handle on a function, for helpers that call it.
    LoadFunction {
        dst: Reg,
        target: usize,
    },
    /// The second slot of the four above: nothing may jump to it.
    SecondHalf,
    Jump {
        target: usize,
    },
    Branch {
        wide: bool,
        cond: Cond,
        dst: Reg,
        src: Source,
        target: usize,
    },
    Helper {
        number: u32,
    },
    Call {
        target: usize,
    },
    Exit,
}
