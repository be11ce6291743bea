/* As ../sort.c, in C++. */
#include <algorithm>
#include <vector>

#include "tare_udf.h"

static uint64_t sorted(uint64_t count) {
    std::vector<uint32_t> items(count);
    uint32_t state = 1;
    uint64_t sum = 0;
    for (uint32_t &item : items) {
        /* Marsaglia's xorshift with 32 bits. */
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        item = state;
    }
    std::sort(items.begin(), items.end());
    for (uint32_t item : items)
        sum = sum * 31 + item;
    return sum;
}

static void serve(tare_host *host, tare_bytes request) {
    tare_message response = {nullptr, 0, 0};
    tare_put_number(&response, 1, sorted(tare_number(request, 1, 10000)));
    tare_answer(host, {response.bytes, response.length});
}

TARE_UDF(serve)
