//! The answer of `filter_status;`.

use std::ptr;

use filter_controller::memory::Memory;
use ngx::core::{Buffer, Status};
use ngx::ffi::ngx_chain_t;
use ngx::http::{HTTPStatus, Request};

/// Answer the request with both counters as JSON.
pub fn send(request: &mut Request, memory: &Memory) -> Status {
    let discarded = request.discard_request_body();
    if discarded != Status::NGX_OK {
        return discarded;
    }
    let counts = memory.counts();
    let text = format!(
        "{{\"accepted\":{},\"rejected\":{}}}\n",
        counts.accepted, counts.rejected
    );
    let Some(mut buffer) = request.pool().create_buffer_from_str(&text) else {
        return HTTPStatus::INTERNAL_SERVER_ERROR.into();
    };
    buffer.set_last_buf(true);
    buffer.set_last_in_chain(true);
    request.set_status(HTTPStatus::OK);
    request.set_content_length_n(text.len());
    let sent = request.send_header();
    if sent == Status::NGX_ERROR || sent > Status::NGX_OK || request.header_only() {
        return sent;
    }
    request.output_filter(&mut ngx_chain_t {
        buf: buffer.as_ngx_buf_mut(),
        next: ptr::null_mut(),
    })
}
