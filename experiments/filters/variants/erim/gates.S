/* SPDX-License-Identifier: Apache-2.0 */
/* The only ways into the domain. Each opens it, calls one function of trusted.c, and closes it again.
 *
 * What was written is held against what should have been, on both sides: whoever jumps to one of the
 * WRPKRU with rights of his own choosing gets no further than the comparison behind it. Both values
 * are read from a page that cannot be written, not from registers, which he would have chosen too. */

    .macro SET_RIGHTS value
    mov     domain_rights+\value(%rip), %eax
    xor     %ecx, %ecx
    xor     %edx, %edx
1:  wrpkru
    cmp     domain_rights+\value(%rip), %eax
    jne     9f
    .pushsection domain_gates, "a"
    .long   1b - .              /* where scan.c may find a WRPKRU */
    .popsection
    .endm

    .macro GATE name, target
    .globl  \name
    .hidden \name
    .type   \name, @function
    .balign 16
\name:
    push    %rbx
    push    %r12
    push    %r13                /* and with that the stack is aligned */
    SET_RIGHTS 0
    call    \target
    mov     %rax, %r12
    mov     %rdx, %r13
    SET_RIGHTS 4
    mov     %r12, %rax
    mov     %r13, %rdx
    pop     %r13
    pop     %r12
    pop     %rbx
    ret
9:  ud2
    .size   \name, . - \name
    .endm

    .text
    GATE gate_filter, trusted_filter
    GATE gate_replace, trusted_replace
    GATE gate_counters, trusted_counters

    .section .note.GNU-stack, "", @progbits
