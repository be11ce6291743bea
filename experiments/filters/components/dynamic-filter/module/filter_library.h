/* SPDX-License-Identifier: Apache-2.0 */
/* A filter library: loaded from a file, given a prefix, asked about URIs. */

#ifndef FILTER_LIBRARY_H
#define FILTER_LIBRARY_H

#include <ngx_config.h>
#include <ngx_core.h>

typedef struct {
    ngx_str_t    path;
    ngx_str_t    prefix;
    void        *handle;
    ngx_flag_t   in_force; /* a configuration with it has been put to work */
    int        (*initialize)(const char *prefix);
    int        (*url_filter)(const char *url);
    int        (*url_filter_n)(const char *url, size_t length); /* NULL when not exported */
    void       (*start_worker)(void); /* NULL when not exported */
    void       (*get_counters)(uint64_t *accepted, uint64_t *rejected);
} filter_library_t;

/* Loads and initialises the library at `path`; says in the log why not. Runs in the master, so that
 * all workers inherit what the library sets up. */
ngx_int_t filter_library_load(ngx_conf_t *cf, filter_library_t *library);

/* Marks the library as the one that serves, once its configuration is complete. */
void filter_library_put_in_force(filter_library_t *library);

#endif
