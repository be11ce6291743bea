//! Header blocks decode as the RFC says, and wrong ones are refused.

use proptest::prelude::*;
use tare_load::hpack::{Decoder, Fault, Scratch, encoder, huffman, integer};

type Fields = Vec<(String, String)>;

fn decode(decoder: &mut Decoder, block: &[u8]) -> Result<Fields, Fault> {
    let mut fields = Vec::new();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let keep = |name: &[u8], value: &[u8]| fields.push((text(name), text(value)));
    decoder.decode(block, &mut Scratch::default(), keep)?;
    Ok(fields)
}

fn hex(digits: &str) -> Vec<u8> {
    let digits: Vec<u8> = digits.bytes().filter(u8::is_ascii_hexdigit).collect();
    let byte = |pair: &[u8]| {
        let pair = std::str::from_utf8(pair).expect("digits");
        u8::from_str_radix(pair, 16).expect("digits")
    };
    digits.chunks(2).map(byte).collect()
}

/// Decodes the blocks one after the other and compares each with the fields "name: value|…".
fn assert_decodes(blocks: &[(&str, &str)]) {
    let mut decoder = Decoder::default();
    for (digits, expected) in blocks {
        let fields = decode(&mut decoder, &hex(digits)).expect("a valid block");
        let fields: Vec<String> = fields
            .iter()
            .map(|(name, value)| format!("{name}: {value}"))
            .collect();
        assert_eq!(fields.join("|"), *expected);
    }
}

const REQUESTS: [&str; 3] = [
    ":method: GET|:scheme: http|:path: /|:authority: www.example.com",
    ":method: GET|:scheme: http|:path: /|:authority: www.example.com|cache-control: no-cache",
    ":method: GET|:scheme: https|:path: /index.html|:authority: www.example.com|custom-key: custom-value",
];

const RESPONSES: [&str; 3] = [
    ":status: 302|cache-control: private|date: Mon, 21 Oct 2013 20:13:21 GMT|location: https://www.example.com",
    ":status: 307|cache-control: private|date: Mon, 21 Oct 2013 20:13:21 GMT|location: https://www.example.com",
    ":status: 200|cache-control: private|date: Mon, 21 Oct 2013 20:13:22 GMT|location: https://www.example.com|content-encoding: gzip|set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1",
];

#[test]
fn single_fields() {
    // RFC 7541, appendix C.2.
    assert_decodes(&[
        (
            "400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572",
            "custom-key: custom-header",
        ),
        ("be", "custom-key: custom-header"),
        ("040c 2f73 616d 706c 652f 7061 7468", ":path: /sample/path"),
        (
            "1008 7061 7373 776f 7264 0673 6563 7265 74",
            "password: secret",
        ),
        ("82", ":method: GET"),
    ]);
}

#[test]
fn requests_on_one_connection() {
    // RFC 7541, appendix C.3, and C.4 with the Huffman code.
    assert_decodes(&[
        (
            "8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
            REQUESTS[0],
        ),
        ("8286 84be 5808 6e6f 2d63 6163 6865", REQUESTS[1]),
        (
            "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65",
            REQUESTS[2],
        ),
    ]);
    assert_decodes(&[
        ("8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff", REQUESTS[0]),
        ("8286 84be 5886 a8eb 1064 9cbf", REQUESTS[1]),
        (
            "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf",
            REQUESTS[2],
        ),
    ]);
}

#[test]
fn responses_that_evict() {
    // RFC 7541, appendix C.5, and C.6 with the Huffman code. The table's 256 bytes are set by an
    // update in front.
    assert_decodes(&[
        (
            "3fe101 4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133
             2032 303a 3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65
             2e63 6f6d",
            RESPONSES[0],
        ),
        ("4803 3330 37c1 c0bf", RESPONSES[1]),
        (
            "88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0
             5a04 677a 6970 7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851
             5745 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e 3d31",
            RESPONSES[2],
        ),
    ]);
    assert_decodes(&[
        (
            "3fe101 4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6
             2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
            RESPONSES[0],
        ),
        ("4883 640e ffc1 c0bf", RESPONSES[1]),
        (
            "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad
             94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160
             65c0 03ed 4ee5 b106 3d50 07",
            RESPONSES[2],
        ),
    ]);
}

#[test]
fn wrong_blocks_are_refused() {
    for (digits, fault) in [
        ("80", Fault::Index),
        ("be", Fault::Index),
        ("ffff ffff ffff ffff ffff 7f", Fault::Integer),
        ("7f", Fault::Cut),
        ("40", Fault::Cut),
        ("400a 6375", Fault::Cut),
        ("4001 61", Fault::Cut),
        ("0081 ff00", Fault::Huffman),
        // A table of 4097 bytes, and a change of its size behind a field.
        ("3fe2 1f", Fault::Resize),
        ("8220", Fault::Resize),
    ] {
        assert_eq!(
            decode(&mut Decoder::default(), &hex(digits)),
            Err(fault),
            "{digits}"
        );
    }
    let whole = decode(&mut Decoder::default(), &hex("3fe1 1f82"));
    assert!(whole.is_ok(), "all that was offered may be used");
}

#[test]
fn small_blocks_do_not_make_large_headers() {
    let mut block = Vec::new();
    block.push(0x40);
    integer::write(1, 7, 0, &mut block);
    block.push(b'a');
    integer::write(4000, 7, 0, &mut block);
    block.extend([b'x'; 4000]);
    block.extend([0xbe; 1000]);
    assert_eq!(decode(&mut Decoder::default(), &block), Err(Fault::TooLong));
}

#[test]
fn our_own_fields_need_no_table() {
    let mut block = Vec::new();
    encoder::no_table(&mut block);
    encoder::field(":method", b"GET", &mut block);
    encoder::field(":path", b"/a?b", &mut block);
    encoder::field("x-own", b"1", &mut block);
    let mut decoder = Decoder::default();
    let fields = decode(&mut decoder, &block).expect("a valid block");
    let version = decoder.version();
    assert_eq!(fields.len(), 3);
    assert_eq!(decode(&mut decoder, &block), Ok(fields));
    assert_eq!(decoder.version(), version);
}

/// A field as a server may send it: how it is indexed, whether coded, its name and its value.
fn field() -> impl Strategy<Value = (u8, bool, String, String)> {
    (0u8..3, any::<bool>(), "[a-d]{1,3}", "[ -~]{0,40}")
}

fn literal(text: &str, coded: bool, out: &mut Vec<u8>) {
    let mut bytes = text.as_bytes().to_vec();
    if coded {
        bytes.clear();
        huffman::encode(text.as_bytes(), &mut bytes);
    }
    integer::write(bytes.len() as u64, 7, u8::from(coded) << 7, out);
    out.extend(bytes);
}

proptest! {
    #![proptest_config(ProptestConfig {
        rng_seed: proptest::test_runner::RngSeed::Fixed(7),
        failure_persistence: None,
        ..ProptestConfig::with_cases(1000)
    })]

    #[test]
    fn what_was_encoded_is_decoded(fields in prop::collection::vec(field(), 0..60)) {
        let mut block = Vec::new();
        let mut newest = None;
        for (kind, coded, name, value) in &fields {
            if newest == Some((name, value)) {
                block.push(0xbe);
                continue;
            }
            block.push([0x40, 0x00, 0x10][usize::from(*kind)]);
            literal(name, *coded, &mut block);
            literal(value, !*coded, &mut block);
            if *kind == 0 {
                newest = Some((name, value));
            }
        }
        let expected: Fields =
            fields.iter().map(|(_, _, name, value)| (name.clone(), value.clone())).collect();
        prop_assert_eq!(decode(&mut Decoder::default(), &block), Ok(expected));
    }

    #[test]
    fn no_bytes_crash_it(blocks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..100), 0..5)) {
        let mut decoder = Decoder::default();
        for block in blocks {
            if decode(&mut decoder, &block).is_err() {
                break;
            }
        }
    }
}
