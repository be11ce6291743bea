/* nginx's thread pools, with a queue of our own before the threads and a stack behind them. */
#include "ngx_task_queue.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/eventfd.h>

#include "done_stack.h"

/* The beginning of nginx's own, which its header hides. */
typedef struct {
    ngx_array_t pools; /* of ngx_thread_pool_t * */
} stock_conf_t;

typedef struct {
    ngx_thread_mutex_t mtx;
    struct {
        ngx_thread_task_t *first;
        ngx_thread_task_t **last;
    } queue;
    ngx_int_t waiting;
    ngx_thread_cond_t cond;
    ngx_log_t *log;
    ngx_str_t name;
    ngx_uint_t threads;
    ngx_int_t max_queue;
} stock_pool_t;

typedef struct {
    ngx_thread_pool_t *stock;
    struct task_queue *queue;
    ngx_uint_t threads;
    pthread_t *ids;
    ngx_log_t *log;
    ngx_str_t name;
    /* As many as nginx takes: a task for each thread, and max_queue that wait. */
    ngx_uint_t most;
    ngx_uint_t posted;
    ngx_uint_t wakes;
    _Alignas(64) _Atomic ngx_uint_t taken;
    _Atomic ngx_uint_t finished;
} pool_t;

typedef struct {
    pool_t *pool;
    unsigned number;
} seat_t;

extern ngx_module_t ngx_thread_pool_module;

const char ngx_task_queue_names[] =
    "threads, mutex, ck, rte, spsc, eventdev-sw, eventdev-dsw or dlb2";

static pool_t *pools;
static ngx_uint_t pools_n;
static ngx_connection_t *listener;
static struct done_stack done;

/* A task's number is only ever logged: it carries the time of its post, and then how long it
 * waited, in nanoseconds. */
_Static_assert(sizeof(ngx_uint_t) == 8, "a task's number must hold nanoseconds");

static ngx_uint_t
now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);

    return (ngx_uint_t) now.tv_sec * 1000000000 + now.tv_nsec;
}

static void *
run(void *data)
{
    seat_t seat = *(seat_t *) data;
    pool_t *pool = seat.pool;
    ngx_thread_task_t *task;

    ngx_free(data);

    while ((task = task_queue_pop(pool->queue, seat.number)) != NULL) {
        atomic_fetch_add_explicit(&pool->taken, 1, memory_order_relaxed);
        task->id = now_ns() - task->id;
        task->handler(task->ctx, pool->log);
        atomic_fetch_add_explicit(&pool->finished, 1, memory_order_relaxed);

        /* The node lies over the task's first field, its link in nginx's own queue. */
        if (done_stack_put(&done, (struct done_node *) task)
            && eventfd_write(listener->fd, 1) == -1)
        {
            ngx_log_error(NGX_LOG_ALERT, pool->log, ngx_errno, "eventfd_write() failed");
        }
    }

    return NULL;
}

static void
take_completed(ngx_event_t *event)
{
    struct done_node *node, *next;
    ngx_thread_task_t *task;

    ngx_task_queue_count(loop_wakes, 1);

    for (node = done_stack_take(&done); node != NULL; node = next) {
        next = node->next;
        task = (ngx_thread_task_t *) node;

        ngx_task_queue_count(completed, 1);
        ngx_task_queue_count(wait_ns, task->id);
        ngx_task_queue_most(&ngx_task_queue_stats->wait_max_ns, task->id);

        ngx_task_queue_completed(task);
    }
}

/* Threads take no signals but those that are their own fault, as nginx's. */
static void
block_signals(sigset_t *before)
{
    sigset_t blocked;

    sigfillset(&blocked);
    sigdelset(&blocked, SIGILL);
    sigdelset(&blocked, SIGFPE);
    sigdelset(&blocked, SIGSEGV);
    sigdelset(&blocked, SIGBUS);
    pthread_sigmask(SIG_SETMASK, &blocked, before);
}

static ngx_int_t
start_pool(ngx_cycle_t *cycle, pool_t *pool, const struct task_queue_kind *kind)
{
    int error;
    seat_t *seat;
    sigset_t before;
    const char *why;
    ngx_uint_t n, threads;
    stock_pool_t *stock = (stock_pool_t *) pool->stock;

    pool->log = cycle->log;
    pool->name = stock->name;
    pool->most = stock->threads + stock->max_queue;
    pool->ids = ngx_palloc(cycle->pool, stock->threads * sizeof(pthread_t));
    if (pool->ids == NULL) {
        return NGX_ERROR;
    }

    pool->queue = task_queue_create(kind, pool->most, stock->threads, &why);
    if (pool->queue == NULL) {
        ngx_log_error(NGX_LOG_EMERG, cycle->log, 0,
                      "task_queue %s cannot be had for thread pool \"%V\" (threads=%ui, "
                      "%ui tasks): %s", kind->name, &pool->name, stock->threads, pool->most, why);
        return NGX_ERROR;
    }

    threads = stock->threads;
    block_signals(&before);

    for (n = 0; n < threads; n++) {
        seat = ngx_alloc(sizeof(seat_t), cycle->log);
        if (seat == NULL) {
            break;
        }

        *seat = (seat_t) { pool, n };
        error = pthread_create(&pool->ids[n], NULL, run, seat);
        if (error) {
            ngx_log_error(NGX_LOG_ALERT, cycle->log, error, "pthread_create() failed");
            ngx_free(seat);
            break;
        }

        pool->threads++;
    }

    pthread_sigmask(SIG_SETMASK, &before, NULL);

    return pool->threads == threads ? NGX_OK : NGX_ERROR;
}

ngx_int_t
ngx_task_queue_pools_start(ngx_cycle_t *cycle, const struct task_queue_kind *kind)
{
    ngx_uint_t i;
    stock_conf_t *conf = (stock_conf_t *) ngx_get_conf(cycle->conf_ctx, ngx_thread_pool_module);
    ngx_thread_pool_t **stock = conf->pools.elts;

    if (conf->pools.nelts == 0) {
        return NGX_OK;
    }

    listener = ngx_task_queue_listen(cycle, take_completed);
    if (listener == NULL) {
        return NGX_ERROR;
    }

    pools = ngx_pmemalign(cycle->pool, conf->pools.nelts * sizeof(pool_t), 64);
    if (pools == NULL) {
        return NGX_ERROR;
    }

    ngx_memzero(pools, conf->pools.nelts * sizeof(pool_t));

    for (i = 0; i < conf->pools.nelts; i++) {
        pools[i].stock = stock[i];
        pools_n++;
        if (start_pool(cycle, &pools[i], kind) != NGX_OK) {
            return NGX_ERROR;
        }
    }

    return NGX_OK;
}

/* As nginx, what was posted is run before the threads end; nobody waits for it any more. */
void
ngx_task_queue_pools_stop(ngx_cycle_t *cycle)
{
    ngx_uint_t i, n;

    for (i = 0; i < pools_n; i++) {
        if (pools[i].queue == NULL) {
            continue;
        }

        task_queue_stop(pools[i].queue);

        for (n = 0; n < pools[i].threads; n++) {
            pthread_join(pools[i].ids[n], NULL);
        }

        task_queue_destroy(pools[i].queue);
    }

    pools_n = 0;

    if (listener != NULL) {
        ngx_task_queue_unlisten(listener);
        listener = NULL;
    }
}

static pool_t *
pool_of(ngx_thread_pool_t *stock)
{
    ngx_uint_t i;

    for (i = 0; i < pools_n; i++) {
        if (pools[i].stock == stock) {
            return &pools[i];
        }
    }

    return NULL;
}

ngx_int_t
ngx_task_queue_pool_post(ngx_thread_pool_t *tp, ngx_thread_task_t *task)
{
    pool_t *pool = pool_of(tp);

    if (pool == NULL) {
        return NGX_DECLINED;
    }

    task->id = now_ns();

    if (pool->posted - atomic_load_explicit(&pool->finished, memory_order_relaxed) >= pool->most
        || !task_queue_push(pool->queue, task, ngx_task_queue_class(task)))
    {
        ngx_task_queue_count(overflows, 1);
        ngx_log_error(NGX_LOG_ERR, pool->log, 0,
                      "thread pool \"%V\" queue overflow: %ui tasks waiting", &pool->name,
                      pool->posted - atomic_load_explicit(&pool->taken, memory_order_relaxed));
        return NGX_ERROR;
    }

    /* Set after the push: only this thread, later, looks at it. */
    task->event.active = 1;
    pool->posted++;

    ngx_task_queue_count(posted, 1);
    ngx_task_queue_most(&ngx_task_queue_stats->depth_max,
        pool->posted - atomic_load_explicit(&pool->taken, memory_order_relaxed));
    ngx_task_queue_count(thread_wakes, pool->queue->wakeups - pool->wakes);
    pool->wakes = pool->queue->wakeups;

    return NGX_OK;
}
