/* SPDX-License-Identifier: Apache-2.0 */

#include <dlfcn.h>

#include "filter_library.h"

/* The library of the configuration that serves; kept across reloads. */
static filter_library_t  *serving;

static void *find(ngx_conf_t *cf, filter_library_t *library, const char *name,
    const char *declaration);
static void unload(void *data);


ngx_int_t
filter_library_load(ngx_conf_t *cf, filter_library_t *library)
{
    int                  code;
    const char          *path = (const char *) library->path.data;
    const char          *prefix = (const char *) library->prefix.data;
    ngx_pool_cleanup_t  *cleanup;

    cleanup = ngx_pool_cleanup_add(cf->pool, 0);
    if (cleanup == NULL) {
        return NGX_ERROR;
    }

    library->handle = dlopen(path, RTLD_NOW|RTLD_LOCAL);
    if (library->handle == NULL) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "the filter library \"%s\" does not load: %s; expected a shared library "
                           "as in filter_abi.h: correct dynamic_filter_library or "
                           "DYNAMIC_LOAD_LIB_PATH", path, dlerror());
        return NGX_ERROR;
    }
    cleanup->handler = unload;
    cleanup->data = library;

    library->initialize = find(cf, library, "module_initialize",
                               "int module_initialize(const char *prefix)");
    library->url_filter = find(cf, library, "module_url_filter",
                               "int module_url_filter(const char *url)");
    library->get_counters = find(cf, library, "module_get_counters",
                     "void module_get_counters(uint64_t *accepted, uint64_t *rejected)");
    if (library->initialize == NULL || library->url_filter == NULL
        || library->get_counters == NULL)
    {
        return NGX_ERROR;
    }
    library->url_filter_n = dlsym(library->handle, "module_url_filter_n");
    library->start_worker = dlsym(library->handle, "module_start_worker");

    code = library->initialize(prefix);
    if (code != 0) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "the filter library \"%s\" refuses the prefix \"%s\": module_initialize "
                           "returned %d, expected 0; change the prefix, or see what the library "
                           "wrote above", path, prefix, code);
        return NGX_ERROR;
    }
    return NGX_OK;
}


void
filter_library_put_in_force(filter_library_t *library)
{
    library->in_force = 1;
    serving = library;
}


static void *
find(ngx_conf_t *cf, filter_library_t *library, const char *name, const char *declaration)
{
    void  *symbol;

    symbol = dlsym(library->handle, name);
    if (symbol == NULL) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "the filter library \"%V\" has no %s; expected \"%s\": export it and "
                           "build the library again", &library->path, name, declaration);
    }
    return symbol;
}


static void
unload(void *data)
{
    filter_library_t  *library = data;

    /* A refused reload has set its prefix in a library that still serves: set the old one again,
     * for the workers that the master may yet have to replace. */
    if (!library->in_force && serving != NULL && serving->initialize == library->initialize) {
        serving->initialize((const char *) serving->prefix.data);
    }
    dlclose(library->handle);
}
