//! Files of requests: one a line, as a JSON object or as a URL with an optional method before it.

use std::path::Path;

use crate::spec::{RequestSpec, SpecError};

/// The field that names a file.
const FIELD: &str = "mix_file";

/// Most requests that a file may have: each is kept as it is sent.
const MOST: usize = 1_000_000;

/// Read the requests of a file.
///
/// # Errors
/// A [`SpecError`] that names the file, and the line that is no request.
pub fn read(file: &Path) -> Result<Vec<RequestSpec>, SpecError> {
    let text = std::fs::read_to_string(file).map_err(|why| {
        let found = format!("{} cannot be read ({why})", file.display());
        SpecError::new(FIELD, found, "name a readable file of UTF-8 text")
    })?;
    parse(&text).map_err(
        |Fault {
             line,
             found,
             remedy,
         }| {
            let place = match line {
                0 => file.display().to_string(),
                line => format!("{}:{line}", file.display()),
            };
            SpecError::new(FIELD, format!("{place}: {found}"), remedy)
        },
    )
}

/// The same error, with the line of `file` that it is in, if it is of one.
pub fn located(error: SpecError, file: Option<&Path>, line: Option<usize>) -> SpecError {
    match (file, line) {
        (Some(file), Some(line)) if error.field() != FIELD => {
            error.within(FIELD, format!("{}:{line}", file.display()), "mix")
        }
        _ => error,
    }
}

/// The reason why a text is no file of requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The line, from 1; 0 for the whole text.
    pub line: usize,
    /// The part that is wrong.
    pub found: String,
    /// The way to put it right.
    pub remedy: &'static str,
}

/// The requests of `text`. Blank lines, and those that begin with `#`, are left out.
///
/// # Errors
/// The first line that is no request.
pub fn parse(text: &str) -> Result<Vec<RequestSpec>, Fault> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = text.lines().map(str::trim).enumerate();
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let mut requests = Vec::new();
    for (index, line) in lines {
        let request = request(line).map_err(|(found, remedy)| Fault {
            line: index + 1,
            found,
            remedy,
        })?;
        requests.push(RequestSpec {
            line: Some(index + 1),
            ..request
        });
        if requests.len() > MOST {
            return Err(Fault {
                line: index + 1,
                found: format!("more than {MOST} requests"),
                remedy: "split the file",
            });
        }
    }
    if requests.is_empty() {
        return Err(Fault {
            line: 0,
            found: "no request".into(),
            remedy: "write one a line, as /path, GET /path or {\"url\": \"/path\"}",
        });
    }
    Ok(requests)
}

fn request(line: &str) -> Result<RequestSpec, (String, &'static str)> {
    if line.starts_with('{') {
        let remedy = "write a JSON object as docs/FORMAT.md describes `mix`";
        return serde_json::from_str(line).map_err(|why| (why.to_string(), remedy));
    }
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    match words[..] {
        [url] => Ok(RequestSpec::of(url.into())),
        [method, url] => Ok(RequestSpec {
            method: Some(method.into()),
            ..RequestSpec::of(url.into())
        }),
        _ => {
            let found = format!("{} words", words.len());
            Err((found, "write a URL, a method and a URL, or a JSON object"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_urls_or_objects() {
        let text = "\u{feff}# two\n/a\r\n\n POST\t/b \n{\"url\": \"/c\", \"weight\": 2.5, \
                    \"headers\": {\"X-A\": [\"1\", \"2\"]}, \"body\": {\"size\": 3}}\n";
        let requests = parse(text).unwrap();
        let urls: Vec<_> = requests
            .iter()
            .map(|request| request.url.as_str())
            .collect();
        assert_eq!(urls, ["/a", "/b", "/c"]);
        assert_eq!(requests[1].method.as_deref(), Some("POST"));
        assert_eq!((requests[2].weight, requests[2].headers.len()), (2.5, 2));
    }

    #[test]
    fn a_line_that_is_no_request_is_named() {
        for (text, line, found) in [
            ("/a\n{\"url\": 1}", 2, "invalid type: integer `1`"),
            (
                "{\"url\": \"/\", \"wieght\": 1}",
                1,
                "unknown field `wieght`",
            ),
            ("{\"url\": \"/\"} x", 1, "trailing characters"),
            ("\n\nGET /a HTTP/1.1", 3, "3 words"),
            ("# nothing\n", 0, "no request"),
        ] {
            let fault = parse(text).unwrap_err();
            assert_eq!(fault.line, line, "{text}");
            assert!(fault.found.starts_with(found), "{}", fault.found);
        }
        let many = "/\n".repeat(MOST + 1);
        assert_eq!(parse(&many).unwrap_err().line, MOST + 1);
    }
}
