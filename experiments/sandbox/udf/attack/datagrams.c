/* Sockets in pairs, used to reach sockets that have a name. */
#define _GNU_SOURCE
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "attack.h"

/* Where decoys listen for datagrams: below the folder, and beside the abstract socket. */
#define SUFFIX "datagrams"

static int end_of_pair(int type) {
    int pair[2];
    return socketpair(AF_UNIX, type, 0, pair) < 0 ? -1 : pair[0];
}

/* A datagram to a socket's name: 0 once it is sent, else the error. */
static int sent_to(const char *name, int abstract) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(name);
    if (length + 1 >= sizeof address.sun_path)
        return ENAMETOOLONG;
    memcpy(address.sun_path + abstract, name, length);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + 1);
    int own = end_of_pair(SOCK_DGRAM);
    if (own < 0)
        return errno;
    return sendto(own, "x", 1, MSG_DONTWAIT, (struct sockaddr *)&address, size) < 0 ? errno : 0;
}

static verdict reached(const char *folder, const char *separator, int abstract) {
    char name[128];
    snprintf(name, sizeof name, "%s%s" SUFFIX, folder, separator);
    errno = sent_to(name, abstract);
    return judge(errno ? -1 : 0);
}

verdict datagram_to_path(target *at) { return reached(at->folder, "/", 0); }

verdict datagram_to_abstract(target *at) { return reached(at->abstract, "-", 1); }

/* Whether a file exists, by how sending to it fails. */
verdict probe_file(target *at) {
    char missing[512];
    verdict made = {0, ""};
    snprintf(missing, sizeof missing, "%s.missing", at->file);
    int there = sent_to(at->file, 0), absent = sent_to(missing, 0);
    made.open = there != absent;
    snprintf(made.seen, sizeof made.seen, "errno %d, without the file %d", there, absent);
    return made;
}

/* A name by which functions that run at the same time could find each other. */
verdict named_socket(target *at) {
    struct sockaddr_un name;
    socklen_t size = sizeof name;
    int on = 1, own = end_of_pair(SOCK_DGRAM);
    (void)at;
    if (own < 0 || setsockopt(own, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) < 0 || send(own, "x", 1, MSG_DONTWAIT) < 0)
        return judge(-1);
    verdict made = judge(getsockname(own, (struct sockaddr *)&name, &size));
    made.open = made.open && size > offsetof(struct sockaddr_un, sun_path);
    return made;
}

/* Out-of-band data of local sockets: a part of the kernel that no function has a use for. */
verdict out_of_band(target *at) {
    int own = end_of_pair(SOCK_STREAM);
    (void)at;
    return judge(own < 0 ? -1 : send(own, "x", 1, MSG_OOB | MSG_DONTWAIT));
}
