/* As ../hello.c, in C++. */
#include <string>

#include "tare_udf.h"

static void serve(tare_host *host, tare_bytes) {
    const std::string text = "Hello, world!";
    tare_message response = {nullptr, 0, 0};
    tare_put_bytes(&response, 1, tare_text(text.c_str()));
    tare_answer(host, {response.bytes, response.length});
}

TARE_UDF(serve)
