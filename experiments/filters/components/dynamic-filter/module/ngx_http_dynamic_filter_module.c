/* SPDX-License-Identifier: Apache-2.0 */
/* Accepts or rejects a request as a filter library says. */

#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "filter_dose.h"
#include "filter_library.h"
#include "filter_status.h"

typedef struct {
    ngx_flag_t  enable;
    ngx_flag_t  dosed; /* the query says how often the filter is called */
} dynamic_filter_loc_conf_t;

static ngx_int_t dynamic_filter_handler(ngx_http_request_t *r);
static ngx_inline int dynamic_filter_call(const filter_library_t *library, const ngx_http_request_t *r,
    const u_char *url);
static ngx_int_t dynamic_filter_status_handler(ngx_http_request_t *r);
static char *dynamic_filter_status(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);
static void *dynamic_filter_create_main_conf(ngx_conf_t *cf);
static void *dynamic_filter_create_loc_conf(ngx_conf_t *cf);
static char *dynamic_filter_merge_loc_conf(ngx_conf_t *cf, void *parent, void *child);
static ngx_int_t dynamic_filter_postconfiguration(ngx_conf_t *cf);
static ngx_int_t dynamic_filter_init_module(ngx_cycle_t *cycle);
static void dynamic_filter_override(ngx_str_t *value, const char *name);

static ngx_command_t  dynamic_filter_commands[] = {

    { ngx_string("dynamic_filter"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF|NGX_CONF_FLAG,
      ngx_conf_set_flag_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(dynamic_filter_loc_conf_t, enable),
      NULL },

    { ngx_string("dynamic_filter_dosed"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF|NGX_CONF_FLAG,
      ngx_conf_set_flag_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(dynamic_filter_loc_conf_t, dosed),
      NULL },

    { ngx_string("dynamic_filter_library"),
      NGX_HTTP_MAIN_CONF|NGX_CONF_TAKE1,
      ngx_conf_set_str_slot,
      NGX_HTTP_MAIN_CONF_OFFSET,
      offsetof(filter_library_t, path),
      NULL },

    { ngx_string("dynamic_filter_prefix"),
      NGX_HTTP_MAIN_CONF|NGX_CONF_TAKE1,
      ngx_conf_set_str_slot,
      NGX_HTTP_MAIN_CONF_OFFSET,
      offsetof(filter_library_t, prefix),
      NULL },

    { ngx_string("filter_status"),
      NGX_HTTP_LOC_CONF|NGX_CONF_NOARGS,
      dynamic_filter_status,
      0,
      0,
      NULL },

      ngx_null_command
};

static ngx_http_module_t  dynamic_filter_context = {
    NULL,
    dynamic_filter_postconfiguration,
    dynamic_filter_create_main_conf,
    NULL,
    NULL,
    NULL,
    dynamic_filter_create_loc_conf,
    dynamic_filter_merge_loc_conf
};

ngx_module_t  ngx_http_dynamic_filter_module = {
    NGX_MODULE_V1,
    &dynamic_filter_context,
    dynamic_filter_commands,
    NGX_HTTP_MODULE,
    NULL,
    dynamic_filter_init_module,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NGX_MODULE_V1_PADDING
};


static ngx_int_t
dynamic_filter_handler(ngx_http_request_t *r)
{
    int                         accepted;
    u_char                     *url;
    ngx_uint_t                  dose;
    filter_library_t           *library;
    dynamic_filter_loc_conf_t  *lcf;

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

    accepted = dynamic_filter_call(library, r, url);
    if (lcf->dosed) {
        for (dose = filter_dose(r); dose > 1; dose--) {
            filter_dose_again();
            accepted = dynamic_filter_call(library, r, url);
        }
    }

    return accepted == 1 ? NGX_OK : NGX_HTTP_FORBIDDEN;
}


/* `url`: the terminated copy, of a library that wants one. */
static ngx_inline int
dynamic_filter_call(const filter_library_t *library, const ngx_http_request_t *r, const u_char *url)
{
    if (url != NULL) {
        return library->url_filter((const char *) url);
    }
    return library->url_filter_n((const char *) r->uri.data, r->uri.len);
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


static char *
dynamic_filter_status(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_core_loc_conf_t  *clcf;

    clcf = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);
    clcf->handler = dynamic_filter_status_handler;

    return NGX_CONF_OK;
}


static void *
dynamic_filter_create_main_conf(ngx_conf_t *cf)
{
    return ngx_pcalloc(cf->pool, sizeof(filter_library_t));
}


static void *
dynamic_filter_create_loc_conf(ngx_conf_t *cf)
{
    dynamic_filter_loc_conf_t  *lcf;

    lcf = ngx_pcalloc(cf->pool, sizeof(dynamic_filter_loc_conf_t));
    if (lcf != NULL) {
        lcf->enable = NGX_CONF_UNSET;
        lcf->dosed = NGX_CONF_UNSET;
    }

    return lcf;
}


static char *
dynamic_filter_merge_loc_conf(ngx_conf_t *cf, void *parent, void *child)
{
    dynamic_filter_loc_conf_t  *outer = parent;
    dynamic_filter_loc_conf_t  *inner = child;

    ngx_conf_merge_value(inner->enable, outer->enable, 0);
    ngx_conf_merge_value(inner->dosed, outer->dosed, 0);

    return NGX_CONF_OK;
}


static ngx_int_t
dynamic_filter_postconfiguration(ngx_conf_t *cf)
{
    filter_library_t           *library;
    ngx_http_handler_pt        *handler;
    ngx_http_core_main_conf_t  *cmcf;

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

    /* As nginx does with every file it is told of: relative to its prefix folder. */
    if (ngx_conf_full_name(cf->cycle, &library->path, 0) != NGX_OK
        || filter_library_load(cf, library) != NGX_OK)
    {
        return NGX_ERROR;
    }

    cmcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_core_module);
    handler = ngx_array_push(&cmcf->phases[NGX_HTTP_ACCESS_PHASE].handlers);
    if (handler == NULL) {
        return NGX_ERROR;
    }
    *handler = dynamic_filter_handler;

    return NGX_OK;
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


/* The environment wins over the configuration, as in the design this interface is from. */
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
