/* Reads by io_uring: no thread waits, and all reads of a turn of the event loop are one call. */
#include "ngx_task_queue.h"

#include <liburing.h>

#define ENTRIES 256
/* As many as nginx's own pools. */
#define DEFAULT_QUEUE 65536
/* Until a ring that took nothing is asked again. */
#define RETRY_MS 1
/* What completed reads may bring in one turn of the event loop, before others' events are looked at. */
#define BYTES_A_TURN (128 * 1024)

/* A read is known by its task, and its class in the bits that its address does not need. */
#define CLASS_BITS ((uintptr_t) 3)
_Static_assert(TASK_CLASSES <= CLASS_BITS + 1, "a class must fit into so many bits");

/* What nginx's own read handler works on, hidden in ngx_files.c. */
typedef struct {
    ngx_fd_t fd;
    ngx_uint_t write;
    u_char *buf;
    size_t size;
    ngx_chain_t *chain;
    off_t offset;
    size_t nbytes;
    ngx_err_t err;
} stock_read_t;

static struct io_uring ring;
static ngx_connection_t *listener;
static ngx_event_t submission;
/* Completions that are left for the next turn. */
static ngx_event_t rest;
static ngx_uint_t in_flight;

ngx_uint_t ngx_task_queue_uring_completing;

static void submit(ngx_event_t *event);
static void take_completed(ngx_event_t *event);

static ngx_int_t
open_ring(struct io_uring *made, ngx_log_t *log)
{
    /* Completions are worked off when this thread asks for them, and do not interrupt it; the
     * library learns from a flag whether there are any. */
    unsigned flags = IORING_SETUP_SINGLE_ISSUER|IORING_SETUP_DEFER_TASKRUN
                     |IORING_SETUP_TASKRUN_FLAG;
    int rc = io_uring_queue_init(ENTRIES, made, flags);

    if (rc != 0) {
        ngx_log_error(NGX_LOG_EMERG, log, -rc,
                      "task_queue: io_uring cannot be had; it needs Linux 6.1 or newer, "
                      "kernel.io_uring_disabled at 0, and a sandbox that allows it");
        return NGX_ERROR;
    }

    return NGX_OK;
}

ngx_int_t
ngx_task_queue_uring_check(ngx_cycle_t *cycle)
{
    struct io_uring made;

    if (open_ring(&made, cycle->log) != NGX_OK) {
        return NGX_ERROR;
    }

    io_uring_queue_exit(&made);

    return NGX_OK;
}

ngx_int_t
ngx_task_queue_uring_start(ngx_cycle_t *cycle, ngx_task_queue_conf_t *conf)
{
    int rc;

    listener = ngx_task_queue_listen(cycle, take_completed);
    if (listener == NULL) {
        return NGX_ERROR;
    }

    if (open_ring(&ring, cycle->log) != NGX_OK) {
        goto failed;
    }

    rc = io_uring_register_eventfd(&ring, listener->fd);
    if (rc != 0) {
        ngx_log_error(NGX_LOG_EMERG, cycle->log, -rc, "io_uring_register_eventfd() failed");
        io_uring_queue_exit(&ring);
        goto failed;
    }

    submission.handler = submit;
    submission.data = listener;
    submission.log = cycle->log;
    submission.cancelable = 1;
    rest.handler = take_completed;
    rest.data = listener;
    rest.log = cycle->log;
    ngx_task_queue_lines_start(conf->max_reads ? conf->max_reads : NGX_MAX_INT_T_VALUE,
                               conf->max_queue ? conf->max_queue : DEFAULT_QUEUE);

    return NGX_OK;

failed:

    ngx_task_queue_unlisten(listener);
    listener = NULL;

    return NGX_ERROR;
}

/* The kernel writes into buffers of requests until the last read is over that it has taken. */
void
ngx_task_queue_uring_stop(ngx_cycle_t *cycle)
{
    struct io_uring_cqe *cqe;

    if (listener == NULL) {
        return;
    }

    while (in_flight > io_uring_sq_ready(&ring)) {
        if (io_uring_wait_cqe(&ring, &cqe) == 0) {
            io_uring_cqe_seen(&ring, cqe);
            in_flight--;
        }
    }

    io_uring_queue_exit(&ring);
    ngx_task_queue_unlisten(listener);
    listener = NULL;
}

/* NGX_DECLINED: the ring has no room. */
static ngx_int_t
begin(ngx_thread_task_t *task, ngx_uint_t class)
{
    struct io_uring_sqe *sqe;
    stock_read_t *read = task->ctx;

    sqe = io_uring_get_sqe(&ring);
    if (sqe == NULL) {
        io_uring_submit(&ring);
        sqe = io_uring_get_sqe(&ring);
    }

    if (sqe == NULL) {
        return NGX_DECLINED;
    }

    io_uring_prep_read(sqe, read->fd, read->buf, read->size, read->offset);
    io_uring_sqe_set_data64(sqe, (uintptr_t) task | class);

    in_flight++;
    ngx_task_queue_count(uring_reads, 1);

    if (!submission.posted) {
        ngx_post_event(&submission, &ngx_posted_events);
    }

    return NGX_OK;
}

ngx_int_t
ngx_task_queue_uring_post(ngx_thread_pool_t *tp, ngx_thread_task_t *task)
{
    ngx_int_t rc;
    ngx_uint_t class;

    if (listener == NULL) {
        return NGX_DECLINED;
    }

    class = ngx_task_queue_class(task);
    rc = ngx_task_queue_lines_enter(task, class);

    if (rc == NGX_DECLINED) {
        ngx_task_queue_count(uring_overflows, 1);
        return NGX_DECLINED;
    }

    if (rc == NGX_OK && begin(task, class) != NGX_OK) {
        /* It had a free place, so that nobody waits for it. */
        (void) ngx_task_queue_lines_leave(class);
        ngx_task_queue_count(uring_errors, 1);
        return NGX_DECLINED;
    }

    /* Its number is only ever logged, and its pool may be needed yet. */
    task->id = (uintptr_t) tp;
    task->event.active = 1;

    return NGX_OK;
}

/* What the ring does not take after all. */
static void
leave_to_pool(ngx_thread_task_t *task)
{
    stock_read_t *read = task->ctx;

    ngx_task_queue_count(uring_errors, 1);
    task->event.active = 0;

    if (ngx_task_queue_post((ngx_thread_pool_t *) task->id, task) != NGX_OK) {
        read->nbytes = 0;
        read->err = NGX_EAGAIN;
        ngx_task_queue_completed(task);
    }
}

static void
complete(ngx_thread_task_t *task, ngx_uint_t class, int result)
{
    stock_read_t *read = task->ctx;
    ngx_thread_task_t *next;

    in_flight--;

    while ((next = ngx_task_queue_lines_leave(class)) != NULL && begin(next, class) != NGX_OK) {
        leave_to_pool(next);
    }

    if (result == -EINTR || result == -EAGAIN) {
        /* No word on the file, and nginx asks once only. */
        leave_to_pool(task);
        return;
    }

    read->nbytes = result < 0 ? 0 : result;
    read->err = result < 0 ? -result : 0;

    ngx_task_queue_uring_completing = 1;
    ngx_task_queue_completed(task);
    ngx_task_queue_uring_completing = 0;
}

/* A slow disk completes many reads at once: tasks that need no disk run between them. */
static void
take_completed(ngx_event_t *event)
{
    int result;
    size_t bytes = 0;
    uintptr_t found;
    struct io_uring_cqe *cqe;

    while (io_uring_peek_batch_cqe(&ring, &cqe, 1) > 0) {
        found = io_uring_cqe_get_data64(cqe);
        result = cqe->res;
        io_uring_cqe_seen(&ring, cqe);

        /* Requests go on, and post reads of their own. */
        complete((ngx_thread_task_t *) (found & ~CLASS_BITS), found & CLASS_BITS, result);

        bytes += result > 0 ? result : 0;
        if (bytes >= BYTES_A_TURN) {
            ngx_post_event(&rest, &ngx_posted_next_events);
            return;
        }
    }
}

static void
submit(ngx_event_t *event)
{
    int rc;

    if (event->timer_set) {
        ngx_del_timer(event);
    }

    /* What the page cache has is completed within the call, and needs no event. */
    io_uring_cq_eventfd_toggle(&ring, false);
    rc = io_uring_submit(&ring);
    io_uring_cq_eventfd_toggle(&ring, true);
    /* Either the kernel sees that events are wanted again, or what follows sees its completion. */
    ngx_memory_barrier();

    ngx_task_queue_count(uring_submits, 1);

    if (rc < 0) {
        /* It is short of memory, or of room for completions, which are taken first. */
        ngx_log_error(NGX_LOG_WARN, event->log, -rc, "task_queue: io_uring_submit() failed");
        ngx_add_timer(event, RETRY_MS);

    } else if (io_uring_sq_ready(&ring) > 0) {
        ngx_post_event(event, &ngx_posted_next_events);
    }

    ngx_post_event(&rest, &ngx_posted_next_events);
}
