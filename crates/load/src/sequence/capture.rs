//! The parts of one answer from which values are taken.

/// Most bytes of a body that are kept: values stand in small documents.
const LONGEST: usize = 1 << 20;

/// The parts that are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wants {
    /// The head.
    pub head: bool,
    /// The body.
    pub body: bool,
}

impl Wants {
    /// Those that either of two wants.
    #[must_use]
    pub fn or(self, other: Wants) -> Wants {
        Wants {
            head: self.head || other.head,
            body: self.body || other.body,
        }
    }
}

/// The parts of one answer; its buffers serve one answer after the other.
#[derive(Clone, Debug, Default)]
pub struct Capture {
    wants: Wants,
    head: Vec<u8>,
    body: Vec<u8>,
    /// True if the body is longer than what is kept.
    cut: bool,
}

impl Capture {
    /// Start afresh, for the parts that `wants` names.
    pub fn begin(&mut self, wants: Wants) {
        self.wants = wants;
        self.head.clear();
        self.body.clear();
        self.cut = false;
    }

    /// Start afresh, for the same parts.
    pub fn reset(&mut self) {
        self.begin(self.wants);
    }

    /// Return true if the body's bytes are kept.
    pub fn wants_body(&self) -> bool {
        self.wants.body
    }

    /// Take the whole head.
    pub fn take_head(&mut self, head: &[u8]) {
        if self.wants.head {
            self.head.extend_from_slice(head);
        }
    }

    /// Take a field of a head that is no text; its name and value have no line break.
    pub fn take_field(&mut self, name: &[u8], value: &[u8]) {
        if self.wants.head {
            for part in [name, b": ", value, b"\n"] {
                self.head.extend_from_slice(part);
            }
        }
    }

    /// Take the next bytes of the body.
    pub fn take_body(&mut self, bytes: &[u8]) {
        if self.wants.body {
            self.cut |= self.body.len() + bytes.len() > LONGEST;
            if !self.cut {
                self.body.extend_from_slice(bytes);
            }
        }
    }

    /// The whole body; none if it is longer than 1 MiB.
    pub fn body(&self) -> Option<&[u8]> {
        (!self.cut).then_some(&self.body)
    }

    /// The values of the headers called `name`, without the white space around them.
    pub fn fields<'a>(&'a self, name: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
        // The parser of heads has refused all that is not a header a line.
        self.head
            .split(|byte| *byte == b'\n')
            .filter_map(move |line| {
                let (field, rest) = line.split_at_checked(name.len())?;
                let value = rest.strip_prefix(b":")?;
                let same = field.eq_ignore_ascii_case(name);
                same.then(|| value.trim_ascii())
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_found_by_its_name_alone() {
        let mut capture = Capture::default();
        let head = true;
        capture.begin(Wants { head, body: false });
        capture.take_head(b"HTTP/1.1 200 OK\r\nX-AB: 0\r\nx-a:  1 \r\nX-A:\r\n\r\n");
        let found: Vec<_> = capture.fields(b"X-A").collect();
        assert_eq!(found, [&b"1"[..], b""]);
        capture.reset();
        assert_eq!(capture.fields(b"X-A").count(), 0);
        capture.take_field(b"x-ab", b"0");
        capture.take_field(b"x-a", b" 2 ");
        assert_eq!(capture.fields(b"X-A").collect::<Vec<_>>(), [b"2"]);
    }

    #[test]
    fn a_body_is_whole_or_none() {
        let mut capture = Capture::default();
        let body = true;
        capture.begin(Wants { head: false, body });
        capture.take_body(&vec![b'x'; LONGEST]);
        assert_eq!(capture.body().map(<[u8]>::len), Some(LONGEST));
        capture.take_body(b"y");
        capture.take_body(b"");
        assert_eq!(capture.body(), None);
    }
}
