/* Setters that the tables of several launchers use. */
#include "session/translate/setters.h"

#include <string.h>

#include "base/num.h"
#include "session/translate/flag.h"
#include "session/translate/put_value.h"

#include "base/banned.h"

int jr_set_field(struct jr_translator *t, const struct jr_given *given)
{
    const char *equals = strchr(given->flag->field, '=');
    if (equals == NULL)
        return jr_put(t, given, given->flag->field, given->value);
    const char *path =
        jr_arena_strndup(t->arena, given->flag->field, (size_t)(equals - given->flag->field));
    return path == NULL ? -1 : jr_put(t, given, path, equals + 1);
}

int jr_set_path(struct jr_translator *t, const struct jr_given *given)
{
    const char *path = jr_put_literal(t, given->value);
    return path == NULL ? -1 : jr_put(t, given, given->flag->field, path);
}

int jr_set_seconds(struct jr_translator *t, const struct jr_given *given)
{
    uint32_t seconds;
    if (!jr_num_u32(given->value, &seconds))
        return jr_given_wrong(t, given, "a number of seconds");
    const char *text = jr_arena_printf(t->arena, "%us", seconds);
    return text == NULL ? -1 : jr_put(t, given, given->flag->field, text);
}

int jr_set_list(struct jr_translator *t, const struct jr_given *given)
{
    if (strcmp(given->value, "all") == 0)
        return jr_put(t, given, given->flag->field, "all");
    return jr_put_list(t, given, given->flag->field, jr_put_split(t, given->value, ','));
}

int jr_set_pair(struct jr_translator *t, const struct jr_given *given)
{
    const char *equals = strchr(given->value, '=');
    if (equals == NULL) {
        jr_note_add(t, JR_VERDICT_NEEDLESS, given->what, "the ranks inherit jobrun's environment");
        return 0;
    }
    const char *name = jr_arena_strndup(t->arena, given->value, (size_t)(equals - given->value));
    return name == NULL ? -1 : jr_put_variable(t, given, name, equals + 1);
}

int jr_set_env_two(struct jr_translator *t, const struct jr_given *given)
{
    return jr_put_variable(t, given, given->value, given->second);
}

int jr_set_binding(struct jr_translator *t, const struct jr_given *given)
{
    static const struct {
        const char *theirs, *ours;
    } rows[] = {
        {"none", "none"},    {"no", "none"},       {"off", "none"},     {"core", "core"},
        {"cores", "core"},   {"hwthread", "core"}, {"threads", "core"}, {"rank", "core"},
        {"node", "numa"},    {"numa", "numa"},     {"socket", "numa"},  {"sockets", "numa"},
        {"package", "numa"}, {"ldoms", "numa"},    {"l3cache", "numa"}, {"core-complex", "numa"},
    };
    const char *value = given->value;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t len = strlen(rows[i].theirs);
        if (strncmp(value, rows[i].theirs, len) == 0 && (value[len] == '\0' || value[len] == ':'))
            return jr_put(t, given, given->flag->field, rows[i].ours);
    }
    jr_note_add(t, JR_VERDICT_LOST, given->what,
                "ranks can be bound to nothing, a core, a NUMA node or a device");
    return 0;
}

int jr_set_gpus_each(struct jr_translator *t, const struct jr_given *given)
{
    const char *colon = strrchr(given->value, ':');
    if (strcmp(colon == NULL ? given->value : colon + 1, "1") == 0)
        return jr_put(t, given, "device_visibility", "one");
    jr_note_add(t, JR_VERDICT_LOST, given->what, "a rank sees all devices of its node, or one");
    return 0;
}

int jr_set_restarts(struct jr_translator *t, const struct jr_given *given)
{
    if (strcmp(given->value, "0") != 0)
        return jr_put(t, given, given->flag->field, given->value);
    jr_note_add(t, JR_VERDICT_NEEDLESS, given->what,
                "a job is started once unless `restart` says otherwise");
    return 0;
}

/* N or MIN:MAX; a spec has a fixed number. */
int jr_set_nodes(struct jr_translator *t, const struct jr_given *given)
{
    char **ends = jr_put_split(t, given->value, ':');
    if (ends == NULL)
        return -1;
    bool range = ends[1] != NULL;
    if (range && ends[2] != NULL)
        return jr_given_wrong(t, given, "N or MIN:MAX");
    if (range && strcmp(ends[0], ends[1]) != 0)
        jr_note_add(t, JR_VERDICT_CHANGED, given->what,
                    "a job has a fixed number of nodes: the greatest");
    return jr_put(t, given, "nodes", ends[range ? 1 : 0]);
}

/* HOST, HOST:PORT or [V6]:PORT. */
int jr_set_endpoint(struct jr_translator *t, const struct jr_given *given)
{
    const char *value = given->value;
    const char *close = value[0] == '[' ? strchr(value, ']') : NULL;
    const char *host = close == NULL ? value : value + 1;
    const char *end = close == NULL ? strchrnul(value, ':') : close;
    const char *colon = strchr(end, ':');
    host = jr_arena_strndup(t->arena, host, (size_t)(end - host));
    if (host == NULL || jr_put(t, given, "master_addr", host) != 0)
        return -1;
    return colon == NULL ? 0 : jr_put(t, given, "master_port", colon + 1);
}

int jr_set_module(struct jr_translator *t, const struct jr_given *given)
{
    (void)given;
    t->module = true;
    return 0;
}

int jr_set_no_python(struct jr_translator *t, const struct jr_given *given)
{
    (void)given;
    t->no_python = true;
    return 0;
}

int jr_set_use_env(struct jr_translator *t, const struct jr_given *given)
{
    (void)given;
    t->local_rank_argument = false;
    return 0;
}
