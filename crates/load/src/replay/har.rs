//! HTTP archives as browsers save them (HAR 1.2).

use base64::Engine as _;
use serde_json::Value;

use super::entry::{Entry, Sent};
use super::fault::Fault;
use super::form::{self, URLENCODED};
use super::stamp;

/// All entries of an archive.
///
/// # Errors
/// When the text is no archive.
pub fn entries(text: &str) -> Result<Vec<Result<Entry, Fault>>, Fault> {
    let archive: Value = serde_json::from_str(text).map_err(|why| format!("no HAR: {why}"))?;
    let entries = archive["log"]["entries"].as_array();
    let entries = entries.ok_or("no HAR: log.entries is missing")?;
    Ok(entries.iter().map(entry).collect())
}

fn entry(entry: &Value) -> Result<Entry, Fault> {
    let (request, response) = (&entry["request"], &entry["response"]);
    let text = |value: &Value, what: &str| -> Result<String, Fault> {
        let text = value.as_str().ok_or_else(|| format!("no {what}"))?;
        Ok(text.into())
    };
    let time = text(&entry["startedDateTime"], "startedDateTime")?;
    let method = text(&request["method"], "request.method")?;
    let url = text(&request["url"], "request.url")?;
    let mut made = Entry::new(stamp::iso(&time)?, &method, &url)?;
    for header in request["headers"].as_array().into_iter().flatten() {
        let name = text(&header["name"], "name of a header")?;
        made.add_header(&name, &text(&header["value"], "value of a header")?)?;
    }
    add_body(&mut made, request)?;
    let status = response["status"].as_u64().filter(|status| *status > 0);
    made.status = status.and_then(|status| u16::try_from(status).ok());
    let sizes = [&response["bodySize"], &response["content"]["size"]];
    made.size = sizes.into_iter().find_map(Value::as_u64);
    Ok(made)
}

/// Add the body of a request: its text, or the fields of its form, or so many bytes as it had.
fn add_body(made: &mut Entry, request: &Value) -> Result<(), Fault> {
    let post = &request["postData"];
    let params = post["params"].as_array().map_or(&[][..], Vec::as_slice);
    let kind = post["mimeType"].as_str().unwrap_or(URLENCODED);
    // -1 stands for unknown.
    let size = request["bodySize"].as_u64();
    match post["text"].as_str() {
        // Some tools write an empty one beside the fields.
        Some(text) if params.is_empty() || !text.is_empty() => {
            made.body = Sent::Bytes(match post["encoding"].as_str() {
                Some("base64") => {
                    let digits = base64::engine::general_purpose::STANDARD.decode(text);
                    digits.map_err(|why| format!("a body that is no base64 ({why})"))?
                }
                _ => text.into(),
            });
        }
        _ if params.is_empty() => {}
        _ if kind.split(';').next().map(str::trim) == Some(URLENCODED) => {
            made.body = Sent::Bytes(form::encoded(params)?);
            let mut names = made.headers.iter().map(|(name, _)| name);
            if !names.any(|name| name.eq_ignore_ascii_case("content-type")) {
                made.add_header("Content-Type", kind)?;
            }
        }
        // A body of its size stands for it.
        _ if size.is_some_and(|size| size > 0) => {}
        _ => return Err(format!("a form of {kind} without its text and size")),
    }
    size.map_or(Ok(()), |size| made.body_size(size))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(request: &str) -> Result<Entry, Fault> {
        let text = format!(
            r#"{{"log": {{"entries": [{{"startedDateTime": "2024-02-29T01:00:00.250+01:00",
                "request": {request}, "response": {{"status": 200, "bodySize": -1, "content": {{"size": 9}}}}}}]}}}}"#
        );
        entries(&text).unwrap().remove(0)
    }

    #[test]
    fn an_entry_is_a_request_with_its_answer() {
        let entry = one(
            r#"{"method": "POST", "url": "https://h/a?b#c", "bodySize": 4,
                "headers": [{"name": ":method", "value": "POST"}, {"name": "accept", "value": "*/*"}],
                "postData": {"text": "aGk=", "encoding": "base64"}}"#,
        );
        let entry = entry.unwrap();
        assert_eq!(
            (entry.path.as_str(), entry.at),
            ("/a?b", 1_709_164_800_250_000_000)
        );
        assert_eq!(entry.headers, [("accept".to_string(), "*/*".to_string())]);
        assert_eq!(
            (entry.body, entry.size),
            (Sent::Bytes(b"hi".into()), Some(9))
        );
        let bare = one(r#"{"method": "PUT", "url": "http://h/", "bodySize": 4}"#).unwrap();
        assert_eq!(bare.body, Sent::Size(4));
    }

    #[test]
    fn the_fields_of_a_form_are_its_body() {
        let form = |post: &str, size: i32| {
            one(&format!(
                r#"{{"method": "POST", "url": "http://h/", "bodySize": {size}, "headers": [],
                    "postData": {{{post}}}}}"#
            ))
        };
        let params = r#""params": [{"name": "a b", "value": "c&d=\u00e4"}, {"name": "e"}]"#;
        let urlencoded = "application/x-www-form-urlencoded; charset=UTF-8";
        let kind = format!(r#""mimeType": "{urlencoded}", "#);
        let body = Sent::Bytes(b"a+b=c%26d%3D%C3%A4&e=".into());
        for text in ["", r#""text": "", "#] {
            let entry = form(&format!("{kind}{text}{params}"), -1).unwrap();
            assert_eq!(entry.body, body);
            let own = ("Content-Type".to_string(), urlencoded.to_string());
            assert_eq!(entry.headers, [own]);
        }
        // The text is the body as it was sent.
        let entry = form(&format!(r#"{kind}"text": "a=%20", {params}"#), -1).unwrap();
        assert_eq!(entry.body, Sent::Bytes(b"a=%20".into()));
        let files = format!(r#""mimeType": "multipart/form-data; boundary=x", {params}"#);
        assert_eq!(form(&files, 300).unwrap().body, Sent::Size(300));
        let fault = form(&files, -1).unwrap_err();
        assert!(
            fault.starts_with("a form of multipart/form-data; "),
            "{fault}"
        );
        assert!(form(&format!(r#"{kind}"params": [{{"value": "x"}}]"#), -1).is_err());
    }

    #[test]
    fn what_is_no_archive_or_no_entry_is_refused() {
        for text in [
            "",
            "{",
            "{}",
            r#"{"log": {}}"#,
            r#"{"log": {"entries": 1}}"#,
        ] {
            assert!(entries(text).is_err(), "{text}");
        }
        for request in [
            "{}",
            r#"{"method": "GET"}"#,
            r#"{"method": "GET", "url": "data:x"}"#,
            r#"{"method": "GET", "url": "http://h/", "headers": [{"name": 1}]}"#,
            r#"{"method": "PUT", "url": "http://h/", "postData": {"text": "*", "encoding": "base64"}}"#,
        ] {
            assert!(one(request).is_err(), "{request}");
        }
    }
}
