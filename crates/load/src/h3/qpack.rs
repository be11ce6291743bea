//! QPACK, the compression of headers in HTTP/3 (RFC 9204), without its dynamic table: a client that
//! does not offer one gets sections which stand for themselves.

use super::static_table::STATIC;
use crate::cache_header::CacheHeader;
use crate::fields::{Head, Reading};
use crate::hpack::{Fault, huffman, integer};

/// Longest section that is still read, in bytes: its fields may be as long.
const LONGEST: usize = 64 * 1024;

/// The beginning of a section that uses no dynamic table.
const PREFIX: [u8; 2] = [0, 0];

fn entry(index: u64) -> Result<(&'static [u8], &'static [u8]), Fault> {
    let index = usize::try_from(index).map_err(|_| Fault::Index)?;
    let (name, value) = STATIC.get(index).ok_or(Fault::Index)?;
    Ok((name.as_bytes(), value.as_bytes()))
}

/// The meaning of the whole `section` of a response, which may have a header about a cache; `keep`
/// is called with each field.
///
/// # Errors
/// The [`Fault`], after which the connection cannot continue.
pub fn read(
    section: &[u8],
    cache: &CacheHeader,
    mut keep: impl FnMut(&[u8], &[u8]),
) -> Result<Head, Fault> {
    if section.len() > LONGEST {
        return Err(Fault::TooLong);
    }
    let (required, used) = integer::read(section, 8)?;
    let (_, base) = integer::read(&section[used..], 7)?;
    if required != 0 {
        return Err(Fault::Index);
    }
    let mut rest = &section[used + base..];
    let mut reading = Reading::new(cache);
    let mut field = |name: &[u8], value: &[u8]| {
        reading.field(name, value);
        keep(name, value);
    };
    let (mut name, mut value) = (Vec::new(), Vec::new());
    while let Some(first) = rest.first() {
        match first {
            // An indexed field line; of the static table, as the second bit must say.
            0b1100_0000.. => {
                let (name, value) = entry(take(&mut rest, 6)?)?;
                field(name, value);
            }
            // A literal with a name of the static table, as the fourth bit must say.
            0b0101_0000..=0b0101_1111 | 0b0111_0000..=0b0111_1111 => {
                let (name, _) = entry(take(&mut rest, 4)?)?;
                read_string(&mut rest, 7, &mut value)?;
                field(name, &value);
            }
            // A literal with a literal name.
            0b0010_0000..=0b0011_1111 => {
                read_string(&mut rest, 3, &mut name)?;
                read_string(&mut rest, 7, &mut value)?;
                field(&name, &value);
            }
            _ => return Err(Fault::Index),
        }
    }
    Ok(reading.head)
}

fn take(rest: &mut &[u8], prefix: u32) -> Result<u64, Fault> {
    let (value, used) = integer::read(rest, prefix)?;
    *rest = &rest[used..];
    Ok(value)
}

/// Read a string whose length has `prefix` bits; the bit above them marks the Huffman code.
fn read_string(rest: &mut &[u8], prefix: u32, out: &mut Vec<u8>) -> Result<(), Fault> {
    let coded = rest.first().ok_or(Fault::Cut)? & (1 << prefix) != 0;
    let length = usize::try_from(take(rest, prefix)?).map_err(|_| Fault::Cut)?;
    let (bytes, later) = rest.split_at_checked(length).ok_or(Fault::Cut)?;
    *rest = later;
    out.clear();
    if coded {
        huffman::decode(bytes, out)
    } else {
        out.extend_from_slice(bytes);
        Ok(())
    }
}

/// Begin a section.
pub fn begin(out: &mut Vec<u8>) {
    out.extend_from_slice(&PREFIX);
}

/// Append a field.
pub fn field(key: &str, value: &[u8], out: &mut Vec<u8>) {
    name(key, out);
    string(value, out);
}

/// Append a field whose name is that of the static table's entry `index`.
pub fn named(index: u64, value: &[u8], out: &mut Vec<u8>) {
    integer::write(index, 4, 0b0101_0000, out);
    string(value, out);
}

/// Append the beginning of a field, behind which its value must follow.
pub fn name(name: &str, out: &mut Vec<u8>) {
    match STATIC.iter().position(|(known, _)| *known == name) {
        Some(index) => integer::write(index as u64, 4, 0b0101_0000, out),
        None => {
            integer::write(name.len() as u64, 3, 0b0010_0000, out);
            out.extend_from_slice(name.as_bytes());
        }
    }
}

/// Append a field's value.
pub fn string(value: &[u8], out: &mut Vec<u8>) {
    integer::write(value.len() as u64, 7, 0, out);
    out.extend_from_slice(value);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(section: &[u8]) -> Result<Head, Fault> {
        super::read(section, &CacheHeader::default(), |_, _| {})
    }

    fn section(lines: &[&[u8]]) -> Vec<u8> {
        [&PREFIX[..], &lines.concat()].concat()
    }

    #[test]
    fn reads_all_kinds_of_lines() {
        let mut lines = Vec::new();
        begin(&mut lines);
        lines.push(0b1101_1001); // :status 200
        named(4, b"12", &mut lines); // content-length
        named(92, b"nginx", &mut lines);
        field("x-a", b"b", &mut lines);
        let head = read(&lines).unwrap();
        assert_eq!(
            (head.status, head.length, head.wrong),
            (200, Some(12), None)
        );
        let mut coded = Vec::new();
        huffman::encode(b"404", &mut coded);
        let mut line = vec![0b0101_1111, 24 - 15, 0b1000_0000 | coded.len() as u8];
        line.extend_from_slice(&coded);
        assert_eq!(read(&section(&[&line])).unwrap().status, 404);
    }

    #[test]
    fn knows_malformed_responses() {
        for lines in [
            &[&[0xd1][..]][..],                 // a request's :method
            &[&[0xd9], &[0xd9]],                // two statuses
            &[&[0x5f, 0x1d], &[0x00], &[0xd9]], // a field before the status
        ] {
            let head = read(&section(lines)).unwrap();
            assert!(head.wrong.is_some(), "{lines:?}");
        }
    }

    #[test]
    fn refuses_tables_that_were_not_offered() {
        assert_eq!(read(&[1, 0, 0xd9]), Err(Fault::Index)); // needs an insertion
        assert_eq!(read(&section(&[&[0x80]])), Err(Fault::Index)); // dynamic, indexed
        assert_eq!(read(&section(&[&[0x10]])), Err(Fault::Index)); // post-base
        assert_eq!(read(&section(&[&[0x40, 0x00]])), Err(Fault::Index)); // dynamic name
        assert_eq!(read(&section(&[&[0xff, 0x24]])), Err(Fault::Index)); // 99 of the static table
        assert_eq!(read(&section(&[&[0x5f]])), Err(Fault::Cut));
    }

    proptest! {
        #![proptest_config(ProptestConfig { rng_seed: proptest::test_runner::RngSeed::Fixed(8), failure_persistence: None, ..ProptestConfig::with_cases(500) })]

        #[test]
        fn anything_is_read_without_a_crash(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = read(&bytes);
        }

        #[test]
        fn fields_come_back(status in 200u16..1000, length: u64, name in "[a-z-]{1,20}", value in "[ -~]{0,300}") {
            prop_assume!(name != "content-length");
            let mut lines = Vec::new();
            begin(&mut lines);
            named(24, status.to_string().as_bytes(), &mut lines);
            named(4, length.to_string().as_bytes(), &mut lines);
            field(&name, value.as_bytes(), &mut lines);
            let head = read(&lines).expect("a section");
            prop_assert_eq!((head.status, head.length), (status, Some(length)));
        }
    }
}
