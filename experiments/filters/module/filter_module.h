/* SPDX-License-Identifier: Apache-2.0 */
/* What the nginx modules of this experiment share: the directives of a location, the handler around
 * a filter's calls, and the answer of `filter_status;`. */

#ifndef FILTER_MODULE_H
#define FILTER_MODULE_H

#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#define FILTER_DOSE_MAX 999

typedef struct {
    ngx_flag_t  enable;
    ngx_flag_t  dosed; /* the query says how often the filter is called */
} filter_loc_conf_t;

/* Decide on one request and count the decision. Return 1 to accept; anything else rejects. */
typedef int (*filter_call_pt)(void *filter, const ngx_http_request_t *r);

/* A directive `NAME on|off;` that sets `field` of filter_loc_conf_t. */
#define filter_flag_command(NAME, field)                                                           \
    { ngx_string(NAME),                                                                            \
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF|NGX_CONF_FLAG,                        \
      ngx_conf_set_flag_slot,                                                                      \
      NGX_HTTP_LOC_CONF_OFFSET,                                                                    \
      offsetof(filter_loc_conf_t, field),                                                          \
      NULL }

/* A directive `NAME TEXT;` of the http block that sets the ngx_str_t at `offset` of the main
 * configuration. */
#define filter_text_command(NAME, offset)                                                          \
    { ngx_string(NAME),                                                                            \
      NGX_HTTP_MAIN_CONF|NGX_CONF_TAKE1,                                                           \
      ngx_conf_set_str_slot,                                                                       \
      NGX_HTTP_MAIN_CONF_OFFSET,                                                                   \
      offset,                                                                                      \
      NULL }

/* The directive `filter_status;`, whose location is answered by `handler`. */
#define filter_status_command(handler)                                                             \
    { ngx_string("filter_status"),                                                                 \
      NGX_HTTP_LOC_CONF|NGX_CONF_NOARGS,                                                           \
      filter_set_status,                                                                           \
      0,                                                                                           \
      0,                                                                                           \
      (void *) handler }


/* Make the handler that the directive names the one of its location. */
static inline char *
filter_set_status(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_core_loc_conf_t  *clcf;

    clcf = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);
    clcf->handler = (ngx_http_handler_pt) cmd->post;

    return NGX_CONF_OK;
}


/* Return the configuration of a location with nothing set, or NULL. */
static inline void *
filter_create_loc_conf(ngx_conf_t *cf)
{
    filter_loc_conf_t  *conf;

    conf = ngx_pcalloc(cf->pool, sizeof(filter_loc_conf_t));
    if (conf != NULL) {
        conf->enable = NGX_CONF_UNSET;
        conf->dosed = NGX_CONF_UNSET;
    }

    return conf;
}


/* Take from the outer configuration what the inner one does not set. The default is off. */
static inline char *
filter_merge_loc_conf(ngx_conf_t *cf, void *parent, void *child)
{
    filter_loc_conf_t  *outer = parent;
    filter_loc_conf_t  *inner = child;

    ngx_conf_merge_value(inner->enable, outer->enable, 0);
    ngx_conf_merge_value(inner->dosed, outer->dosed, 0);

    return NGX_CONF_OK;
}


/* Add a handler to the access phase. */
static inline ngx_int_t
filter_add_handler(ngx_conf_t *cf, ngx_http_handler_pt added)
{
    ngx_http_handler_pt        *handler;
    ngx_http_core_main_conf_t  *cmcf;

    cmcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_core_module);
    handler = ngx_array_push(&cmcf->phases[NGX_HTTP_ACCESS_PHASE].handlers);
    if (handler == NULL) {
        return NGX_ERROR;
    }
    *handler = added;

    return NGX_OK;
}


/* Return how often the query asks for the filter to be called, at most FILTER_DOSE_MAX. A query of
 * anything but digits asks for 1. Every dose is sent with the same number of digits, so that reading
 * it costs the same. No filter looks at the query. */
static inline ngx_uint_t
filter_dose(const ngx_http_request_t *r)
{
    ngx_int_t  dose = ngx_atoi(r->args.data, r->args.len);

    return dose < 1 ? 1 : ngx_min((ngx_uint_t) dose, FILTER_DOSE_MAX);
}


/* Return the access phase's answer to a request that the filter is enabled for. `call` is a constant
 * and is inlined, so that the modules pay for no call of their own. */
static ngx_inline __attribute__((always_inline)) ngx_int_t
filter_handle(const ngx_http_request_t *r, const filter_loc_conf_t *conf, filter_call_pt call,
    void *filter)
{
    int         accepted;
    ngx_uint_t  dose;

    accepted = call(filter, r);
    if (conf->dosed) {
        for (dose = filter_dose(r); dose > 1; dose--) {
            /* What one call has read, the next reads again. */
            __asm__ volatile ("" ::: "memory");
            accepted = call(filter, r);
        }
    }

    return accepted == 1 ? NGX_OK : NGX_HTTP_FORBIDDEN;
}


/* Answer the request with both counters as JSON. */
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
