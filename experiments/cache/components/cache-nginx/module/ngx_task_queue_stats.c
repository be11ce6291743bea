/* The counts of all workers, in shared memory. */
#include "ngx_task_queue.h"

ngx_task_queue_stats_t *ngx_task_queue_stats;

void
ngx_task_queue_most(ngx_atomic_t *most, ngx_atomic_uint_t found)
{
    ngx_atomic_uint_t before;

    do {
        before = *most;
    } while (before < found && !ngx_atomic_cmp_set(most, before, found));
}
