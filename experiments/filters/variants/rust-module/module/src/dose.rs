//! The number of calls of the filter per request: `filter_dose` of `module/filter_module.h` in
//! Rust.

use ngx::http::Request;

const MAX: i64 = 999;

/// 1 without a dose, as a query of anything but digits is, and at most 999.
pub fn of(request: &Request) -> i64 {
    let query = request.as_ref().args.as_bytes();
    if !query.iter().all(u8::is_ascii_digit) {
        return 1;
    }
    let dose = std::str::from_utf8(query)
        .ok()
        .and_then(|text| text.parse().ok());
    dose.map_or(1, |dose: i64| dose.clamp(1, MAX))
}
