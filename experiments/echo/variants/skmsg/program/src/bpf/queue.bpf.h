/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* The bound of a queue of received messages, which the kernel does not have.
 *
 * What was put into a queue is counted, and what its owner took is not told. So when the count reaches
 * the bound, the queue itself is looked through: if it holds more than half of the bound, it has no
 * room; else the count goes on from what it holds. A look of n steps thus comes after at least n / 2
 * messages. */

/* Of the kernel's types only what is read; CO-RE finds the offsets. */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct list_head {
	struct list_head *next;
	struct list_head *prev;
};
struct sk_msg_sg {
	__u32 size;
};
struct sk_msg {
	struct sk_msg_sg sg;
	struct list_head list;
};
struct sk_psock {
	struct list_head ingress_msg;
};
struct sock {
	void *sk_user_data;
};
#pragma clang attribute pop

/* Low bits of sk_user_data are flags. */
#define USER_DATA_FLAGS 7UL

/* Written by the sender, whose socket is locked. */
struct queue {
	__u64 socket; /* address of its owner, only ever read with checks: it may just have gone */
	__u64 bytes;
	__u32 messages;
};

struct look {
	struct list_head *head;
	struct list_head *at;
	__u64 bytes;
	__u32 messages; /* or one more */
};

static long look_at_next(__u32 step, struct look *look)
{
	struct list_head *at = look->at, *next = BPF_CORE_READ(at, next);

	/* At the end, or its owner is taking messages out just now. */
	if (next == look->head || BPF_CORE_READ(next, prev) != at)
		return 1;
	struct sk_msg *message = (void *)next - bpf_core_field_offset(struct sk_msg, list);
	look->bytes += BPF_CORE_READ(message, sg.size);
	look->at = next;
	return 0;
}

static __always_inline struct look look_through(struct sock *owner, __u32 most_messages)
{
	unsigned long user_data = (unsigned long)BPF_CORE_READ(owner, sk_user_data);
	struct sk_psock *psock = (struct sk_psock *)(user_data & ~USER_DATA_FLAGS);
	struct list_head *head = (void *)psock + bpf_core_field_offset(struct sk_psock, ingress_msg);
	struct look look = { .head = head, .at = head };

	look.messages = bpf_loop(most_messages, look_at_next, &look, 0);
	return look;
}

static __always_inline _Bool has_room(struct queue *queue, __u32 size, __u64 most_bytes,
				      __u32 most_messages)
{
	if (queue->bytes + size > most_bytes || queue->messages >= most_messages) {
		struct look look = look_through((struct sock *)queue->socket, most_messages);

		if (look.bytes > most_bytes / 2 || look.messages > most_messages / 2)
			return 0;
		queue->bytes = look.bytes;
		queue->messages = look.messages;
	}
	queue->bytes += size;
	queue->messages++;
	return 1;
}
