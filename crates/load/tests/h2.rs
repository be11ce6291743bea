//! HTTP/2's rules, without sockets.

#[path = "common/h2_client.rs"]
mod client;
#[path = "common/h2.rs"]
mod frames;

use client::{Client, exchange, outcome};
use frames::{answer, block, data, frame, goaway, headers, number, settings};
use http::Method;
use tare_load::dialogue::Dialogue;
use tare_load::h2::frame::{flag, kind};
use tare_load::hpack::huffman;
use tare_load::protocol::{Answer, End, Event, Failure};

const OK: (&str, &str) = (":status", "200");
const MAX_CONCURRENT_STREAMS: u16 = 3;
const INITIAL_WINDOW_SIZE: u16 = 4;

/// Status and failure of the first request when `bytes` follow the server's settings.
fn one(method: &Method, bytes: &[u8]) -> Result<(u16, u64), &'static str> {
    let exchanges = exchange(method, b"");
    let mut client = Client::new(method, &exchanges, 1);
    client.ask(5);
    client.hear(&[&settings(&[])[..], bytes].concat());
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
            "a switch of protocols, which HTTP/2 does not have",
        ),
        (
            vec![headers(1, true, &[(":status", "103")])],
            "an interim response that ends the stream",
        ),
        (
            vec![headers(1, false, &[OK]), headers(1, false, &[("x", "y")])],
            "trailers that are none",
        ),
        (
            vec![headers(1, false, &[OK]), headers(1, true, &[OK])],
            "trailers that are none",
        ),
        (vec![data(1, false, b"ok")], "a body before its header"),
        (vec![data(1, true, b"")], "an end before the header"),
        (
            vec![headers(1, true, &[OK, ("A", "b")])],
            "a header's name that is none",
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
            "a push, which we had refused",
        ),
        (
            vec![frame(kind::CONTINUATION, 0, 1, b"")],
            "a CONTINUATION of nothing",
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
            "a header's index points to nothing",
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
            "a frame on a stream that it is not for",
        ),
        (
            vec![frame(kind::PING, 0, 0, b"1234567")],
            "a frame of a wrong length",
        ),
        (
            vec![frame(kind::PING, 0, 1, b"12345678")],
            "a frame on a stream that it is not for",
        ),
        (
            vec![frame(kind::RST_STREAM, 0, 1, b"123")],
            "a frame of a wrong length",
        ),
        (
            vec![number(kind::RST_STREAM, 0, 1)],
            "a frame on a stream that it is not for",
        ),
        (
            vec![frame(kind::GOAWAY, 0, 0, b"1234567")],
            "a frame of a wrong length",
        ),
        (
            vec![frame(kind::GOAWAY, 0, 1, b"12345678")],
            "a frame on a stream that it is not for",
        ),
        (
            vec![frame(kind::WINDOW_UPDATE, 0, 1, b"12345")],
            "a frame of a wrong length",
        ),
        (
            vec![number(kind::WINDOW_UPDATE, 0, 0)],
            "a window that grows by nothing",
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
    let flood = "a flood of frames that bring no answer forward";
    for noise in [
        settings(&[]),
        frame(kind::PING, 0, 0, b"12345678"),
        frame(0xfa, 0, 0, b""),
        number(kind::WINDOW_UPDATE, 1, 1),
        data(1, false, b""),
        frame(kind::DATA, flag::PADDED, 1, b"\x02\0\0"),
    ] {
        assert_eq!(
            get(&[headers(1, false, &[OK]), noise.repeat(10_001)]),
            Err(flood)
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
fn settings_and_pings_are_acknowledged() {
    let exchanges = exchange(&Method::GET, b"");
    let mut client = Client::new(&Method::GET, &exchanges, 1);
    client.frames();
    client.hear(&[settings(&[]), frame(kind::PING, 0, 0, b"abcdefgh")].concat());
    let said = client.frames();
    let said: Vec<_> = said
        .iter()
        .map(|(header, payload)| (header.kind, header.flags, &payload[..]))
        .collect();
    assert_eq!(
        said,
        [
            (kind::SETTINGS, flag::ACK, &b""[..]),
            (kind::PING, flag::ACK, b"abcdefgh")
        ]
    );
}

#[test]
fn room_is_what_both_sides_allow() {
    let exchanges = exchange(&Method::GET, b"");
    let mut client = Client::new(&Method::GET, &exchanges, 10);
    assert_eq!(client.room(), 1, "as long as nothing is known");
    client.hear(&settings(&[]));
    assert_eq!(client.room(), 10);
    client.ask(0);
    client.ask(1);
    assert_eq!(client.room(), 8);
    client.hear(&settings(&[(MAX_CONCURRENT_STREAMS, 3)]));
    assert_eq!(client.room(), 1);
    client.hear(&settings(&[(MAX_CONCURRENT_STREAMS, 1)]));
    assert_eq!(client.room(), 0);
    client.hear(&[answer(3, b"ok"), answer(1, b"ok")].concat());
    assert_eq!(client.room(), 1);
}

#[test]
fn an_answer_begins_at_most_once() {
    let exchanges = exchange(&Method::GET, b"");
    let mut client = Client::new(&Method::GET, &exchanges, 2);
    client.ask(7);
    client.ask(8);
    client.hear(&settings(&[]));
    client.hear(&[headers(3, false, &[OK]), answer(1, b"ok")].concat());
    client.hear(&data(3, false, b"o"));
    client.hear(&data(3, true, b"k"));
    let requests: Vec<_> = client
        .events
        .iter()
        .map(|event| match event {
            Event::Begun(request) => ("begun", *request),
            Event::Answered(answer) => ("answered", answer.request),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(requests, [("answered", 7), ("begun", 8), ("answered", 8)]);
}

#[test]
fn goaway_lets_the_streams_below_finish() {
    let exchanges = exchange(&Method::GET, b"");
    let mut client = Client::new(&Method::GET, &exchanges, 9);
    (0..3).for_each(|request| client.ask(request));
    client.hear(&[settings(&[]), goaway(3, 0)].concat());
    let refused = Event::Failed(2, Failure::read("refused by the server's GOAWAY"));
    assert_eq!(
        (client.events.as_slice(), client.room(), client.end),
        ([refused].as_slice(), 0, None)
    );
    client.hear(&answer(3, b"ok"));
    assert_eq!(client.end, None);
    client.hear(&answer(1, b"ok"));
    assert_eq!((client.events.len(), client.end), (3, Some(End::Proper)));
    // With an error, the connection's end is one too.
    let why = Failure::read("the server said GOAWAY: ENHANCE_YOUR_CALM");
    let bytes = [settings(&[]), goaway(1, 11), answer(1, b"ok")].concat();
    let (events, end, _) = outcome(&bytes, &[], 1);
    assert_eq!((events.len(), end), (1, End::Broken(why)));
    let (events, end, _) = outcome(&[settings(&[]), goaway(0, 11)].concat(), &[], 1);
    assert_eq!(events, [Event::Failed(0, why)]);
    assert_eq!(end, End::Proper, "told already");
    assert_eq!(
        outcome(&[settings(&[]), goaway(0, 0)].concat(), &[], 0).1,
        End::Proper
    );
}

#[test]
fn a_close_is_proper_between_answers_only() {
    let whole = [settings(&[]), answer(1, b"ok")].concat();
    for end in 0..=whole.len() {
        let found = outcome(&whole[..end], &[], 1).1;
        assert_eq!(found == End::Proper, end == whole.len(), "{end}");
    }
}

#[test]
fn bodies_wait_for_both_windows() {
    let body: Vec<u8> = (0..100_000u32).map(|i| i as u8).collect();
    let exchanges = exchange(&Method::POST, &body);
    let mut client = Client::new(&Method::POST, &exchanges, 2);
    client.hear(&settings(&[(INITIAL_WINDOW_SIZE, 50_000)]));
    client.frames();
    client.ask(0);
    client.ask(1);
    let mut sent = [Vec::new(), Vec::new()];
    let mut ended = [false; 2];
    let mut take = |client: &mut Client| {
        let mut sizes = [0; 2];
        for (header, payload) in client.frames() {
            if header.kind == kind::DATA {
                assert!(header.length <= 16_384);
                let stream = (header.stream as usize - 1) / 2;
                assert!(!ended[stream], "more after the end");
                sizes[stream] += payload.len();
                sent[stream].extend(payload);
                ended[stream] = header.has(flag::END_STREAM);
            }
        }
        (sizes, ended)
    };
    // The stream's window, then what is left of the connection's.
    assert_eq!(take(&mut client), ([50_000, 15_535], [false; 2]));
    client.hear(&number(kind::WINDOW_UPDATE, 1, 10));
    assert_eq!(take(&mut client), ([0, 0], [false; 2]));
    client.hear(&number(kind::WINDOW_UPDATE, 0, 100_000));
    assert_eq!(take(&mut client), ([10, 34_465], [false; 2]));
    client.hear(&settings(&[(INITIAL_WINDOW_SIZE, 40_000)]));
    client.hear(&number(kind::WINDOW_UPDATE, 1, 10_000));
    assert_eq!(
        take(&mut client),
        ([0, 0], [false; 2]),
        "what was taken back is owed first"
    );
    client.hear(&settings(&[(INITIAL_WINDOW_SIZE, 0x7fff_ffff - 60_000)]));
    assert_eq!(take(&mut client), ([49_990, 15_535], [true, false]));
    client.hear(&number(kind::WINDOW_UPDATE, 0, 1_000_000));
    assert_eq!(take(&mut client), ([0, 34_465], [true, true]));
    assert!(sent.iter().all(|sent| *sent == body));
}

#[test]
fn an_early_answer_ends_the_request() {
    let exchanges = exchange(&Method::POST, &[0; 100_000]);
    let mut client = Client::new(&Method::POST, &exchanges, 1);
    client.hear(&settings(&[]));
    client.ask(0);
    client.frames();
    client.hear(&answer(1, b"ok"));
    assert!(matches!(client.events.last(), Some(Event::Answered(_))));
    let said = client.frames();
    assert_eq!((said[0].0.kind, said[0].0.stream), (kind::RST_STREAM, 1));
    client.hear(&number(kind::WINDOW_UPDATE, 1, 1_000_000));
    client.hear(&number(kind::WINDOW_UPDATE, 0, 1_000_000));
    assert_eq!((client.frames(), client.end), (vec![], None));
    assert_eq!(client.room(), 1);
}

#[test]
fn a_smaller_table_is_agreed_to_once() {
    let exchanges = exchange(&Method::GET, b"");
    let mut client = Client::new(&Method::GET, &exchanges, 9);
    client.hear(&settings(&[(1, 0)]));
    client.frames();
    client.ask(0);
    client.ask(1);
    let said = client.frames();
    assert_eq!(said[0].1[0], 0x20);
    assert_eq!(said[0].1[1..], said[1].1);
}

#[test]
fn windows_are_given_back_at_half() {
    let exchanges = exchange(&Method::GET, b"");
    let mut client = Client::new(&Method::GET, &exchanges, 1);
    client.ask(0);
    client.hear(&[settings(&[]), headers(1, false, &[OK])].concat());
    client.frames();
    let piece = data(1, false, &[0; 16_384]);
    let half = (1 << 29) / 16_384;
    for _ in 0..half - 1 {
        client.hear(&piece);
    }
    assert_eq!(client.frames(), []);
    client.hear(&piece);
    let said = client.frames();
    let said: Vec<_> = said
        .iter()
        .map(|(header, payload)| (header.kind, header.stream, &payload[..]))
        .collect();
    let all = &(1u32 << 29).to_be_bytes()[..];
    assert_eq!(
        said,
        [(kind::WINDOW_UPDATE, 0, all), (kind::WINDOW_UPDATE, 1, all)]
    );
}

#[test]
fn what_was_cancelled_is_not_told() {
    let exchanges = exchange(&Method::GET, b"");
    let mut client = Client::new(&Method::GET, &exchanges, 2);
    client.ask(0);
    client.ask(1);
    let late = data(3, false, &[0; 100]);
    client.hear(&[&settings(&[])[..], &headers(3, false, &[OK]), &late[..20]].concat());
    client.events.clear();
    client.frames();
    assert!(client.h2.cancel(&mut client.talk, 1, &mut client.said));
    let said = client.frames();
    assert_eq!(
        (said[0].0.kind, said[0].0.stream, &said[0].1[..]),
        (kind::RST_STREAM, 3, &[0, 0, 0, 8][..])
    );
    assert_eq!(client.room(), 1);
    client.hear(&late[20..]);
    // Its answer still changes the table of header fields.
    let mut coded = Vec::new();
    huffman::encode(b"404", &mut coded);
    let status = [&[0x48, 0x80 | coded.len() as u8][..], &coded].concat();
    client.hear(&frame(kind::HEADERS, flag::END_HEADERS, 3, &status));
    client.hear(&data(3, true, b"late"));
    assert_eq!(
        (client.events.as_slice(), client.end),
        ([].as_slice(), None)
    );
    client.ask(2);
    client.hear(&frame(
        kind::HEADERS,
        flag::END_HEADERS | flag::END_STREAM,
        5,
        &[0xbe],
    ));
    assert!(matches!(
        client.events[0],
        Event::Answered(Answer {
            request: 2,
            status: 404,
            ..
        })
    ));
    // Nobody would tell the end of a connection that takes no more.
    client.ask(3);
    client.hear(&[answer(1, b"ok"), goaway(7, 0)].concat());
    assert!(!client.h2.cancel(&mut client.talk, 3, &mut client.said));
}
