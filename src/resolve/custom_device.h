/*
 * Devices of the user's own kind, `device: custom:NAME`, by facts beside the spec: NAME.facts, a
 * program that prints them, or NAME.facts.yaml, which is them. Neither: nothing is known of such
 * devices, and the spec has to say how many ranks there are.
 */
#ifndef JR_CUSTOM_DEVICE_H
#define JR_CUSTOM_DEVICE_H

#include "diag/diag.h"
#include "host/host.h"

/* A program that takes longer hangs. */
#define JR_CUSTOM_LIMIT_MS 10000u

struct jr_custom {
    const char *folder; /* of the spec, where the program runs, too */
    const char *device; /* "custom:NAME"; other words have no such facts */
    struct jr_span at;  /* where the spec says so */
    char *const *envp;
    unsigned limit_ms;
};

/* Whether a device is of the user's own kind, "custom:NAME"; NULL is none. */
bool jr_custom_is(const char *device);

/* Add the facts beside the spec to those of this machine. Mistakes go to
 * `diags`: at their position in the file, or in the program's output; a failure
 * of the program itself is reported at `device` in the spec. Returns
 * JR_STATUS_OK, JR_STATUS_UNRESOLVED, or if memory runs out JR_STATUS_LAUNCH.
 */
enum jr_status jr_custom_read(struct jr_host *hw, struct jr_arena *arena,
                              const struct jr_custom *custom, struct jr_diags *diags);

#endif
