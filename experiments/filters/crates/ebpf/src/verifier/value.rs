//! The abstract value of a register or a stack slot.

use super::scalar::Scalar;
use super::tnum::Tnum;
use crate::planted::{Fault, planted};

/// Memory that a pointer points into. Two pointers into the same region of the same call may be
/// compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Region {
    /// The program's context.
    Context,
    /// The stack frame of the call at this depth.
    Stack(usize),
    /// Some value of this map, or of one of its shape.
    MapValue(usize),
    /// Memory reserved by the helper's call in this slot.
    Reserved(usize),
    /// A map that a value of this map names; helpers alone look into it.
    Inner(usize),
    /// The bytes between the start and the end that the context gives, by the number of the pair.
    Window(u8),
    /// The end itself, which can be compared with and nothing else.
    WindowEnd(u8),
}

impl Region {
    /// Return true if an address in it and null may meet in one value.
    fn may_be_null(self) -> bool {
        !matches!(self, Self::Context | Self::WindowEnd(_))
    }
}

/// A link between values with the same base: a bound found for one holds for all. The number 0
/// links nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// Values with the same number have the same base.
    pub id: u32,
    /// The value is its base plus this.
    pub delta: i64,
}

impl Link {
    /// The link of the value plus a number.
    pub fn moved(self, by: i64) -> Option<Self> {
        if self.id == 0 {
            return Some(self);
        }
        let delta = self.delta.checked_add(by)?;
        Some(Self { delta, ..self })
    }
}

/// An address. Invariant: `-LIMIT <= from_start` and `-LIMIT <= to_end`, so that it lies within
/// [`Pointer::LIMIT`] bytes of its region and neither wraps around nor compares wrongly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pointer {
    /// The region that it points into.
    pub region: Region,
    /// It may be null instead (and then nothing else here holds).
    pub nullable: bool,
    /// At least so many bytes after the region's first.
    pub from_start: i64,
    /// At least so many bytes before the region's end.
    pub to_end: i64,
    /// Its distance from the region's first byte.
    pub offset: Tnum,
    /// The values that share its base.
    pub link: Link,
    /// Its distance from the region's start is the number that is linked so, if there is one.
    pub index: Link,
}

impl Pointer {
    /// The largest distance of a pointer from its region, in bytes.
    pub const LIMIT: i64 = 1 << 30;

    /// The address of byte `at` of a region of `size` bytes.
    pub fn new(region: Region, at: i64, size: i64) -> Self {
        Self {
            region,
            nullable: false,
            from_start: at,
            to_end: size - at,
            offset: Tnum::constant(at as u64),
            link: Link::default(),
            index: Link::default(),
        }
    }

    /// The offset from the region's first byte, if it is only one.
    pub fn at(&self) -> Option<i64> {
        (self.offset.mask == 0).then_some(self.offset.value as i64)
    }

    /// The pointer moved by a number, which is linked so; `None` when it might stray beyond the limit.
    pub fn moved(mut self, by: Scalar, number: Link) -> Option<Self> {
        let from = self.at();
        self.from_start = self.from_start.checked_add(by.smin)?;
        self.to_end = self.to_end.checked_sub(by.smax)?;
        self.offset = self.offset.add(by.bits);
        if let (Some(from), Some(room)) = (from, by.room)
            && self.region == Region::Window(room.window)
        {
            self.to_end = self.to_end.max(room.bytes.checked_sub(from)?);
        }
        self.index = match (by.known(), from) {
            (Some(by), _) if self.index.id != 0 || number.id == 0 => self.index.moved(by as i64)?,
            (_, Some(from)) => number.moved(from)?,
            _ => Link::default(),
        };
        self.link = match by.known() {
            Some(by) => self.link.moved(by as i64)?,
            None => Link::default(),
        };
        let near = |distance: i64| (-Self::LIMIT..=Self::LIMIT).contains(&distance);
        let delta = near(self.link.delta) && near(self.index.delta);
        (near(by.smin)
            && near(by.smax)
            && delta
            && self.from_start >= -Self::LIMIT
            && self.to_end >= -Self::LIMIT)
            .then_some(self)
    }

    /// Return an address that covers both, in one region. The caller joins the links.
    fn join(self, other: Self) -> Self {
        Self {
            region: self.region,
            nullable: self.nullable || other.nullable,
            from_start: self.from_start.min(other.from_start),
            to_end: self.to_end.min(other.to_end),
            offset: self.offset.union(other.offset),
            link: Link::default(),
            index: Link::default(),
        }
    }

    /// Return `next`, which contains `self`, with every bound that grew moved far enough for loops
    /// to settle.
    fn widen(self, next: Self) -> Self {
        let mut wide = next;
        if next.from_start < self.from_start {
            wide.from_start = if next.from_start >= 0 {
                0
            } else {
                -Self::LIMIT
            };
        }
        if next.to_end < self.to_end {
            wide.to_end = if next.to_end >= 0 { 0 } else { -Self::LIMIT };
        }
        if next.offset != self.offset {
            let aligned = next.offset.mask.trailing_zeros().min(63);
            wide.offset.mask = u64::MAX << aligned;
            wide.offset.value &= !wide.offset.mask;
        }
        wide
    }

    /// Return true if `bytes` bytes, `offset` bytes further, are inside the region.
    pub fn covers(&self, offset: i64, bytes: i64) -> bool {
        let more = i64::from(planted(Fault::RoomOneMore));
        !self.nullable && self.from_start + offset >= 0 && self.to_end - offset + more >= bytes
    }
}

/// The abstract value of a register or a stack slot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A value that may not be read: never written, or of a kind that depends on the path.
    Unusable,
    /// A number, and who holds the same one.
    Scalar(Scalar, Link),
    /// An address.
    Pointer(Pointer),
    /// A handle on a map.
    Map(usize),
    /// A handle on a function, by its number.
    Function(usize),
    /// The lower half of an address, good for nothing but the distance from another one.
    Half(Pointer),
}

impl Value {
    /// A number that nothing else is known to equal.
    pub fn scalar(scalar: Scalar) -> Self {
        Self::Scalar(scalar, Link::default())
    }

    /// The number 0, which is also null.
    pub fn zero() -> Self {
        Self::scalar(Scalar::constant(0))
    }

    /// Return the values that share its base.
    pub fn link(&self) -> Link {
        match self {
            Self::Scalar(_, link) => *link,
            Self::Pointer(pointer) => pointer.link,
            _ => Link::default(),
        }
    }

    /// Its link, and for an address that of its index.
    pub fn links(&mut self) -> impl Iterator<Item = &mut Link> {
        let (link, index) = match self {
            Self::Scalar(_, link) => (Some(link), None),
            Self::Pointer(pointer) => (Some(&mut pointer.link), Some(&mut pointer.index)),
            _ => (None, None),
        };
        link.into_iter().chain(index)
    }

    /// The same value with another link.
    pub fn set_link(&mut self, new: Link) {
        match self {
            Self::Scalar(_, link) => *link = new,
            Self::Pointer(pointer) => pointer.link = new,
            _ => {}
        }
    }

    /// Return the region that it points into, with the whole address or half of it.
    pub fn region(&self) -> Option<Region> {
        match self {
            Self::Pointer(pointer) | Self::Half(pointer) => Some(pointer.region),
            _ => None,
        }
    }

    /// Return a value that covers both: an address and null, for instance, an address that may be null. The
    /// caller joins the links.
    pub fn join(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Scalar(a, _), Self::Scalar(b, _)) => Self::scalar(a.union(*b)),
            (Self::Map(a), Self::Map(b)) if a == b => Self::Map(*a),
            (Self::Function(a), Self::Function(b)) if a == b => Self::Function(*a),
            (Self::Pointer(a), Self::Scalar(b, _)) | (Self::Scalar(b, _), Self::Pointer(a))
                if b.known() == Some(0) && a.region.may_be_null() =>
            {
                Self::Pointer(Pointer {
                    nullable: true,
                    index: Link::default(),
                    ..*a
                })
            }
            (Self::Pointer(a), Self::Pointer(b)) if a.region == b.region => {
                Self::Pointer(a.join(*b))
            }
            (Self::Half(a), Self::Half(b)) if a.region == b.region => Self::Half(a.join(*b)),
            _ => Self::Unusable,
        }
    }

    /// `next`, which contains `self`, with every bound that grew moved far enough for loops to settle.
    pub fn widen(&self, next: &Self, thresholds: &[i64]) -> Self {
        match (self, next) {
            (Self::Scalar(a, _), Self::Scalar(b, link)) => {
                Self::Scalar(a.widen(*b, thresholds), *link)
            }
            (Self::Pointer(a), Self::Pointer(b)) => Self::Pointer(a.widen(*b)),
            (Self::Half(a), Self::Half(b)) => Self::Half(a.widen(*b)),
            _ => *next,
        }
    }
}
