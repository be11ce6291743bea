/* SPDX-License-Identifier: Apache-2.0 */
/* Accepts or rejects a request by the prefix of its path, which a controller keeps in shared
 * memory beside the counters. */

#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "filter_dose.h"
#include "filter_shm_map.h"
#include "filter_status.h"

#define DEFAULT_SHM "/baseline_nginx_filter_shm"

typedef struct {
    ngx_str_t           name;
    struct filter_shm  *shm;
} c_filter_main_conf_t;

typedef struct {
    ngx_flag_t          enable;
    ngx_flag_t          dosed; /* the query says how often the filter is called */
} c_filter_loc_conf_t;

static ngx_int_t c_filter_handler(ngx_http_request_t *r);
static ngx_inline int c_filter_call(struct filter_shm *shm, const ngx_http_request_t *r);
static ngx_int_t c_filter_status_handler(ngx_http_request_t *r);
static char *c_filter_status(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);
static void *c_filter_create_main_conf(ngx_conf_t *cf);
static void *c_filter_create_loc_conf(ngx_conf_t *cf);
static char *c_filter_merge_loc_conf(ngx_conf_t *cf, void *parent, void *child);
static ngx_int_t c_filter_postconfiguration(ngx_conf_t *cf);
static void c_filter_unmap(void *data);

static ngx_command_t  c_filter_commands[] = {

    { ngx_string("c_filter"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF|NGX_CONF_FLAG,
      ngx_conf_set_flag_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(c_filter_loc_conf_t, enable),
      NULL },

    { ngx_string("c_filter_dosed"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF|NGX_CONF_FLAG,
      ngx_conf_set_flag_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(c_filter_loc_conf_t, dosed),
      NULL },

    { ngx_string("c_filter_shm"),
      NGX_HTTP_MAIN_CONF|NGX_CONF_TAKE1,
      ngx_conf_set_str_slot,
      NGX_HTTP_MAIN_CONF_OFFSET,
      offsetof(c_filter_main_conf_t, name),
      NULL },

    { ngx_string("filter_status"),
      NGX_HTTP_LOC_CONF|NGX_CONF_NOARGS,
      c_filter_status,
      0,
      0,
      NULL },

      ngx_null_command
};

static ngx_http_module_t  c_filter_context = {
    NULL,
    c_filter_postconfiguration,
    c_filter_create_main_conf,
    NULL,
    NULL,
    NULL,
    c_filter_create_loc_conf,
    c_filter_merge_loc_conf
};

ngx_module_t  ngx_http_c_filter_module = {
    NGX_MODULE_V1,
    &c_filter_context,
    c_filter_commands,
    NGX_HTTP_MODULE,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NGX_MODULE_V1_PADDING
};


static ngx_int_t
c_filter_handler(ngx_http_request_t *r)
{
    int                    accepted;
    ngx_uint_t             dose;
    c_filter_loc_conf_t   *lcf;
    c_filter_main_conf_t  *mcf;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_c_filter_module);
    if (!lcf->enable) {
        return NGX_DECLINED;
    }

    mcf = ngx_http_get_module_main_conf(r, ngx_http_c_filter_module);
    accepted = c_filter_call(mcf->shm, r);
    if (lcf->dosed) {
        for (dose = filter_dose(r); dose > 1; dose--) {
            filter_dose_again();
            accepted = c_filter_call(mcf->shm, r);
        }
    }

    return accepted ? NGX_OK : NGX_HTTP_FORBIDDEN;
}


static ngx_inline int
c_filter_call(struct filter_shm *shm, const ngx_http_request_t *r)
{
    int  accepted = filter_shm_match(shm, r->uri.data, r->uri.len);

    filter_count(&shm->counters, accepted);
    return accepted;
}


static ngx_int_t
c_filter_status_handler(ngx_http_request_t *r)
{
    uint64_t               accepted, rejected;
    c_filter_main_conf_t  *mcf;

    mcf = ngx_http_get_module_main_conf(r, ngx_http_c_filter_module);
    filter_counters_read(&mcf->shm->counters, &accepted, &rejected);

    return filter_status_send(r, accepted, rejected);
}


static char *
c_filter_status(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_core_loc_conf_t  *clcf;

    clcf = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);
    clcf->handler = c_filter_status_handler;

    return NGX_CONF_OK;
}


static void *
c_filter_create_main_conf(ngx_conf_t *cf)
{
    return ngx_pcalloc(cf->pool, sizeof(c_filter_main_conf_t));
}


static void *
c_filter_create_loc_conf(ngx_conf_t *cf)
{
    c_filter_loc_conf_t  *lcf;

    lcf = ngx_pcalloc(cf->pool, sizeof(c_filter_loc_conf_t));
    if (lcf != NULL) {
        lcf->enable = NGX_CONF_UNSET;
        lcf->dosed = NGX_CONF_UNSET;
    }

    return lcf;
}


static char *
c_filter_merge_loc_conf(ngx_conf_t *cf, void *parent, void *child)
{
    c_filter_loc_conf_t  *outer = parent;
    c_filter_loc_conf_t  *inner = child;

    ngx_conf_merge_value(inner->enable, outer->enable, 0);
    ngx_conf_merge_value(inner->dosed, outer->dosed, 0);

    return NGX_CONF_OK;
}


static ngx_int_t
c_filter_postconfiguration(ngx_conf_t *cf)
{
    char                        why[512];
    ngx_pool_cleanup_t         *cleanup;
    ngx_http_handler_pt        *handler;
    c_filter_main_conf_t       *mcf;
    ngx_http_core_main_conf_t  *cmcf;

    mcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_c_filter_module);
    if (mcf->name.data == NULL) {
        ngx_str_set(&mcf->name, DEFAULT_SHM);
    }

    cleanup = ngx_pool_cleanup_add(cf->pool, 0);
    if (cleanup == NULL) {
        return NGX_ERROR;
    }

    mcf->shm = filter_shm_map((const char *) mcf->name.data, why, sizeof(why));
    if (mcf->shm == NULL) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "%s", why);
        return NGX_ERROR;
    }
    cleanup->handler = c_filter_unmap;
    cleanup->data = mcf->shm;

    cmcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_core_module);
    handler = ngx_array_push(&cmcf->phases[NGX_HTTP_ACCESS_PHASE].handlers);
    if (handler == NULL) {
        return NGX_ERROR;
    }
    *handler = c_filter_handler;

    return NGX_OK;
}


static void
c_filter_unmap(void *data)
{
    munmap(data, sizeof(struct filter_shm));
}
