//! The formats of logs.

use serde::{Deserialize, Serialize};

/// The format of an access log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Lines in the common or combined format of Apache and nginx.
    Combined,
    /// JSON objects, one a line.
    Json,
    /// HAR 1.2, as browsers save it.
    Har,
}

impl LogFormat {
    /// The format that a text seems to have.
    pub fn of(text: &str) -> Self {
        let text = text.trim_start_matches('\u{feff}');
        let mut lines = text.lines().map(str::trim);
        let first = lines.find(|line| !line.is_empty() && !line.starts_with('#'));
        let first = first.unwrap_or_default();
        if !first.starts_with('{') {
            return LogFormat::Combined;
        }
        match serde_json::from_str::<serde_json::Value>(first) {
            Ok(object) if object["log"]["entries"].is_null() => LogFormat::Json,
            _ => LogFormat::Har,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_is_known_by_its_beginning() {
        assert_eq!(
            LogFormat::of("::1 - - [x] \"GET / HTTP/1.1\""),
            LogFormat::Combined
        );
        assert_eq!(LogFormat::of("\n{\"log\": \"x\"}\n{}"), LogFormat::Json);
        assert_eq!(
            LogFormat::of("{\"log\": {\"entries\": []}}"),
            LogFormat::Har
        );
        assert_eq!(LogFormat::of("\u{feff}{\n \"log\": {"), LogFormat::Har);
    }
}
