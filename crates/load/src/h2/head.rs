//! The header blocks of a connection's responses (RFC 9113, section 8).

use crate::cache_header::CacheHeader;
use crate::fields::{Head, Reading};
use crate::hpack::{Decoder, Effect, Fault, Scratch};

/// Reads the header blocks of one connection, and remembers the last one: most answers of a run
/// have the same, as long as the server's date does not change.
///
/// nginx inserts the same fields into the table with every answer and never uses them. Such a block
/// means the same each time; the table is only brought up to date before another block.
#[derive(Debug, Default)]
pub struct HeadReader {
    cache: CacheHeader,
    decoder: Decoder,
    last: Vec<u8>,
    meaning: Option<Meaning>,
    /// The fields of the last block, if they are kept.
    fields: Option<Vec<Field>>,
}

/// A name and its value.
type Field = (Vec<u8>, Vec<u8>);

/// The meaning of the last block.
#[derive(Clone, Copy, Debug)]
struct Meaning {
    head: Head,
    effect: Effect,
    /// The table's version, if the block left it as it was.
    version: Option<u64>,
    /// Number of times that the block came again without being decoded.
    again: usize,
}

impl HeadReader {
    /// A reader that looks for a header about a cache.
    pub fn new(cache: CacheHeader) -> Self {
        HeadReader {
            cache,
            ..HeadReader::default()
        }
    }

    /// Keep the fields of each block until the next one.
    pub fn keep_fields(&mut self) {
        self.fields = Some(Vec::new());
    }

    /// The fields of the last block, if they are kept.
    pub fn fields(&self) -> &[Field] {
        self.fields.as_deref().unwrap_or_default()
    }

    /// The meaning of the whole `block`.
    ///
    /// # Errors
    /// The [`Fault`], after which the connection cannot continue.
    pub fn read(&mut self, block: &[u8], scratch: &mut Scratch) -> Result<Head, Fault> {
        if let Some(meaning) = self.meaning.as_mut().filter(|_| block == self.last) {
            if !meaning.effect.used {
                meaning.again += 1;
                return Ok(meaning.head);
            }
            if meaning.version == Some(self.decoder.version()) {
                return Ok(meaning.head);
            }
        }
        self.catch_up(scratch)?;
        let version = self.decoder.version();
        let mut reading = Reading::new(&self.cache);
        let kept = &mut self.fields;
        kept.iter_mut().for_each(Vec::clear);
        let effect = self.decoder.decode(block, scratch, |name, value| {
            reading.field(name, value);
            if let Some(fields) = kept {
                fields.push((name.to_vec(), value.to_vec()));
            }
        })?;
        self.last.clear();
        self.last.extend_from_slice(block);
        self.meaning = Some(Meaning {
            head: reading.head,
            effect,
            version: (self.decoder.version() == version).then_some(version),
            again: 0,
        });
        Ok(reading.head)
    }

    /// Apply to the table the changes of the last block's repetitions.
    fn catch_up(&mut self, scratch: &mut Scratch) -> Result<(), Fault> {
        let Some(meaning) = self.meaning.take().filter(|meaning| meaning.effect.changed) else {
            return Ok(());
        };
        for _ in 0..meaning.again.min(meaning.effect.turns()) {
            self.decoder.decode(&self.last, scratch, |_, _| {})?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::hpack::{encoder, integer};

    fn block(fields: &[(&str, &str)]) -> Vec<u8> {
        let mut block = Vec::new();
        for (name, value) in fields {
            encoder::field(name, value.as_bytes(), &mut block);
        }
        block
    }

    fn read(fields: &[(&str, &str)]) -> Head {
        let mut scratch = Scratch::default();
        HeadReader::default()
            .read(&block(fields), &mut scratch)
            .expect("a block")
    }

    #[test]
    fn finds_status_and_length() {
        let head = read(&[(":status", "200"), ("content-length", "12"), ("x", "y")]);
        assert_eq!(
            head,
            Head {
                status: 200,
                length: Some(12),
                hit: None,
                grpc: None,
                wrong: None
            }
        );
        let head = read(&[("x", "y")]);
        assert_eq!(
            head,
            Head {
                status: 0,
                length: None,
                hit: None,
                grpc: None,
                wrong: None
            }
        );
    }

    #[test]
    fn knows_malformed_responses() {
        for fields in [
            &[(":status", "20")][..],
            &[(":status", "+20")],
            &[(":status", "099")],
            &[(":status", "200"), (":status", "200")],
            &[(":path", "/")],
            &[("x", "y"), (":status", "200")],
            &[(":status", "200"), ("content-length", "-1")],
            &[
                (":status", "200"),
                ("content-length", "1"),
                ("content-length", "2"),
            ],
            &[(":status", "200"), ("X", "y")],
            &[(":status", "200"), ("", "y")],
            &[(":status", "200"), ("x", "a\r\nb")],
            &[(":status", "200"), ("transfer-encoding", "chunked")],
        ] {
            assert!(read(fields).wrong.is_some(), "{fields:?}");
        }
    }

    #[test]
    fn a_remembered_block_is_only_for_the_same_table() {
        let mut reader = HeadReader::default();
        let mut scratch = Scratch::default();
        let mut status = |block: &[u8]| reader.read(block, &mut scratch).map(|head| head.status);
        let insert = |code: &[u8]| {
            let mut block = vec![0x48];
            integer::write(code.len() as u64, 7, 0, &mut block);
            block.extend_from_slice(code);
            block
        };
        assert_eq!(status(&insert(b"201")), Ok(201));
        // The newest entry, again and again, until it is another one.
        assert_eq!(status(&[0xbe]), Ok(201));
        assert_eq!(status(&[0xbe]), Ok(201));
        assert_eq!(status(&insert(b"404")), Ok(404));
        assert_eq!(status(&[0xbe]), Ok(404));
        // A table of no size forgets it, and then remembers no insertion.
        assert_eq!(status(&[&[0x20][..], &insert(b"503")].concat()), Ok(503));
        assert_eq!(status(&insert(b"503")), Ok(503));
        assert_eq!(status(&insert(b"503")), Ok(503));
        assert_eq!(status(&[0xbe]), Err(Fault::Index));
    }

    /// A block of fields, each one inserted, used, or neither.
    fn any_block() -> impl Strategy<Value = Vec<u8>> {
        let insert = (0u8..4, 0usize..90).prop_map(|(name, length)| {
            let mut field = vec![0x40, 1, b'a' + name];
            integer::write(length as u64, 7, 0, &mut field);
            field.resize(field.len() + length, b'x');
            field
        });
        let status = prop_oneof![Just(vec![0x88]), Just([&[0x48, 3][..], b"404"].concat())];
        let field = prop_oneof![
            insert,
            status,
            (0xbeu8..0xcc).prop_map(|index| vec![index]),
            Just(vec![0x0f, 0x0d, 1, b'7']),
        ];
        let resize = prop_oneof![6 => Just(vec![]), 1 => Just(vec![0x20]), 1 => Just(vec![0x3f, 0xe1, 0x1f]), 1 => Just(vec![0x3f, 0x61])];
        (resize, prop::collection::vec(field, 0..5))
            .prop_map(|(resize, fields)| [resize, fields.concat()].concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            rng_seed: proptest::test_runner::RngSeed::Fixed(7),
            failure_persistence: None,
            ..ProptestConfig::with_cases(2000)
        })]

        #[test]
        fn remembering_changes_nothing(
            blocks in prop::collection::vec(any_block(), 1..4),
            turns in prop::collection::vec((any::<prop::sample::Index>(), prop_oneof![0usize..4, Just(140)]), 0..12),
        ) {
            let mut reader = HeadReader::default();
            let mut scratch = Scratch::default();
            let mut decoder = Decoder::default();
            for (block, times) in turns {
                let block = &blocks[block.index(blocks.len())];
                for _ in 0..times {
                    let cache = CacheHeader::default();
                    let mut reading = Reading::new(&cache);
                    let seen = decoder.decode(block, &mut scratch, |name, value| reading.field(name, value));
                    let expected = seen.map(|_| reading.head);
                    let found = reader.read(block, &mut scratch);
                    prop_assert_eq!(found, expected);
                    if found.is_err() {
                        return Ok(());
                    }
                }
            }
        }
    }
}
