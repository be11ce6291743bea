/* Takes and gives payloads. {1: size, 2: count, 3: way, 4: payload…}; ways:
 * 0 counts the payloads that came with the request, 1 answers with `count` of `size` bytes, 2 passes
 * as many to the host's function "echo", one after the other. Answers {1: bytes seen, 2: payload…}.
 */
#include "tare_udf.h"

enum { COUNT_REQUEST, ANSWER, CALL_BACK };

static void serve(tare_host *host, tare_bytes request) {
    uint64_t size = tare_number(request, 1, 0), count = tare_number(request, 2, 0), seen = 0;
    uint64_t way = tare_number(request, 3, COUNT_REQUEST);
    tare_message response = {0, 0, 0};
    tare_bytes payload = {malloc(size + 1), (size_t)size};
    tare_field field;
    if (!payload.bytes)
        _exit(1);
    memset(payload.bytes, '\n', payload.length);
    if (way == COUNT_REQUEST)
        while (tare_next(&request, &field))
            seen += field.field == 4 ? field.bytes.length : 0;
    for (uint64_t index = 0; index < count && way != COUNT_REQUEST; index++) {
        if (way == ANSWER) {
            tare_put_bytes(&response, 2, payload);
            seen += payload.length;
        } else {
            seen += tare_call(host, "echo", payload).length;
        }
    }
    tare_put_number(&response, 1, seen);
    tare_answer(host, (tare_bytes){response.bytes, response.length});
}

TARE_UDF(serve)
