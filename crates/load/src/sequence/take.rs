//! A value that is taken from an answer, and the rules that it must keep.

use super::capture::{Capture, Wants};
use super::place::Place;
use crate::protocol::{Failure, Kind};

/// Most bytes of a value.
const LONGEST: usize = 64 * 1024;

/// The part of a request that a value goes into, the strictest last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Use {
    /// Headers and bodies.
    #[default]
    Anywhere,
    /// The path, behind its beginning.
    InPath,
    /// The beginning of the path.
    AsPath,
}

impl Use {
    /// Return true if `value` changes nothing but the part that it stands for.
    fn allows(self, value: &[u8]) -> bool {
        let fits = match self {
            Use::Anywhere => !value.iter().any(u8::is_ascii_control),
            Use::InPath | Use::AsPath => value
                .iter()
                .all(|byte| byte.is_ascii_graphic() && *byte != b'#'),
        };
        fits && value.len() <= LONGEST && (self != Use::AsPath || value.starts_with(b"/"))
    }
}

/// A value to take.
#[derive(Clone, Debug)]
pub struct Take {
    /// The value's number.
    pub value: usize,
    place: Place,
    used: Use,
    /// The failure of an answer without the value.
    lacking: Failure,
    /// The failure of an answer with a value that must not be sent.
    unfit: Failure,
}

impl Take {
    /// The value `name`, which has this number, at `place`, which is written as `text`.
    pub fn new(value: usize, name: &str, place: Place, text: &str) -> Self {
        // Failures are counted by texts that last as long as the program; there are two a place.
        let failure = |why: String| Failure {
            kind: Kind::Value,
            why: why.leak(),
        };
        Take {
            value,
            place,
            used: Use::default(),
            lacking: failure(format!("no value for ${{{name}}} at {text}")),
            unfit: failure(format!("a value for ${{{name}}} that must not be sent")),
        }
    }

    /// The same value, for this use.
    #[must_use]
    pub fn used(self, used: Use) -> Self {
        Take { used, ..self }
    }

    /// The parts of an answer that it needs.
    pub fn wants(&self) -> Wants {
        self.place.wants()
    }

    /// Return true if it needs the answer's body.
    pub fn needs_body(&self) -> bool {
        self.place.wants().body
    }

    /// Put the value of an answer in place of the last one.
    ///
    /// # Errors
    /// The failure of an answer that has none, or one that would change more of a request than its own
    /// part.
    pub fn take(
        &self,
        status: u16,
        capture: &Capture,
        values: &mut [Vec<u8>],
    ) -> Result<(), Failure> {
        let value = &mut values[self.value];
        value.clear();
        if !self.place.find(status, capture, value) {
            return Err(self.lacking);
        }
        match self.used.allows(value) {
            true => Ok(()),
            false => Err(self.unfit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_stays_in_its_part() {
        for (value, anywhere, in_path, as_path) in [
            ("", true, true, false),
            ("/a?b=c", true, true, true),
            ("http://h/", true, true, false),
            ("a b", true, false, false),
            ("ä", true, false, false),
            ("/a#b", true, false, false),
            ("/a\r\nX: y", false, false, false),
            ("a\nb", false, false, false),
            ("a\tb", false, false, false),
            ("a\0", false, false, false),
            ("a\u{7f}", false, false, false),
        ] {
            let allowed =
                [Use::Anywhere, Use::InPath, Use::AsPath].map(|part| part.allows(value.as_bytes()));
            assert_eq!(allowed, [anywhere, in_path, as_path], "{value:?}");
        }
        assert!(!Use::Anywhere.allows(&[b'x'; LONGEST + 1]));
    }
}
