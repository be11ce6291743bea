/* Reads of cached files: first what needs no waiting, without a thread. */
#define _GNU_SOURCE
#include "ngx_task_queue.h"

#include <sys/uio.h>

static ngx_flag_t nowait;
static ngx_uint_t reading;

void
ngx_task_queue_read_start(ngx_task_queue_conf_t *conf)
{
    nowait = conf->nowait;
}

ngx_uint_t
ngx_task_queue_is_read(void)
{
    return reading;
}

/* `size` bytes, or as many as the file has, if all of them are in the page cache; else NGX_AGAIN,
 * also on an error: who reads with patience will meet it and tell. */
static ssize_t
read_now(ngx_fd_t fd, u_char *buf, size_t size, off_t offset)
{
    ssize_t n;
    size_t had = 0;
    struct iovec part;

    while (had < size) {
        part.iov_base = buf + had;
        part.iov_len = size - had;
        n = preadv2(fd, &part, 1, offset + had, RWF_NOWAIT);

        if (n == 0) {
            break;
        }

        if (n > 0) {
            had += n;

        } else if (ngx_errno != NGX_EINTR) {
            return NGX_AGAIN;
        }
    }

    return had;
}

ssize_t
__wrap_ngx_thread_read(ngx_file_t *file, u_char *buf, size_t size, off_t offset,
    ngx_pool_t *pool)
{
    ssize_t n;
    ngx_thread_task_t *task = file->thread_task;

    /* With O_DIRECT every read waits for the disk, RWF_NOWAIT or not. What follows on a completed
     * read waits for its turn in the ring, lest the loop sends a whole file that was read ahead. */
    if (nowait && !file->directio && !ngx_task_queue_uring_completing
        && (task == NULL || !(task->event.complete || task->event.active)))
    {
        n = read_now(file->fd, buf, size, offset);
        if (n != NGX_AGAIN) {
            ngx_task_queue_count(nowait_hits, 1);
            return n;
        }

        ngx_task_queue_count(nowait_misses, 1);
    }

    reading = 1;
    n = __real_ngx_thread_read(file, buf, size, offset, pool);
    reading = 0;

    return n;
}
