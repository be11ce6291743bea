//! Numbers that lead into a window: what a comparison of `start + number` with the window's end says of
//! the number holds as long as the number does, for every address that is computed of it again.

use super::scalar::{Room, Scalar};
use super::state::State;
use super::value::{Link, Pointer, Region, Value};

impl State {
    /// Return how many bytes of a window are behind its start plus each number of the set.
    fn room(&self, number: Scalar, window: u8) -> i64 {
        let known = self.sizes.get(usize::from(window)).copied().unwrap_or(0);
        let derived = known.saturating_sub(number.smax);
        match number.room {
            Some(room) if room.window == window => room.bytes.max(derived),
            _ => derived,
        }
    }

    /// Return the room that a number has in this state and in another one, where it is another. To widen,
    /// only room that did not shrink is kept.
    pub fn joined_room(&self, a: Scalar, other: &Self, b: Scalar, widen: bool) -> Option<Room> {
        let both = |window| self.room(a, window).min(other.room(b, window));
        if widen {
            return a.room.filter(|room| room.bytes <= both(room.window));
        }
        let windows = 0..self.sizes.len() as u8;
        let window = match a.room.or(b.room) {
            Some(room) => room.window,
            // What is known of one number each does not say it of what is between.
            None if a.smax != b.smax => windows.into_iter().find(|window| both(*window) > 0)?,
            None => return None,
        };
        let bytes = both(window);
        Some(Room { window, bytes })
    }

    /// Return true if `bytes` bytes, `offset` bytes further, are inside the region: by what is known of the
    /// address, or of its window.
    pub fn covers(&self, pointer: &Pointer, offset: i64, bytes: i64) -> bool {
        if pointer.covers(offset, bytes) {
            return true;
        }
        let (Region::Window(window), Some(at)) = (pointer.region, pointer.at()) else {
            return false;
        };
        let first = at.saturating_add(offset);
        !pointer.nullable && first >= 0 && self.size(window).saturating_sub(first) >= bytes
    }

    /// Return how many bytes a window has at least: behind a number that has room are the number's own, too.
    fn size(&self, window: u8) -> i64 {
        let known = self.sizes.get(usize::from(window)).copied().unwrap_or(0);
        let of = |value: &Value| match value {
            Value::Scalar(scalar, _) => {
                let room = scalar.room.filter(|room| room.window == window)?;
                scalar.smin.checked_add(room.bytes)
            }
            _ => None,
        };
        self.values().filter_map(of).fold(known, i64::max)
    }

    /// An address turned out to have `bytes` bytes behind it in its window. So do, with their distances,
    /// the number that it was computed of, and all addresses of that.
    pub fn has_room(&mut self, pointer: &Pointer, window: u8, bytes: i64) {
        if let Some(size) = self.sizes.get_mut(usize::from(window)) {
            *size = (*size).max(pointer.from_start.saturating_add(bytes));
        }
        self.give_room(pointer.index, window, bytes);
    }

    /// A number, linked so, has room: so have all that share its base.
    fn give_room(&mut self, number: Link, window: u8, bytes: i64) {
        if number.id == 0 {
            return;
        }
        for place in self.places() {
            match place {
                Value::Scalar(scalar, link) if link.id == number.id => {
                    let bytes = bytes + (number.delta - link.delta);
                    scalar.add_room(Room { window, bytes });
                }
                Value::Pointer(other)
                    if other.index.id == number.id && other.region == Region::Window(window) =>
                {
                    let bytes = bytes + (number.delta - other.index.delta);
                    other.to_end = other.to_end.max(bytes);
                }
                _ => {}
            }
        }
    }
}

impl Scalar {
    /// Every number of the set has this room, too.
    fn add_room(&mut self, room: Room) {
        self.room = Some(match self.room {
            Some(known) if known.window == room.window && known.bytes > room.bytes => known,
            _ => room,
        });
    }
}
