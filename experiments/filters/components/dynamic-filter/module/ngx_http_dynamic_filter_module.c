/* SPDX-License-Identifier: Apache-2.0 */
/* Accepts or rejects a request as a filter library decides. */

#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "filter_library.h"
#include "filter_module.h"

/* What a call of the library takes. */
typedef struct {
    const filter_library_t  *library;
    const u_char            *url; /* a terminated copy for a library that needs one, or NULL */
} dynamic_filter_question_t;

static ngx_int_t dynamic_filter_handler(ngx_http_request_t *r);
static ngx_inline int dynamic_filter_call(void *filter, const ngx_http_request_t *r);
static ngx_int_t dynamic_filter_status_handler(ngx_http_request_t *r);
static void *dynamic_filter_create_main_conf(ngx_conf_t *cf);
static ngx_int_t dynamic_filter_postconfiguration(ngx_conf_t *cf);
static ngx_int_t dynamic_filter_init_module(ngx_cycle_t *cycle);
static ngx_int_t dynamic_filter_init_process(ngx_cycle_t *cycle);
static void dynamic_filter_override(ngx_str_t *value, const char *name);

static ngx_command_t  dynamic_filter_commands[] = {

    filter_flag_command("dynamic_filter", enable),
    filter_flag_command("dynamic_filter_dosed", dosed),
    filter_text_command("dynamic_filter_library", offsetof(filter_library_t, path)),
    filter_text_command("dynamic_filter_prefix", offsetof(filter_library_t, prefix)),
    filter_status_command(dynamic_filter_status_handler),

      ngx_null_command
};

static ngx_http_module_t  dynamic_filter_context = {
    NULL,
    dynamic_filter_postconfiguration,
    dynamic_filter_create_main_conf,
    NULL,
    NULL,
    NULL,
    filter_create_loc_conf,
    filter_merge_loc_conf
};

ngx_module_t  ngx_http_dynamic_filter_module = {
    NGX_MODULE_V1,
    &dynamic_filter_context,
    dynamic_filter_commands,
    NGX_HTTP_MODULE,
    NULL,
    dynamic_filter_init_module,
    dynamic_filter_init_process,
    NULL,
    NULL,
    NULL,
    NULL,
    NGX_MODULE_V1_PADDING
};


static ngx_int_t
dynamic_filter_handler(ngx_http_request_t *r)
{
    u_char                     *url;
    filter_library_t           *library;
    filter_loc_conf_t          *lcf;
    dynamic_filter_question_t   question;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_dynamic_filter_module);
    if (!lcf->enable) {
        return NGX_DECLINED;
    }

    library = ngx_http_get_module_main_conf(r, ngx_http_dynamic_filter_module);

    url = NULL;
    if (library->url_filter_n == NULL) {
        /* No byte is lost: nginx refuses a URI with NUL in it, and bounds its length. */
        url = ngx_pnalloc(r->pool, r->uri.len + 1);
        if (url == NULL) {
            return NGX_HTTP_INTERNAL_SERVER_ERROR;
        }
        *ngx_cpymem(url, r->uri.data, r->uri.len) = '\0';
    }

    question.library = library;
    question.url = url;
    return filter_handle(r, lcf, dynamic_filter_call, &question);
}


static ngx_inline int
dynamic_filter_call(void *filter, const ngx_http_request_t *r)
{
    const dynamic_filter_question_t  *question = filter;

    if (question->url != NULL) {
        return question->library->url_filter((const char *) question->url);
    }
    return question->library->url_filter_n((const char *) r->uri.data, r->uri.len);
}


static ngx_int_t
dynamic_filter_status_handler(ngx_http_request_t *r)
{
    uint64_t           accepted, rejected;
    filter_library_t  *library;

    library = ngx_http_get_module_main_conf(r, ngx_http_dynamic_filter_module);
    library->get_counters(&accepted, &rejected);

    return filter_status_send(r, accepted, rejected);
}


static void *
dynamic_filter_create_main_conf(ngx_conf_t *cf)
{
    return ngx_pcalloc(cf->pool, sizeof(filter_library_t));
}


static ngx_int_t
dynamic_filter_postconfiguration(ngx_conf_t *cf)
{
    filter_library_t  *library;

    library = ngx_http_conf_get_module_main_conf(cf, ngx_http_dynamic_filter_module);
    dynamic_filter_override(&library->path, "DYNAMIC_LOAD_LIB_PATH");
    dynamic_filter_override(&library->prefix, "DYNAMIC_LOAD_URL_PREFIX");

    if (library->path.data == NULL) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "no filter library: set dynamic_filter_library or "
                           "DYNAMIC_LOAD_LIB_PATH to its file");
        return NGX_ERROR;
    }
    if (library->prefix.data == NULL) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "no prefix for the filter library \"%V\": set dynamic_filter_prefix or "
                           "DYNAMIC_LOAD_URL_PREFIX (\"\" accepts every path)", &library->path);
        return NGX_ERROR;
    }

    /* The path is relative to the prefix folder, as all paths of a configuration are. */
    if (ngx_conf_full_name(cf->cycle, &library->path, 0) != NGX_OK
        || filter_library_load(cf, library) != NGX_OK)
    {
        return NGX_ERROR;
    }

    return filter_add_handler(cf, dynamic_filter_handler);
}


static ngx_int_t
dynamic_filter_init_module(ngx_cycle_t *cycle)
{
    filter_library_t  *library;

    library = ngx_http_cycle_get_module_main_conf(cycle, ngx_http_dynamic_filter_module);
    if (library != NULL) {
        filter_library_put_in_force(library);
    }

    return NGX_OK;
}


static ngx_int_t
dynamic_filter_init_process(ngx_cycle_t *cycle)
{
    filter_library_t  *library;

    library = ngx_http_cycle_get_module_main_conf(cycle, ngx_http_dynamic_filter_module);
    if (library != NULL && library->start_worker != NULL) {
        library->start_worker();
    }

    return NGX_OK;
}


/* Replace a value of the configuration by the environment variable `name`, if it is set. The
 * environment wins in the design that this interface is from, too. */
static void
dynamic_filter_override(ngx_str_t *value, const char *name)
{
    char  *found;

    found = getenv(name);
    if (found != NULL) {
        value->data = (u_char *) found;
        value->len = ngx_strlen(found);
    }
}
