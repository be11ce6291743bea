/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of `filter_status;`, the same from every nginx module of this experiment. */

#ifndef FILTER_STATUS_H
#define FILTER_STATUS_H

#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

/* Answers the request with both counters as JSON. */
static inline ngx_int_t
filter_status_send(ngx_http_request_t *r, uint64_t accepted, uint64_t rejected)
{
    static const char  format[] = "{\"accepted\":%uL,\"rejected\":%uL}\n";
    ngx_int_t          rc;
    ngx_buf_t         *b;
    ngx_chain_t        out;

    rc = ngx_http_discard_request_body(r);
    if (rc != NGX_OK) {
        return rc;
    }

    b = ngx_create_temp_buf(r->pool, sizeof(format) + 2 * NGX_INT64_LEN);
    if (b == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }
    b->last = ngx_sprintf(b->last, format, accepted, rejected);
    b->last_buf = 1;
    b->last_in_chain = 1;

    ngx_str_set(&r->headers_out.content_type, "application/json");
    r->headers_out.content_type_len = r->headers_out.content_type.len;
    r->headers_out.status = NGX_HTTP_OK;
    r->headers_out.content_length_n = b->last - b->pos;

    rc = ngx_http_send_header(r);
    if (rc == NGX_ERROR || rc > NGX_OK || r->header_only) {
        return rc;
    }
    out.buf = b;
    out.next = NULL;
    return ngx_http_output_filter(r, &out);
}

#endif
