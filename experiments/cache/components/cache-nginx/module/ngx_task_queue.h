/* What the parts of the module share. All state is of one worker process. */
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

/* Of all workers together, in shared memory, since the first start. */
typedef struct {
    ngx_atomic_t posted;
    ngx_atomic_t overflows;     /* tasks that were refused */
    ngx_atomic_t completed;
    ngx_atomic_t depth_max;     /* most tasks that waited for a thread at once */
    ngx_atomic_t wait_ns;       /* from post to run, summed over completed tasks */
    ngx_atomic_t wait_max_ns;
    ngx_atomic_t thread_wakes;  /* sleeping threads that a post woke */
    ngx_atomic_t loop_wakes;    /* times the event loop was told of completed tasks */
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

extern ngx_module_t ngx_task_queue_module;
extern ngx_task_queue_stats_t *ngx_task_queue_stats;

#define ngx_task_queue_count(field, by)                                                          \
    ((void) ngx_atomic_fetch_add(&ngx_task_queue_stats->field, (by)))

void ngx_task_queue_most(ngx_atomic_t *most, ngx_atomic_uint_t found);

/* The connection of an eventfd that `handler` listens to. NULL: it is logged why not. */
ngx_connection_t *ngx_task_queue_listen(ngx_cycle_t *cycle, ngx_event_handler_pt handler);
void ngx_task_queue_unlisten(ngx_connection_t *c);

/* The task's request goes on. */
void ngx_task_queue_completed(ngx_thread_task_t *task);

/* Pools of threads with a queue of our own: what a configuration may name, and its kind. */
extern const char ngx_task_queue_names[];
ngx_int_t ngx_task_queue_pools_start(ngx_cycle_t *cycle, const struct task_queue_kind *kind);
void ngx_task_queue_pools_stop(ngx_cycle_t *cycle);
/* NGX_DECLINED: no such pool of ours. */
ngx_int_t ngx_task_queue_pool_post(ngx_thread_pool_t *tp, ngx_thread_task_t *task);

/* To that pool, or to nginx's own of the same name. */
ngx_int_t ngx_task_queue_post(ngx_thread_pool_t *tp, ngx_thread_task_t *task);

/* Reads without a thread. */
void ngx_task_queue_read_start(ngx_task_queue_conf_t *conf);
/* Whether the task that is being posted is a read of a file. */
ngx_uint_t ngx_task_queue_is_read(void);

/* Whether workers could have it: it is logged why not. */
ngx_int_t ngx_task_queue_uring_check(ngx_cycle_t *cycle);
ngx_int_t ngx_task_queue_uring_start(ngx_cycle_t *cycle, ngx_task_queue_conf_t *conf);
void ngx_task_queue_uring_stop(ngx_cycle_t *cycle);
/* Whether a request goes on because a read of the ring has completed. */
extern ngx_uint_t ngx_task_queue_uring_completing;
/* NGX_DECLINED: there is no ring, or it takes no more. */
ngx_int_t ngx_task_queue_uring_post(ngx_thread_pool_t *tp, ngx_thread_task_t *task);

/* Places in the ring, so many for each class, and the tasks that wait for one. */
void ngx_task_queue_lines_start(ngx_uint_t places, ngx_uint_t waiting);
/* NGX_OK: the task has a place; NGX_AGAIN: it waits for one; NGX_DECLINED: too many do. */
ngx_int_t ngx_task_queue_lines_enter(ngx_thread_task_t *task, ngx_uint_t class);
/* A place is free again, and goes to the task that waited longest; NULL: none did. */
ngx_thread_task_t *ngx_task_queue_lines_leave(ngx_uint_t class);

/* Opens of cached files that keep the event loop from nothing. */
ngx_int_t ngx_task_queue_open_check(ngx_cycle_t *cycle);
ngx_int_t ngx_task_queue_open_start(ngx_cycle_t *cycle, ngx_task_queue_conf_t *conf);

/* The class of a task by its request's variable; the last class without one. */
ngx_uint_t ngx_task_queue_class(ngx_thread_task_t *task);

/* What --wrap names: nginx's own functions. */
ngx_int_t __real_ngx_thread_task_post(ngx_thread_pool_t *tp, ngx_thread_task_t *task);
ssize_t __real_ngx_thread_read(ngx_file_t *file, u_char *buf, size_t size, off_t offset,
    ngx_pool_t *pool);

#endif
