/* Counts the primes up to {1: number} by the sieve of Eratosthenes: {1: count}. */
#include "tare_udf.h"

static uint64_t primes(uint64_t most) {
    uint8_t *composite = calloc(most + 1, 1);
    uint64_t count = 0;
    if (!composite)
        _exit(1);
    for (uint64_t number = 2; number <= most; number++) {
        if (composite[number])
            continue;
        count++;
        for (uint64_t multiple = number * number; multiple <= most; multiple += number)
            composite[multiple] = 1;
    }
    free(composite);
    return count;
}

static void serve(tare_host *host, tare_bytes request) {
    tare_message response = {0, 0, 0};
    tare_put_number(&response, 1, primes(tare_number(request, 1, 100000)));
    tare_answer(host, (tare_bytes){response.bytes, response.length});
}

TARE_UDF(serve)
