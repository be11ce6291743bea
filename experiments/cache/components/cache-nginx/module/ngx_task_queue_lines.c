/* So many places for each class, and a bounded line of those that wait for one: a class that has much
 * to read takes no other's places. */
#include "ngx_task_queue.h"

typedef struct {
    ngx_uint_t taken;
    ngx_uint_t waiting;
    ngx_thread_task_t *first;
    ngx_thread_task_t **last;
} line_t;

static line_t lines[TASK_CLASSES];
static ngx_uint_t most_places;
static ngx_uint_t most_waiting;

void
ngx_task_queue_lines_start(ngx_uint_t places, ngx_uint_t waiting)
{
    ngx_uint_t class;

    most_places = places;
    most_waiting = waiting;

    for (class = 0; class < TASK_CLASSES; class++) {
        lines[class] = (line_t) { .last = &lines[class].first };
    }
}

ngx_int_t
ngx_task_queue_lines_enter(ngx_thread_task_t *task, ngx_uint_t class)
{
    line_t *line = &lines[class];

    if (line->taken < most_places) {
        line->taken++;
        return NGX_OK;
    }

    if (line->waiting == most_waiting) {
        return NGX_DECLINED;
    }

    task->next = NULL;
    *line->last = task;
    line->last = &task->next;
    line->waiting++;

    return NGX_AGAIN;
}

ngx_thread_task_t *
ngx_task_queue_lines_leave(ngx_uint_t class)
{
    line_t *line = &lines[class];
    ngx_thread_task_t *task = line->first;

    if (task == NULL) {
        line->taken--;
        return NULL;
    }

    line->first = task->next;
    if (line->first == NULL) {
        line->last = &line->first;
    }

    line->waiting--;

    return task;
}
