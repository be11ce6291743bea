/* The class of a request's tasks, and the page that tells the counts:
 *
 *     task_queue_class $variable;    0 to 3, 0 first; anything else, or none, is 3
 *     task_queue_status;             a POST is answered, and sets the high-water marks back to 0
 */
#include "ngx_task_queue.h"

#include <ngx_http.h>

typedef struct {
    ngx_int_t class; /* index of a variable */
} loc_conf_t;

static void *create_loc_conf(ngx_conf_t *cf);
static char *merge_loc_conf(ngx_conf_t *cf, void *parent, void *child);
static char *set_class(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);
static char *set_status(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);

static ngx_command_t commands[] = {
    { ngx_string("task_queue_class"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF|NGX_CONF_TAKE1,
      set_class,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("task_queue_status"),
      NGX_HTTP_LOC_CONF|NGX_CONF_NOARGS,
      set_status,
      0,
      0,
      NULL },

      ngx_null_command
};

static ngx_http_module_t context = {
    .create_loc_conf = create_loc_conf, .merge_loc_conf = merge_loc_conf
};

ngx_module_t ngx_http_task_queue_module = {
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
create_loc_conf(ngx_conf_t *cf)
{
    loc_conf_t *conf = ngx_pcalloc(cf->pool, sizeof(loc_conf_t));

    if (conf != NULL) {
        conf->class = NGX_CONF_UNSET;
    }

    return conf;
}

static char *
merge_loc_conf(ngx_conf_t *cf, void *parent, void *child)
{
    loc_conf_t *above = parent, *conf = child;

    ngx_conf_merge_value(conf->class, above->class, NGX_CONF_UNSET);

    return NGX_CONF_OK;
}

static char *
set_class(ngx_conf_t *cf, ngx_command_t *cmd, void *ctx)
{
    loc_conf_t *conf = ctx;
    ngx_str_t name = ((ngx_str_t *) cf->args->elts)[1];

    if (conf->class != NGX_CONF_UNSET) {
        return "is duplicate";
    }

    if (name.len < 2 || name.data[0] != '$') {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
            "task_queue_class: found \"%V\", expected a variable, as of a map of $uri", &name);
        return NGX_CONF_ERROR;
    }

    name.data++;
    name.len--;
    conf->class = ngx_http_get_variable_index(cf, &name);

    return conf->class == NGX_ERROR ? NGX_CONF_ERROR : NGX_CONF_OK;
}

ngx_uint_t
ngx_task_queue_class(ngx_thread_task_t *task)
{
    loc_conf_t *conf;
    ngx_http_variable_value_t *value;
    /* Where nginx posts a task, its event's data is the request. */
    ngx_http_request_t *r = task->event.data;

    if (r == NULL || r->signature != NGX_HTTP_MODULE) {
        return TASK_CLASSES - 1;
    }

    conf = ngx_http_get_module_loc_conf(r, ngx_http_task_queue_module);
    if (conf->class == NGX_CONF_UNSET) {
        return TASK_CLASSES - 1;
    }

    value = ngx_http_get_indexed_variable(r, conf->class);
    if (value == NULL || value->not_found || value->len != 1
        || value->data[0] < '0' || value->data[0] >= '0' + TASK_CLASSES)
    {
        return TASK_CLASSES - 1;
    }

    return value->data[0] - '0';
}

static u_char *
print(u_char *at, u_char *end)
{
    ngx_task_queue_stats_t none;
    ngx_task_queue_stats_t *stats = ngx_task_queue_stats;

    if (stats == NULL) {
        ngx_memzero(&none, sizeof(none));
        stats = &none;
    }

    return ngx_slprintf(at, end,
        "{\"posted\":%uA,\"overflows\":%uA,\"completed\":%uA,\"depth_max\":%uA,"
        "\"wait_ns\":%uA,\"wait_max_ns\":%uA,\"thread_wakes\":%uA,\"loop_wakes\":%uA,"
        "\"nowait_hits\":%uA,\"nowait_misses\":%uA,"
        "\"uring_reads\":%uA,\"uring_submits\":%uA,\"uring_errors\":%uA,"
        "\"uring_overflows\":%uA,"
        "\"open_hits\":%uA,\"open_misses\":%uA,\"open_overflows\":%uA}\n",
        stats->posted, stats->overflows, stats->completed, stats->depth_max,
        stats->wait_ns, stats->wait_max_ns, stats->thread_wakes, stats->loop_wakes,
        stats->nowait_hits, stats->nowait_misses,
        stats->uring_reads, stats->uring_submits, stats->uring_errors, stats->uring_overflows,
        stats->open_hits, stats->open_misses, stats->open_overflows);
}

static ngx_int_t
send_status(ngx_http_request_t *r)
{
    ngx_str_t type = ngx_string("application/json");
    ngx_http_complex_value_t text = { .value = { 0, ngx_pnalloc(r->pool, 1024) } };

    if (!(r->method & (NGX_HTTP_GET|NGX_HTTP_HEAD|NGX_HTTP_POST))) {
        return NGX_HTTP_NOT_ALLOWED;
    }

    if (text.value.data == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    text.value.len = print(text.value.data, text.value.data + 1024) - text.value.data;
    if (r->method == NGX_HTTP_POST && ngx_task_queue_stats != NULL) {
        ngx_task_queue_stats->depth_max = 0;
        ngx_task_queue_stats->wait_max_ns = 0;
    }

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
