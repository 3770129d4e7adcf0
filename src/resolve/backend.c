#include "resolve/backend.h"

#include <string.h>

#include <jobrun/contract.h>

#include "base/banned.h"

#define TRAITS(name, vendor, visibility, backend)                                                  \
    [JR_DEVICE_##name] = {vendor, visibility, backend},
static const struct jr_device_kind kinds[] = {JR_DEVICE_TRAITS(TRAITS)};

#define WORD(name, word, help) [JR_DEVICE_##name] = word,
static const char *const words[] = {JR_DEVICES(WORD)};

#define NAME(name, word, help) [JR_BACKEND_##name] = word,
static const char *const names[JR_BACKEND_COUNT] = {JR_BACKENDS(NAME)};

/* The kinds that each backend drives, as bits. */
#define DRIVES(name, kinds) [JR_BACKEND_##name] = (kinds),
static const uint32_t drives[JR_BACKEND_COUNT] = {JR_BACKEND_DRIVES(DRIVES)};

static bool spells_backend(const char *text, const char *name)
{
    if (strcmp(name, "custom") == 0)
        return strncmp(text, "custom:", 7) == 0 && text[7] != '\0';
    return strcmp(text, name) == 0;
}

const struct jr_device_kind *jr_device_kind(enum jr_device kind)
{
    return &kinds[kind];
}

const char *jr_device_name(enum jr_device kind)
{
    return words[kind];
}

bool jr_device_parse(const char *name, enum jr_device *ret)
{
    for (unsigned kind = 0; kind < JR_DEVICE_COUNT; kind++) {
        if (!spells_backend(name, words[kind]))
            continue;
        *ret = (enum jr_device)kind;
        return true;
    }
    return false;
}

static int find_backend(const char *name)
{
    for (int i = 0; i < JR_BACKEND_COUNT; i++)
        if (spells_backend(name, names[i]))
            return i;
    return -1;
}

static bool can_drive(const char *name, enum jr_device kind)
{
    int backend = find_backend(name);
    return backend >= 0 && (kind == JR_DEVICE_CUSTOM || (drives[backend] & (1u << kind)) != 0);
}

bool jr_spec_has_profile(const struct jr_spec *spec, const char *name)
{
    for (uint32_t i = 0; i < spec->env_profiles_count; i++)
        if (strcmp(spec->env_profiles[i], name) == 0)
            return true;
    return false;
}

bool jr_device_is_kunlun(const struct jr_resolver *r, enum jr_device kind)
{
    return kind == JR_DEVICE_XPU && jr_spec_has_profile(r->spec, "paddle");
}

const char *jr_device_vendor(const struct jr_resolver *r, enum jr_device kind)
{
    return jr_device_is_kunlun(r, kind) ? "Kunlun" : kinds[kind].vendor;
}

const char *jr_device_variable(const struct jr_resolver *r)
{
    enum jr_device kind = r->out->job.device;
    if (kind == JR_DEVICE_CUSTOM)
        return r->hw->custom_variable;
    return jr_device_is_kunlun(r, kind) ? "XPU_VISIBLE_DEVICES" : kinds[kind].visibility;
}

/* Paddle drives every device of a plugin's by XCCL. NULL: there is none. */
static const char *default_backend(const struct jr_resolver *r)
{
    enum jr_device kind = r->out->job.device;
    if (kind == JR_DEVICE_CUSTOM && jr_spec_has_profile(r->spec, "paddle"))
        return "xccl";
    return jr_device_is_kunlun(r, kind) ? "bkcl" : kinds[kind].backend;
}

enum jr_fired jr_rule_backend_env(struct jr_resolver *r, struct jr_field_value *out)
{
    const char *name = r->hw->environment.backend;
    if (name == NULL || name[0] == '\0')
        return JR_PASSED;
    out->text = name;
    if (find_backend(name) >= 0)
        return JR_FIRED;
    struct jr_diag *diag = jr_rules_refuse(
        r, JR_CODE_UNKNOWN_BACKEND, 0, "TORCH_DISTRIBUTED_BACKEND names no backend: '%s'", name);
    jr_diag_help(r->diags, diag, "unset it, or state backends");
    return JR_FAILED;
}

enum jr_fired jr_rule_backend(struct jr_resolver *r, struct jr_field_value *out)
{
    const struct jr_field_value *device = &JR_FIELD_VALUE(r, DEVICE);
    out->text = default_backend(r);
    if (out->text == NULL) {
        struct jr_diag *diag = jr_rules_clash(r, JR_CODE_FIELD_STILL_MISSING, JR_BIT(JR_DEVICE),
                                              "backends is MISSING, and %s has no default",
                                              jr_field_value_value(r, JR_DEVICE));
        jr_diag_help(r->diags, diag, "state it: " JR_SETTING("backends", "custom:NAME"));
        return JR_FAILED;
    }
    if (device->origin == JR_ORIGIN_HARDWARE)
        out->origin = JR_ORIGIN_HARDWARE;
    out->detail = jr_arena_printf(r->arena, "device %s", device->text);
    return JR_FIRED;
}

enum jr_fired jr_rule_backend_axis(struct jr_resolver *r, struct jr_field_value *out)
{
    out->text = JR_FIELD_VALUE(r, BACKEND).text;
    return JR_FIRED;
}

static void check_backend(struct jr_resolver *r, enum jr_field field)
{
    const struct jr_field_value *backend = &r->cells[field];
    const struct jr_field_value *device = &JR_FIELD_VALUE(r, DEVICE);
    bool copied = field != JR_BACKEND && !jr_field_value_stated(backend);
    if (!backend->known || !device->known || copied || can_drive(backend->text, r->out->job.device))
        return;
    struct jr_diag *diag =
        jr_rules_clash(r, JR_CODE_BACKEND_CANNOT_DRIVE, JR_BIT(field) | JR_BIT(JR_DEVICE),
                       "backend %s cannot drive %s", jr_field_value_value(r, field),
                       jr_field_value_say(r, JR_DEVICE));
    bool inherited = backend->origin == JR_ORIGIN_ENVIRONMENT;
    const char *usual = default_backend(r);
    jr_diag_help(r->diags, diag, "%s%s is the default of %s",
                 inherited ? "unset TORCH_DISTRIBUTED_BACKEND: " : "",
                 usual == NULL ? "none" : usual, jr_field_value_value(r, JR_DEVICE));
}

void jr_check_backends(struct jr_resolver *r)
{
    check_backend(r, JR_BACKEND);
    check_backend(r, JR_BACKEND_MODEL);
    check_backend(r, JR_BACKEND_PIPELINE);
    check_backend(r, JR_BACKEND_DATA);
}
