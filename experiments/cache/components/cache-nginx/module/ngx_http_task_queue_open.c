/* Opens of cached files: at once those that need no disk, by a thread of the location's pool the rest.
 *
 * nginx opens a cached file within ngx_http_file_cache_open(), on the event loop. Its call of
 * ngx_open_cached_file() is answered here. If the file's name or inode is on the disk only, a thread is sent
 * for it, and the request is told to come again, as for a read of the file's head. It then goes the same
 * way once more, and finds the file open.
 */
#include "ngx_task_queue.h"

#include <ngx_http.h>

#include <linux/openat2.h>
#include <sys/syscall.h>

/* What a thread is sent for. The request's pool has it, and closes the file. */
typedef struct {
    u_char *name;
    ngx_fd_t fd;
    ngx_err_t err;
    ngx_file_info_t info;
    ngx_pool_cleanup_t *cleanup;
} opened_t;

ngx_int_t __real_ngx_open_cached_file(ngx_open_file_cache_t *cache, ngx_str_t *name,
    ngx_open_file_info_t *of, ngx_pool_t *pool);
ngx_int_t __real_ngx_http_file_cache_open(ngx_http_request_t *r);

static ngx_flag_t enabled;
static ngx_http_request_t *asking;  /* the request whose cached file is being opened */
static ngx_flag_t sent;             /* a thread is on its way for that file */

static ngx_fd_t
open_resolved(u_char *name, ngx_uint_t flags, ngx_uint_t resolve)
{
    struct open_how how = { .flags = flags, .resolve = resolve };

    return syscall(SYS_openat2, AT_FDCWD, name, &how, sizeof(how));
}

ngx_int_t
ngx_task_queue_open_check(ngx_cycle_t *cycle)
{
    ngx_fd_t fd = open_resolved((u_char *) "/", O_PATH, RESOLVE_CACHED);

    if (fd == NGX_INVALID_FILE && ngx_errno != NGX_EAGAIN) {
        ngx_log_error(NGX_LOG_EMERG, cycle->log, ngx_errno,
                      "task_queue: openat2(RESOLVE_CACHED) cannot be had; it needs Linux 5.12 or "
                      "newer, and a sandbox that allows it");
        return NGX_ERROR;
    }

    if (fd != NGX_INVALID_FILE) {
        close(fd);
    }

    return NGX_OK;
}

ngx_int_t
ngx_task_queue_open_start(ngx_cycle_t *cycle, ngx_task_queue_conf_t *conf)
{
    enabled = conf->open;

    return enabled ? ngx_task_queue_open_check(cycle) : NGX_OK;
}

/* Open a file with the flags that nginx opens cached files with. */
static void
open_file(opened_t *opened, ngx_uint_t resolve)
{
    opened->fd = open_resolved(opened->name, NGX_FILE_RDONLY|NGX_FILE_NONBLOCK, resolve);
    opened->err = opened->fd == NGX_INVALID_FILE ? ngx_errno : 0;

    if (opened->fd != NGX_INVALID_FILE
        && ngx_fd_info(opened->fd, &opened->info) == NGX_FILE_ERROR)
    {
        opened->err = ngx_errno;
        ngx_close_file(opened->fd);
        opened->fd = NGX_INVALID_FILE;
    }
}

/* Open the file in a thread. */
static void
open_with_patience(void *data, ngx_log_t *log)
{
    open_file(data, 0);
}

/* Have the file closed with the request. */
static void
keep(opened_t *opened, ngx_log_t *log)
{
    ngx_pool_cleanup_file_t *file = opened->cleanup->data;

    if (opened->fd == NGX_INVALID_FILE) {
        return;
    }

    *file = (ngx_pool_cleanup_file_t) { .fd = opened->fd, .name = opened->name, .log = log };
    opened->cleanup->handler = ngx_pool_cleanup_file;
}

static void
drop(opened_t *opened)
{
    if (opened->fd != NGX_INVALID_FILE) {
        opened->cleanup->handler(opened->cleanup->data);
        opened->cleanup->handler = NULL;
        opened->fd = NGX_INVALID_FILE;
    }
}

/* Let the request go on, on the event loop, as ngx_http_cache_thread_event_handler() does after a
 * read. */
static void
come_back(ngx_event_t *event)
{
    ngx_http_request_t *r = event->data;
    ngx_connection_t *c = r->connection;
    ngx_thread_task_t *task =
        (ngx_thread_task_t *) ((u_char *) event - offsetof(ngx_thread_task_t, event));

    ngx_http_set_log_request(c->log, r);

    if (event->timedout) {
        ngx_log_error(NGX_LOG_ALERT, c->log, 0, "a thread takes too long to open \"%s\"",
                      ((opened_t *) task->ctx)->name);
        event->timedout = 0;
        return;
    }

    if (event->timer_set) {
        ngx_del_timer(event);
    }

    keep(task->ctx, r->pool->log);
    r->main->blocked--;
    r->aio = 0;

    if (r->main->terminated) {
        /* Its connection has only waited for this to be over. */
        c->write->handler(c->write);
        return;
    }

    r->write_event_handler(r);
    ngx_http_run_posted_requests(c);
}

static ngx_thread_pool_t *
pool_of(ngx_http_request_t *r)
{
    ngx_str_t name;
    ngx_http_core_loc_conf_t *conf = ngx_http_get_module_loc_conf(r, ngx_http_core_module);

    if (conf->thread_pool != NULL) {
        return conf->thread_pool;
    }

    if (ngx_http_complex_value(r, conf->thread_pool_value, &name) != NGX_OK) {
        return NULL;
    }

    return ngx_thread_pool_get((ngx_cycle_t *) ngx_cycle, &name);
}

static ngx_int_t
send_thread(ngx_http_request_t *r, opened_t *wanted)
{
    ngx_thread_pool_t *pool = pool_of(r);
    ngx_thread_task_t *task = ngx_http_get_module_ctx(r, ngx_http_task_queue_module);

    if (pool == NULL) {
        return NGX_ERROR;
    }

    if (task == NULL) {
        task = ngx_thread_task_alloc(r->pool, sizeof(opened_t));
        if (task == NULL) {
            return NGX_ERROR;
        }

        task->handler = open_with_patience;
        task->event.handler = come_back;
        task->event.data = r;
        task->event.log = r->connection->log;
        ngx_http_set_ctx(r, task, ngx_http_task_queue_module);
    }

    *(opened_t *) task->ctx = *wanted;

    if (ngx_task_queue_post(pool, task) != NGX_OK) {
        return NGX_ERROR;
    }

    /* After as long as nginx's own tasks it is told that this one is not back. */
    ngx_add_timer(&task->event, 60000);

    r->main->blocked++;
    r->aio = 1;

    return NGX_OK;
}

/* Return 1 if nginx's cache of open files has it, so that no disk is needed. */
static ngx_flag_t
is_open(ngx_open_file_cache_t *cache, ngx_str_t *name)
{
    ngx_int_t order;
    ngx_cached_open_file_t *file;
    ngx_uint_t hash = ngx_crc32_long(name->data, name->len);
    ngx_rbtree_node_t *node = cache->rbtree.root;

    while (node != &cache->sentinel) {
        if (hash != node->key) {
            node = hash < node->key ? node->left : node->right;
            continue;
        }

        file = (ngx_cached_open_file_t *) node;
        order = ngx_strcmp(name->data, file->name);
        if (order == 0) {
            return file->fd != NGX_INVALID_FILE;
        }

        node = order < 0 ? node->left : node->right;
    }

    return 0;
}

/* Answer as ngx_open_cached_file() does. */
static ngx_int_t
answer(opened_t *opened, ngx_open_file_cache_t *cache, ngx_str_t *name, ngx_open_file_info_t *of,
    ngx_pool_t *pool)
{
    ngx_file_info_t *info = &opened->info;

    /* With a cache of open files, or read-ahead, nginx does more than to open; and another file may have
     * come under that name. No disk is needed for the name any more. */
    if (cache != NULL || of->read_ahead
        || (opened->fd != NGX_INVALID_FILE
            && (ngx_is_dir(info) || (of->uniq && of->uniq != ngx_file_uniq(info)))))
    {
        drop(opened);
        return __real_ngx_open_cached_file(cache, name, of, pool);
    }

    of->fd = opened->fd;
    of->err = opened->err;

    if (of->fd == NGX_INVALID_FILE) {
        of->failed = ngx_open_file_n;
        return NGX_ERROR;
    }

    of->uniq = ngx_file_uniq(info);
    of->mtime = ngx_file_mtime(info);
    of->size = ngx_file_size(info);
    of->fs_size = ngx_file_fs_size(info);
    of->is_file = ngx_is_file(info);
    of->is_link = ngx_is_link(info);
    of->is_exec = ngx_is_exec(info);

    return NGX_OK;
}

ngx_int_t
__wrap_ngx_open_cached_file(ngx_open_file_cache_t *cache, ngx_str_t *name,
    ngx_open_file_info_t *of, ngx_pool_t *pool)
{
    opened_t wanted;
    ngx_thread_task_t *task;
    ngx_http_core_loc_conf_t *conf;
    ngx_http_request_t *r = asking;

    if (r == NULL || name != &r->cache->file.name) {
        return __real_ngx_open_cached_file(cache, name, of, pool);
    }

    conf = ngx_http_get_module_loc_conf(r, ngx_http_core_module);

    if (conf->aio != NGX_HTTP_AIO_THREADS || (cache != NULL && is_open(cache, name))) {
        return __real_ngx_open_cached_file(cache, name, of, pool);
    }

    task = ngx_http_get_module_ctx(r, ngx_http_task_queue_module);

    if (task != NULL && task->event.complete) {
        task->event.complete = 0;
        return answer(task->ctx, cache, name, of, pool);
    }

    wanted.name = name->data;
    wanted.cleanup = ngx_pool_cleanup_add(pool, sizeof(ngx_pool_cleanup_file_t));
    if (wanted.cleanup == NULL) {
        return NGX_ERROR;
    }

    open_file(&wanted, RESOLVE_CACHED);

    if (wanted.err != NGX_EAGAIN) {
        ngx_task_queue_count(open_hits, 1);
        keep(&wanted, pool->log);
        return answer(&wanted, cache, name, of, pool);
    }

    if (send_thread(r, &wanted) == NGX_OK) {
        ngx_task_queue_count(open_misses, 1);
        sent = 1;
        return NGX_ERROR;
    }

    ngx_task_queue_count(open_overflows, 1);

    return __real_ngx_open_cached_file(cache, name, of, pool);
}

/* Prepare the cache for the request to go the same way again. */
static void
prepare(ngx_http_cache_t *c, opened_t *opened)
{
    ngx_http_file_cache_t *cache = c->file_cache;
    ngx_http_file_cache_node_t *node = c->node;

    /* Shortened when the name was looked up, and will be again. */
    c->body_start = c->buffer_size;

    if (opened->fd == NGX_INVALID_FILE) {
        return;
    }

    /* After a start nginx looks for files that it does not know yet, but at the first request for them
     * only: this one is known now, as if the cache loader had found it. */
    ngx_shmtx_lock(&cache->shpool->mutex);

    if (!node->exists && !node->error) {
        node->exists = 1;
        node->uniq = ngx_file_uniq(&opened->info);
        node->fs_size = (ngx_file_fs_size(&opened->info) + cache->bsize - 1) / cache->bsize;
        cache->sh->size += node->fs_size;
    }

    ngx_shmtx_unlock(&cache->shpool->mutex);
}

ngx_int_t
__wrap_ngx_http_file_cache_open(ngx_http_request_t *r)
{
    ngx_int_t rc;
    ngx_thread_task_t *task;

    if (!enabled) {
        return __real_ngx_http_file_cache_open(r);
    }

    task = ngx_http_get_module_ctx(r, ngx_http_task_queue_module);

    if (task != NULL && task->event.complete) {
        prepare(r->cache, task->ctx);
    }

    asking = r;
    sent = 0;
    rc = __real_ngx_http_file_cache_open(r);
    asking = NULL;

    if (sent) {
        return NGX_AGAIN;
    }

    if (task != NULL && task->event.complete) {
        /* Meanwhile the cache had another answer. A later question is about a later file. */
        task->event.complete = 0;
        drop(task->ctx);
    }

    return rc;
}
