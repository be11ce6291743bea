// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
/* Notes when the tasks of each role run, wait, read and write, and who runs on each CPU meanwhile.
 * Events stay in the ring until the end, so that reading them costs the window nothing. */

#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "events.bpf.h"

static __always_inline __u32 role_of(__u32 tgid)
{
	__u32 *role = bpf_map_lookup_elem(&processes, &tgid);

	return role ? *role : FOREIGN;
}

static __always_inline struct event *note(__u8 kind)
{
	__u32 zero = 0, *on = bpf_map_lookup_elem(&noting, &zero);
	struct event *event;

	if (!on || !*on)
		return NULL;
	event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);
	if (!event) {
		__u64 *count = bpf_map_lookup_elem(&lost, &zero);

		if (count)
			__sync_fetch_and_add(count, 1);
		return NULL;
	}
	event->at = bpf_ktime_get_ns();
	event->cpu = bpf_get_smp_processor_id();
	event->kind = kind;
	event->state = 0;
	event->detail = 0;
	event->other = 0;
	event->own_port = event->port = 0;
	event->role = event->other_role = FOREIGN;
	event->name[0] = 0;
	return event;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(call_begins, struct pt_regs *registers, long number)
{
	__u64 both = bpf_get_current_pid_tgid();
	__u32 tid = both, call = number;

	if (role_of(both >> 32) != FOREIGN)
		bpf_map_update_elem(&calls, &tid, &call, BPF_ANY);
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(call_ends)
{
	__u64 both = bpf_get_current_pid_tgid();
	__u32 tid = both;

	if (role_of(both >> 32) != FOREIGN)
		bpf_map_delete_elem(&calls, &tid);
	return 0;
}

/* True if the quota of the task's group, or of one around it, is used up. */
static __always_inline _Bool is_held(struct task_struct *task)
{
	if (bpf_core_field_exists(task->throttled))
		return task->throttled;
	if (bpf_core_field_exists(struct sched_entity, cfs_rq) &&
	    bpf_core_field_exists(struct cfs_rq, throttle_count))
		return BPF_CORE_READ(task, se.cfs_rq, throttle_count) > 0;
	return 0;
}

/* The kernel counts what the hypervisor took when it looks at a CPU's clock, at each tick at least. A
 * task that has been on the CPU knows the CPU's queue; the idle task does not. */
static __always_inline void look_for_steal(struct task_struct *task)
{
	__u32 cpu = task->thread_info.cpu;
	__u64 now, before, *seen = bpf_map_lookup_elem(&stolen, &cpu);
	struct event *event;

	if (!seen || !task->pid || !bpf_core_field_exists(struct sched_entity, cfs_rq) ||
	    !bpf_core_field_exists(struct rq, prev_steal_time_rq))
		return;
	now = task->se.cfs_rq->rq->prev_steal_time_rq;
	before = *seen;
	*seen = now + 1;
	if (!before || now + 1 < before + SHORT_STOLEN_NS)
		return;
	event = note(STOLEN);
	if (!event)
		return;
	event->tid = 0;
	event->cpu = cpu;
	event->detail = now + 1 - before < NO_CALL ? now + 1 - before : NO_CALL;
	bpf_ringbuf_submit(event, 0);
}

SEC("tp_btf/sched_stat_runtime")
int BPF_PROG(has_run, struct task_struct *task)
{
	look_for_steal(task);
	return 0;
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(softirq_begins)
{
	__u32 zero = 0;
	__u64 *since = bpf_map_lookup_elem(&softirq_since, &zero);

	if (since)
		*since = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(softirq_ends, unsigned int vector)
{
	__u32 zero = 0;
	__u64 took, *since = bpf_map_lookup_elem(&softirq_since, &zero);
	struct event *event;

	if (!since || !*since)
		return 0;
	took = bpf_ktime_get_ns() - *since;
	*since = 0;
	if (took < SHORT_SOFTIRQ_NS)
		return 0;
	event = note(SOFTIRQ);
	if (!event)
		return 0;
	event->tid = 0;
	event->detail = took < NO_CALL ? took : NO_CALL;
	event->state = vector;
	bpf_ringbuf_submit(event, 0);
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(switched, _Bool preempt, struct task_struct *previous, struct task_struct *next,
	     unsigned int state)
{
	__u32 tid = previous->pid, *call;
	struct event *event;

	look_for_steal(tid ? previous : next);
	event = note(SWITCHED);
	if (!event)
		return 0;
	event->tid = tid;
	event->other = next->pid;
	event->role = role_of(previous->tgid);
	event->other_role = role_of(next->tgid);
	bpf_probe_read_kernel_str(event->name, sizeof(event->name), next->comm);
	if (!preempt && state)
		event->state = BPF_CORE_READ_BITFIELD(previous, in_iowait) ? IN_DISK : BLOCKED;
	else if (event->role != FOREIGN && is_held(previous))
		event->state = HELD;
	if (event->role != FOREIGN) {
		call = bpf_map_lookup_elem(&calls, &tid);
		event->detail = call ? *call : NO_CALL;
	}
	bpf_ringbuf_submit(event, 0);
	return 0;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(woken, struct task_struct *task)
{
	__u32 role = role_of(task->tgid);
	struct event *event;

	if (role == FOREIGN)
		return 0;
	event = note(WOKEN);
	if (!event)
		return 0;
	event->tid = task->pid;
	event->role = role;
	event->cpu = task->thread_info.cpu;
	event->state = is_held(task) ? HELD : PREEMPTED;
	bpf_ringbuf_submit(event, 0);
	return 0;
}

static __always_inline _Bool is_internet(const struct sock *socket)
{
	__u16 family = socket->__sk_common.skc_family;

	return family == AF_INET || family == AF_INET6;
}

/* The place in the socket's bytes that is reached by so many more. All are counted, also before events
 * are noted, so that a place means the same as to the generator. */
static __always_inline __u32 reached(__u8 kind, const struct sock *socket, int bytes)
{
	__u64 number = bpf_get_socket_cookie((void *)socket), *count;
	struct moved none = {}, *moved = bpf_map_lookup_elem(&moved_by_socket, &number);

	if (!moved) {
		bpf_map_update_elem(&moved_by_socket, &number, &none, BPF_NOEXIST);
		moved = bpf_map_lookup_elem(&moved_by_socket, &number);
		if (!moved)
			return 0;
	}
	count = kind == READ ? &moved->read : &moved->written;
	return __sync_fetch_and_add(count, bytes) + bytes;
}

/* A socket of the current process, if it has a role, was read or written. */
static __always_inline void exchanged(__u8 kind, const struct sock *socket, int bytes)
{
	__u64 both = bpf_get_current_pid_tgid();
	__u32 role = role_of(both >> 32), reach = 0;
	__u16 own = socket->__sk_common.skc_num;
	struct event *event;

	if (role == FOREIGN || bytes <= 0 || !is_internet(socket))
		return;
	if (bpf_map_lookup_elem(&ports, &own))
		reach = reached(kind, socket, bytes);
	event = note(kind);
	if (!event)
		return;
	event->tid = both;
	event->role = role;
	event->detail = reach;
	event->own_port = own;
	event->port = bpf_ntohs(socket->__sk_common.skc_dport);
	bpf_ringbuf_submit(event, 0);
}

SEC("tp_btf/sock_recv_length")
int BPF_PROG(received, const struct sock *socket, int bytes, int flags)
{
	if (!(flags & MSG_PEEK))
		exchanged(READ, socket, bytes);
	return 0;
}

SEC("tp_btf/sock_send_length")
int BPF_PROG(sent, const struct sock *socket, int bytes)
{
	exchanged(WRITTEN, socket, bytes);
	return 0;
}

/* Who owns the socket is not known here; the port tells, and only those of the roles are listed. */
static __always_inline void happened(__u8 kind, const struct sock *socket, __u16 server, __u16 client)
{
	struct event *event;

	if (!bpf_map_lookup_elem(&ports, &server))
		return;
	event = note(kind);
	if (!event)
		return;
	event->tid = 0;
	event->own_port = server;
	event->port = client;
	event->state = socket->__sk_common.skc_state;
	bpf_ringbuf_submit(event, 0);
}

SEC("tp_btf/tcp_probe")
int BPF_PROG(arrived, const struct sock *socket, const struct sk_buff *packet)
{
	__u8 words = 0;

	/* An acknowledgement is a header alone, of so many words of four bytes. */
	bpf_probe_read_kernel(&words, 1, packet->data + 12);
	if (packet->len > (words >> 4) * 4)
		happened(ARRIVED, socket, socket->__sk_common.skc_num,
			 bpf_ntohs(socket->__sk_common.skc_dport));
	return 0;
}

SEC("tp_btf/tcp_retransmit_skb")
int BPF_PROG(sent_again, const struct sock *socket)
{
	__u16 own = socket->__sk_common.skc_num, other = bpf_ntohs(socket->__sk_common.skc_dport);

	/* The generator's end, then the server's. */
	happened(SENT_AGAIN, socket, other, own);
	happened(SENT_AGAIN, socket, own, other);
	return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(forked, struct task_struct *parent, struct task_struct *child)
{
	__u32 tgid = child->tgid, role = role_of(parent->tgid);

	if (role != FOREIGN && tgid != parent->tgid)
		bpf_map_update_elem(&processes, &tgid, &role, BPF_ANY);
	return 0;
}

/* The kernel frees a leader after all its threads; the number may then be another process's. */
SEC("tp_btf/sched_process_free")
int BPF_PROG(freed, struct task_struct *task)
{
	__u32 pid = task->pid, tgid = task->tgid;

	bpf_map_delete_elem(&calls, &pid);
	if (pid == tgid)
		bpf_map_delete_elem(&processes, &tgid);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
