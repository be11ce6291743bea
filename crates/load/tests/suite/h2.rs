//! What answers HTTP/2 allows, without sockets.

use crate::common::h2::{answer, block, data, frame, goaway, headers, number, settings};
use crate::common::h2_client::{Client, exchange, outcome};
use http::Method;
use tare_load::h2::frame::{flag, kind};
use tare_load::protocol::{Answer, End, Event, Failure};

const OK: (&str, &str) = (":status", "200");
const INITIAL_WINDOW_SIZE: u16 = 4;

/// Status and failure of the first request when `bytes` follow the server's settings.
fn one(method: &Method, bytes: &[u8]) -> Result<(u16, u64), &'static str> {
    let exchanges = exchange(method, b"");
    let mut client = Client::new(&exchanges, 1);
    client.send(5);
    client.recv(&[&settings(&[])[..], bytes].concat());
    match (client.events.last(), client.end) {
        (_, Some(End::Broken(failure))) => Err(failure.why),
        (Some(Event::Failed(5, failure)), _) => Err(failure.why),
        (
            Some(Event::Answered(Answer {
                request: 5,
                status,
                bytes,
                ..
            })),
            _,
        ) => Ok((*status, *bytes)),
        other => panic!("{other:?}"),
    }
}

fn get(pieces: &[Vec<u8>]) -> Result<(u16, u64), &'static str> {
    one(&Method::GET, &pieces.concat())
}

#[test]
fn answers_of_all_shapes() {
    let ok = headers(1, false, &[OK]);
    assert_eq!(get(&[answer(1, b"ok")]), Ok((200, 9 + 5 + 9 + 2)));
    assert_eq!(
        get(&[headers(1, true, &[(":status", "404")])]).unwrap().0,
        404
    );
    assert_eq!(
        get(&[ok.clone(), data(1, false, b"ab"), data(1, true, b"")]),
        Ok((200, 10 + 11 + 9))
    );
    let interim = headers(1, false, &[(":status", "103"), ("link", "x")]);
    assert!(get(&[interim.clone(), interim, answer(1, b"ok")]).is_ok());
    assert!(
        get(&[
            ok.clone(),
            data(1, false, b"ab"),
            headers(1, true, &[("x", "y")])
        ])
        .is_ok()
    );
    let padded = frame(
        kind::DATA,
        flag::PADDED | flag::END_STREAM,
        1,
        b"\x03ok\0\0\0",
    );
    assert_eq!(
        get(&[headers(1, false, &[OK, ("content-length", "2")]), padded]),
        Ok((200, 14 + 15))
    );
    let all = [&b"\x02\0\0\0\0\x10"[..], &block(&[OK]), b"\0\0"].concat();
    let flags = flag::PADDED | flag::PRIORITY | flag::END_HEADERS | flag::END_STREAM;
    assert_eq!(get(&[frame(kind::HEADERS, flags, 1, &all)]).unwrap().0, 200);
    let length = headers(1, true, &[OK, ("content-length", "500")]);
    assert_eq!(one(&Method::HEAD, &length).unwrap().0, 200);
    assert_eq!(
        get(&[headers(1, true, &[(":status", "204")])]).unwrap().0,
        204
    );
    let head = block(&[OK, ("x", "y")]);
    let cut = [
        frame(kind::HEADERS, flag::END_STREAM, 1, &head[..1]),
        frame(kind::CONTINUATION, 0, 1, &head[1..2]),
        frame(kind::CONTINUATION, flag::END_HEADERS, 1, &head[2..]),
    ];
    assert_eq!(get(&cut), Ok((200, 27 + head.len() as u64)));
}

#[test]
fn what_means_nothing_is_ignored() {
    let noise = [
        frame(0xfa, 0xff, 1, b"unknown"),
        frame(2, 0, 1, b"prio!"),
        number(kind::WINDOW_UPDATE, 1, 5),
        number(kind::WINDOW_UPDATE, 0, 5),
        frame(kind::PING, flag::ACK, 0, b"12345678"),
        frame(kind::SETTINGS, flag::ACK, 0, b""),
    ];
    let found = get(&[noise.concat(), answer(1, b"ok"), noise.concat()]);
    assert_eq!(found, get(&[answer(1, b"ok")]));
}

#[test]
fn malformed_answers_fail_alone() {
    for (pieces, why) in [
        (
            vec![
                headers(1, false, &[OK, ("content-length", "3")]),
                data(1, true, b"ok"),
            ],
            "a body shorter than its header says",
        ),
        (
            vec![
                headers(1, false, &[OK, ("content-length", "1")]),
                data(1, false, b"ok"),
            ],
            "a body longer than its header says",
        ),
        (
            vec![headers(1, true, &[OK, ("content-length", "1")])],
            "a body shorter than its header says",
        ),
        (
            vec![
                headers(1, false, &[(":status", "204")]),
                data(1, true, b"ok"),
            ],
            "a body longer than its header says",
        ),
        (
            vec![headers(1, true, &[("x", "y")])],
            "a response without a status",
        ),
        (
            vec![headers(1, true, &[(":status", "101")])],
            "a switch of protocols, which HTTP/2 does not allow",
        ),
        (
            vec![headers(1, true, &[(":status", "103")])],
            "an interim response that ends the stream",
        ),
        (
            vec![headers(1, false, &[OK]), headers(1, false, &[("x", "y")])],
            "invalid trailers",
        ),
        (
            vec![headers(1, false, &[OK]), headers(1, true, &[OK])],
            "invalid trailers",
        ),
        (vec![data(1, false, b"ok")], "a body before its header"),
        (
            vec![data(1, true, b"")],
            "the stream ended before the header",
        ),
        (
            vec![headers(1, true, &[OK, ("A", "b")])],
            "an invalid header name",
        ),
        (
            vec![number(kind::RST_STREAM, 1, 2)],
            "the server reset the stream",
        ),
        (
            vec![number(kind::RST_STREAM, 1, 7)],
            "the server refused the stream",
        ),
        (
            vec![
                number(kind::WINDOW_UPDATE, 1, 0x7fff_ffff),
                number(kind::WINDOW_UPDATE, 1, 0x7fff_ffff),
            ],
            "a window that is too large",
        ),
        (
            vec![headers(1, false, &[(":status", "100")]).repeat(9_000)],
            "the headers are too long",
        ),
    ] {
        assert_eq!(get(&pieces), Err(why));
        // The next stream is not harmed.
        let bytes = [settings(&[]), pieces.concat(), answer(3, b"ok")].concat();
        let (events, end, _) = outcome(&bytes, &[], 2);
        assert_eq!(events[0], Event::Failed(0, Failure::read(why)));
        assert!(
            matches!(
                events[1],
                Event::Answered(Answer {
                    request: 1,
                    failure: None,
                    ..
                })
            ),
            "{why}"
        );
        assert_eq!(end, End::Proper, "{why}");
    }
}

#[test]
fn violations_break_the_connection() {
    let fragment = frame(kind::HEADERS, 0, 1, &block(&[OK]));
    for (pieces, why) in [
        (
            vec![frame(kind::DATA, 0, 0, b"x")],
            "a frame for a stream that we did not open",
        ),
        (
            vec![headers(0, true, &[OK])],
            "a frame for a stream that we did not open",
        ),
        (
            vec![headers(2, true, &[OK])],
            "a frame for a stream that we did not open",
        ),
        (
            vec![headers(3, true, &[OK])],
            "a frame for a stream that we did not open",
        ),
        (
            vec![number(kind::RST_STREAM, 3, 0)],
            "a frame for a stream that we did not open",
        ),
        (
            vec![number(kind::WINDOW_UPDATE, 3, 1)],
            "a frame for a stream that we did not open",
        ),
        (
            vec![answer(1, b"ok"), data(1, true, b"ok")],
            "a frame for a stream that has ended",
        ),
        (
            vec![frame(
                kind::PUSH_PROMISE,
                flag::END_HEADERS,
                1,
                b"\0\0\0\x02",
            )],
            "a push, although pushes are disabled",
        ),
        (
            vec![frame(kind::CONTINUATION, 0, 1, b"")],
            "a CONTINUATION without a header block",
        ),
        (
            vec![fragment.clone(), frame(kind::CONTINUATION, 0, 3, b"")],
            "a header block that is interrupted",
        ),
        (
            vec![fragment.clone(), frame(kind::PING, 0, 0, b"12345678")],
            "a header block that is interrupted",
        ),
        (
            vec![
                fragment.clone(),
                frame(kind::CONTINUATION, 0, 1, b"").repeat(64),
            ],
            "the headers are too long",
        ),
        (
            vec![
                fragment.clone(),
                frame(kind::CONTINUATION, 0, 1, &[0; 16_384]).repeat(5),
            ],
            "the headers are too long",
        ),
        (
            vec![frame(kind::HEADERS, flag::END_HEADERS, 1, &[0xbe])],
            "a header's index points to no entry",
        ),
        (
            vec![frame(kind::HEADERS, flag::PADDED, 1, &[9, 0])],
            "a HEADERS frame that is too short",
        ),
        (
            vec![frame(kind::HEADERS, flag::PADDED, 1, &[])],
            "a HEADERS frame that is too short",
        ),
        (
            vec![frame(kind::HEADERS, flag::PRIORITY, 1, &[0; 4])],
            "a HEADERS frame that is too short",
        ),
        (
            vec![frame(kind::DATA, flag::PADDED, 1, &[])],
            "a padded frame without its padding's length",
        ),
        (
            vec![
                headers(1, false, &[OK]),
                frame(kind::DATA, flag::PADDED, 1, &[1]),
            ],
            "padding that is longer than its frame",
        ),
        (
            vec![frame(kind::SETTINGS, 0, 0, b"12345")],
            "a SETTINGS frame of a wrong length",
        ),
        (
            vec![frame(kind::SETTINGS, flag::ACK, 0, b"123456")],
            "a frame of a wrong length",
        ),
        (
            vec![frame(kind::SETTINGS, 0, 1, b"")],
            "a frame on the wrong kind of stream",
        ),
        (
            vec![frame(kind::PING, 0, 0, b"1234567")],
            "a frame of a wrong length",
        ),
        (
            vec![frame(kind::PING, 0, 1, b"12345678")],
            "a frame on the wrong kind of stream",
        ),
        (
            vec![frame(kind::RST_STREAM, 0, 1, b"123")],
            "a frame of a wrong length",
        ),
        (
            vec![number(kind::RST_STREAM, 0, 1)],
            "a frame on the wrong kind of stream",
        ),
        (
            vec![frame(kind::GOAWAY, 0, 0, b"1234567")],
            "a frame of a wrong length",
        ),
        (
            vec![frame(kind::GOAWAY, 0, 1, b"12345678")],
            "a frame on the wrong kind of stream",
        ),
        (
            vec![frame(kind::WINDOW_UPDATE, 0, 1, b"12345")],
            "a frame of a wrong length",
        ),
        (
            vec![number(kind::WINDOW_UPDATE, 0, 0)],
            "a window update of 0 bytes",
        ),
        (
            vec![number(kind::WINDOW_UPDATE, 0, 0x7fff_ffff)],
            "a window that is too large",
        ),
        (
            vec![settings(&[(INITIAL_WINDOW_SIZE, 0x8000_0000)])],
            "an initial window that is too large",
        ),
        (
            vec![frame(0xfa, 0, 0, &[0; 16_385])],
            "a frame that is too large",
        ),
    ] {
        assert_eq!(get(&pieces), Err(why));
    }
    let flood = "a flood of frames that advance no answer";
    let owed = "the server asks for more than 1000 replies and takes none";
    for (noise, why) in [
        (settings(&[]), owed),
        (frame(kind::PING, 0, 0, b"12345678"), owed),
        (frame(0xfa, 0, 0, b""), flood),
        (number(kind::WINDOW_UPDATE, 1, 1), flood),
        (data(1, false, b""), flood),
        (frame(kind::DATA, flag::PADDED, 1, b"\x02\0\0"), flood),
    ] {
        assert_eq!(
            get(&[headers(1, false, &[OK]), noise.repeat(10_001)]),
            Err(why)
        );
    }
}

#[test]
fn who_speaks_something_else_is_told_apart() {
    for bytes in [
        &b"HTTP/1.1 400 Bad Request\r\n\r\n"[..],
        &answer(1, b"ok"),
        &frame(kind::SETTINGS, flag::ACK, 0, b""),
    ] {
        let why = Failure::read("the server does not speak HTTP/2");
        assert_eq!(outcome(bytes, &[], 1).1, End::Broken(why));
    }
}

#[test]
fn nothing_is_heard_behind_the_end() {
    let bytes = [settings(&[]), goaway(0, 0), headers(99, true, &[OK])].concat();
    assert_eq!(outcome(&bytes, &[], 1).1, End::Proper);
}
