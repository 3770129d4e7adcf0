/*
 * Device leases: which of a machine's devices the runs on it use.
 *
 * A run leases each device that its ranks get, for as long as it lasts, by a socket
 * (lease.h) that is named after the device's bus address or UUID. So all users of a network
 * namespace see the leases of all, whatever index a device has for them, and the kernel gives one
 * back when its holder dies.
 *
 *   jobrun-device-KEY         a lease; only one run can have it
 *   jobrun-device-KEY+N       that of another run, which shares the device
 *   jobrun-run-HASH-RUN_ID    beside each: which run its holder is
 *   jobrun-wait-KEY+TICKET    somebody waits for the device: jr_device_queue
 *   jobrun-devices            held for the moment in which devices are chosen
 *
 * Leases are advisory: nothing hinders a process from using a device. Anybody can take such names,
 * so that a user can keep devices from `devices: any`, as by running on them; who that is, the
 * kernel tells. The name of a run counts only if the process that holds the lease has made it.
 */
#ifndef JR_DEVICE_LEASE_H
#define JR_DEVICE_LEASE_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/backlog.h"
#include "host/host.h"
#include "resolve/lease.h"

/* The bytes of a device's key, its end included. */
#define JR_DEVICE_KEY_SIZE 64

/* The runs that can share one device, and are known to. */
#define JR_DEVICE_SHARERS_MOST 64

/* What a device is called in the names of its leases. `kind` is the spelled device ("cuda",
 * "custom:acme"); `name` is its index or UUID as the job has it. `device` is NULL if the facts do
 * not know the device. */
void jr_device_key(char ret[static JR_DEVICE_KEY_SIZE], const struct jr_host_device *device,
                   const char *kind, const char *name);

/* A lease that is held. */
struct jr_device_lease {
    char key[JR_DEVICE_KEY_SIZE];
    uint32_t slot; /* 0, or the N of one that shares the device */
    int fd;
    int note_fd; /* which run it is for; -1: that is not said */
};

#define JR_DEVICE_LEASE_NONE ((struct jr_device_lease){.fd = -1, .note_fd = -1})

/* Lease a device whoever else has it. 0, or -1 with errno. */
int jr_device_lease_share(struct jr_device_lease *ret, const char *key);

/* Say which run the lease is for. Where that cannot be said, the lease has only a process and a
 * user. */
void jr_device_lease_note(struct jr_device_lease *lease, const char *run_id);

/* Give it back. One that is not held is allowed. */
void jr_device_lease_release(struct jr_device_lease *lease);

/* A device and a number: the slot of a lease, or the ticket of a wait. */
struct jr_device_claim {
    const char *key;
    uint64_t number;
};

/* The names of all leases and waits, as they were at one moment. */
struct jr_device_claims {
    struct jr_arena arena;
    struct jr_device_claim *held, *awaited;
    size_t held_count, awaited_count;
    const char **notes; /* behind "jobrun-run-" */
    size_t notes_count;
};

/* Read them; /proc/net/unix. Where that cannot be read, or memory runs out, there are none. Free
 * with jr_device_claims_release. */
void jr_device_claims_read(struct jr_device_claims *ret);

/* Free the claims. */
void jr_device_claims_release(struct jr_device_claims *claims);

/* Whether any run has leased a device. */
bool jr_device_is_held(const struct jr_device_claims *claims, const char *key);

/* Who holds a lease, or waits. */
struct jr_device_user {
    struct jr_holder holder;
    char run[128]; /* "": not known */
};

/* Find the holder of a lease, as far as it is known. */
struct jr_device_user jr_device_user_of(const struct jr_device_claims *claims,
                                        const struct jr_device_claim *held);

/* The name of the socket by which a ticket waits for a device. */
void jr_device_wait_name(char ret[static JR_LEASE_NAME_SIZE], const char *key, uint64_t ticket);

/* Append "run 20261121-063012-train-3f9c (pid 4711 of user bob (uid 1001))", or only the
 * process. */
void jr_device_user_print(struct jr_buf *out, const struct jr_device_user *user);

/* Devices that a run needs. */
struct jr_device_request {
    const char *const *keys; /* of those that it may have, the best first */
    uint32_t count;
    uint32_t need;      /* how many of them, at most `count` */
    const char *around; /* the run whose rank asks: what only that one holds is
                           free for it. NULL: there is none */
};

/* Whether a device of the request is held by another run than that around it.
 */
bool jr_device_is_held_by_others(const struct jr_device_claims *claims,
                                 const struct jr_device_request *request, const char *key);

/* Whether a device of the request is held by another run than that around it, or awaited by
 * somebody with a ticket below `ticket` (0: by anybody). */
bool jr_device_is_away(const struct jr_device_claims *claims,
                       const struct jr_device_request *request, const char *key, uint64_t ticket);

/* Choose the first `need` devices that are not away for that ticket, and lease
 * them. `chosen`
 * gets their places in the request, `leases` (NULL: they are only looked for)
 * the leases, both in the order of the request. Returns how many could be had:
 * `need`, or fewer, and then nothing is leased. */
uint32_t jr_devices_take(const struct jr_device_request *request, uint64_t ticket, uint32_t *chosen,
                         struct jr_device_lease *leases);

/* Keep other jobruns from choosing devices until the descriptor is closed; waits for its turn for a
 * bounded time. -1: it went without. */
int jr_devices_lock(void);

/* Devices by the names that a job has for them, and by those of leases. */
struct jr_device_list {
    const char **names, **keys;
    uint32_t count;
};

/* Who asks: its own leases are nobody else's, and the run whose rank started it shares its devices
 * with it. */
struct jr_device_viewer {
    const struct jr_device_lease *own;
    uint32_t own_count;
    const char *around; /* the id of that run; NULL: there is none */
};

/* Append "0, 1 are held by run x (pid 7); 2 is held by pid 8": those of the list that others hold.
 * Returns how many holders there are; with 0 nothing was appended. */
size_t jr_device_holders_print(struct jr_buf *out, const struct jr_device_claims *claims,
                               const struct jr_device_list *list,
                               const struct jr_device_viewer *viewer);

/* Append "pid 7 waits for some of them, and came earlier", if somebody does who came before
 * `ticket` (0: at all). Returns whether. */
bool jr_device_waiters_print(struct jr_buf *out, const struct jr_device_claims *claims,
                             const struct jr_device_request *request, uint64_t ticket);

/*
 * The queue of those who wait for devices, in the order in which they came.
 *
 * Each has a ticket: a number, under which a socket (lease.h) listens for each device that
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
