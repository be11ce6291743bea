// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
/* Counts what the processes of each role do: stacks by sampling, waits, system calls and other events.
 * Nothing is counted before `control.began` is set, or after `control.counting` is cleared. */

#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "tables.bpf.h"
#include "unwind.bpf.h"

/* The role of the current process, or NULL if it is foreign or nothing is counted. */
static __always_inline struct process *current_process(void)
{
	struct control *control = control_of();
	__u32 tgid = bpf_get_current_pid_tgid() >> 32;

	if (!control || !control->counting)
		return NULL;
	return bpf_map_lookup_elem(&processes, &tgid);
}

static __always_inline void add(__u32 role, __u32 what, __u64 amount)
{
	__u32 at = role * COUNTS + what;
	__u64 *count = bpf_map_lookup_elem(&counts, &at);

	if (count)
		*count += amount;
}

static __always_inline void add_current(__u32 what)
{
	struct process *process = current_process();

	if (process)
		add(process->role, what, 1);
}

/* Charge the time since this CPU's last event to the task that ran. */
static __always_inline void charge(struct control *control, struct task_struct *task, __u64 now)
{
	__u32 tgid = task->tgid;
	struct cpu *cpu = this_cpu();
	struct process *process;
	__u64 from;

	if (!cpu)
		return;
	from = cpu->since > control->began ? cpu->since : control->began;
	cpu->since = now;
	process = bpf_map_lookup_elem(&processes, &tgid);
	if (process && now > from)
		add(process->role, CPU_NS, now - from);
}

/* The key of a stack: its frames' hash (FNV-1a by words). 0 for no frames. */
static __always_inline __u64 keep(struct stack *stack)
{
	__u64 hash = 0xcbf29ce484222325 ^ stack->whole;
	__u32 i;

	if (!stack->length)
		return 0;
	for (i = 0; i < DEEPEST; i++) {
		if (i >= stack->length)
			break;
		hash = (hash ^ stack->frames[i]) * 0x100000001b3;
		hash ^= hash >> 29;
	}
	if (!bpf_map_lookup_elem(&stacks, &hash) && bpf_map_update_elem(&stacks, &hash, stack, BPF_ANY)) {
		lose();
		return LOST;
	}
	return hash;
}

static __always_inline void record(struct place *place, __u64 ns)
{
	struct sum first = {}, *sum = bpf_map_lookup_elem(&places, place);

	if (!sum) {
		bpf_map_update_elem(&places, place, &first, BPF_NOEXIST);
		sum = bpf_map_lookup_elem(&places, place);
	}
	if (!sum) {
		lose();
		return;
	}
	__sync_fetch_and_add(&sum->count, 1);
	__sync_fetch_and_add(&sum->ns, ns);
}

/* Fill in the current process and stacks. Samples, which may interrupt a switch, have a buffer of their own. */
static __always_inline int locate(void *context, struct process *process, struct place *place, __u32 buffer)
{
	struct stack *stack = bpf_map_lookup_elem(&buffers, &buffer);
	struct cpu *cpu = this_cpu();
	long bytes;

	if (!stack || !cpu)
		return -1;
	place->tgid = bpf_get_current_pid_tgid() >> 32;
	place->map_of = process->map_of;
	place->role = process->role;
	cpu->reading++;
	user_stack(stack, process->map_of);
	cpu->reading--;
	place->user = keep(stack);
	bytes = bpf_get_stack(context, stack->frames, sizeof(stack->frames), 0);
	stack->length = bytes > 0 ? bytes / sizeof(__u64) : 0;
	stack->whole = 0;
	place->kernel = keep(stack);
	return place->user == LOST || place->kernel == LOST ? -1 : 0;
}

SEC("perf_event")
int sample(void *context)
{
	struct process *process = current_process();
	struct place place = { .why = RUNNING };

	if (process && !locate(context, process, &place, 0))
		record(&place, 0);
	return 0;
}

/* A task of a role leaves its CPU. */
static __always_inline void leave(void *context, struct process *process,
				  struct task_struct *task, _Bool voluntary, __u64 now)
{
	struct wait wait = { .since = now };
	__u32 pid = task->pid;

	wait.place.why = voluntary ? BLOCKED : PREEMPTED;
	if (locate(context, process, &wait.place, 1))
		return;
	if (bpf_map_update_elem(&waits, &pid, &wait, BPF_ANY))
		lose();
}

/* A task gets a CPU: its wait, if it is one of a role's, is over. */
static __always_inline void resume(struct control *control, struct task_struct *task, __u64 now)
{
	__u32 pid = task->pid;
	struct wait *wait = bpf_map_lookup_elem(&waits, &pid);
	struct place place;
	__u64 from, until;

	if (!wait)
		return;
	place = wait->place;
	from = wait->since > control->began ? wait->since : control->began;
	until = wait->woken > from ? wait->woken : from;
	if (control->counting) {
		if (wait->woken && place.why == BLOCKED) {
			record(&place, until - from);
			place.why = QUEUED;
			record(&place, now - until);
		} else {
			record(&place, now - from);
		}
	}
	bpf_map_delete_elem(&waits, &pid);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(switched, _Bool preempt, struct task_struct *previous, struct task_struct *next,
	     unsigned int state)
{
	struct control *control = control_of();
	_Bool voluntary = !preempt && state;
	__u32 tgid = previous->tgid;
	struct process *process;
	__u64 now = bpf_ktime_get_ns();

	if (!control)
		return 0;
	if (control->waits && next->pid)
		resume(control, next, now);
	if (control->counting)
		charge(control, previous, now);
	if (!previous->pid)
		return 0;
	process = bpf_map_lookup_elem(&processes, &tgid);
	if (!process)
		return 0;
	if (control->counting)
		add(process->role, voluntary ? SWITCH_VOLUNTARY : SWITCH_INVOLUNTARY, 1);
	if (control->waits && !(state & TASK_DEAD))
		leave(ctx, process, previous, voluntary, now);
	return 0;
}

/* Run on each CPU at the end, since a task may have run since before its last switch. */
SEC("raw_tp")
int settle(void *context)
{
	struct control *control = control_of();

	if (control && control->counting)
		charge(control, bpf_get_current_task_btf(), bpf_ktime_get_ns());
	return 0;
}

/* The waker is the current task here; sched_wakeup may happen on the woken task's CPU. */
SEC("tp_btf/sched_waking")
int BPF_PROG(waking, struct task_struct *task)
{
	struct process *process = current_process();
	struct waker waker = {};
	__u32 pid = task->pid;

	if (!process)
		return 0;
	add(process->role, WAKEUP_SENT, 1);
	waker.role = process->role;
	waker.cpu = bpf_get_smp_processor_id();
	bpf_map_update_elem(&wakers, &pid, &waker, BPF_ANY);
	return 0;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(woken, struct task_struct *task)
{
	__u32 pid = task->pid;
	struct waker *waker = bpf_map_lookup_elem(&wakers, &pid);
	struct wait *wait = bpf_map_lookup_elem(&waits, &pid);

	if (wait && !wait->woken)
		wait->woken = bpf_ktime_get_ns();
	if (waker) {
		if (waker->cpu != task->thread_info.cpu)
			add(waker->role, WAKEUP_REMOTE, 1);
		bpf_map_delete_elem(&wakers, &pid);
	}
	return 0;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(syscall_begins, struct pt_regs *registers, long number)
{
	struct process *process = current_process();

	if (!process)
		return 0;
	add(process->role, is_32_bit() || number < 0 || number >= OTHER_SYSCALL ? OTHER_SYSCALL : number, 1);
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(syscall_ends, struct pt_regs *registers, long result)
{
	struct process *process;
	__u32 number, *family;

	if (result <= 0)
		return 0;
	process = current_process();
	if (!process || is_32_bit())
		return 0;
	number = syscall_number(registers);
	family = bpf_map_lookup_elem(&families, &number);
	if (family && *family)
		add(process->role, *family, result);
	return 0;
}

SEC("tp_btf/page_fault_user")
int BPF_PROG(fault_user)
{
	add_current(FAULT_USER);
	return 0;
}

SEC("tp_btf/page_fault_kernel")
int BPF_PROG(fault_kernel)
{
	struct cpu *cpu = this_cpu();

	/* The end of a user stack is often found by a fault; that is not the task's. */
	if (cpu && !cpu->reading)
		add_current(FAULT_KERNEL);
	return 0;
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(softirq, unsigned int vector)
{
	if (vector < SOFTIRQS)
		add_current(SOFTIRQ + vector);
	return 0;
}

SEC("tp_btf/net_dev_queue")
int BPF_PROG(packet_sent)
{
	add_current(PACKETS_SENT);
	return 0;
}

/* A child belongs to its parent's role, and has the parent's memory map until it executes a program. */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(forked, struct task_struct *parent, struct task_struct *child)
{
	__u32 from = parent->tgid, tgid = child->tgid;
	struct process *process, own;

	if (tgid == from)
		return 0;
	process = bpf_map_lookup_elem(&processes, &from);
	if (!process)
		return 0;
	own = *process;
	if (bpf_map_update_elem(&processes, &tgid, &own, BPF_ANY))
		lose();
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(executed, struct task_struct *task)
{
	__u32 tgid = task->tgid;
	struct process *process = bpf_map_lookup_elem(&processes, &tgid);

	if (process) {
		process->map_of = tgid;
		process->executions++;
	}
	return 0;
}

/* The kernel frees a leader after all its threads; the number may then be another process's. */
SEC("tp_btf/sched_process_free")
int BPF_PROG(freed, struct task_struct *task)
{
	__u32 pid = task->pid, tgid = task->tgid;

	bpf_map_delete_elem(&waits, &pid);
	if (pid == tgid)
		bpf_map_delete_elem(&processes, &tgid);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
