//! The fields of a form, as an archive lists them.

use std::fmt::Write as _;

use serde_json::Value;

use super::fault::Fault;

/// The type of a form that is sent as one line of names and values.
pub const URLENCODED: &str = "application/x-www-form-urlencoded";

/// The bytes of a form with these `params`, as browsers send it (URL Standard, section 5.2).
///
/// # Errors
/// When one has no name, or a value that is no text.
pub fn encoded(params: &[Value]) -> Result<Vec<u8>, Fault> {
    let mut text = String::new();
    for param in params {
        let name = param["name"].as_str().ok_or("no name of a param")?;
        if !text.is_empty() {
            text.push('&');
        }
        escape(name, &mut text);
        text.push('=');
        let value = match &param["value"] {
            Value::Null => "",
            value => value.as_str().ok_or("a value of a param that is no text")?,
        };
        escape(value, &mut text);
    }
    Ok(text.into())
}

fn escape(part: &str, out: &mut String) {
    for byte in part.bytes() {
        match byte {
            b' ' => out.push('+'),
            b'*' | b'-' | b'.' | b'_' => out.push(char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => out.push(char::from(byte)),
            _ => {
                // Writing to a string cannot fail.
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
}
