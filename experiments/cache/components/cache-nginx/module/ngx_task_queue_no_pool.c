/* Built without the queues of experiments/cache/queue, and so without their libraries: nginx's own pools
 * do all that is not read at once, or by io_uring. */
#include "ngx_task_queue.h"

const char ngx_task_queue_names[] = "threads, as this nginx is built without other queues";

const struct task_queue_kind *
task_queue_kind(const char *name, size_t length)
{
    return NULL;
}

ngx_int_t
ngx_task_queue_pools_start(ngx_cycle_t *cycle, const struct task_queue_kind *kind)
{
    return NGX_ERROR;
}

void
ngx_task_queue_pools_stop(ngx_cycle_t *cycle)
{
}

ngx_int_t
ngx_task_queue_pool_post(ngx_thread_pool_t *tp, ngx_thread_task_t *task)
{
    return NGX_DECLINED;
}
