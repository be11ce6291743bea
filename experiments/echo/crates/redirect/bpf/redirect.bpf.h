/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* Maps and the decision that the verdict programs of sockmap and sockmap-parser share. */

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#define MOST_SOCKETS 65536
/* One event of 16 bytes for each socket. */
#define EVENTS_BYTES (1 << 20)

/* Of the kernel's types only what is read; CO-RE finds the offsets. */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct sk_buff_head {
	__u32 qlen;
};
struct sk_psock {
	struct sk_buff_head ingress_skb;
};
struct sock {
	void *sk_user_data;
};
struct inet_sock {
	struct sock sk;
};
struct inet_connection_sock {
	struct inet_sock icsk_inet;
};
struct tcp_sock {
	struct inet_connection_sock inet_conn;
	__u64 bytes_received;
	__u64 bytes_acked;
};
#pragma clang attribute pop

/* Low bits of sk_user_data are flags. */
#define USER_DATA_FLAGS 7UL

struct moved {
	__u64 bytes;
	__u64 messages;
};

/* Cookie of a socket -> the socket itself: those whose bytes the program sees. */
struct {
	__uint(type, BPF_MAP_TYPE_SOCKHASH);
	__uint(max_entries, MOST_SOCKETS);
	__type(key, __u64);
	__type(value, __u32);
} sources SEC(".maps");

/* Cookie of a socket -> where its bytes go: itself in an echo, the other end in a relay. */
struct {
	__uint(type, BPF_MAP_TYPE_SOCKHASH);
	__uint(max_entries, MOST_SOCKETS);
	__type(key, __u64);
	__type(value, __u32);
} targets SEC(".maps");

/* Cookies of sockets that went over a limit: their stream has a hole and must not go on. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, MOST_SOCKETS);
	__type(key, __u64);
	__type(value, __u8);
} condemned SEC(".maps");

/* The same cookies, for user space to close. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, EVENTS_BYTES);
} events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct moved);
} counters SEC(".maps");

/* Set before loading, from struct Limits of src/kernel.rs. */
const volatile struct {
	__u64 bytes; /* that a connection may have in flight */
	__u32 skbs;  /* that it may have queued */
	__u32 relay; /* whether bytes go to another socket */
} limits = { .bytes = 8 << 20, .skbs = 8192 };

static __always_inline _Bool within_limits(struct tcp_sock *source, struct tcp_sock *sink)
{
	/* The kernel itself bounds neither what a psock queues nor charges it to anybody. */
	__u64 in_flight = source->bytes_received - sink->bytes_acked;
	unsigned long user_data = (unsigned long)sink->inet_conn.icsk_inet.sk.sk_user_data;
	struct sk_psock *psock = (struct sk_psock *)(user_data & ~USER_DATA_FLAGS);

	/* Negative by the SYN's one when nothing is in flight. */
	if ((__s64)in_flight > (__s64)limits.bytes)
		return 0;
	return BPF_CORE_READ(psock, ingress_skb.qlen) <= limits.skbs;
}

static __always_inline _Bool admitted(struct __sk_buff *skb, __u64 cookie)
{
	struct tcp_sock *source, *sink;
	struct bpf_sock *target;
	_Bool within;

	if (!skb->sk || !(source = bpf_skc_to_tcp_sock(skb->sk)))
		return 0;
	if (!limits.relay)
		return within_limits(source, source);
	target = bpf_map_lookup_elem(&targets, &cookie);
	if (!target)
		return 0;
	sink = bpf_skc_to_tcp_sock(target);
	within = sink && within_limits(source, sink);
	bpf_sk_release(target);
	return within;
}

static __always_inline void count(__u32 bytes)
{
	__u32 zero = 0;
	struct moved *moved = bpf_map_lookup_elem(&counters, &zero);

	if (moved) {
		moved->bytes += bytes;
		moved->messages++;
	}
}

static __always_inline int redirect(struct __sk_buff *skb)
{
	__u64 cookie = bpf_get_socket_cookie(skb);
	__u8 mark = 1;

	/* The end of the stream comes as an skb without bytes; sending it on would count as an error. */
	if (!skb->len)
		return SK_DROP;
	if (bpf_map_lookup_elem(&condemned, &cookie))
		return SK_DROP;
	if (!admitted(skb, cookie)) {
		bpf_map_update_elem(&condemned, &cookie, &mark, BPF_ANY);
		bpf_ringbuf_output(&events, &cookie, sizeof(cookie), 0);
		return SK_DROP;
	}
	count(skb->len);
	return bpf_sk_redirect_hash(skb, &targets, &cookie, 0);
}
