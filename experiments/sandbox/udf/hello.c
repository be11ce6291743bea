/* Says hello: {1: text}. */
#include "tare_udf.h"

static void serve(tare_host *host, tare_bytes request) {
    (void)request;
    tare_message response = {0, 0, 0};
    tare_put_bytes(&response, 1, tare_text("Hello, world!"));
    tare_answer(host, (tare_bytes){response.bytes, response.length});
}

TARE_UDF(serve)
