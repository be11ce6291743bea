/* Sorts {1: number} pseudo-random items: {1: checksum over the items in their order}. */
#include "tare_udf.h"

static int compare(const void *left, const void *right) {
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

static uint64_t sorted(uint64_t count) {
    uint32_t *items = malloc(count * sizeof *items), state = 1;
    uint64_t sum = 0;
    if (!items)
        _exit(1);
    for (uint64_t index = 0; index < count; index++) {
        /* Marsaglia's xorshift with 32 bits. */
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        items[index] = state;
    }
    qsort(items, count, sizeof *items, compare);
    for (uint64_t index = 0; index < count; index++)
        sum = sum * 31 + items[index];
    free(items);
    return sum;
}

static void serve(tare_host *host, tare_bytes request) {
    tare_message response = {0, 0, 0};
    tare_put_number(&response, 1, sorted(tare_number(request, 1, 10000)));
    tare_answer(host, (tare_bytes){response.bytes, response.length});
}

TARE_UDF(serve)
