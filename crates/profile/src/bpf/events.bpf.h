/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* What tail.bpf.c shares with src/tail/events.rs, and what it reads of the kernel. */

#include "table.bpf.h"

#define AF_INET 2
#define AF_INET6 10
#define MSG_PEEK 2
#define FOREIGN 255
#define NO_CALL 0xffffffff
#define MOST_PROCESSES 65536
#define MOST_TASKS 65536
/* 1.2 million events. */
#define RING_BYTES (64 << 20)
#define MOST_CPUS 1024
#define MOST_SOCKETS 65536
/* What takes a CPU for less than that is too short and too frequent to be noted. */
#define SHORT_STOLEN_NS 10000
#define SHORT_SOFTIRQ_NS 20000

enum kind { SWITCHED, WOKEN, READ, WRITTEN, ARRIVED, SENT_AGAIN, STOLEN, SOFTIRQ };

/* Of a task that was switched from: it could have gone on, or waits, or its group's quota is used up.
 * One that was woken is PREEMPTED or HELD. */
enum state { PREEMPTED, BLOCKED, IN_DISK, HELD };

struct event {
	__u64 at;
	/* The task that was switched from, was woken, read or wrote. */
	__u32 tid;
	/* The task that was switched to. */
	__u32 other;
	/* The system call in which it was switched from, or nanoseconds until now; of a socket the bytes
	 * that were read or written so far, the lower half of their number. */
	__u32 detail;
	__u16 cpu;
	__u16 own_port;
	__u16 port;
	__u8 kind;
	/* Of a task; or of a socket, as in enum tcp_state; or a softirq's vector. */
	__u8 state;
	__u8 role;
	__u8 other_role;
	/* Of the task that was switched to. */
	char name[16];
	__u8 unused[2];
};

struct thread_info {
	__u32 cpu;
} __attribute__((preserve_access_index));

struct rq {
	__u64 prev_steal_time_rq;
} __attribute__((preserve_access_index));

struct cfs_rq {
	int throttle_count;
	struct rq *rq;
} __attribute__((preserve_access_index));

struct sched_entity {
	struct cfs_rq *cfs_rq;
} __attribute__((preserve_access_index));

struct task_struct {
	struct thread_info thread_info;
	struct sched_entity se;
	/* From Linux 6.18 on. */
	_Bool throttled;
	int pid;
	int tgid;
	char comm[16];
	unsigned int in_iowait : 1;
} __attribute__((preserve_access_index));

struct sock_common {
	__be16 skc_dport;
	__u16 skc_num;
	unsigned short skc_family;
	volatile unsigned char skc_state;
} __attribute__((preserve_access_index));

struct sk_buff {
	unsigned int len;
	unsigned char *data;
} __attribute__((preserve_access_index));

struct sock {
	struct sock_common __sk_common;
} __attribute__((preserve_access_index));

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, RING_BYTES);
} events SEC(".maps");
TABLE(noting, ARRAY, 1, __u32, __u32);
TABLE(lost, ARRAY, 1, __u32, __u64);
/* Process -> its role. */
TABLE(processes, HASH, MOST_PROCESSES, __u32, __u32);
/* Task -> the system call that it is in. */
TABLE(calls, HASH, MOST_TASKS, __u32, __u32);
/* The ports that the roles listen on. */
TABLE(ports, HASH, 1024, __u16, __u8);
/* Bytes that the roles read from a socket, and wrote to it. */
struct moved {
	__u64 read;
	__u64 written;
};

/* A socket's number, which no other has -> its bytes. */
TABLE(moved_by_socket, LRU_HASH, MOST_SOCKETS, __u64, struct moved);
/* CPU -> the time that the hypervisor has taken from it so far, and one. */
TABLE(stolen, ARRAY, MOST_CPUS, __u32, __u64);
/* The time at which this CPU's softirq began. */
TABLE(softirq_since, PERCPU_ARRAY, 1, __u32, __u64);
