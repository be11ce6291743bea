//! Our side of HTTP/2 without sockets.

use http::Method;
use tare_load::dialogue::Dialogue;
use tare_load::expectation::Expectation;
use tare_load::h2::frame::{HEADER, Header};
use tare_load::h2::request::compose;
use tare_load::h2::{Exchange, H2};
use tare_load::keys::Keys;
use tare_load::protocol::{End, Event};
use tare_load::target::Target;

/// What is asked, `method` with `body`; any answer of status 200 is correct.
pub fn exchange(method: &Method, body: &[u8]) -> [Exchange; 1] {
    let target = Target::parse("http://h/").expect("a target");
    let body = (!body.is_empty()).then_some(body);
    let request = compose(&target, method, &[], body).expect("a request");
    let expect = Expectation {
        statuses: vec![200],
        ..Expectation::default()
    };
    let bodiless = method == Method::HEAD;
    [Exchange {
        request,
        bodiless,
        grpc: false,
        expect,
    }]
}

/// One connection.
pub struct Client<'a> {
    pub h2: H2<'a>,
    pub connection: <H2<'a> as Dialogue>::Connection,
    /// What was said and not yet taken.
    pub said: Vec<u8>,
    pub events: Vec<Event>,
    pub end: Option<End>,
}

impl<'a> Client<'a> {
    pub fn new(exchanges: &'a [Exchange], depth: usize) -> Self {
        let mut h2 = H2::new(
            exchanges,
            depth,
            vec![Keys::new(None, 0, 0, (0, 1)); exchanges.len()],
        );
        let mut said = Vec::new();
        let connection = h2.begin(0, &mut said);
        Client {
            h2,
            connection,
            said,
            events: Vec::new(),
            end: None,
        }
    }

    pub fn room(&self) -> usize {
        self.h2.room(&self.connection)
    }

    pub fn send(&mut self, request: usize) {
        let asked = self
            .h2
            .send(&mut self.connection, request, 0, &mut self.said);
        asked.expect("an open connection");
    }

    /// Hears `bytes` unless the connection has ended.
    pub fn recv(&mut self, bytes: &[u8]) {
        if self.end.is_none() {
            let heard = self.h2.recv(
                &mut self.connection,
                bytes,
                &mut self.said,
                &mut self.events,
            );
            self.end = heard.err();
        }
    }

    pub fn recv_end(&mut self) -> End {
        match self.end {
            Some(end) => end,
            None => self.h2.recv_end(&mut self.connection, &mut self.events),
        }
    }

    /// The frames said since the last call, without the connection's preface.
    pub fn frames(&mut self) -> Vec<(Header, Vec<u8>)> {
        let said = std::mem::take(&mut self.said);
        let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
        let mut rest = said.strip_prefix(preface).unwrap_or(&said);
        let mut frames = Vec::new();
        while let Some(header) = rest.first_chunk() {
            let header = Header::read(header);
            let (frame, after) = rest.split_at(HEADER + header.length);
            frames.push((header, frame[HEADER..].to_vec()));
            rest = after;
        }
        assert!(rest.is_empty(), "half a frame");
        frames
    }
}

/// What becomes of `asked` GET requests when a server says `bytes`, cut at `cuts`. How it is cut
/// decides whether an answer is told to have begun, so that this is left out.
pub fn outcome(bytes: &[u8], cuts: &[usize], asked: usize) -> (Vec<Event>, End, Vec<u8>) {
    let exchanges = exchange(&Method::GET, b"");
    let mut client = Client::new(&exchanges, asked);
    for request in 0..asked {
        client.send(request);
    }
    let mut start = 0;
    for cut in cuts.iter().copied().chain([bytes.len()]) {
        client.recv(&bytes[start..cut]);
        start = cut;
    }
    let end = client.recv_end();
    let mut events = client.events;
    events.retain(|event| !matches!(event, Event::Begun(_)));
    (events, end, client.said)
}
