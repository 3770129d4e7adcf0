/* Kinds of devices, which backend.c knows, and the devices of the facts, which
 * device_kind.c looks for. Private to this folder. */
#ifndef JR_DEVICE_KIND_H
#define JR_DEVICE_KIND_H

#include "host/host.h"

struct jr_field_value;
struct jr_resolver;
struct jr_spec;

/* What there is to know about a kind of device. */
struct jr_device_kind {
    const char *vendor;     /* "NVIDIA" */
    const char *visibility; /* "CUDA_VISIBLE_DEVICES"; NULL: none */
    const char *backend;    /* the default one; NULL: none is */
};

/* What is known of a kind; never NULL. */
const struct jr_device_kind *jr_device_kind(enum jr_device kind);

/* The word for a kind: "cuda". */
const char *jr_device_name(enum jr_device kind);

/* The kind of a spelled device ("cuda", "custom:foo"); false for other words.
 */
bool jr_device_parse(const char *name, enum jr_device *ret);

/* The vendor of a kind; NULL: none. Under the paddle profile an xpu is of
 * Kunlun. */
const char *jr_device_vendor(const struct jr_resolver *r, enum jr_device kind);

/* The variable that narrows which devices of the job's kind are seen; NULL:
 * none. */
const char *jr_device_variable(const struct jr_resolver *r);

/* PaddlePaddle calls Kunlun's devices xpu, everybody else Intel's. */
bool jr_device_is_kunlun(const struct jr_resolver *r, enum jr_device kind);

/* Whether the spec asks for a profile of variables. */
bool jr_spec_has_profile(const struct jr_spec *spec, const char *name);

/* The device of a kind that an entry of `devices` names; NULL: none, as for a
 * NULL name. */
const struct jr_host_device *jr_device_find(const struct jr_host *hw,
                                            enum jr_device kind,
                                            const char *name);

/* What follows from the list of devices that a rule has made. */
void jr_devices_finish(struct jr_resolver *r, struct jr_field_value *out);
/* How many devices of the job's kind are visible here. */
uint32_t jr_devices_usable(const struct jr_resolver *r);

#endif
