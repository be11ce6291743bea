/* Posts tasks to threads: those of a pool of ours, or of nginx's own. */
#include "ngx_task_queue.h"

ngx_int_t
ngx_task_queue_post(ngx_thread_pool_t *tp, ngx_thread_task_t *task)
{
    ngx_int_t rc = ngx_task_queue_pool_post(tp, task);

    return rc != NGX_DECLINED ? rc : __real_ngx_thread_task_post(tp, task);
}
