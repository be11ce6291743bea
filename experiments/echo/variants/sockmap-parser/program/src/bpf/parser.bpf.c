// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
/* The set that sockmap servers usually load: a parser that takes each skb for a message, the
 * verdict, and a program for what the server itself would send, which is nothing. */

#include "redirect.bpf.h"

SEC("sk_skb/stream_parser")
int parser(struct __sk_buff *skb)
{
	return skb->len;
}

SEC("sk_skb/stream_verdict")
int verdict(struct __sk_buff *skb)
{
	return redirect(skb);
}

SEC("sk_msg")
int message(struct sk_msg_md *msg)
{
	return SK_PASS;
}

char LICENSE[] SEC("license") = "GPL";
