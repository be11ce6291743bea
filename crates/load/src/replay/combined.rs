//! Lines in the common and combined formats (httpd.apache.org/docs/2.4/logs.html).

use super::entry::Entry;
use super::fault::Fault;
use super::stamp;

/// A request in one line: `HOST IDENT USER [TIME] "REQUEST" STATUS SIZE`, then `"REFERER" "AGENT"`.
///
/// # Errors
/// The part that is missing or wrong.
pub fn entry(line: &str) -> Result<Entry, Fault> {
    let (_, rest) = line.split_once('[').ok_or("no [time]")?;
    let (time, rest) = rest.split_once(']').ok_or("no [time]")?;
    let (request, rest) = quoted(rest).ok_or("no \"request\"")?;
    let (method, url) = request_line(&request)?;
    let mut entry = Entry::new(stamp::common(time)?, method, url)?;
    let mut words = rest.split_ascii_whitespace();
    entry.status = words.next().and_then(|word| word.parse().ok());
    entry.size = match words.next() {
        // Nothing was sent.
        Some("-") => Some(0),
        word => word.and_then(|word| word.parse().ok()),
    };
    let mut rest = rest;
    for name in ["Referer", "User-Agent"] {
        let Some((value, more)) = quoted(rest) else {
            break;
        };
        rest = more;
        if value != "-" && !value.is_empty() {
            entry.add_header(name, &value)?;
        }
    }
    Ok(entry)
}

/// The method and URL of a request's first line.
///
/// # Errors
/// When it is none.
pub fn request_line(line: &str) -> Result<(&str, &str), Fault> {
    let fault = || format!("{line:?} is no request");
    let (method, rest) = line.split_once(' ').ok_or_else(fault)?;
    // Some servers log spaces within a URL as they came.
    let url = match rest.rsplit_once(' ') {
        Some((url, version)) if version.starts_with("HTTP/") => url,
        _ => rest,
    };
    Ok((method, url))
}

/// The control character that Apache writes as a backslash and this letter.
fn control(letter: u8) -> Option<u8> {
    Some(match letter {
        b'b' => 0x08,
        b't' => b'\t',
        b'n' => b'\n',
        b'v' => 0x0b,
        b'f' => 0x0c,
        b'r' => b'\r',
        _ => return None,
    })
}

/// The text in the next pair of quotation marks, with escapes resolved, and what follows it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let (_, text) = text.split_once('"')?;
    let bytes = text.as_bytes();
    let (mut value, mut at) = (Vec::new(), 0);
    loop {
        match (bytes.get(at)?, bytes.get(at + 1)) {
            (b'"', _) => break,
            (b'\\', Some(b'x')) => {
                let digits = text.get(at + 2..at + 4)?;
                value.push(u8::from_str_radix(digits, 16).ok()?);
                at += 4;
            }
            (b'\\', Some(next)) => {
                value.push(control(*next).unwrap_or(*next));
                at += 2;
            }
            (byte, _) => {
                value.push(*byte);
                at += 1;
            }
        }
    }
    Some((
        String::from_utf8_lossy(&value).into_owned(),
        &text[at + 1..],
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(request: &str, rest: &str) -> Result<Entry, Fault> {
        entry(&format!(
            "1.2.3.4 - joe [10/Oct/2000:13:55:36 -0700] \"{request}\" {rest}"
        ))
    }

    #[test]
    fn a_line_is_a_request_with_its_answer() {
        let entry = read(
            "GET /a?b HTTP/1.1",
            r#"304 - "http://r/" "an \"agent\" \x41""#,
        )
        .unwrap();
        assert_eq!(
            (entry.method.as_str(), entry.path.as_str()),
            ("GET", "/a?b")
        );
        assert_eq!((entry.status, entry.size), (Some(304), Some(0)));
        assert_eq!(entry.at, 971_211_336 * 1_000_000_000);
        let value = |name: &str| {
            let found = entry.headers.iter().find(|(header, _)| header == name);
            found.map(|(_, value)| value.as_str())
        };
        assert_eq!(value("Referer"), Some("http://r/"));
        assert_eq!(value("User-Agent"), Some("an \"agent\" A"));
        let common = read("POST /p HTTP/1.0", "200 12").unwrap();
        assert_eq!((common.headers.len(), common.size), (0, Some(12)));
        assert_eq!(read("GET /a b HTTP/1.1", "200 1").unwrap().path, "/a%20b");
        let tab = read(r"GET /a\tb\\c HTTP/1.1", r#"200 1 "-" "a\tb""#).unwrap();
        assert_eq!(tab.path, "/a%09b\\c");
        assert_eq!(tab.headers, [("User-Agent".into(), "a\tb".into())]);
        assert_eq!(
            read(r"GET /\xc3\xa4\x22 HTTP/1.1", "200 1").unwrap().path,
            "/%C3%A4\""
        );
    }

    #[test]
    fn lines_that_are_none_are_refused() {
        for request in [
            "-",
            "",
            r"\x16\x03\x01",
            "CONNECT h:443 HTTP/1.1",
            "GET * HTTP/1.1",
        ] {
            assert!(read(request, "400 0").is_err(), "{request}");
        }
        for line in [
            "",
            "x",
            "[",
            "[]",
            "[x] \"GET / HTTP/1.1\" 200 1",
            "[10/Oct/2000:13:55:36 -0700] \"GET /",
        ] {
            assert!(entry(line).is_err(), "{line}");
        }
        assert!(read(r"GET /\x4", "200 1").is_err());
    }
}
