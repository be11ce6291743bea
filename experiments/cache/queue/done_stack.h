/* Finished work on its way back: many threads put, the event loop takes all at once.
 *
 * Only who finds the stack empty needs to wake the event loop up (Treiber's stack, taken whole, so
 * that no node can come back between a look and an exchange).
 */
#ifndef DONE_STACK_H
#define DONE_STACK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct done_node {
    struct done_node *next;
};

struct done_stack {
    _Alignas(64) _Atomic(struct done_node *) top;
};

/* True: the stack was empty, and its taker must be told. */
static inline bool done_stack_put(struct done_stack *stack, struct done_node *node)
{
    struct done_node *top = atomic_load_explicit(&stack->top, memory_order_relaxed);
    do
        node->next = top;
    while (!atomic_compare_exchange_weak_explicit(
        &stack->top, &top, node, memory_order_release, memory_order_relaxed));
    return top == NULL;
}

/* Everything, what was finished first in front; NULL: nothing. */
static inline struct done_node *done_stack_take(struct done_stack *stack)
{
    struct done_node *node = atomic_exchange_explicit(&stack->top, NULL, memory_order_acquire);
    struct done_node *line = NULL;
    while (node != NULL) {
        struct done_node *next = node->next;
        node->next = line;
        line = node;
        node = next;
    }
    return line;
}

#endif
