/* Other machines, other processes' sockets, and descriptors sent through one. */
#define _GNU_SOURCE
#include <net/if.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>

#include "attack.h"

verdict inet(target *at) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(at->port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int made = socket(AF_INET, SOCK_STREAM, 0);
    return judge(made < 0 ? -1 : connect(made, (struct sockaddr *)&address, sizeof address));
}

verdict netlink(target *at) {
    (void)at;
    return judge(socket(AF_NETLINK, SOCK_RAW, 0));
}

verdict vsock(target *at) {
    (void)at;
    return judge(socket(AF_VSOCK, SOCK_STREAM, 0));
}

verdict packet(target *at) {
    (void)at;
    return judge(socket(AF_PACKET, SOCK_RAW, 0));
}

verdict abstract_socket(target *at) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(at->abstract);
    if (length >= sizeof address.sun_path)
        return judge(-1);
    memcpy(address.sun_path + 1, at->abstract, length);
    int made = socket(AF_UNIX, SOCK_STREAM, 0);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
    return judge(made < 0 ? -1 : connect(made, (struct sockaddr *)&address, size));
}

verdict pass_descriptor(target *at) {
    int pair[2], passed = at->host->fd;
    char control[CMSG_SPACE(sizeof passed)] = {0}, byte = 0;
    struct iovec data = {&byte, 1};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof passed);
    memcpy(CMSG_DATA(head), &passed, sizeof passed);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
        return judge(-1);
    return judge(sendmsg(pair[0], &message, 0));
}

/* The host's interfaces with their addresses, of which any socket can be asked. */
verdict interfaces(target *at) {
    struct ifreq found[16];
    struct ifconf list = {.ifc_len = sizeof found, .ifc_req = found};
    verdict made = judge(ioctl(at->host->fd, SIOCGIFCONF, &list));
    if (made.open && list.ifc_len > 0)
        snprintf(made.seen, sizeof made.seen, "%.*s", IFNAMSIZ, found[0].ifr_name);
    made.open = made.open && list.ifc_len > 0;
    return made;
}
