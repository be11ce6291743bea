/* Functions that do not answer as they should: what they do is seen from outside. */
#define _GNU_SOURCE
#include <sys/socket.h>

#include "attack.h"

_Noreturn verdict endless_loop(target *at) {
    (void)at;
    for (volatile unsigned count = 0;; count++)
        ;
}

_Noreturn verdict hang(target *at) {
    (void)at;
    for (;;)
        pause();
}

verdict crash(target *at) {
    (void)at;
#ifdef __wasi__
    __builtin_trap(); /* 0 is an address like others */
#else
    *(volatile int *)0 = 1;
#endif
    return judge(0);
}

verdict leave(target *at) {
    (void)at;
    _exit(7);
}

static verdict wire(target *at, const void *bytes, size_t length) {
    tare_write(at->host->fd, bytes, length);
    return hang(at);
}

verdict varint_overflow(target *at) { return wire(at, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10); }

verdict length_over_limit(target *at) { return wire(at, "\xff\xff\xff\xff\x07", 5); }

verdict half_response(target *at) {
    tare_write(at->host->fd, "\x64half", 5);
    _exit(0);
}

_Noreturn verdict huge_response(target *at) {
    static char piece[1 << 16];
    tare_write(at->host->fd, "\x80\x80\x80\x80\x01", 5); /* 256 MiB */
    for (;;)
        tare_write(at->host->fd, piece, sizeof piece);
}

verdict after_close(target *at) {
    shutdown(at->host->fd, SHUT_WR);
    close(at->host->fd);
    return hang(at);
}

/* On its standard streams: open where anything comes back. */
verdict talk_much(target *at) {
    static char piece[1 << 20];
    verdict made = {0, ""};
    size_t said = 0;
    (void)at;
    for (int count = 0; count < 128; count++) {
        ssize_t taken = write(1 + count % 2, piece, sizeof piece);
        said += taken > 0 ? (size_t)taken : 0;
    }
    made.open = read(0, piece, sizeof piece) > 0;
    snprintf(made.seen, sizeof made.seen, "%zu bytes said", said);
    return made;
}

_Noreturn verdict callback_flood(target *at) {
    for (;;)
        tare_call(at->host, "echo", tare_text("x"));
}

_Noreturn verdict deaf_callbacks(target *at) {
    static char piece[1 << 16];
    tare_message io = {0, 0, 0}, callback = {0, 0, 0};
    tare_put_bytes(&io, 4, (tare_bytes){(uint8_t *)piece, sizeof piece});
    tare_put_bytes(&callback, 1, tare_text("echo"));
    tare_put_bytes(&callback, 2, (tare_bytes){io.bytes, io.length});
    for (;;)
        tare_say_any(at->host->fd, "a.Callback", (tare_bytes){callback.bytes, callback.length});
}
