/* SPDX-License-Identifier: Apache-2.0 */
/* How often a filter is called for one request, when what a call costs is measured: the request says
 * it in its query, which no filter looks at. */

#ifndef FILTER_DOSE_H
#define FILTER_DOSE_H

#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#define FILTER_DOSE_MAX 999

/* 1 without a dose, as a query of anything but digits is, and at most FILTER_DOSE_MAX. Every dose is
 * sent with the same number of digits, so that to read it costs the same. */
static inline ngx_uint_t
filter_dose(ngx_http_request_t *r)
{
    ngx_int_t  dose = ngx_atoi(r->args.data, r->args.len);

    return dose < 1 ? 1 : ngx_min((ngx_uint_t) dose, FILTER_DOSE_MAX);
}

/* Between two calls: what one call has read, the next reads again. */
#define filter_dose_again()  __asm__ volatile ("" ::: "memory")

#endif
