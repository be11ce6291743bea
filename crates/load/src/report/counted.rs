//! A number of requests in words.

/// A number of requests in words.
pub fn counted(requests: f64) -> String {
    let plural = if requests == 1.0 { "" } else { "s" };
    format!("{requests:.0} request{plural}")
}
