/* queue_stress KIND CONSUMERS TASKS CAPACITY SEED
 *
 * Sends tasks through a queue and back over the done stack. It fills the queue before there are any
 * consumers, then sends bursts, with pauses in which all consumers fall asleep, and ends the queue
 * while tasks wait. Every task must be run once and come back once; what a single consumer gets of
 * one class must be in order. Prints the wake-ups; exits with 1, and says why, when anything is
 * wrong, and with 3 where there is no such queue.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "done_stack.h"
#include "task_queue.h"

#define PATIENCE_MS 20000

struct task {
    struct done_node node;
    unsigned long number;
    unsigned class;
    /* Plain on purpose: the queue and the stack must order these. */
    unsigned long sent;
    unsigned long answer;
};

static struct task_queue *queue;
static struct done_stack done;
static int told;
static unsigned consumers;
static atomic_int *thread_ids; /* of the consumers; 0 until one has begun */
static atomic_ulong disorder;

/* The sanitiser knows nothing of the barriers in Concurrency Kit and DPDK. */
#ifdef __SANITIZE_THREAD__
void __tsan_acquire(void *);
void __tsan_release(void *);
static bool unseen;
#define RELEASE(task) (unseen ? __tsan_release(task) : (void)0)
#define ACQUIRE(task) (unseen ? __tsan_acquire(task) : (void)0)
#else
#define RELEASE(task) ((void)0)
#define ACQUIRE(task) ((void)0)
#endif

static bool is(const struct task_queue_kind *kind, const char *name)
{
    return strcmp(kind->name, name) == 0;
}

static void fail(const char *why, unsigned long found)
{
    fprintf(stderr, "queue_stress: %s (%lu)\n", why, found);
    exit(1);
}

static void *consume(void *number)
{
    unsigned long last[TASK_CLASSES] = {0};
    struct task *task;
    atomic_store(&thread_ids[(uintptr_t)number], gettid());
    while ((task = task_queue_pop(queue, (unsigned)(uintptr_t)number)) != NULL) {
        ACQUIRE(task);
        if (task->sent <= last[task->class])
            atomic_fetch_add(&disorder, 1);
        last[task->class] = task->sent;
        task->answer = task->sent * 3;
        if (done_stack_put(&done, &task->node) && eventfd_write(told, 1) != 0)
            fail("eventfd_write", 0);
    }
    return NULL;
}

static unsigned long collect(struct task *tasks, int wait_ms)
{
    struct pollfd told_now = {.fd = told, .events = POLLIN};
    if (poll(&told_now, 1, wait_ms) == 0)
        return 0;
    eventfd_t count;
    eventfd_read(told, &count);
    unsigned long found = 0;
    for (struct done_node *node = done_stack_take(&done), *next; node != NULL; node = next) {
        next = node->next;
        struct task *task = (struct task *)node;
        if (task->answer != task->sent * 3)
            fail("a task came back before it was run", task->number);
        if (task != &tasks[task->number] || task->sent == 0)
            fail("a task came back twice, or another", task->number);
        task->sent = 0;
        found++;
    }
    return found;
}

/* True while the kernel has this thread off its CPU. */
static bool sleeps(int thread_id)
{
    char path[64], line[128] = "";
    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", thread_id);
    FILE *stat = fopen(path, "r");
    if (stat == NULL)
        return false;
    char *state = fgets(line, sizeof(line), stat) == NULL ? NULL : strrchr(line, ')');
    fclose(stat);
    return state != NULL && state[2] == 'S';
}

/* A push that comes too early would find nobody to wake. */
static void wait_until_all_sleep(void)
{
    static const struct timespec moment = {.tv_nsec = 1000000};
    for (unsigned asleep = 0, waited_ms = 0; asleep < consumers; waited_ms++) {
        if (waited_ms > PATIENCE_MS)
            fail("consumers without work do not sleep", consumers - asleep);
        nanosleep(&moment, NULL);
        for (asleep = 0; asleep < consumers && sleeps(atomic_load(&thread_ids[asleep]));)
            asleep++;
    }
}

static unsigned long next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static struct task_queue *create(
    const struct task_queue_kind *kind, unsigned capacity, unsigned count)
{
    const char *why;
    struct task_queue *made = task_queue_create(kind, capacity, count, &why);
    if (made == NULL) {
        fprintf(stderr, "queue_stress: %s: %s\n", kind->name, why);
        exit(3);
    }
    return made;
}

static bool post(struct task *task, unsigned long number, uint64_t *random)
{
    *task = (struct task){
        .number = number, .class = next_random(random) % TASK_CLASSES, .sent = number + 1};
    RELEASE(task);
    return task_queue_push(queue, task, task->class);
}

/* What waits is taken by its class, and within one in the order in which it came. */
static void check_classes(const struct task_queue_kind *kind)
{
    static const unsigned classes[] = {3, 1, 0, 3, 2, 0};
    static const unsigned by_class[] = {2, 5, 1, 4, 0, 3};
    /* A scheduler gives the first to the only consumer before the others have come. */
    static const unsigned one_ahead[] = {0, 2, 5, 1, 4, 3};
    static const unsigned as_they_come[] = {0, 1, 2, 3, 4, 5};
    enum { COUNT = sizeof(classes) / sizeof(*classes) };
    struct task tasks[COUNT];
    struct task_queue *own = create(kind, COUNT, 1);
    const unsigned *expected = is(kind, "eventdev-dsw") ? as_they_come
        : is(kind, "eventdev-sw")                       ? one_ahead
                                                        : by_class;
    for (unsigned each = 0; each < COUNT; each++)
        if (!task_queue_push(own, &tasks[each], classes[each]))
            fail("a queue with room refuses", each);
    task_queue_stop(own);
    for (unsigned each = 0; each < COUNT; each++)
        if (task_queue_pop(own, 0) != &tasks[expected[each]])
            fail("a class was not served in its turn", each);
    if (task_queue_pop(own, 0) != NULL)
        fail("a stopped and empty queue gives tasks", 0);
    task_queue_destroy(own);
}

int main(int argc, char **argv)
{
    if (argc != 6)
        fail("usage: queue_stress KIND CONSUMERS TASKS CAPACITY SEED", argc);
    const struct task_queue_kind *kind = task_queue_kind(argv[1], strlen(argv[1]));
    if (kind == NULL)
        fail("no such kind", 0);
    check_classes(kind);
    consumers = atoi(argv[2]);
    unsigned long total = strtoul(argv[3], NULL, 10);
    unsigned capacity = atoi(argv[4]);
    uint64_t random = strtoull(argv[5], NULL, 10) | 1;
#ifdef __SANITIZE_THREAD__
    unseen = !is(kind, "mutex") && !is(kind, "spsc");
#endif
    queue = create(kind, capacity, consumers);
    struct task *tasks = calloc(total, sizeof(*tasks));
    pthread_t *threads = calloc(consumers, sizeof(*threads));
    thread_ids = calloc(consumers, sizeof(*thread_ids));
    if (tasks == NULL || threads == NULL || thread_ids == NULL)
        fail("no memory", 0);
    told = eventfd(0, EFD_NONBLOCK);
    unsigned long posted = 0, back = 0;
    /* While nobody takes any, a queue must be full at last. */
    while (posted < total && post(&tasks[posted], posted, &random))
        posted++;
    if (posted == total)
        fail("a queue takes more than it has room for", posted);
    for (unsigned each = 0; each < consumers; each++)
        pthread_create(&threads[each], NULL, consume, (void *)(uintptr_t)each);

    while (posted < total) {
        unsigned long burst = 1 + next_random(&random) % (3 * capacity);
        for (; burst > 0 && posted < total; burst--) {
            if (!post(&tasks[posted], posted, &random))
                break;
            posted++;
        }
        /* Every so often all that is under way comes back: consumers fall asleep, or are about to. */
        if (next_random(&random) % 4 == 0) {
            while (back < posted) {
                unsigned long found = collect(tasks, PATIENCE_MS);
                if (found == 0)
                    fail("tasks are lost, or a sleeper was not woken", posted - back);
                back += found;
            }
            if (next_random(&random) % 2 == 0)
                wait_until_all_sleep();
        } else {
            back += collect(tasks, 0);
        }
    }
    task_queue_stop(queue);
    for (unsigned each = 0; each < consumers; each++)
        pthread_join(threads[each], NULL);
    for (unsigned long found; back < posted && (found = collect(tasks, 0)) > 0;)
        back += found;
    if (back != posted)
        fail("a stopped queue kept tasks", posted - back);
    if (consumers == 1 && atomic_load(&disorder) > 0)
        fail("tasks of one class overtook each other", atomic_load(&disorder));
    printf("%lu wake-ups\n", queue->wakeups);
    task_queue_destroy(queue);
    free(tasks);
    free(threads);
    free(thread_ids);
    return 0;
}
