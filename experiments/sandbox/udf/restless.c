/* Computes between its ready byte and its call, and answers with nothing. */
#include <poll.h>

#include "tare_udf.h"

int main(int count, char **arguments) {
    tare_host host = {0, 0, -1, -1, 0, 0, {0}};
    if (count < 2)
        return 2;
    host.fd = atoi(arguments[1]);
    struct pollfd called = {host.fd, POLLIN, 0};
    tare_write(host.fd, "R", 1);
    while (poll(&called, 1, 0) == 0)
        ;
    tare_recv(&host);
    tare_answer(&host, tare_text(""));
    return 0;
}
