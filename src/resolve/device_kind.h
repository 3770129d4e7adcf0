/* The rules on devices: their kind, and which of the facts they are. Private to this folder. */
#ifndef JR_DEVICE_KIND_H
#define JR_DEVICE_KIND_H

#include "host/host.h"
#include "resolve/rules.h"

/* The device of a kind that an entry of `devices` names; NULL: none, as for a NULL name. */
const struct jr_host_device *jr_device_find(const struct jr_host *hw, enum jr_device kind,
                                            const char *name);

/* What follows from the list of devices that a rule has made. */
void jr_devices_finish(struct jr_resolver *r, struct jr_field_value *out);
/* How many devices of the job's kind are visible here. */
uint32_t jr_devices_usable(const struct jr_resolver *r);

/* DEVICE is what the spec states. */
enum jr_fired jr_rule_device_stated(struct jr_resolver *r, struct jr_field_value *);

/* DEVICE is the kind that the hardware has. */
enum jr_fired jr_rule_device(struct jr_resolver *r, struct jr_field_value *out);

/* DEVICES are all that are visible. */
enum jr_fired jr_rule_devices(struct jr_resolver *r, struct jr_field_value *out);

/* Whether the spec names devices one by one, for all nodes alike. */
bool jr_devices_listed(const struct jr_resolver *r);

#endif
