/* The devices of a spec: their kind, their backends, and the list of them held against the ranks
 * that are to have them. */
#ifndef JR_CHECK_DEVICES_H
#define JR_CHECK_DEVICES_H

#include "spec/check.h"

/* The kind, the list and the backends of devices agree. */
jr_check_rule jr_check_devices;

#endif
