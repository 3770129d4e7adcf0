/*
 * Leasing the job's devices, and choosing free ones for `devices: any`. Lies between the rules on
 * kinds of devices (device_kind.c) and the names of leases (device_lease.h). Private to this
 * folder.
 */
#ifndef JR_DEVICE_CHOICE_H
#define JR_DEVICE_CHOICE_H

#include "resolve/rules.h"

/* Whether any free devices will do; false on the CPU, which has none. */
bool jr_devices_are_any(const struct jr_resolver *r);
/* DEVICES are free ones, as many as the ranks here need. */
enum jr_fired jr_rule_devices_any(struct jr_resolver *r, struct jr_field_value *);
/* Lease the devices of the ranks here, once all cells are known, and tell who else has them. False
 * after a complaint, or if memory runs out. */
bool jr_devices_lease(struct jr_resolver *r);

#endif
