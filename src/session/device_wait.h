/*
 * Waiting for devices that other runs hold: what --wait means. The spec is resolved again once it
 * is this run's turn and enough devices are free, and with the facts of then, since hours may have
 * passed.
 */
#ifndef JR_DEVICE_WAIT_H
#define JR_DEVICE_WAIT_H

#include "resolve/device_lease.h"
#include "session/session.h"

/* A session that waits. */
struct jr_session_wait {
    struct jr_device_wait devices;
    uint64_t until_ns; /* CLOCK_MONOTONIC; UINT64_MAX: for ever */
    bool told;         /* that it waits */
};

/* Begin it, if the session's options say so; no place is taken yet. */
void jr_session_wait_open(struct jr_session_wait *wait, const struct jr_session *session);

/* Give the place in the queue back. */
void jr_session_wait_close(struct jr_session_wait *wait);

/* Wait until the devices that the last resolution lacked are free. Returns JR_STATUS_OK, and its
 * findings from number `first` on are dropped; what became of it if the time is over, with the
 * findings; or 128+N without them, after a signal N that stops a run and is blocked. */
enum jr_status jr_session_await_devices(struct jr_session *session, struct jr_session_wait *wait,
                                        size_t first, struct jr_error *err);

/* Sleep until it is the turn of a place in the queue. Returns 0; a signal that stops runs by the
 * policy, all of which are blocked; or -1 where that moment is over (CLOCK_MONOTONIC; UINT64_MAX:
 * there is none). */
int jr_session_sleep_in_queue(struct jr_device_queue *queue,
                              const struct jr_device_request *request,
                              const struct jr_policy *policy, uint64_t until_ns);

#endif
