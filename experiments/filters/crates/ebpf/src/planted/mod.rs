//! Faults that the crate's own tests plant one at a time, to see that random programs find them.
//!
//! Other builds, also those of tests in `tests/`, have none: there [`planted`] is false and the operations stay
//! what they are.

#[cfg(test)]
mod misread;
#[cfg(test)]
mod tests;

use crate::insn::Op;

/// A fault. The names of each part say what it gets wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// In the lowering: an operation is read as another one.
    #[cfg(test)]
    Compiled(Misread),
    /// In the verifier: an operation is read as another one.
    #[cfg(test)]
    Verified(Misread),
    /// In the lowering.
    QuotientByZero,
    ArrayOneMore,
    HelperCostsNothing,
    JumpCostsOne,
    TurnCostsNothing,
    EverySecondTurn,
    TurnsDoNotStop,
    TurnsCountWide,
    OverlapsInRegisters,
    PassedOnInRegisters,
    /// In the verifier: bounds of memory.
    RoomOneMore,
    WindowRoomStays,
    ReservedOneMore,
    LookupAlwaysFinds,
    ConstantKeyOneMore,
    LeastKey,
    /// In the verifier: numbers.
    JoinForgets,
    AndOneLess,
    HalfForWhole,
    FirstTurnOnly,
    CountedTurnLess,
    /// In what a run costs.
    CallsCostNothing,
    JumpMissesOne,
    PrepaidOneTurn,
}

/// An operation that is read as another one.
#[cfg(test)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misread {
    SignedComparisonAsUnsigned,
    NarrowComparisonAsWide,
    AboveAsNotBelow,
    BitTestAsDifference,
    SignedShiftAsUnsigned,
    NarrowShiftAsWide,
    NarrowSumAsWide,
    SignedQuotientAsUnsigned,
    MoveKeepsUpperHalf,
    SignedLoadAsUnsigned,
    SwapOfMore,
    FetchForgotten,
    AtomicOrAsXor,
    ConstantOfHalf,
}

/// Return true if the fault is planted in this thread.
#[cfg(not(test))]
pub const fn planted(_: Fault) -> bool {
    false
}

/// Return the operation as the lowering reads it.
#[cfg(not(test))]
pub const fn compiled(op: Op) -> Op {
    op
}

/// Return the operation as the verifier reads it.
#[cfg(not(test))]
pub const fn verified(op: Op) -> Op {
    op
}

#[cfg(test)]
thread_local! {
    static PLANTED: std::cell::Cell<Option<Fault>> = const { std::cell::Cell::new(None) };
}

/// Return true if the fault is planted in this thread.
#[cfg(test)]
pub fn planted(fault: Fault) -> bool {
    PLANTED.get() == Some(fault)
}

/// Return the operation as the lowering reads it.
#[cfg(test)]
pub fn compiled(op: Op) -> Op {
    match PLANTED.get() {
        Some(Fault::Compiled(misread)) => misread.read(op),
        _ => op,
    }
}

/// Return the operation as the verifier reads it.
#[cfg(test)]
pub fn verified(op: Op) -> Op {
    match PLANTED.get() {
        Some(Fault::Verified(misread)) => misread.read(op),
        _ => op,
    }
}
