/* What the parts of the module offer each other. All state is of one worker process.
 *
 * The parts form layers, and stand here from the lowest to the highest. Each calls those above it on
 * this page only: ngx_task_queue_module.c, which offers nothing, calls all of them. */
#ifndef NGX_TASK_QUEUE_H
#define NGX_TASK_QUEUE_H

#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>
#include <ngx_thread_pool.h>

#include "task_queue.h"

#if (nginx_version != 1028003)
#error "structures of nginx 1.28.3 are mirrored here: compare them with this version's first"
#endif

typedef struct {
    const struct task_queue_kind *kind; /* NULL: nginx's own pool, untouched */
    ngx_flag_t nowait;
    ngx_flag_t uring;
    ngx_flag_t open;
    ngx_int_t max_reads; /* of each class, in the ring; and of those that wait for it */
    ngx_int_t max_queue;
    ngx_shm_zone_t *zone;
} ngx_task_queue_conf_t;

/* Counts of all workers together since the first start, in shared memory. */
typedef struct {
    ngx_atomic_t posted;
    ngx_atomic_t overflows;     /* tasks that were refused */
    ngx_atomic_t completed;
    ngx_atomic_t depth_max;     /* most tasks that waited for a thread at once */
    ngx_atomic_t wait_ns;       /* from post to run, summed over completed tasks */
    ngx_atomic_t wait_max_ns;
    ngx_atomic_t thread_wakes;  /* sleeping threads that a post woke */
    ngx_atomic_t loop_wakes;    /* times that the event loop was woken for completed tasks */
    ngx_atomic_t nowait_hits;
    ngx_atomic_t nowait_misses;
    ngx_atomic_t uring_reads;
    ngx_atomic_t uring_submits;
    ngx_atomic_t uring_errors;  /* reads that the ring did not take, and the pool did */
    ngx_atomic_t uring_overflows; /* reads whose class had no room, and the pool took */
    ngx_atomic_t open_hits;     /* files opened at once */
    ngx_atomic_t open_misses;   /* files that a thread opened */
    ngx_atomic_t open_overflows; /* files that no thread could open, and the event loop did */
} ngx_task_queue_stats_t;

/* ngx_task_queue_stats.c: the counts. */

extern ngx_task_queue_stats_t *ngx_task_queue_stats;

#define ngx_task_queue_count(field, by)                                                          \
    ((void) ngx_atomic_fetch_add(&ngx_task_queue_stats->field, (by)))

/* Raise a high-water mark to what was found. */
void ngx_task_queue_most(ngx_atomic_t *most, ngx_atomic_uint_t found);

/* ngx_task_queue_listen.c: eventfds. */

/* Return the connection of an eventfd that `handler` listens to, or NULL, with the reason in the
 * log. */
ngx_connection_t *ngx_task_queue_listen(ngx_cycle_t *cycle, ngx_event_handler_pt handler);
void ngx_task_queue_unlisten(ngx_connection_t *c);

/* ngx_task_queue_lines.c: places in the ring for each class, and the tasks that wait for one. */

void ngx_task_queue_lines_start(ngx_uint_t places, ngx_uint_t waiting);
/* Return NGX_OK if the task has a place, NGX_AGAIN if it waits for one, NGX_DECLINED if too many do. */
ngx_int_t ngx_task_queue_lines_enter(ngx_thread_task_t *task, ngx_uint_t class);
/* Give a place back, and return the task that now has it: the one that waited longest, or NULL. */
ngx_thread_task_t *ngx_task_queue_lines_leave(ngx_uint_t class);

/* ngx_http_task_queue_module.c: classes of requests, and the page of the counts. */

extern ngx_module_t ngx_http_task_queue_module;

/* Return the class of a task by its request's variable, the last class without one. */
ngx_uint_t ngx_task_queue_class(ngx_thread_task_t *task);

/* ngx_task_queue_pool.c, or ngx_task_queue_no_pool.c: pools of threads with a queue of our own. */

/* The names that a configuration may give, in words. */
extern const char ngx_task_queue_names[];
ngx_int_t ngx_task_queue_pools_start(ngx_cycle_t *cycle, const struct task_queue_kind *kind);
void ngx_task_queue_pools_stop(ngx_cycle_t *cycle);
/* Return NGX_DECLINED if the pool is none of ours. */
ngx_int_t ngx_task_queue_pool_post(ngx_thread_pool_t *tp, ngx_thread_task_t *task);

/* ngx_task_queue_post.c: tasks for threads. */

/* Post the task to that pool, or to nginx's own of the same name. */
ngx_int_t ngx_task_queue_post(ngx_thread_pool_t *tp, ngx_thread_task_t *task);

/* ngx_task_queue_uring.c: reads by io_uring. */

/* Return NGX_ERROR if workers cannot have a ring, with the reason in the log. */
ngx_int_t ngx_task_queue_uring_check(ngx_cycle_t *cycle);
ngx_int_t ngx_task_queue_uring_start(ngx_cycle_t *cycle, ngx_task_queue_conf_t *conf);
void ngx_task_queue_uring_stop(ngx_cycle_t *cycle);
/* Return NGX_DECLINED if there is no ring, or it takes no more. */
ngx_int_t ngx_task_queue_uring_post(ngx_thread_pool_t *tp, ngx_thread_task_t *task);
/* Set while a request goes on because a read of the ring has completed. */
extern ngx_uint_t ngx_task_queue_uring_completing;

/* ngx_task_queue_read.c: reads without a thread. */

void ngx_task_queue_read_start(ngx_task_queue_conf_t *conf);
/* Return 1 if the task that is being posted is a read of a file. */
ngx_uint_t ngx_task_queue_is_read(void);

/* ngx_http_task_queue_open.c: opens of cached files that do not hold up the event loop. */

ngx_int_t ngx_task_queue_open_check(ngx_cycle_t *cycle);
ngx_int_t ngx_task_queue_open_start(ngx_cycle_t *cycle, ngx_task_queue_conf_t *conf);

/* nginx's own functions behind those that --wrap names. */

ngx_int_t __real_ngx_thread_task_post(ngx_thread_pool_t *tp, ngx_thread_task_t *task);
ssize_t __real_ngx_thread_read(ngx_file_t *file, u_char *buf, size_t size, off_t offset,
    ngx_pool_t *pool);

/* Let the task's request go on. */
static ngx_inline void
ngx_task_queue_completed(ngx_thread_task_t *task)
{
    ngx_event_t *event = &task->event;

    event->complete = 1;
    event->active = 0;
    event->handler(event);
}

#endif
