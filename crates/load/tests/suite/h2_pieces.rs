//! HTTP/2 is read the same however it arrives, and no bytes crash it.

use crate::common::h2::{answer, block, data, frame, goaway, headers, number, settings};
use crate::common::h2_client::outcome;
use proptest::prelude::*;
use tare_load::h2::frame::{flag, kind};
use tare_load::protocol::{End, Event};

/// How many requests are asked.
const ASKED: usize = 5;

const OK: (&str, &str) = (":status", "200");

/// A bit of everything that a server may say.
fn everything() -> Vec<u8> {
    let head = block(&[OK, ("content-length", "3"), ("server", "x")]);
    let inserting = [&[0x48, 3][..], b"204", &[0x40, 1], b"a", &[1], b"b"].concat();
    [
        settings(&[(3, 100), (1, 0), (9, 9)]),
        frame(kind::SETTINGS, flag::ACK, 0, b""),
        headers(3, false, &[(":status", "103")]),
        headers(3, false, &[OK]),
        frame(
            kind::HEADERS,
            flag::PADDED,
            1,
            &[&[2][..], &head, b"\0\0"].concat(),
        ),
        frame(kind::CONTINUATION, 0, 1, b""),
        frame(
            kind::CONTINUATION,
            flag::END_HEADERS,
            1,
            &block(&[("x", "y")]),
        ),
        data(3, false, b"first"),
        data(1, true, b"abc"),
        frame(kind::DATA, flag::PADDED, 3, b"\x05second\0\0\0\0\0"),
        frame(kind::PING, 0, 0, b"12345678"),
        headers(3, true, &[("trailer", "t")]),
        frame(0xfa, 0xff, 7, b"unknown"),
        frame(
            kind::HEADERS,
            flag::END_HEADERS | flag::END_STREAM,
            5,
            &inserting,
        ),
        headers(7, false, &[OK, ("content-length", "3")]),
        data(7, true, b"four"),
        number(kind::WINDOW_UPDATE, 0, 77),
        goaway(9, 0),
        frame(
            kind::HEADERS,
            flag::END_HEADERS | flag::END_STREAM,
            9,
            &[0xbf, 0xbe],
        ),
    ]
    .concat()
}

#[test]
fn every_split_means_the_same() {
    let bytes = everything();
    let whole = outcome(&bytes, &[], ASKED);
    assert_eq!((whole.0.len(), whole.1), (ASKED, End::Proper), "{whole:?}");
    for cut in 0..=bytes.len() {
        assert_eq!(outcome(&bytes, &[cut], ASKED), whole, "{cut}");
    }
    let all: Vec<usize> = (0..bytes.len()).collect();
    assert_eq!(outcome(&bytes, &all, ASKED), whole);
}

#[test]
fn every_truncation_is_told() {
    let bytes = everything();
    for length in 0..bytes.len() {
        let (events, end, _) = outcome(&bytes[..length], &[], ASKED);
        assert!(
            events.len() < ASKED && end != End::Proper,
            "{length}: {events:?}"
        );
    }
}

#[test]
fn an_answer_tells_its_place_in_the_bytes() {
    let first = [settings(&[]), answer(1, b"ok")].concat();
    let second = [answer(3, b"more"), frame(kind::PING, 0, 0, &[0; 8])].concat();
    let bytes = [&first[..], &second].concat();
    let ends = |cuts: &[usize]| -> Vec<u64> {
        let (events, _, _) = outcome(&bytes, cuts, 2);
        let end = |event: &Event| match event {
            Event::Answered(answer) => Some(answer.end),
            _ => None,
        };
        events.iter().filter_map(end).collect()
    };
    let expected = [
        first.len() as u64,
        (first.len() + answer(3, b"more").len()) as u64,
    ];
    for cut in 0..bytes.len() {
        assert_eq!(ends(&[cut]), expected, "cut at {cut}");
    }
}

/// A frame that a server may send, or nearly so.
fn any_frame() -> impl Strategy<Value = Vec<u8>> {
    let stream = prop_oneof![8 => (0u32..5).prop_map(|n| 2 * n + 1), 1 => 0u32..14];
    let payload = prop_oneof![
        Just(block(&[OK])),
        Just(block(&[OK, ("content-length", "3")])),
        Just(block(&[("x", "y")])),
        Just([&[0x48, 3][..], b"200"].concat()),
        Just(vec![0xbe]),
        Just(b"abc".to_vec()),
        Just(vec![0; 4]),
        Just(vec![2, 0x88, 0, 0]),
        prop::collection::vec(any::<u8>(), 0..20),
    ];
    let flags =
        prop_oneof![4 => Just(4u8), 4 => Just(5), 2 => Just(0), 2 => Just(1), 1 => any::<u8>()];
    (
        prop_oneof![4 => Just(0u8), 4 => Just(1), 2 => 2u8..11],
        flags,
        stream,
        payload,
    )
        .prop_map(|(kind, flags, stream, payload)| frame(kind, flags, stream, &payload))
}

fn cuts(cuts: &[prop::sample::Index], length: usize) -> Vec<usize> {
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(length + 1)).collect();
    cuts.sort_unstable();
    cuts
}

proptest! {
    #![proptest_config(ProptestConfig {
        rng_seed: proptest::test_runner::RngSeed::Fixed(7),
        failure_persistence: None,
        ..ProptestConfig::with_cases(3000)
    })]

    #[test]
    fn pieces_do_not_matter(
        frames in prop::collection::vec(any_frame(), 0..20),
        places in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let bytes = [settings(&[]), frames.concat()].concat();
        let cuts = cuts(&places, bytes.len());
        prop_assert_eq!(outcome(&bytes, &cuts, ASKED), outcome(&bytes, &[], ASKED));
    }

    #[test]
    fn a_wrong_byte_does_no_harm(
        place in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        places in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
    ) {
        let mut bytes = everything();
        let place = place.index(bytes.len());
        bytes[place] = byte;
        let cuts = cuts(&places, bytes.len());
        prop_assert_eq!(outcome(&bytes, &cuts, ASKED), outcome(&bytes, &[], ASKED));
    }

    #[test]
    fn no_bytes_crash_it(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        outcome(&bytes, &[], ASKED);
        outcome(&[settings(&[]), bytes].concat(), &[], ASKED);
    }
}
