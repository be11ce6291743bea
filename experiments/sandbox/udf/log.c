/* Says {1: number} lines on standard error, one write each: {1: how many were taken}. */
#include "tare_udf.h"

#define LINE "A line of a function's log.\n"

static void serve(tare_host *host, tare_bytes request) {
    uint64_t count = tare_number(request, 1, 10), taken = 0;
    tare_message response = {0, 0, 0};
    for (uint64_t index = 0; index < count; index++)
        taken += write(2, LINE, sizeof LINE - 1) == sizeof LINE - 1;
    tare_put_number(&response, 1, taken);
    tare_answer(host, (tare_bytes){response.bytes, response.length});
}

TARE_UDF(serve)
