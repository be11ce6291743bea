//! The object at a path: its size by the distribution of its prefix, its bytes by the path itself.

use std::fmt::Write;

use sha3::Shake128;
use sha3::digest::{ExtendableOutput, Update, XofReader};

use crate::sizes::Sizes;

/// Bytes that are made at a time.
pub const BLOCK: u64 = 65536;

/// The sizes of the objects below each prefix.
#[derive(Clone, Debug)]
pub struct Catalogue(Vec<(String, Sizes)>);

impl Catalogue {
    /// Of pairs of prefix and sizes, in any order.
    pub fn new(mut pairs: Vec<(String, Sizes)>) -> Self {
        pairs.sort_by_key(|(prefix, _)| std::cmp::Reverse(prefix.len()));
        Catalogue(pairs)
    }

    /// Return the object at `path`, by the longest matching prefix, or `None`.
    pub fn find(&self, path: &str) -> Option<Object> {
        let (_, sizes) = self.0.iter().find(|(prefix, _)| path.starts_with(prefix))?;
        let mut seed = [0; 32];
        digest(path.as_bytes(), &mut seed);
        let tag = seed[16..].iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        });
        Some(Object {
            path: path.to_owned(),
            size: sizes.of(path, seed)?,
            etag: format!("\"{tag}\""),
        })
    }
}

/// One object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    path: String,
    /// Its size in bytes.
    pub size: u64,
    /// Its entity tag, in quotes.
    pub etag: String,
}

impl Object {
    /// The bytes from `start` on, at most to `end` and to the end of their block.
    ///
    /// Block *i* is SHAKE128 (FIPS 202) of the path, a line end and *i* in decimal digits.
    pub fn bytes(&self, start: u64, end: u64) -> Vec<u8> {
        let number = start / BLOCK;
        let first = number * BLOCK;
        let mut block = vec![0; (end.min(first + BLOCK) - first) as usize];
        digest(format!("{}\n{number}", self.path).as_bytes(), &mut block);
        block.split_off((start - first) as usize)
    }
}

/// SHAKE128 of `input`, as long as `output`.
pub fn digest(input: &[u8], output: &mut [u8]) {
    let mut hash = Shake128::default();
    hash.update(input);
    hash.finalize_xof().read(output);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn catalogue() -> Catalogue {
        let sizes = |text: &str| Sizes::parse(text).unwrap();
        Catalogue::new(vec![
            ("/".into(), sizes("fixed:100")),
            ("/big/".into(), sizes("fixed:200000")),
            ("/user/".into(), sizes("user")),
        ])
    }

    #[test]
    fn the_longest_prefix_decides() {
        let size = |path| catalogue().find(path).map(|object| object.size);
        assert_eq!(size("/a"), Some(100));
        assert_eq!(size("/big/a"), Some(200_000));
        assert_eq!(size("/user/a-77"), Some(77));
        assert_eq!(size("/user/a"), None);
        assert!(Catalogue::new(vec![]).find("/a").is_none());
    }

    #[test]
    fn bytes_are_as_documented() {
        // Python: hashlib.shake_128(b"/big/a\n0").hexdigest(8), and of b"/big/a\n1".
        let object = catalogue().find("/big/a").unwrap();
        let hex = |bytes: Vec<u8>| {
            bytes
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect::<String>()
        };
        assert_eq!(hex(object.bytes(0, 8)), "8d5efc6303a79824");
        assert_eq!(hex(object.bytes(BLOCK, BLOCK + 8)), "16d36d39c8a776db");
    }

    #[test]
    fn a_piece_is_a_part_of_the_whole() {
        let object = catalogue().find("/big/a").unwrap();
        let mut whole = Vec::new();
        while (whole.len() as u64) < object.size {
            whole.extend(object.bytes(whole.len() as u64, object.size));
        }
        assert_eq!(whole.len() as u64, object.size);
        for (start, end) in [
            (0, 1),
            (65_530, 65_536),
            (65_536, 65_540),
            (199_990, 200_000),
        ] {
            assert_eq!(
                object.bytes(start, end),
                whole[start as usize..end as usize]
            );
        }
    }

    #[test]
    fn paths_differ_in_bytes_and_tags() {
        let (one, other) = (
            catalogue().find("/a").unwrap(),
            catalogue().find("/b").unwrap(),
        );
        assert_ne!(one.bytes(0, 100), other.bytes(0, 100));
        assert_ne!(one.etag, other.etag);
        assert_eq!(one.etag.len(), 34);
    }
}
