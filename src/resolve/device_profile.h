/*
 * The facts of a machine that is not this one: `--on 2x8:H100`, a facts file, or what another node
 * has sent. Profiles are written by facts.c.
 */
#ifndef JR_DEVICE_PROFILE_H
#define JR_DEVICE_PROFILE_H

#include "base/buf.h"
#include "diag/diag.h"
#include "host/host.h"

/* Facts from --on: the shorthand NODESxDEVICES[:MODEL][,CPUSc][,MEMg], or the path of a facts file.
 * Into `arena`. Returns 0, or -1 with the mistakes, or that there was no memory, in `diags`. */
int jr_profile_load(struct jr_host *ret, struct jr_arena *arena, const char *profile,
                    struct jr_diags *diags);

/* The same for a profile that a spec states at `at`. Mistakes in the short form, or in the file as
 * a whole, are reported there; mistakes within the file, at their position in it. The facts' origin
 * is "the target". */
int jr_profile_load_target(struct jr_host *ret, struct jr_arena *arena, const char *profile,
                           struct jr_span at, struct jr_diags *diags);

/* What the mistakes in a profile, from the first one on, mean for who named it on the command line:
 * a profile that cannot be read is JR_STATUS_USAGE; one of a machine that cannot be is
 * JR_STATUS_UNRESOLVED; no memory is JR_STATUS_LAUNCH. */
enum jr_status jr_profile_status(const struct jr_diags *diags, size_t first);

/* Read facts that a node emitted; `name` is what findings call the text. Returns 0, or -1 with the
 * mistakes in `diags`. */
int jr_profile_read(struct jr_host *ret, struct jr_arena *arena, const char *name, const char *text,
                    size_t len, struct jr_diags *diags);

/* Append facts as the YAML that --on reads. */
void jr_profile_emit(struct jr_buf *out, const struct jr_host *hw);

/*
 * Devices of the user's own kind, `device: custom:NAME`, by facts beside the spec: NAME.facts, a
 * program that prints them, or NAME.facts.yaml, which is them. Neither: nothing is known of such
 * devices, and the spec has to say how many ranks there are.
 */
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
