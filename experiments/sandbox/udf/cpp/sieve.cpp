/* As ../sieve.c, in C++. */
#include <vector>

#include "tare_udf.h"

static uint64_t primes(uint64_t most) {
    std::vector<uint8_t> composite(most + 1);
    uint64_t count = 0;
    for (uint64_t number = 2; number <= most; number++) {
        if (composite[number])
            continue;
        count++;
        for (uint64_t multiple = number * number; multiple <= most; multiple += number)
            composite[multiple] = 1;
    }
    return count;
}

static void serve(tare_host *host, tare_bytes request) {
    tare_message response = {nullptr, 0, 0};
    tare_put_number(&response, 1, primes(tare_number(request, 1, 100000)));
    tare_answer(host, {response.bytes, response.length});
}

TARE_UDF(serve)
