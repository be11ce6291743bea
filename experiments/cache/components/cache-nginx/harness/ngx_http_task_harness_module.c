/* Measures the queue of a thread pool where it works, in a worker of nginx:
 *
 *     task_harness pool;
 *
 * GET ?depth=8&ns=20000&work=burn&warmup_ms=50&ms=200 keeps 8 tasks under way. Each is posted, run by a
 * thread and completed in the event loop, by nginx's own calls and so by whatever queue they lead to, and
 * is then posted again. The answer tells how long these round trips took.
 */
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>
#include <ngx_thread_pool.h>

#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>

#include "task_times.h"

#define MOST_TASKS 1024
#define MOST_NS 1000000000
#define MOST_MS 60000

typedef struct {
    ngx_thread_pool_t *pool;
} loc_conf_t;

typedef struct {
    ngx_uint_t cpu_ns;
    ngx_uint_t switches;
} usage_t;

/* What was asked for, and found; one at a time is under way. */
typedef struct {
    ngx_http_request_t *request;
    ngx_thread_pool_t *pool;
    ngx_uint_t ns;          /* what a task takes */
    ngx_flag_t burn;        /* CPU time, and not sleep */
    ngx_uint_t opens;       /* the window, by now_ns() */
    ngx_uint_t closes;
    ngx_uint_t under_way;
    ngx_uint_t completed;   /* all, warm-up and the last ones included */
    ngx_uint_t refused;
    ngx_uint_t wrong;       /* completions of a task that was not run once since its post */
    ngx_flag_t open;
    ngx_uint_t window_ns;   /* 0: it has not closed */
    ngx_uint_t run_ns;      /* in threads, of tasks of the window */
    usage_t used;
    struct task_times times;
} run_t;

typedef struct {
    run_t *run;
    ngx_uint_t posted_ns;
    ngx_uint_t ran_ns;
    ngx_uint_t runs;        /* by a thread */
    ngx_uint_t completions; /* by the event loop */
} step_t;

static void *create_loc_conf(ngx_conf_t *cf);
static char *set_harness(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);

static ngx_flag_t busy;

static ngx_command_t commands[] = {
    { ngx_string("task_harness"),
      NGX_HTTP_LOC_CONF|NGX_CONF_TAKE1,
      set_harness,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

      ngx_null_command
};

static ngx_http_module_t context = { .create_loc_conf = create_loc_conf };

ngx_module_t ngx_http_task_harness_module = {
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

static ngx_uint_t
ns_of(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);

    return (ngx_uint_t) now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Of this process, all its threads together. */
static usage_t
usage(void)
{
    struct rusage found;

    getrusage(RUSAGE_SELF, &found);

    return (usage_t) { ns_of(CLOCK_PROCESS_CPUTIME_ID), found.ru_nvcsw + found.ru_nivcsw };
}

/* In a thread: the CPU time that is asked for, or a sleep as if for a disk. */
static void
work(void *data, ngx_log_t *log)
{
    step_t *step = data;
    struct timespec sleep;
    ngx_uint_t until, begun = ns_of(CLOCK_MONOTONIC);
    static __thread int exact;

    if (step->run->ns > 0 && step->run->burn) {
        until = ns_of(CLOCK_THREAD_CPUTIME_ID) + step->run->ns;
        while (ns_of(CLOCK_THREAD_CPUTIME_ID) < until) { /* void */ }

    } else if (step->run->ns > 0) {
        /* By default the kernel adds up to 50 microseconds. */
        if (!exact) {
            prctl(PR_SET_TIMERSLACK, 1);
            exact = 1;
        }

        sleep.tv_sec = step->run->ns / 1000000000;
        sleep.tv_nsec = step->run->ns % 1000000000;
        clock_nanosleep(CLOCK_MONOTONIC, 0, &sleep, NULL);
    }

    step->ran_ns = ns_of(CLOCK_MONOTONIC) - begun;
    step->runs++;
}

static void
post(run_t *run, ngx_thread_task_t *task)
{
    step_t *step = task->ctx;

    step->posted_ns = ns_of(CLOCK_MONOTONIC);

    if (ngx_thread_task_post(run->pool, task) == NGX_OK) {
        run->under_way++;

    } else {
        run->refused++;
    }
}

/* What is completed within the window counts, as in any closed loop. */
static void
account(run_t *run, step_t *step, ngx_uint_t now)
{
    usage_t end;

    if (run->window_ns > 0 || now < run->opens) {
        return;
    }

    if (!run->open) {
        run->open = 1;
        run->opens = now;
        run->used = usage();
        return;
    }

    task_times_add(&run->times, now - step->posted_ns);
    run->run_ns += step->ran_ns;

    if (now >= run->closes) {
        end = usage();
        run->window_ns = now - run->opens;
        run->used.cpu_ns = end.cpu_ns - run->used.cpu_ns;
        run->used.switches = end.switches - run->used.switches;
    }
}

static void
answer(run_t *run)
{
    ngx_int_t rc;
    ngx_buf_t *buf;
    ngx_chain_t out;
    ngx_http_request_t *r = run->request;

    busy = 0;
    r->main->blocked--;
    r->aio = 0;

    buf = ngx_create_temp_buf(r->pool, 1024);
    if (buf == NULL) {
        ngx_http_finalize_request(r, NGX_HTTP_INTERNAL_SERVER_ERROR);
        return;
    }

    buf->last = ngx_slprintf(buf->pos, buf->end,
        "{\"completed\":%ui,\"refused\":%ui,\"wrong\":%ui,\"tasks\":%uL,\"window_ns\":%ui,"
        "\"mean_ns\":%uL,\"p50_ns\":%uL,\"p99_ns\":%uL,\"run_ns\":%uL,"
        "\"cpu_ns\":%ui,\"switches\":%ui}\n",
        run->completed, run->refused, run->wrong, run->times.count, run->window_ns,
        run->times.sum / ngx_max(run->times.count, 1),
        task_times_quantile(&run->times, 50), task_times_quantile(&run->times, 99),
        run->run_ns / ngx_max(run->times.count, 1), run->used.cpu_ns, run->used.switches);
    buf->last_buf = 1;

    ngx_str_set(&r->headers_out.content_type, "application/json");
    r->headers_out.status = NGX_HTTP_OK;
    r->headers_out.content_length_n = buf->last - buf->pos;

    rc = ngx_http_send_header(r);
    if (rc == NGX_ERROR || rc > NGX_OK || r->header_only) {
        ngx_http_finalize_request(r, rc);
        return;
    }

    out.buf = buf;
    out.next = NULL;

    ngx_http_finalize_request(r, ngx_http_output_filter(r, &out));
}

/* In the event loop. */
static void
complete(ngx_event_t *event)
{
    ngx_uint_t now = ns_of(CLOCK_MONOTONIC);
    ngx_connection_t *c;
    ngx_thread_task_t *task =
        (ngx_thread_task_t *) ((u_char *) event - offsetof(ngx_thread_task_t, event));
    step_t *step = task->ctx;
    run_t *run = step->run;

    event->complete = 0;
    run->under_way--;
    run->completed++;
    run->wrong += (step->runs != ++step->completions);

    account(run, step, now);

    if (run->window_ns == 0) {
        post(run, task);
    }

    if (run->under_way == 0) {
        c = run->request->connection;
        answer(run);
        ngx_http_run_posted_requests(c);
    }
}

static ngx_uint_t
argument(ngx_http_request_t *r, const char *name, ngx_uint_t most)
{
    ngx_str_t value;
    ngx_int_t number;

    if (ngx_http_arg(r, (u_char *) name, ngx_strlen(name), &value) != NGX_OK) {
        return NGX_CONF_UNSET_UINT;
    }

    number = ngx_atoi(value.data, value.len);

    return number == NGX_ERROR || (ngx_uint_t) number > most ? NGX_CONF_UNSET_UINT
                                                              : (ngx_uint_t) number;
}

static ngx_int_t
measure(ngx_http_request_t *r)
{
    run_t *run;
    step_t *step;
    ngx_int_t rc;
    ngx_str_t kind;
    ngx_uint_t n, depth, ns, warmup_ms, ms;
    ngx_thread_task_t *task;
    loc_conf_t *conf = ngx_http_get_module_loc_conf(r, ngx_http_task_harness_module);

    rc = ngx_http_discard_request_body(r);
    if (rc != NGX_OK) {
        return rc;
    }

    depth = argument(r, "depth", MOST_TASKS);
    ns = argument(r, "ns", MOST_NS);
    warmup_ms = argument(r, "warmup_ms", MOST_MS);
    ms = argument(r, "ms", MOST_MS);

    if (depth == NGX_CONF_UNSET_UINT || ns == NGX_CONF_UNSET_UINT || ms == NGX_CONF_UNSET_UINT
        || warmup_ms == NGX_CONF_UNSET_UINT || depth == 0
        || ngx_http_arg(r, (u_char *) "work", 4, &kind) != NGX_OK)
    {
        return NGX_HTTP_BAD_REQUEST;
    }

    if (busy) {
        return NGX_HTTP_SERVICE_UNAVAILABLE;
    }

    run = ngx_pcalloc(r->pool, sizeof(run_t));
    if (run == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    run->request = r;
    run->pool = conf->pool;
    run->ns = ns;
    run->burn = kind.len == 4 && ngx_strncmp(kind.data, "burn", 4) == 0;
    run->opens = ns_of(CLOCK_MONOTONIC) + warmup_ms * 1000000;
    run->closes = run->opens + ms * 1000000;

    for (n = 0; n < depth; n++) {
        task = ngx_thread_task_alloc(r->pool, sizeof(step_t));
        if (task == NULL) {
            break;
        }

        step = task->ctx;
        step->run = run;
        task->handler = work;
        task->event.handler = complete;
        /* As with nginx's own tasks: a search for their class finds the request. */
        task->event.data = r;
        task->event.log = r->connection->log;
        post(run, task);
    }

    if (run->under_way == 0) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    busy = 1;
    r->main->count++;
    r->main->blocked++;
    r->aio = 1;

    return NGX_DONE;
}

static void *
create_loc_conf(ngx_conf_t *cf)
{
    return ngx_pcalloc(cf->pool, sizeof(loc_conf_t));
}

static char *
set_harness(ngx_conf_t *cf, ngx_command_t *cmd, void *ctx)
{
    loc_conf_t *conf = ctx;
    ngx_http_core_loc_conf_t *location;

    if (conf->pool != NULL) {
        return "is duplicate";
    }

    conf->pool = ngx_thread_pool_add(cf, &((ngx_str_t *) cf->args->elts)[1]);
    if (conf->pool == NULL) {
        return NGX_CONF_ERROR;
    }

    location = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);
    location->handler = measure;

    return NGX_CONF_OK;
}
