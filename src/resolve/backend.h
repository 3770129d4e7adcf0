/* What is known of each kind of device, and the rules on backends, which drive some of them.
 * Private to this folder. */
#ifndef JR_BACKEND_H
#define JR_BACKEND_H

#include "resolve/rules.h"

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

/* The vendor of a kind; NULL: none. Under the paddle profile an xpu is of Kunlun. */
const char *jr_device_vendor(const struct jr_resolver *r, enum jr_device kind);

/* The variable that narrows which devices of the job's kind are seen; NULL:
 * none. */
const char *jr_device_variable(const struct jr_resolver *r);

/* PaddlePaddle calls Kunlun's devices xpu, everybody else Intel's. */
bool jr_device_is_kunlun(const struct jr_resolver *r, enum jr_device kind);

/* Whether the spec asks for a profile of variables. */
bool jr_spec_has_profile(const struct jr_spec *spec, const char *name);

/* BACKEND is the word that TORCH_DISTRIBUTED_BACKEND has. */
enum jr_fired jr_rule_backend_env(struct jr_resolver *r, struct jr_field_value *out);

/* BACKEND is that of the device. */
enum jr_fired jr_rule_backend(struct jr_resolver *r, struct jr_field_value *out);

/* The backend of an axis is the default one. */
enum jr_fired jr_rule_backend_axis(struct jr_resolver *r, struct jr_field_value *);

/* Report backends that cannot drive the job's device. */
void jr_check_backends(struct jr_resolver *r);

#endif
