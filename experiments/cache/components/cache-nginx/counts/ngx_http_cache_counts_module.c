/* Counts what a cache has answered, and what of it without its origin:
 *
 *     cache_counts on | off;   http, server, location: whose requests are counted
 *     cache_counts_status;     location: the counts of all workers since the start
 */
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

/* In shared memory. */
typedef struct {
    ngx_atomic_t served;
    ngx_atomic_t hits;
    ngx_atomic_t served_bytes; /* of bodies */
    ngx_atomic_t hit_bytes;
} counts_t;

typedef struct {
    ngx_flag_t counted;
} loc_conf_t;

typedef struct {
    ngx_shm_zone_t *zone;
} main_conf_t;

static void *create_main_conf(ngx_conf_t *cf);
static void *create_loc_conf(ngx_conf_t *cf);
static char *merge_loc_conf(ngx_conf_t *cf, void *parent, void *child);
static ngx_int_t register_counting(ngx_conf_t *cf);
static char *set_status(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);

static ngx_command_t commands[] = {
    { ngx_string("cache_counts"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF|NGX_CONF_FLAG,
      ngx_conf_set_flag_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(loc_conf_t, counted),
      NULL },

    { ngx_string("cache_counts_status"),
      NGX_HTTP_LOC_CONF|NGX_CONF_NOARGS,
      set_status,
      0,
      0,
      NULL },

      ngx_null_command
};

static ngx_http_module_t context = {
    .postconfiguration = register_counting,
    .create_main_conf = create_main_conf,
    .create_loc_conf = create_loc_conf,
    .merge_loc_conf = merge_loc_conf,
};

ngx_module_t ngx_http_cache_counts_module = {
    NGX_MODULE_V1,
    &context,
    commands,
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

static void *
create_main_conf(ngx_conf_t *cf)
{
    return ngx_pcalloc(cf->pool, sizeof(main_conf_t));
}

static void *
create_loc_conf(ngx_conf_t *cf)
{
    loc_conf_t *conf = ngx_pcalloc(cf->pool, sizeof(loc_conf_t));

    if (conf != NULL) {
        conf->counted = NGX_CONF_UNSET;
    }

    return conf;
}

static char *
merge_loc_conf(ngx_conf_t *cf, void *parent, void *child)
{
    loc_conf_t *above = parent, *conf = child;

    ngx_conf_merge_value(conf->counted, above->counted, 0);

    return NGX_CONF_OK;
}

static counts_t *
counts_of(ngx_http_request_t *r)
{
    main_conf_t *conf = ngx_http_get_module_main_conf(r, ngx_http_cache_counts_module);

    return conf->zone->data;
}

/* At the end of each request. */
static ngx_int_t
count(ngx_http_request_t *r)
{
    counts_t *counts;
    off_t bytes = r->connection->sent - (off_t) r->header_size;
    loc_conf_t *conf = ngx_http_get_module_loc_conf(r, ngx_http_cache_counts_module);

    if (!conf->counted) {
        return NGX_OK;
    }

    counts = counts_of(r);
    bytes = ngx_max(bytes, 0);
    (void) ngx_atomic_fetch_add(&counts->served, 1);
    (void) ngx_atomic_fetch_add(&counts->served_bytes, bytes);

    if (r->upstream != NULL && r->upstream->cache_status == NGX_HTTP_CACHE_HIT) {
        (void) ngx_atomic_fetch_add(&counts->hits, 1);
        (void) ngx_atomic_fetch_add(&counts->hit_bytes, bytes);
    }

    return NGX_OK;
}

/* Counts go on over reloads. */
static ngx_int_t
init_zone(ngx_shm_zone_t *zone, void *old)
{
    ngx_slab_pool_t *slab = (ngx_slab_pool_t *) zone->shm.addr;

    if (old == NULL) {
        old = ngx_slab_calloc(slab, sizeof(counts_t));
    }

    zone->data = old;

    return old ? NGX_OK : NGX_ERROR;
}

static ngx_int_t
register_counting(ngx_conf_t *cf)
{
    ngx_str_t name = ngx_string("cache_counts");
    ngx_http_handler_pt *handler;
    ngx_http_core_main_conf_t *core;
    main_conf_t *conf = ngx_http_conf_get_module_main_conf(cf, ngx_http_cache_counts_module);

    conf->zone = ngx_shared_memory_add(cf, &name, 8 * ngx_pagesize, &ngx_http_cache_counts_module);
    if (conf->zone == NULL) {
        return NGX_ERROR;
    }

    conf->zone->init = init_zone;

    core = ngx_http_conf_get_module_main_conf(cf, ngx_http_core_module);
    handler = ngx_array_push(&core->phases[NGX_HTTP_LOG_PHASE].handlers);
    if (handler == NULL) {
        return NGX_ERROR;
    }

    *handler = count;

    return NGX_OK;
}

static ngx_int_t
send_status(ngx_http_request_t *r)
{
    ngx_str_t type = ngx_string("application/json");
    ngx_http_complex_value_t text = { .value = { 0, ngx_pnalloc(r->pool, 256) } };
    counts_t *counts = counts_of(r);

    if (text.value.data == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    text.value.len = ngx_slprintf(text.value.data, text.value.data + 256,
        "{\"served\":%uA,\"hits\":%uA,\"served_bytes\":%uA,\"hit_bytes\":%uA}\n",
        counts->served, counts->hits, counts->served_bytes, counts->hit_bytes) - text.value.data;

    return ngx_http_send_response(r, NGX_HTTP_OK, &type, &text);
}

static char *
set_status(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_core_loc_conf_t *location;

    location = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);
    location->handler = send_status;

    return NGX_CONF_OK;
}
