/* SPDX-License-Identifier: Apache-2.0 */
/* Accepts or rejects a request by the prefix of its path. A controller keeps the prefix and the
 * counters in shared memory. */

#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "filter_module.h"
#include "filter_shm_map.h"

#define DEFAULT_SHM "/baseline_nginx_filter_shm"

typedef struct {
    ngx_str_t           name;
    struct filter_shm  *shm;
} c_filter_main_conf_t;

static ngx_int_t c_filter_handler(ngx_http_request_t *r);
static ngx_inline int c_filter_call(void *filter, const ngx_http_request_t *r);
static ngx_int_t c_filter_status_handler(ngx_http_request_t *r);
static void *c_filter_create_main_conf(ngx_conf_t *cf);
static ngx_int_t c_filter_postconfiguration(ngx_conf_t *cf);
static void c_filter_unmap(void *data);

static ngx_command_t  c_filter_commands[] = {

    filter_flag_command("c_filter", enable),
    filter_flag_command("c_filter_dosed", dosed),
    filter_text_command("c_filter_shm", offsetof(c_filter_main_conf_t, name)),
    filter_status_command(c_filter_status_handler),

      ngx_null_command
};

static ngx_http_module_t  c_filter_context = {
    NULL,
    c_filter_postconfiguration,
    c_filter_create_main_conf,
    NULL,
    NULL,
    NULL,
    filter_create_loc_conf,
    filter_merge_loc_conf
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
    filter_loc_conf_t     *lcf;
    c_filter_main_conf_t  *mcf;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_c_filter_module);
    if (!lcf->enable) {
        return NGX_DECLINED;
    }

    mcf = ngx_http_get_module_main_conf(r, ngx_http_c_filter_module);
    return filter_handle(r, lcf, c_filter_call, mcf);
}


static ngx_inline int
c_filter_call(void *filter, const ngx_http_request_t *r)
{
    int                 accepted;
    struct filter_shm  *shm = ((c_filter_main_conf_t *) filter)->shm;

    accepted = filter_shm_match(shm, r->uri.data, r->uri.len);
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


static void *
c_filter_create_main_conf(ngx_conf_t *cf)
{
    return ngx_pcalloc(cf->pool, sizeof(c_filter_main_conf_t));
}


static ngx_int_t
c_filter_postconfiguration(ngx_conf_t *cf)
{
    char                   why[512];
    ngx_pool_cleanup_t    *cleanup;
    c_filter_main_conf_t  *mcf;

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

    return filter_add_handler(cf, c_filter_handler);
}


static void
c_filter_unmap(void *data)
{
    munmap(data, sizeof(struct filter_shm));
}
