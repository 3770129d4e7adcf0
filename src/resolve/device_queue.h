/*
 * The queue of those who wait for devices, in the order in which they came.
 *
 * Each has a ticket: a number, under which a socket (lease_socket.h) listens for each device that
 * it may get. A device is this one's to take once nobody is left with a lower ticket for it. Until
 * then it is connected to the last one before it, and then to the holders of the device; the kernel
 * hangs up when one of these goes, or is killed. So nobody polls, and a place in the queue is lost
 * with its process alone.
 *
 *     struct jr_device_queue queue = JR_DEVICE_QUEUE_INIT;
 *     while (!jr_device_queue_is_ready(&queue, &request))
 *         ... wait until queue.epoll_fd is readable ...
 *     taken = jr_devices_take(&request, queue.ticket, chosen, leases);
 *     jr_device_queue_leave(&queue);
 */
#ifndef JR_DEVICE_QUEUE_H
#define JR_DEVICE_QUEUE_H

#include "base/backlog.h"
#include "resolve/device_lease.h"

/* A place in the queue. */
struct jr_device_queue {
    uint64_t ticket; /* 0: none was taken */
    int epoll_fd;    /* readable when it is worth asking again; -1: none */
    int *places;     /* the sockets of the ticket */
    size_t places_count;
    struct jr_backlog backlog; /* of the places */
    int *watched;              /* ends of connections to those who are in the way */
    size_t watched_count;
    int timer_fd; /* where one cannot be connected to; -1: none */
    bool asleep;  /* nothing has changed unless one of these is ready */
};

#define JR_DEVICE_QUEUE_INIT                                                                       \
    ((struct jr_device_queue){.epoll_fd = -1, .timer_fd = -1, .backlog = JR_BACKLOG_NONE})

/* Somebody who waits for devices, while a spec is resolved again and again. */
struct jr_device_wait {
    struct jr_arena arena;            /* of the request */
    struct jr_device_request request; /* what the last resolution lacked; with
                                         `need` 0 it lacked no device */
    struct jr_device_queue queue;
};

#define JR_DEVICE_WAIT_INIT ((struct jr_device_wait){.queue = JR_DEVICE_QUEUE_INIT})

/* Take a place at the end, for the devices of the request. 0, or -1 with errno; leave it in both
 * cases. */
int jr_device_queue_join(struct jr_device_queue *queue, const struct jr_device_request *request);

/* Whether as many devices are free, and this one's to take, as it needs. If not, `epoll_fd` is
 * readable once that may have changed. */
bool jr_device_queue_is_ready(struct jr_device_queue *queue,
                              const struct jr_device_request *request);

/* Give the place back; the next one has its turn. */
void jr_device_queue_leave(struct jr_device_queue *queue);

#endif
