#define _GNU_SOURCE
#include "event_device.h"

#include <rte_bus_vdev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_eventdev.h>
#include <rte_lcore.h>
#include <rte_service.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HARDWARE "event_dlb2"
#define NO_SERVICE UINT32_MAX
/* A port of event_dsw takes 2; what is never used is only an address. */
#define MEMORY_MB "256"

/* Whether DPDK knows the thread because of event_device_upkeep(). */
static _Thread_local bool registered;

struct event_device {
    uint8_t id;
    uint8_t producer; /* its port */
    bool started;
    bool maintained;
    uint32_t service;
    char name[32]; /* of a device in software */
};

/* DPDK wants a core, and pins the calling thread to it: this one is all CPUs that the thread has. */
static void core(char *text, size_t size)
{
    cpu_set_t own;
    size_t length = snprintf(text, size, "0@(");
    CPU_ZERO(&own);
    sched_getaffinity(0, sizeof(own), &own);
    for (unsigned cpu = 0; cpu < CPU_SETSIZE && length < size; cpu++)
        if (CPU_ISSET(cpu, &own))
            length += snprintf(text + length, size - length, "%u,", cpu);
    if (length < size)
        text[length - 1] = ')';
}

/* Starts DPDK's environment, once in a process. NULL, or why it cannot be had. */
static const char *start(bool hardware)
{
    static bool started;
    static char why[160];
    char cores[1024];
    sigset_t all, before;

    if (started)
        return NULL;
    core(cores, sizeof(cores));
    char *arguments[] = {"task_queue", "--no-huge", "-m", MEMORY_MB, "--no-shconf", "--no-telemetry",
        "--iova-mode=va", "--log-level", "*:error", "--lcores", cores, "--no-pci"};
    int count = sizeof(arguments) / sizeof(*arguments) - (hardware ? 1 : 0);

    /* Its threads inherit that signals are not theirs. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int result = rte_eal_init(count, arguments);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (result < 0) {
        snprintf(why, sizeof(why), "DPDK's environment does not start: %s",
            rte_strerror(rte_errno));
        return why;
    }
    started = true;
    return NULL;
}

/* The number of a device with that driver, made if it is in software; or less than 0. */
static int find(const char *driver, char *name, size_t size)
{
    static unsigned number;

    if (strcmp(driver, HARDWARE) == 0)
        return rte_event_dev_count() > 0 ? 0 : -1;
    snprintf(name, size, "%s%u", driver, number++);
    return rte_vdev_init(name, NULL) == 0 ? rte_event_dev_get_dev_id(name) : -1;
}

static bool set_up_port(
    uint8_t id, uint8_t port, const struct rte_event_dev_info *info, uint32_t hint)
{
    struct rte_event_port_conf conf;

    if (rte_event_port_default_conf_get(id, port, &conf) != 0)
        return false;
    conf.new_event_threshold = info->max_num_events;
    /* No more ahead than need be: what is given to one consumer waits for that one. */
    conf.dequeue_depth = 1;
    conf.enqueue_depth = RTE_MIN(conf.enqueue_depth, info->max_event_port_enqueue_depth);
    conf.event_port_cfg |= hint;
    return rte_event_port_setup(id, port, &conf) == 0;
}

/* NULL, or what failed. */
static const char *set_up(
    struct event_device *device, unsigned consumers, const struct rte_event_dev_info *info)
{
    uint8_t id = device->id;
    struct rte_event_queue_conf queue;
    struct rte_event_dev_config config = {
        .dequeue_timeout_ns = info->min_dequeue_timeout_ns,
        .nb_events_limit = info->max_num_events,
        .nb_event_queues = 1,
        .nb_event_ports = consumers + 1,
        .nb_event_queue_flows = info->max_event_queue_flows,
        .nb_event_port_dequeue_depth = info->max_event_port_dequeue_depth,
        .nb_event_port_enqueue_depth = info->max_event_port_enqueue_depth,
    };

    if (rte_event_dev_configure(id, &config) != 0)
        return "the event device refuses its configuration";
    if (rte_event_queue_default_conf_get(id, 0, &queue) != 0)
        return "the event device has no queue";
    /* Tasks know no order but that of their classes. */
    queue.schedule_type = RTE_SCHED_TYPE_PARALLEL;
    if (rte_event_queue_setup(id, 0, &queue) != 0)
        return "the event device refuses its queue";
    for (unsigned port = 0; port < consumers; port++)
        if (!set_up_port(id, port, info, RTE_EVENT_PORT_CFG_HINT_CONSUMER)
            || rte_event_port_link(id, port, NULL, NULL, 0) != 1)
            return "the event device refuses a consumer's port";
    if (!set_up_port(id, consumers, info, RTE_EVENT_PORT_CFG_HINT_PRODUCER))
        return "the event device refuses the producer's port";
    device->service = NO_SERVICE;
    if (rte_event_dev_service_id_get(id, &device->service) == 0) {
        /* No core of DPDK's own runs it: event_device_upkeep() does. */
        rte_service_runstate_set(device->service, 1);
        rte_service_set_runstate_mapped_check(device->service, 0);
    }
    device->started = rte_event_dev_start(id) == 0;
    return device->started ? NULL : "the event device does not start";
}

struct event_device *event_device_open(
    const char *driver, unsigned consumers, const char **why)
{
    struct rte_event_dev_info info;
    struct event_device *device = calloc(1, sizeof(*device));

    if (device == NULL)
        return NULL;
    *why = start(strcmp(driver, HARDWARE) == 0);
    int id = *why == NULL ? find(driver, device->name, sizeof(device->name)) : -1;
    if (id < 0) {
        if (*why == NULL)
            *why = "there is no such event device; dlb2 needs Intel's DLB 2, bound to vfio-pci";
        free(device);
        return NULL;
    }
    device->id = id;
    device->producer = consumers;
    if (rte_event_dev_info_get(id, &info) != 0 || consumers + 1 > info.max_event_ports)
        *why = "the event device has too few ports, one for each thread and one more";
    else
        *why = set_up(device, consumers, &info);
    if (*why != NULL) {
        event_device_close(device);
        return NULL;
    }
    device->maintained = !(info.event_dev_cap & RTE_EVENT_DEV_CAP_MAINTENANCE_FREE);
    return device;
}

bool event_device_send(struct event_device *device, void *task, unsigned class)
{
    struct rte_event event = {
        .op = RTE_EVENT_OP_NEW,
        .sched_type = RTE_SCHED_TYPE_PARALLEL,
        .event_type = RTE_EVENT_TYPE_CPU,
        /* Drivers tell four priorities apart by the two highest bits. */
        .priority = class << 6,
        .event_ptr = task,
    };
    return rte_event_enqueue_new_burst(device->id, device->producer, &event, 1) == 1;
}

void *event_device_receive(struct event_device *device, unsigned consumer)
{
    struct rte_event event;

    /* It also tells the device that the last one is done. */
    return rte_event_dequeue_burst(device->id, consumer, &event, 1, 0) == 1 ? event.event_ptr
                                                                             : NULL;
}

void event_device_upkeep(struct event_device *device)
{
    if (device->maintained)
        rte_event_maintain(device->id, device->producer, RTE_EVENT_DEV_MAINT_OP_FLUSH);
    if (device->service == NO_SERVICE)
        return;
    /* A service runs on threads that DPDK knows; a process can have 128 of them. */
    if (rte_lcore_id() == LCORE_ID_ANY)
        registered = rte_thread_register() == 0;
    if (rte_lcore_id() != LCORE_ID_ANY)
        rte_service_run_iter_on_app_lcore(device->service, 0);
}

void event_device_leave(void)
{
    if (registered)
        rte_thread_unregister();
    registered = false;
}

void event_device_close(struct event_device *device)
{
    if (device->started)
        rte_event_dev_stop(device->id);
    rte_event_dev_close(device->id);
    if (device->name[0] != '\0')
        rte_vdev_uninit(device->name);
    free(device);
}
