/* Gives back its request, bit for bit. */
#include "tare_udf.h"

static void serve(tare_host *host, tare_bytes request) { tare_answer(host, request); }

TARE_UDF(serve)
