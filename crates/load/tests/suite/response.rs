//! Responses read the same however they arrive.

use proptest::prelude::*;
use tare_load::expectation::Expectation;
use tare_load::h1::Malformed;
use tare_load::h1::head::HeadReader;
use tare_load::h1::response::Response;

/// What became of the bytes.
#[derive(Debug, PartialEq)]
enum Read {
    /// Status, body length and whether the connection stays; the bytes after it are left over.
    Whole {
        status: u16,
        body: u64,
        bytes: u64,
        keep_alive: bool,
        left: usize,
    },
    Unfinished {
        ends_by_close: bool,
        body: u64,
        bytes: u64,
    },
    Malformed,
}

fn read(method: &http::Method, bytes: &[u8], cuts: &[usize]) -> Read {
    let mut response = Response::new(&Expectation::default());
    let mut heads = HeadReader::new(method == http::Method::HEAD);
    let ends: Vec<usize> = cuts.iter().copied().chain([bytes.len()]).collect();
    let mut begin = 0;
    for end in ends {
        match response.feed(&bytes[begin..end], &mut heads) {
            Err(Malformed(_)) => return Read::Malformed,
            Ok(None) => begin = end,
            Ok(Some(used)) => {
                return Read::Whole {
                    status: response.status(),
                    body: response.body_check().length(),
                    bytes: response.bytes(),
                    keep_alive: response.keep_alive(),
                    left: bytes.len() - begin - used,
                };
            }
        }
    }
    Read::Unfinished {
        ends_by_close: response.ends_by_close(),
        body: response.body_check().length(),
        bytes: response.bytes(),
    }
}

fn get(bytes: &[u8]) -> Read {
    read(&http::Method::GET, bytes, &[])
}

const SAMPLES: &[&[u8]] = &[
    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello, too much",
    b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\na;x\r\n0123456789\r\n0\r\nT: u\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nuntil the end",
    b"HTTP/1.0 404 Not Found\r\n\r\nuntil the end",
    b"HTTP/1.1 204 No Content\r\n\r\n",
    b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
    b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
    b"SSH-2.0-server\r\n",
    b"",
];

#[test]
fn every_split_gives_the_same_answer() {
    for sample in SAMPLES {
        let whole = get(sample);
        for cut in 0..=sample.len() {
            let split = read(&http::Method::GET, sample, &[cut]);
            assert_eq!(split, whole, "{} at {cut}", sample.escape_ascii());
        }
        let bytes: Vec<usize> = (0..sample.len()).collect();
        assert_eq!(
            read(&http::Method::GET, sample, &bytes),
            whole,
            "{}",
            sample.escape_ascii()
        );
    }
}

#[test]
fn the_samples_mean_what_they_should() {
    let whole = |sample: &[u8]| match get(sample) {
        Read::Whole {
            status,
            body,
            left,
            keep_alive,
            ..
        } => (status, body, left, keep_alive),
        other => panic!("{other:?}"),
    };
    assert_eq!(whole(SAMPLES[0]), (200, 5, 0, true));
    assert_eq!(whole(SAMPLES[1]), (200, 5, 10, true));
    assert_eq!(whole(SAMPLES[3]), (200, 13, 0, true));
    assert_eq!(whole(SAMPLES[7]), (204, 0, 0, true));
    assert_eq!(whole(SAMPLES[8]), (304, 0, 0, true));
    assert_eq!(whole(SAMPLES[9]), (200, 1, 0, true));
    let unfinished = |sample: &[u8]| match get(sample) {
        Read::Unfinished {
            ends_by_close,
            body,
            ..
        } => (ends_by_close, body),
        other => panic!("{other:?}"),
    };
    assert_eq!(unfinished(SAMPLES[2]), (false, 5));
    assert_eq!(unfinished(SAMPLES[5]), (true, 13));
    assert_eq!(unfinished(SAMPLES[6]), (true, 13));
    for malformed in [SAMPLES[4], SAMPLES[10], SAMPLES[11], SAMPLES[12]] {
        assert_eq!(
            get(malformed),
            Read::Malformed,
            "{}",
            malformed.escape_ascii()
        );
    }
}

#[test]
fn an_answer_to_head_has_no_body() {
    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n";
    let expected = Read::Whole {
        status: 200,
        body: 0,
        bytes: 40,
        keep_alive: true,
        left: 0,
    };
    assert_eq!(read(&http::Method::HEAD, answer, &[]), expected);
}

#[test]
fn unseen_bytes_count_as_seen_ones() {
    let mut response = Response::new(&Expectation::default());
    let mut heads = HeadReader::new(false);
    assert_eq!(
        response.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nh", &mut heads),
        Ok(None)
    );
    assert_eq!(response.unread(), Some(4));
    assert_eq!(response.skip(3), Ok(None));
    assert_eq!(response.skip(2), Ok(Some(1)));
    assert_eq!((response.body_check().length(), response.bytes()), (5, 43));
    let hashed = Expectation {
        body_sha256: Some([0; 32]),
        ..Expectation::default()
    };
    let mut response = Response::new(&hashed);
    assert_eq!(
        response.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nh", &mut heads),
        Ok(None)
    );
    assert_eq!(response.unread(), None);
    assert!(response.skip(4).is_err());
}

#[test]
fn endless_heads_end() {
    let endless = [&b"HTTP/1.1 200 OK\r\nA: "[..], &[b'x'; 70_000]].concat();
    assert_eq!(get(&endless), Read::Malformed);
    let whole = [&endless[..], b"\r\nContent-Length: 0\r\n\r\n"].concat();
    assert_eq!(get(&whole), Read::Malformed);
    let interim = b"HTTP/1.1 100 Continue\r\n\r\n".repeat(3_000);
    assert_eq!(get(&interim), Read::Malformed);
    let many = [
        &b"HTTP/1.1 200 OK\r\n"[..],
        &b"A: b\r\n".repeat(1_500),
        b"\r\n",
    ]
    .concat();
    assert_eq!(get(&many), Read::Malformed);
}

/// Bytes that are a response, or nearly one.
fn response() -> impl Strategy<Value = Vec<u8>> {
    let chunk = prop::collection::vec(any::<u8>(), 1..40)
        .prop_map(|data| [format!("{:x}\r\n", data.len()).as_bytes(), &data, b"\r\n"].concat());
    let chunked = prop::collection::vec(chunk, 0..5).prop_map(|chunks| {
        let head = &b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"[..];
        [head, &chunks.concat(), b"0\r\n\r\n"].concat()
    });
    let sized =
        (0usize..80, prop::collection::vec(any::<u8>(), 0..80)).prop_map(|(length, body)| {
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
            [head.as_bytes(), &body].concat()
        });
    let known = prop::sample::select(SAMPLES).prop_map(<[u8]>::to_vec);
    let valid = prop_oneof![chunked, sized, known];
    // One byte changed in some of them.
    (
        valid,
        any::<prop::sample::Index>(),
        any::<u8>(),
        any::<bool>(),
    )
        .prop_map(|(mut bytes, place, byte, change)| {
            if change && !bytes.is_empty() {
                let place = place.index(bytes.len());
                bytes[place] = byte;
            }
            bytes
        })
}

proptest! {
    #![proptest_config(ProptestConfig {
        rng_seed: proptest::test_runner::RngSeed::Fixed(7),
        failure_persistence: None,
        ..ProptestConfig::with_cases(2000)
    })]

    #[test]
    fn pieces_do_not_matter(
        bytes in response(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.sort_unstable();
        prop_assert_eq!(read(&http::Method::GET, &bytes, &cuts), get(&bytes));
    }

    #[test]
    fn no_bytes_crash_it(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = get(&bytes);
        let answer = [&b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"[..], &bytes].concat();
        let _ = get(&answer);
    }
}
