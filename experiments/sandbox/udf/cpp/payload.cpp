/* As ../payload.c, in C++. */
#include <string>

#include "tare_udf.h"

enum { COUNT_REQUEST, ANSWER, CALL_BACK };

static void serve(tare_host *host, tare_bytes request) {
    uint64_t count = tare_number(request, 2, 0), seen = 0;
    const uint64_t way = tare_number(request, 3, COUNT_REQUEST);
    std::string bytes(tare_number(request, 1, 0), '\n');
    const tare_bytes payload = {reinterpret_cast<uint8_t *>(bytes.data()), bytes.size()};
    tare_message response = {nullptr, 0, 0};
    if (way == COUNT_REQUEST) {
        tare_field field;
        while (tare_next(&request, &field))
            seen += field.field == 4 ? field.bytes.length : 0;
        count = 0;
    }
    for (; count > 0; count--) {
        if (way == ANSWER) {
            tare_put_bytes(&response, 2, payload);
            seen += payload.length;
        } else {
            seen += tare_call(host, "echo", payload).length;
        }
    }
    tare_put_number(&response, 1, seen);
    tare_answer(host, {response.bytes, response.length});
}

TARE_UDF(serve)
