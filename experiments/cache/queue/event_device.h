/* DPDK's event devices: a driver in software, or Intel's hardware, by one and the same code.
 *
 * One queue of the device, one port for the producer, one for each consumer. The device decides
 * which consumer's port a task goes to, and gives it one task ahead of the one that is being run.
 */
#ifndef EVENT_DEVICE_H
#define EVENT_DEVICE_H

#include <stdbool.h>

struct event_device;

/* `driver`: event_sw, event_dsw or event_dlb2. NULL, and in `why` the reason, if there is none.
 * The first call of a process starts DPDK's environment, without huge pages. */
struct event_device *event_device_open(
    const char *driver, unsigned consumers, const char **why);

/* By one thread at a time, whichever. False: the device takes no more. */
bool event_device_send(struct event_device *device, void *task, unsigned class);

/* By consumer `consumer` only. NULL: nothing has come to its port. */
void *event_device_receive(struct event_device *device, unsigned consumer);

/* What a driver in software wants a CPU for: to schedule, to pass on what it holds back. By one
 * thread at a time, as event_device_send(). */
void event_device_upkeep(struct event_device *device);

/* By a consumer that will not come back. */
void event_device_leave(void);

/* After the last consumer has left. */
void event_device_close(struct event_device *device);

#endif
