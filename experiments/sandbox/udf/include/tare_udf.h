/* Write a function that a sandbox runs, in C or C++: include this, define
 *     static void serve(tare_host *host, tare_bytes request)
 * which answers with tare_answer, and end the file with TARE_UDF(serve). Nothing that it hands out is to
 * be freed: a function serves one call.
 *
 * The wire: argv[1] is a socket. The function says one byte when it is ready, reads its request, a
 * length as a varint and then the bytes, writes its response likewise, and ends. Where it is offered
 * shared memory (TARE_SHARED in its environment) it says S, and gets the request and room for the
 * response as two files beside one byte.
 */
#ifndef TARE_UDF_H
#define TARE_UDF_H

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/mman.h>
#include <sys/socket.h>
#endif

typedef struct {
    uint8_t *bytes;
    size_t length;
} tare_bytes;

typedef struct {
    int fd;
    /* Messages are wrapped in Any, as they are where callbacks are allowed. */
    int wrapped;
    /* Files of memory with the request and for the response; -1 where both go over the socket. */
    int request, response;
    /* What came with the end of a message, from and until where in `received`. */
    size_t from, until;
    uint8_t received[512];
} tare_host;

static inline tare_bytes tare_text(const char *text) {
    tare_bytes made = {(uint8_t *)text, strlen(text)};
    return made;
}

static inline void tare_write(int fd, const void *from, size_t length) {
    const uint8_t *next = (const uint8_t *)from;
    while (length > 0) {
        ssize_t count = write(fd, next, length);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            _exit(1);
        next += count;
        length -= (size_t)count;
    }
}

static inline size_t tare_read_some(int fd, void *into, size_t room) {
    ssize_t count;
    do
        count = read(fd, into, room);
    while (count < 0 && errno == EINTR);
    if (count <= 0)
        _exit(1);
    return (size_t)count;
}

/* The next bytes from the host. A small message is read at once: each system call has its price, and
 * the highest where a sandbox serves it itself. */
static inline void tare_read(tare_host *host, void *into, size_t length) {
    uint8_t *next = (uint8_t *)into;
    while (length > 0) {
        size_t count = host->until - host->from;
        if (count == 0 && length >= sizeof host->received) {
            count = tare_read_some(host->fd, next, length);
        } else if (count == 0) {
            host->from = 0;
            host->until = tare_read_some(host->fd, host->received, sizeof host->received);
            continue;
        } else {
            count = count < length ? count : length;
            memcpy(next, host->received + host->from, count);
            host->from += count;
        }
        next += count;
        length -= count;
    }
}

/* Memory for small messages that is there from the beginning, so that a call which needs no more asks
 * the kernel for none. No part is used twice: a function serves one call. */
static union {
    uint8_t bytes[4096];
    long double aligned;
} tare_kept;
static size_t tare_kept_used;

static inline uint8_t *tare_room(size_t length) {
    uint8_t *room = tare_kept.bytes + tare_kept_used;
    if (length <= sizeof tare_kept - tare_kept_used) {
        tare_kept_used += (length + 15) / 16 * 16;
        return room;
    }
    room = (uint8_t *)malloc(length);
    if (!room)
        _exit(1);
    return room;
}

static inline int tare_is_kept(const uint8_t *bytes) {
    return (uintptr_t)bytes - (uintptr_t)tare_kept.bytes < sizeof tare_kept;
}

/* A message under construction, whose memory grows. */
typedef struct {
    uint8_t *bytes;
    size_t length, room;
} tare_message;

static inline void tare_append(tare_message *message, const void *from, size_t length) {
    if (message->room - message->length < length) {
        size_t least = message->length + length + 64;
        uint8_t *shorter = message->bytes;
        message->room = message->room * 2 > least ? message->room * 2 : least;
        if (shorter && !tare_is_kept(shorter)) {
            message->bytes = (uint8_t *)realloc(shorter, message->room);
            if (!message->bytes)
                _exit(1);
        } else {
            message->bytes = tare_room(message->room);
            if (shorter)
                memcpy(message->bytes, shorter, message->length);
        }
    }
    if (length > 0)
        memcpy(message->bytes + message->length, from, length);
    message->length += length;
}

static inline void tare_drop(tare_message *message) {
    if (!tare_is_kept(message->bytes))
        free(message->bytes);
}

static inline void tare_varint(tare_message *message, uint64_t value) {
    uint8_t digits[10];
    size_t used = 0;
    do {
        digits[used] = (uint8_t)(value & 0x7f) | (value > 0x7f ? 0x80 : 0);
        value >>= 7;
        used++;
    } while (value);
    tare_append(message, digits, used);
}

/* A field with a number, and one with bytes, as protobuf has them. */
static inline void tare_put_number(tare_message *message, unsigned field, uint64_t value) {
    tare_varint(message, (uint64_t)field << 3);
    tare_varint(message, value);
}

static inline void tare_put_bytes(tare_message *message, unsigned field, tare_bytes value) {
    tare_varint(message, (uint64_t)field << 3 | 2);
    tare_varint(message, value.length);
    tare_append(message, value.bytes, value.length);
}

/* The next field of a message: 1 when there is one, 0 at the end or where the message is broken. */
typedef struct {
    unsigned field;
    uint64_t number;
    tare_bytes bytes;
} tare_field;

static inline int tare_take_varint(tare_bytes *rest, uint64_t *value) {
    *value = 0;
    for (unsigned shift = 0; shift < 64 && rest->length > 0; shift += 7) {
        uint8_t digit = *rest->bytes++;
        rest->length--;
        *value |= (uint64_t)(digit & 0x7f) << shift;
        if (!(digit & 0x80))
            return 1;
    }
    return 0;
}

static inline int tare_next(tare_bytes *rest, tare_field *found) {
    uint64_t key, length;
    memset(found, 0, sizeof *found);
    if (rest->length == 0 || !tare_take_varint(rest, &key))
        return 0;
    found->field = (unsigned)(key >> 3);
    if ((key & 7) == 0)
        return tare_take_varint(rest, &found->number);
    if ((key & 7) != 2 || !tare_take_varint(rest, &length) || length > rest->length)
        return 0;
    found->bytes.bytes = rest->bytes;
    found->bytes.length = (size_t)length;
    rest->bytes += length;
    rest->length -= (size_t)length;
    return 1;
}

/* The number in a field of a message; `otherwise` without it. */
static inline uint64_t tare_number(tare_bytes message, unsigned field, uint64_t otherwise) {
    tare_field found;
    while (tare_next(&message, &found))
        if (found.field == field)
            otherwise = found.number;
    return otherwise;
}

/* The bytes in a field of a message; none without it. */
static inline tare_bytes tare_field_bytes(tare_bytes message, unsigned field) {
    tare_field found;
    tare_bytes last = {0, 0};
    while (tare_next(&message, &found))
        if (found.field == field)
            last = found.bytes;
    return last;
}

static inline tare_bytes tare_recv(tare_host *host) {
    tare_bytes message = {0, 0};
    uint64_t length = 0;
    uint8_t digit = 0x80;
    for (unsigned shift = 0; (digit & 0x80) && shift < 35; shift += 7) {
        tare_read(host, &digit, 1);
        length |= (uint64_t)(digit & 0x7f) << shift;
    }
    message.length = (size_t)length;
    message.bytes = tare_room(message.length);
    tare_read(host, message.bytes, message.length);
    return message;
}

static inline void tare_send(int fd, tare_bytes body) {
    tare_message prefix = {0, 0, 0};
    tare_varint(&prefix, body.length);
    if (body.length < 4096) { /* one write, so that the host wakes up once */
        tare_append(&prefix, body.bytes, body.length);
        body.length = 0;
    }
    tare_write(fd, prefix.bytes, prefix.length);
    tare_write(fd, body.bytes, body.length);
    tare_drop(&prefix);
}

static inline void tare_say_any(int fd, const char *type, tare_bytes value) {
    tare_message any = {0, 0, 0};
    tare_put_bytes(&any, 1, tare_text(type));
    tare_put_bytes(&any, 2, value);
    tare_bytes whole = {any.bytes, any.length};
    tare_send(fd, whole);
    tare_drop(&any);
}

/* Says that the response is in memory. One for which there is no room is not written: the host will
 * refuse its length. */
static inline void tare_answer_in_memory(tare_host *host, tare_bytes response) {
    tare_message length = {0, 0, 0};
    if (lseek(host->response, 0, SEEK_END) >= (off_t)response.length && lseek(host->response, 0, SEEK_SET) == 0)
        tare_write(host->response, response.bytes, response.length);
    tare_put_number(&length, 1, response.length);
    tare_bytes whole = {length.bytes, length.length};
    tare_say_any(host->fd, "type.googleapis.com/tare.InMemory", whole);
    tare_drop(&length);
}

static inline void tare_answer(tare_host *host, tare_bytes response) {
    if (host->response >= 0)
        tare_answer_in_memory(host, response);
    else if (host->wrapped)
        tare_say_any(host->fd, "type.googleapis.com/tare.Response", response);
    else
        tare_send(host->fd, response);
}

/* Calls a function of the host; its output, or no bytes at all (null) when it refuses. */
static inline tare_bytes tare_call(tare_host *host, const char *name, tare_bytes input) {
    tare_message io = {0, 0, 0}, callback = {0, 0, 0};
    tare_put_bytes(&io, 4, input);
    tare_put_bytes(&callback, 1, tare_text(name));
    tare_bytes inner = {io.bytes, io.length};
    tare_put_bytes(&callback, 2, inner);
    tare_bytes whole = {callback.bytes, callback.length};
    host->wrapped = 1;
    tare_say_any(host->fd, "type.googleapis.com/privacy_sandbox.server_common.byob.Callback", whole);
    tare_drop(&io);
    tare_drop(&callback);
    return tare_field_bytes(tare_field_bytes(tare_recv(host), 2), 8);
}

#ifdef __linux__
/* Takes both files, which end with this process, and maps the request so that it can be changed here
 * and is not changed there. */
static inline tare_bytes tare_take_memory(tare_host *host) {
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(2 * sizeof(int))];
    } beside;
    char byte;
    struct iovec data = {&byte, 1};
    struct msghdr message;
    int files[2];
    ssize_t count;
    memset(&message, 0, sizeof message);
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = &beside;
    message.msg_controllen = sizeof beside;
    do
        count = recvmsg(host->fd, &message, MSG_CMSG_CLOEXEC);
    while (count < 0 && errno == EINTR);
    if (count != 1 || message.msg_controllen < CMSG_LEN(sizeof files) || beside.head.cmsg_type != SCM_RIGHTS)
        _exit(1);
    memcpy(files, CMSG_DATA(&beside.head), sizeof files);
    host->request = files[0];
    host->response = files[1];
    off_t length = lseek(host->request, 0, SEEK_END);
    tare_bytes request = {0, (size_t)length};
    if (length > 0)
        request.bytes = (uint8_t *)mmap(0, request.length, PROT_READ | PROT_WRITE, MAP_PRIVATE, host->request, 0);
    if (length < 0 || request.bytes == (uint8_t *)MAP_FAILED)
        _exit(1);
    return request;
}
#endif

/* Says that it is ready; its request, once there is one. */
static inline tare_bytes tare_begin(tare_host *host) {
#ifdef __linux__
    if (getenv("TARE_SHARED")) {
        tare_write(host->fd, "S", 1);
        return tare_take_memory(host);
    }
#endif
    tare_write(host->fd, "R", 1);
    return tare_recv(host);
}

#define TARE_UDF(serve)                                    \
    int main(int count, char **arguments) {                \
        tare_host host = {0, 0, -1, -1, 0, 0, {0}};        \
        if (count < 2)                                     \
            return 2;                                      \
        host.fd = atoi(arguments[1]);                      \
        serve(&host, tare_begin(&host));                   \
        return 0;                                          \
    }

#endif
