// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
/* One verdict program, no parser: each skb goes where its socket's bytes go, in the kernel. */

#include "redirect.bpf.h"

SEC("sk_skb/stream_verdict")
int verdict(struct __sk_buff *skb)
{
	return redirect(skb);
}

char LICENSE[] SEC("license") = "GPL";
