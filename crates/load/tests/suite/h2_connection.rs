//! How a connection of HTTP/2 goes on and ends, without sockets.

use crate::common::h2::{answer, data, frame, goaway, headers, number, settings};
use crate::common::h2_client::{Client, exchange, outcome};
use http::Method;
use tare_load::dialogue::Dialogue;
use tare_load::h2::frame::{flag, kind};
use tare_load::hpack::huffman;
use tare_load::owed;
use tare_load::protocol::{Answer, End, Event, Failure};

const OK: (&str, &str) = (":status", "200");
const MAX_CONCURRENT_STREAMS: u16 = 3;
const INITIAL_WINDOW_SIZE: u16 = 4;

#[test]
fn settings_and_pings_are_acknowledged() {
    let exchanges = exchange(&Method::GET, b"");
    let mut client = Client::new(&exchanges, 1);
    client.frames();
    client.recv(&[settings(&[]), frame(kind::PING, 0, 0, b"abcdefgh")].concat());
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
fn pings_and_settings_are_a_flood_once_too_many_replies_wait() {
    for once in [settings(&[]), frame(kind::PING, 0, 0, b"abcdefgh")] {
        let exchanges = exchange(&Method::GET, b"");
        let mut client = Client::new(&exchanges, 1);
        client.send(0);
        client.recv(&[settings(&[]), headers(1, false, &[OK])].concat());
        let many = once.repeat(owed::MOST as usize);
        for _ in 0..3 {
            client.h2.taken(&mut client.connection);
            // A byte of an answer makes no reply to a ping wait less.
            client.recv(&[&many[once.len()..], &data(1, false, b"x"), &once].concat());
            assert_eq!(client.end, None);
        }
        client.recv(&once);
        let why = "the server asks for more than 1000 replies and takes none";
        assert_eq!(client.end, Some(End::Broken(Failure::read(why))));
    }
}

#[test]
fn room_is_what_both_sides_allow() {
    let exchanges = exchange(&Method::GET, b"");
    let mut client = Client::new(&exchanges, 10);
    assert_eq!(client.room(), 1, "as long as nothing is known");
    client.recv(&settings(&[]));
    assert_eq!(client.room(), 10);
    client.send(0);
    client.send(1);
    assert_eq!(client.room(), 8);
    client.recv(&settings(&[(MAX_CONCURRENT_STREAMS, 3)]));
    assert_eq!(client.room(), 1);
    client.recv(&settings(&[(MAX_CONCURRENT_STREAMS, 1)]));
    assert_eq!(client.room(), 0);
    client.recv(&[answer(3, b"ok"), answer(1, b"ok")].concat());
    assert_eq!(client.room(), 1);
}

#[test]
fn an_answer_begins_at_most_once() {
    let exchanges = exchange(&Method::GET, b"");
    let mut client = Client::new(&exchanges, 2);
    client.send(7);
    client.send(8);
    client.recv(&settings(&[]));
    client.recv(&[headers(3, false, &[OK]), answer(1, b"ok")].concat());
    client.recv(&data(3, false, b"o"));
    client.recv(&data(3, true, b"k"));
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
    let mut client = Client::new(&exchanges, 9);
    (0..3).for_each(|request| client.send(request));
    client.recv(&[settings(&[]), goaway(3, 0)].concat());
    let refused = Event::Refused(2, Failure::read("refused by the server's GOAWAY"));
    assert_eq!(
        (client.events.as_slice(), client.room(), client.end),
        ([refused].as_slice(), 0, None)
    );
    client.recv(&answer(3, b"ok"));
    assert_eq!(client.end, None);
    client.recv(&answer(1, b"ok"));
    assert_eq!((client.events.len(), client.end), (3, Some(End::Proper)));
    // With an error, the connection's end is one too.
    let why = Failure::read("the server sent GOAWAY: ENHANCE_YOUR_CALM");
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
    let mut client = Client::new(&exchanges, 2);
    client.recv(&settings(&[(INITIAL_WINDOW_SIZE, 50_000)]));
    client.frames();
    client.send(0);
    client.send(1);
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
    client.recv(&number(kind::WINDOW_UPDATE, 1, 10));
    assert_eq!(take(&mut client), ([0, 0], [false; 2]));
    client.recv(&number(kind::WINDOW_UPDATE, 0, 100_000));
    assert_eq!(take(&mut client), ([10, 34_465], [false; 2]));
    client.recv(&settings(&[(INITIAL_WINDOW_SIZE, 40_000)]));
    client.recv(&number(kind::WINDOW_UPDATE, 1, 10_000));
    assert_eq!(
        take(&mut client),
        ([0, 0], [false; 2]),
        "what was taken back is owed first"
    );
    client.recv(&settings(&[(INITIAL_WINDOW_SIZE, 0x7fff_ffff - 60_000)]));
    assert_eq!(take(&mut client), ([49_990, 15_535], [true, false]));
    client.recv(&number(kind::WINDOW_UPDATE, 0, 1_000_000));
    assert_eq!(take(&mut client), ([0, 34_465], [true, true]));
    assert!(sent.iter().all(|sent| *sent == body));
}

#[test]
fn an_early_answer_ends_the_request() {
    let exchanges = exchange(&Method::POST, &[0; 100_000]);
    let mut client = Client::new(&exchanges, 1);
    client.recv(&settings(&[]));
    client.send(0);
    client.frames();
    client.recv(&answer(1, b"ok"));
    assert!(matches!(client.events.last(), Some(Event::Answered(_))));
    let said = client.frames();
    assert_eq!((said[0].0.kind, said[0].0.stream), (kind::RST_STREAM, 1));
    client.recv(&number(kind::WINDOW_UPDATE, 1, 1_000_000));
    client.recv(&number(kind::WINDOW_UPDATE, 0, 1_000_000));
    assert_eq!((client.frames(), client.end), (vec![], None));
    assert_eq!(client.room(), 1);
}

#[test]
fn a_smaller_table_is_agreed_to_once() {
    let exchanges = exchange(&Method::GET, b"");
    let mut client = Client::new(&exchanges, 9);
    client.recv(&settings(&[(1, 0)]));
    client.frames();
    client.send(0);
    client.send(1);
    let said = client.frames();
    assert_eq!(said[0].1[0], 0x20);
    assert_eq!(said[0].1[1..], said[1].1);
}

#[test]
fn windows_are_given_back_at_half() {
    let exchanges = exchange(&Method::GET, b"");
    let mut client = Client::new(&exchanges, 1);
    client.send(0);
    client.recv(&[settings(&[]), headers(1, false, &[OK])].concat());
    client.frames();
    let piece = data(1, false, &[0; 16_384]);
    let half = (1 << 29) / 16_384;
    for _ in 0..half - 1 {
        client.recv(&piece);
    }
    assert_eq!(client.frames(), []);
    client.recv(&piece);
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
    let mut client = Client::new(&exchanges, 2);
    client.send(0);
    client.send(1);
    let late = data(3, false, &[0; 100]);
    client.recv(&[&settings(&[])[..], &headers(3, false, &[OK]), &late[..20]].concat());
    client.events.clear();
    client.frames();
    assert!(
        client
            .h2
            .cancel(&mut client.connection, 1, &mut client.said)
    );
    let said = client.frames();
    assert_eq!(
        (said[0].0.kind, said[0].0.stream, &said[0].1[..]),
        (kind::RST_STREAM, 3, &[0, 0, 0, 8][..])
    );
    assert_eq!(client.room(), 1);
    client.recv(&late[20..]);
    // Its answer still changes the table of header fields.
    let mut coded = Vec::new();
    huffman::encode(b"404", &mut coded);
    let status = [&[0x48, 0x80 | coded.len() as u8][..], &coded].concat();
    client.recv(&frame(kind::HEADERS, flag::END_HEADERS, 3, &status));
    client.recv(&data(3, true, b"late"));
    assert_eq!(
        (client.events.as_slice(), client.end),
        ([].as_slice(), None)
    );
    client.send(2);
    client.recv(&frame(
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
    client.send(3);
    client.recv(&[answer(1, b"ok"), goaway(7, 0)].concat());
    assert!(
        !client
            .h2
            .cancel(&mut client.connection, 3, &mut client.said)
    );
}

#[test]
fn an_answer_that_began_before_the_connection_broke_has_begun() {
    let exchanges = exchange(&Method::GET, b"");
    let mut client = Client::new(&exchanges, 1);
    client.send(0);
    let head = headers(1, false, &[OK]);
    let push = frame(kind::PUSH_PROMISE, flag::END_HEADERS, 1, &[0, 0, 0, 2]);
    client.recv(&[settings(&[]), head, push].concat());
    assert!(matches!(client.end, Some(End::Broken(_))));
    assert_eq!(client.events, [Event::Begun(0)]);
}
