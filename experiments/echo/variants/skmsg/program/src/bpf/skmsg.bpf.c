// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
/* What one end of a connection sends is put right into the other end's queue of received messages.
 * Both ends must be sockets of this machine, and both are changed. */

#include <linux/bpf.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define AF_INET 2
#define MOST_SOCKETS 65536

/* An end of a connection; addresses in network byte order, ports in the host's. */
struct end {
	__u32 own_address;
	__u32 peer_address;
	__u32 own_port;
	__u32 peer_port;
};

struct {
	__uint(type, BPF_MAP_TYPE_SOCKHASH);
	__uint(max_entries, MOST_SOCKETS);
	__type(key, struct end);
	__type(value, __u32);
} ends SEC(".maps");

/* Set before loading, from main.rs: connections to these ports take part. */
const volatile struct {
	__u32 listen;
	__u32 backend;
} ports = {};

static __always_inline _Bool is_ours(__u32 port)
{
	return port == ports.listen || (ports.backend && port == ports.backend);
}

SEC("sockops")
int established(struct bpf_sock_ops *ops)
{
	struct end own = {
		.own_address = ops->local_ip4,
		.peer_address = ops->remote_ip4,
		.own_port = ops->local_port,
		.peer_port = bpf_ntohl(ops->remote_port),
	};

	if (ops->family != AF_INET)
		return 1;
	if (ops->op != BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB &&
	    ops->op != BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB)
		return 1;
	/* "Local" is what the two addresses say: both ends have the same one. */
	if (own.own_address != own.peer_address)
		return 1;
	if (is_ours(own.own_port) || is_ours(own.peer_port))
		bpf_sock_hash_update(ops, &ends, &own, BPF_NOEXIST);
	return 1;
}

SEC("sk_msg")
int message(struct sk_msg_md *msg)
{
	struct end peer = {
		.own_address = msg->remote_ip4,
		.peer_address = msg->local_ip4,
		.own_port = bpf_ntohl(msg->remote_port),
		.peer_port = msg->local_port,
	};

	/* Without the peer in the map this is an error for the sender: bytes that took the other way
	 * could overtake. */
	return bpf_msg_redirect_hash(msg, &ends, &peer, BPF_F_INGRESS);
}

char LICENSE[] SEC("license") = "GPL";
