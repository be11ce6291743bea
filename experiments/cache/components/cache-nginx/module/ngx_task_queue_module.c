/* Chooses the queue of nginx's thread pools:
 *
 *     task_queue threads | mutex | ck | rte | spsc | eventdev-sw | eventdev-dsw | dlb2
 *         [nowait] [uring [max_reads=N] [max_queue=N]] [open];
 *
 * nginx's sources stay as they are. The linker sends calls of ngx_thread_task_post, ngx_thread_read,
 * ngx_http_file_cache_open and ngx_open_cached_file here (--wrap), and the thread pool module's own
 * start and stop of its threads are replaced by functions that look at the cycle's configuration
 * first.
 */
#include "ngx_task_queue.h"

static void *create_conf(ngx_cycle_t *cycle);
static char *check(ngx_cycle_t *cycle, void *conf);
static char *set_queue(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);
static ngx_int_t start(ngx_cycle_t *cycle);
static void stop(ngx_cycle_t *cycle);

extern ngx_module_t ngx_thread_pool_module;

static ngx_int_t (*stock_start)(ngx_cycle_t *cycle);
static void (*stock_stop)(ngx_cycle_t *cycle);

static ngx_command_t commands[] = {
    { ngx_string("task_queue"),
      NGX_MAIN_CONF|NGX_DIRECT_CONF|NGX_CONF_1MORE,
      set_queue,
      0,
      0,
      NULL },

      ngx_null_command
};

static ngx_core_module_t context = { ngx_string("task_queue"), create_conf, check };

ngx_module_t ngx_task_queue_module = {
    NGX_MODULE_V1,
    &context,
    commands,
    NGX_CORE_MODULE,
    NULL,
    NULL,
    NULL, /* see create_conf() */
    NULL,
    NULL,
    NULL,
    NULL,
    NGX_MODULE_V1_PADDING
};

static ngx_task_queue_conf_t *
conf_of(ngx_cycle_t *cycle)
{
    return (ngx_task_queue_conf_t *) ngx_get_conf(cycle->conf_ctx, ngx_task_queue_module);
}

/* Make the configuration. An added module of the core is started before there are events, but the
 * module of thread pools after that: its start and stop are replaced here. */
static void *
create_conf(ngx_cycle_t *cycle)
{
    if (stock_start == NULL) {
        stock_start = ngx_thread_pool_module.init_process;
        stock_stop = ngx_thread_pool_module.exit_process;
        ngx_thread_pool_module.init_process = start;
        ngx_thread_pool_module.exit_process = stop;
    }

    return ngx_pcalloc(cycle->pool, sizeof(ngx_task_queue_conf_t));
}

/* Keep the counts over reloads. */
static ngx_int_t
init_zone(ngx_shm_zone_t *zone, void *old)
{
    ngx_slab_pool_t *slab = (ngx_slab_pool_t *) zone->shm.addr;

    if (old == NULL) {
        old = slab->data ? slab->data : ngx_slab_calloc(slab, sizeof(ngx_task_queue_stats_t));
    }

    slab->data = old;
    zone->data = old;

    return old ? NGX_OK : NGX_ERROR;
}

static ngx_uint_t
is(ngx_str_t *word, const char *text)
{
    return word->len == ngx_strlen(text) && ngx_strncmp(word->data, text, word->len) == 0;
}

/* Return 1 if the word is `name` and a number from 1 on, and store that at `number`. */
static ngx_uint_t
is_number(ngx_str_t *word, const char *name, ngx_int_t *number)
{
    size_t n = ngx_strlen(name);

    if (word->len <= n || ngx_strncmp(word->data, name, n) != 0) {
        return 0;
    }

    *number = ngx_atoi(word->data + n, word->len - n);

    return *number > 0;
}

static char *
set_queue(ngx_conf_t *cf, ngx_command_t *cmd, void *ctx)
{
    ngx_task_queue_conf_t *conf = conf_of(cf->cycle);
    ngx_str_t *word = cf->args->elts;
    ngx_str_t name = ngx_string("task_queue");
    ngx_uint_t i;

    if (conf->zone != NULL) {
        return "is duplicate";
    }

    conf->kind = task_queue_kind((char *) word[1].data, word[1].len);

    if (conf->kind == NULL && !is(&word[1], "threads")) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
            "task_queue: found \"%V\", expected %s", &word[1], ngx_task_queue_names);
        return NGX_CONF_ERROR;
    }

    for (i = 2; i < cf->args->nelts; i++) {
        if (is(&word[i], "nowait")) {
            conf->nowait = 1;

        } else if (is(&word[i], "uring")) {
            conf->uring = 1;

        } else if (is(&word[i], "open")) {
            conf->open = 1;

        } else if (!is_number(&word[i], "max_reads=", &conf->max_reads)
                   && !is_number(&word[i], "max_queue=", &conf->max_queue))
        {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                "task_queue: found \"%V\", expected nowait, uring, open, max_reads=NUMBER or "
                "max_queue=NUMBER", &word[i]);
            return NGX_CONF_ERROR;
        }
    }

    if (!conf->uring && (conf->max_reads || conf->max_queue)) {
        return "has max_reads or max_queue without uring";
    }

    if (conf->max_queue && !conf->max_reads) {
        return "has max_queue without max_reads";
    }

    conf->zone = ngx_shared_memory_add(cf, &name, 8 * ngx_pagesize, &ngx_task_queue_module);
    if (conf->zone == NULL) {
        return NGX_CONF_ERROR;
    }

    conf->zone->init = init_zone;

    return NGX_CONF_OK;
}

/* Find what would keep new workers from starting, before a reload tells the old ones to end. */
static char *
check(ngx_cycle_t *cycle, void *ctx)
{
    ngx_task_queue_conf_t *conf = ctx;

    if (conf->zone == NULL || ngx_process == NGX_PROCESS_SIGNALLER) {
        return NGX_CONF_OK;
    }

    if ((conf->uring && ngx_task_queue_uring_check(cycle) != NGX_OK)
        || (conf->open && ngx_task_queue_open_check(cycle) != NGX_OK))
    {
        return NGX_CONF_ERROR;
    }

    return NGX_CONF_OK;
}

static ngx_int_t
start(ngx_cycle_t *cycle)
{
    ngx_task_queue_conf_t *conf = conf_of(cycle);

    if (conf->zone == NULL
        || (ngx_process != NGX_PROCESS_WORKER && ngx_process != NGX_PROCESS_SINGLE))
    {
        return stock_start(cycle);
    }

    ngx_task_queue_stats = conf->zone->data;
    ngx_task_queue_read_start(conf);

    if (ngx_task_queue_open_start(cycle, conf) != NGX_OK) {
        return NGX_ERROR;
    }

    if (conf->uring && ngx_task_queue_uring_start(cycle, conf) != NGX_OK) {
        return NGX_ERROR;
    }

    return conf->kind == NULL ? stock_start(cycle)
                              : ngx_task_queue_pools_start(cycle, conf->kind);
}

static void
stop(ngx_cycle_t *cycle)
{
    ngx_task_queue_uring_stop(cycle);

    /* nginx would wait for threads that it has not started. */
    if (conf_of(cycle)->kind == NULL) {
        stock_stop(cycle);

    } else {
        ngx_task_queue_pools_stop(cycle);
    }
}

ngx_int_t
__wrap_ngx_thread_task_post(ngx_thread_pool_t *tp, ngx_thread_task_t *task)
{
    ngx_int_t rc;

    if (task->event.active) {
        /* nginx says so, and refuses. */
        return __real_ngx_thread_task_post(tp, task);
    }

    if (ngx_task_queue_is_read()) {
        rc = ngx_task_queue_uring_post(tp, task);
        if (rc != NGX_DECLINED) {
            return rc;
        }
    }

    return ngx_task_queue_post(tp, task);
}
