// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
/* What one end of a connection sends is put right into the other end's queue of received messages.
 * Both ends must be sockets of this machine, and both are changed. */

#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "queue.bpf.h"

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

/* The same ends -> what was put into their queues. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, MOST_SOCKETS);
	__type(key, struct end);
	__type(value, struct queue);
} queues SEC(".maps");

/* Set before loading, from main.rs. */
const volatile struct {
	__u64 most_bytes;
	__u32 most_messages;
	/* Connections to these ports take part. */
	__u32 listen;
	__u32 backend;
} settings = { .most_bytes = 8 << 20, .most_messages = 8192 };

static __always_inline _Bool is_ours(__u32 port)
{
	return port == settings.listen || (settings.backend && port == settings.backend);
}

static __always_inline void begin(struct bpf_sock_ops *ops, struct end *own)
{
	struct queue queue = { .socket = (__u64)ops->sk };

	if (bpf_map_update_elem(&queues, own, &queue, BPF_ANY))
		return;
	bpf_sock_hash_update(ops, &ends, own, BPF_NOEXIST);
	bpf_sock_ops_cb_flags_set(ops, BPF_SOCK_OPS_STATE_CB_FLAG);
}

SEC("sockops")
int connections(struct bpf_sock_ops *ops)
{
	struct end own = {
		.own_address = ops->local_ip4,
		.peer_address = ops->remote_ip4,
		.own_port = ops->local_port,
		.peer_port = bpf_ntohl(ops->remote_port),
	};

	if (ops->family != AF_INET)
		return 1;
	/* "Local" is what the two addresses say: both ends have the same one. */
	if (own.own_address != own.peer_address)
		return 1;
	if (!is_ours(own.own_port) && !is_ours(own.peer_port))
		return 1;
	switch (ops->op) {
	case BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB:
	case BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB:
		begin(ops, &own);
		break;
	case BPF_SOCK_OPS_STATE_CB:
		if (ops->args[1] == BPF_TCP_CLOSE)
			bpf_map_delete_elem(&queues, &own);
		break;
	}
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
	struct queue *queue = bpf_map_lookup_elem(&queues, &peer);
	/* A refusal is final for its sender. If the server is the sender, it then closes the connection; so
	 * what clients may send ahead of it is more than what it may send ahead of them. */
	_Bool by_server = peer.peer_port == settings.listen ||
			  (settings.backend && peer.own_port == settings.backend);
	__u32 times = by_server ? 1 : 2;

	/* Without the peer in the map, or without room in its queue, this is an error for the sender: bytes
	 * that took the other way could overtake. */
	if (!queue || !has_room(queue, msg->size, settings.most_bytes * times,
				settings.most_messages * times))
		return SK_DROP;
	return bpf_msg_redirect_hash(msg, &ends, &peer, BPF_F_INGRESS);
}

char LICENSE[] SEC("license") = "GPL";
