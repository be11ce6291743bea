/* An eventfd among nginx's connections: ngx_notify() would serve one handler only. */
#include "ngx_task_queue.h"

#include <sys/eventfd.h>

ngx_connection_t *
ngx_task_queue_listen(ngx_cycle_t *cycle, ngx_event_handler_pt handler)
{
    int fd;
    ngx_connection_t *c;

    if (!(ngx_event_flags & NGX_USE_CLEAR_EVENT)) {
        ngx_log_error(NGX_LOG_EMERG, cycle->log, 0,
                      "task_queue needs \"use epoll\" in the events block");
        return NULL;
    }

    fd = eventfd(0, EFD_NONBLOCK|EFD_CLOEXEC);
    if (fd == -1) {
        ngx_log_error(NGX_LOG_EMERG, cycle->log, ngx_errno, "eventfd() failed");
        return NULL;
    }

    c = ngx_get_connection(fd, cycle->log);
    if (c == NULL) {
        close(fd);
        return NULL;
    }

    c->read->handler = handler;
    c->read->log = cycle->log;
    c->write->log = cycle->log;

    /* Each write is an edge of its own, so that nobody needs to read the descriptor. */
    if (ngx_add_event(c->read, NGX_READ_EVENT, NGX_CLEAR_EVENT) != NGX_OK) {
        ngx_task_queue_unlisten(c);
        return NULL;
    }

    return c;
}

void
ngx_task_queue_unlisten(ngx_connection_t *c)
{
    close(c->fd);
    ngx_free_connection(c);
    c->fd = (ngx_socket_t) -1;
}
