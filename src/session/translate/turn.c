/*
 * How the values of other launchers' options are turned into those of fields, a function for each
 * of JR_TURNS, and the hosts of a line; internal.h declares it.
 */
#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "base/io.h"
#include "base/names.h"
#include "base/num.h"
#include "base/strv.h"
#include "host/scheduler/hostlist.h"
#include "session/translate/internal.h"
#include "spec/template_text.h"

#include "base/banned.h"

typedef int turn_function(struct jr_translator *, const struct jr_given *);

/* Nothing is put: what was given is needless here, or lost. */
static int turn_none(struct jr_translator *t, const struct jr_given *given, bool needless,
                     const char *why)
{
    jr_note_add(t, needless ? JR_VERDICT_NEEDLESS : JR_VERDICT_LOST, given->what, why);
    return 0;
}

static int turn_field(struct jr_translator *t, const struct jr_given *given)
{
    const char *equals = strchr(given->flag->field, '=');
    if (equals == NULL)
        return jr_put(t, given, given->flag->field, given->value);
    const char *path =
        jr_arena_strndup(t->arena, given->flag->field, (size_t)(equals - given->flag->field));
    return path == NULL ? -1 : jr_put(t, given, path, equals + 1);
}

static int turn_path(struct jr_translator *t, const struct jr_given *given)
{
    const char *path = jr_template_literal(t->arena, given->value);
    return path == NULL ? -1 : jr_put(t, given, given->flag->field, path);
}

static int turn_seconds(struct jr_translator *t, const struct jr_given *given)
{
    uint32_t seconds;
    if (!jr_num_u32(given->value, &seconds))
        return jr_given_wrong(t, given, "a number of seconds");
    const char *text = jr_arena_printf(t->arena, "%us", seconds);
    return text == NULL ? -1 : jr_put(t, given, given->flag->field, text);
}

static int turn_list(struct jr_translator *t, const struct jr_given *given)
{
    if (strcmp(given->value, "all") == 0)
        return jr_put(t, given, given->flag->field, "all");
    return jr_put_list(t, given, given->flag->field, jr_put_split(t, given->value, ','));
}

static int turn_pair(struct jr_translator *t, const struct jr_given *given)
{
    const char *equals = strchr(given->value, '=');
    if (equals == NULL) {
        jr_note_add(t, JR_VERDICT_NEEDLESS, given->what, "the ranks inherit jobrun's environment");
        return 0;
    }
    const char *name = jr_arena_strndup(t->arena, given->value, (size_t)(equals - given->value));
    return name == NULL ? -1 : jr_put_variable(t, given, name, equals + 1);
}

static int turn_binding(struct jr_translator *t, const struct jr_given *given)
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

/* N or MIN:MAX; a spec has a fixed number. */
static int turn_nodes(struct jr_translator *t, const struct jr_given *given)
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
static int turn_endpoint(struct jr_translator *t, const struct jr_given *given)
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

/* 0..3, or LOCAL_RANK:0..3 in a list. */
static int turn_streams(struct jr_translator *t, const struct jr_given *given)
{
    static const char *const words[] = {"none", "out", "err", "all"};
    static const char wants[] = "0, 1, 2, 3, or RANK:STREAMS,...";
    const char *value = given->value;
    if (value[0] >= '0' && value[0] <= '3' && value[1] == '\0')
        return jr_put(t, given, given->flag->field, words[value[0] - '0']);
    char **rules = jr_put_split(t, value, ',');
    for (size_t i = 0; rules != NULL && rules[i] != NULL; i++) {
        size_t digits = strspn(rules[i], "0123456789");
        const char *streams = rules[i] + digits;
        if (digits == 0 || strspn(streams, ":") != 1 || strspn(streams + 1, "0123") != 1 ||
            streams[2] != '\0')
            return jr_given_wrong(t, given, wants);
    }
    return jr_put(t, given, given->flag->field, value);
}

/* A template of Python's string.Template. */
static int turn_torch_prefix(struct jr_translator *t, const struct jr_given *given)
{
    static const char *const words[][2] = {
        {"${rank}", "%{rank}"}, {"${local_rank}", "%{local_rank}"}, {"${role_name}", "default"}};
    const char *text = jr_template_literal(t->arena, given->value);
    for (size_t i = 0; text != NULL && i < sizeof words / sizeof *words; i++) {
        struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
        jr_buf_replaced(&out, text, words[i][0], words[i][1]);
        text = jr_buf_keep(&out, t->arena);
    }
    if (text == NULL)
        return -1;
    if (strchr(text, '$') != NULL)
        return jr_given_wrong(t, given,
                              "${rank}, ${local_rank}, ${role_name} "
                              "and no other words with a dollar");
    return jr_put(t, given, "console.prefix", text);
}

/* ALL, NONE, NIL, NAME and NAME=VALUE, separated by commas. */
static int turn_export(struct jr_translator *t, const struct jr_given *given)
{
    char **items = jr_put_split(t, given->value, ',');
    bool all = false;
    if (items == NULL)
        return -1;
    for (size_t i = 0; items[i] != NULL; i++) {
        struct jr_given one = *given;
        one.what = one.value = items[i];
        all |= strcmp(items[i], "ALL") == 0;
        if (strchr(items[i], '=') != NULL && turn_pair(t, &one) != 0)
            return -1;
    }
    if (!all)
        jr_note_add(t, JR_VERDICT_CHANGED, "--export",
                    "ranks inherit the whole environment: see `env_remove`");
    return 0;
}

/* [ppr:]N:node, and modifiers behind it. */
static int turn_mapping(struct jr_translator *t, const struct jr_given *given)
{
    static const char *const orders[] = {"slot",    "core", "hwthread", "socket",
                                         "package", "numa", "l3cache"};
    char **parts = jr_put_split(t, given->value, ':');
    if (parts == NULL)
        return -1;
    size_t count = 0;
    while (parts[count] != NULL)
        count++;
    size_t ppr = strcmp(parts[0], "ppr") == 0;
    if (count >= ppr + 2 && strcmp(parts[ppr + 1], "node") == 0)
        return jr_put(t, given, "local_world_size", parts[ppr]);
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        if (count == 1 && strcmp(parts[0], orders[i]) == 0) {
            jr_note_add(t, JR_VERDICT_NEEDLESS, given->what, "ranks fill one node after the other");
            return 0;
        }
    jr_note_add(t, JR_VERDICT_LOST, given->what, "ranks fill one node after the other");
    return 0;
}

/* HOST[:SLOT,...][@HOST...]: the hosts to use, of those of the hostfile where there is one, and the
 * devices, which are the same on all nodes. */
static int turn_include(struct jr_translator *t, const struct jr_given *given)
{
    char **hosts = jr_put_split(t, given->value, '@');
    const char *slots = "";
    if (hosts == NULL)
        return -1;
    for (size_t i = 0; hosts[i] != NULL; i++) {
        size_t len = strcspn(hosts[i], ":");
        const char *own = jr_arena_strdup(t->arena, hosts[i] + len);
        if (own == NULL)
            return -1;
        if (i > 0 && strcmp(own, slots) != 0) {
            jr_note_add(t, JR_VERDICT_LOST, given->what,
                        "`devices` is the same on all nodes: state `hosts`, "
                        "and `devices` where they are alike");
            return 0;
        }
        hosts[i][len] = '\0';
        slots = own;
    }
    t->include = hosts;
    t->include_what = given->what;
    return slots[0] == '\0' ? 0 : jr_put_list(t, given, "devices", jr_put_split(t, slots + 1, ','));
}

static int turn_exclude(struct jr_translator *t, const struct jr_given *given)
{
    if (strchr(given->value, ':') != NULL) {
        jr_note_add(t, JR_VERDICT_LOST, given->what,
                    "state the `devices` to use, which are the same on all nodes");
        return 0;
    }
    t->exclude = jr_put_split(t, given->value, '@');
    t->exclude_what = given->what;
    return t->exclude == NULL ? -1 : 0;
}

const char *jr_turn_path(struct jr_translator *t, const char *path, const char *name)
{
    const char *star = path == NULL ? NULL : strchr(path, '*');
    if (star == NULL)
        return path;
    char *full = jr_arena_printf(t->arena, "%.*s%s", (int)(star - path), path, name);
    for (char *at = full == NULL ? NULL : full + (star - path); at != NULL && *at != '\0'; at++)
        *at = (char)(*at == '-' ? '_' : toupper((unsigned char)*at));
    return full;
}

/* A variable of the ranks; a switch of Horovod is 1. */
static int put_named(struct jr_translator *t, const struct jr_given *given, const char *path)
{
    path = jr_turn_path(t, path, given->name);
    const char *value = jr_template_literal(t->arena, given->value == NULL ? "1" : given->value);
    return path == NULL || value == NULL ? -1 : jr_put(t, given, path, value);
}

static int turn_named(struct jr_translator *t, const struct jr_given *given)
{
    return put_named(t, given, given->flag->field);
}

static int turn_axis(struct jr_translator *t, const struct jr_given *given)
{
    return turn_field(t, given) != 0 ? -1 : put_named(t, given, "env.*");
}

static int turn_megabytes(struct jr_translator *t, const struct jr_given *given)
{
    struct jr_given bytes = *given;
    uint32_t megabytes;
    if (!jr_num_u32(given->value, &megabytes))
        return jr_given_wrong(t, given, "a number of megabytes");
    bytes.value = jr_arena_printf(t->arena, "%" PRIu64, (uint64_t)megabytes << 20);
    return bytes.value == NULL ? -1 : turn_named(t, &bytes);
}

static int turn_mca(struct jr_translator *t, const struct jr_given *given)
{
    const char *path = jr_arena_printf(t->arena, "%s%s", given->flag->field, given->value);
    return path == NULL ? -1 : jr_put(t, given, path, jr_template_literal(t->arena, given->second));
}

static int turn_cpu(struct jr_translator *t, const struct jr_given *given)
{
    return jr_put(t, given, "device", "cpu") != 0
               ? -1
               : jr_put(t, given, "env.ACCELERATE_USE_CPU", "true");
}

static int turn_upper(struct jr_translator *t, const struct jr_given *given)
{
    char *value = jr_arena_strdup(t->arena, given->value);
    for (char *at = value; value != NULL && *at != '\0'; at++)
        *at = (char)toupper((unsigned char)*at);
    return value == NULL ? -1 : jr_put(t, given, given->flag->field, value);
}

static int turn_secret(struct jr_translator *t, const struct jr_given *given)
{
    struct jr_given quiet = {.what = jr_arena_printf(t->arena, "--%s ...", given->name)};
    return turn_none(t, &quiet, false, "put a secret into jobrun's environment");
}

static int turn_env_two(struct jr_translator *t, const struct jr_given *given)
{
    return jr_put_variable(t, given, given->value, given->second);
}

static int turn_gpus_each(struct jr_translator *t, const struct jr_given *given)
{
    const char *colon = strrchr(given->value, ':');
    if (strcmp(colon == NULL ? given->value : colon + 1, "1") == 0)
        return jr_put(t, given, "device_visibility", "one");
    return turn_none(t, given, false, "a rank sees all devices of its node, or one");
}

static int turn_restarts(struct jr_translator *t, const struct jr_given *given)
{
    if (strcmp(given->value, "0") != 0)
        return jr_put(t, given, given->flag->field, given->value);
    return turn_none(t, given, true, "a job is started once unless `restart` says otherwise");
}

static int turn_per_node(struct jr_translator *t, const struct jr_given *given)
{
    static const char *const kinds[] = {"cpu", "gpu", "xpu", "hpu", "npu"};
    const char *value = given->value;
    size_t i = 0, count = sizeof kinds / sizeof *kinds;
    while (i < count && strcmp(value, kinds[i]) != 0)
        i++;
    if (i == count)
        return jr_put(t, given, "local_world_size", value);
    bool gpu = strcmp(value, "gpu") == 0;
    if (gpu)
        jr_note_add(t, JR_VERDICT_CHANGED, given->what,
                    "the job needs NVIDIA GPUs; for AMD's, state device: rocm");
    return jr_put(t, given, "device", gpu ? "cuda" : value) != 0
               ? -1
               : jr_put(t, given, "local_world_size", "auto");
}

static int turn_node_range(struct jr_translator *t, const struct jr_given *given)
{
    const char *dash = strchr(given->value, '-');
    if (dash != NULL)
        jr_note_add(t, JR_VERDICT_CHANGED, given->what,
                    "a job has a fixed number of nodes: the greatest");
    return jr_put(t, given, "nodes", dash == NULL ? given->value : dash + 1);
}

static int turn_program(struct jr_translator *t, const struct jr_given *given)
{
    enum jr_turn turn = given->flag->turn;
    t->module |= turn == JR_TURN_MODULE;
    t->no_python |= turn == JR_TURN_NO_PYTHON;
    t->local_rank_argument &= turn != JR_TURN_USE_ENV;
    return 0;
}

static int turn_rendezvous(struct jr_translator *t, const struct jr_given *given)
{
    bool own = strcmp(given->value, "c10d") == 0 || strcmp(given->value, "static") == 0;
    return turn_none(t, given, own, "ranks meet at master_addr and master_port");
}

static int turn_distribution(struct jr_translator *t, const struct jr_given *given)
{
    return turn_none(t, given, strncmp(given->value, "block", 5) == 0,
                     "ranks fill one node after the other");
}

static int turn_run_mode(struct jr_translator *t, const struct jr_given *given)
{
    bool collective = strcmp(given->value, "collective") == 0;
    return turn_none(t, given, collective,
                     collective ? "all ranks are trainers"
                                : "all ranks run the same program: parameter servers need others");
}

static int turn_kill(struct jr_translator *t, const struct jr_given *given)
{
    bool keep = given->value != NULL && strcmp(given->value, "0") == 0;
    return jr_put(t, given, "on_failure", keep ? "continue" : "stop");
}

/* Which protocol it is decides the library of the program. */
static int turn_mpi(struct jr_translator *t, const struct jr_given *given)
{
    if (given->value != NULL && strcmp(given->value, "none") == 0)
        return jr_put(t, given, "mpi", "none");
    t->mpi = true;
    return 0;
}

static int turn_output(struct jr_translator *t, const struct jr_given *given)
{
    if (strstr(given->value, "timestamp") != NULL) /* dir= and file= name files */
        return jr_put(t, given, "console.timestamps", "true");
    return turn_none(t, given, true, "lines have a prefix, and each rank its own files");
}

static int turn_mpi_prefix(struct jr_translator *t, const struct jr_given *given)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    for (const char *at = given->value; *at != '\0'; at++) {
        if (at[0] != '%')
            jr_buf_char(&out, *at);
        else if (*++at == 'r')
            jr_buf_str(&out, "%{rank}");
        else
            return turn_none(t, given, false, "`console.prefix` knows %r, as %{rank}, alone");
    }
    const char *prefix = jr_buf_keep(&out, t->arena);
    return prefix == NULL ? 0 : jr_put(t, given, "console.prefix", prefix);
}

static int turn_log_dir(struct jr_translator *t, const struct jr_given *given)
{
    const struct jr_given unasked = {.what = NULL};
    return jr_put(t, &unasked, "tee", "all") != 0 ? -1 : turn_path(t, given);
}

static int turn_rank_logs(struct jr_translator *t, const struct jr_given *given)
{
    if (strcmp(given->value, "None") == 0)
        return 0;
    return jr_put(t, given, "redirects", "all") != 0 ? -1 : turn_path(t, given);
}

/* A part of a time: two digits, or any number. */
static bool read_part(const char *text, uint32_t *ret)
{
    return jr_num_u32(text + (text[0] == '0' && text[1] != '\0'), ret);
}

/* [D-] and M, M:S or H:M:S; with days H, H:M or H:M:S. False where it is no time. */
static bool read_time_limit(struct jr_translator *t, const char *text, uint64_t *ret_seconds)
{
    enum { MOST = 3 };
    uint32_t days = 0, numbers[MOST] = {0};
    size_t count = 0;
    const char *dash = strchr(text, '-');
    if (dash != NULL) {
        const char *digits = jr_arena_strndup(t->arena, text, (size_t)(dash - text));
        if (digits == NULL || !read_part(digits, &days))
            return false;
        text = dash + 1;
    }
    char **parts = jr_put_split(t, text, ':');
    for (; parts != NULL && parts[count] != NULL; count++)
        if (count == MOST || !read_part(parts[count], &numbers[count]))
            return false;
    uint64_t unit = dash != NULL || count == MOST ? 3600 : 60;
    *ret_seconds = numbers[0] * unit + numbers[1] * unit / 60 + numbers[2] + days * UINT64_C(86400);
    return parts != NULL;
}

static int turn_time(struct jr_translator *t, const struct jr_given *given)
{
    uint64_t seconds;
    if (strcmp(given->value, "0") == 0 || strcasecmp(given->value, "UNLIMITED") == 0)
        return jr_put(t, given, "timeouts.run", "0");
    if (!read_time_limit(t, given->value, &seconds))
        return jr_given_wrong(t, given, "minutes, or [D-]H:M:S");
    uint64_t unit = seconds % 3600 == 0 ? 3600 : seconds % 60 == 0 ? 60 : 1;
    const char *text = jr_arena_printf(t->arena, "%zu%c", (size_t)(seconds / unit),
                                       unit == 3600 ? 'h'
                                       : unit == 60 ? 'm'
                                                    : 's');
    return text == NULL ? -1 : jr_put(t, given, "timeouts.run", text);
}

static int turn_signal(struct jr_translator *t, const struct jr_given *given)
{
    const char *colon = strrchr(given->value, ':');
    const char *name = colon == NULL ? given->value : colon + 1;
    const char *at = strchr(name, '@');
    uint32_t seconds = 60, number;
    if (at != NULL && (!jr_num_u32(at + 1, &seconds) || seconds == 0))
        return jr_given_wrong(t, given, "SIGNAL@SECONDS");
    name = jr_arena_strndup(t->arena, name, strcspn(name, "@"));
    if (name != NULL && jr_num_u32(name, &number)) {
        char text[JR_SIGNAL_NAME];
        jr_signal_name(text, number > 64 ? 0 : (int)number);
        name = jr_arena_strdup(t->arena, text);
    }
    if (name == NULL)
        return -1;
    if (strncmp(name, "SIG", 3) == 0)
        name += 3;
    const char *before = jr_arena_printf(t->arena, "%us", seconds);
    if (before == NULL || jr_put(t, given, "deadline.before", before) != 0)
        return -1;
    return jr_put(t, given, "deadline.signal", name);
}

#define BY_SSH                                                                                     \
    "the ranks start there by ssh, and jobrun has to be on these hosts: "                          \
    "where it is not, state `engine.ssh.copy: true`"
#define BLANKS " \t\r"

/* What is larger is no list of hosts. */
enum { MOST_BYTES = 1 << 20, MOST_HOSTS = 4096 };

/* A host, and how many slots it has where any are stated. */
struct place {
    char *name;
    uint32_t slots;
};

struct places {
    struct place *items;
    size_t count;
    bool stated; /* a number of slots, or a host more than once */
    const char *user;
};

/* "4" of slots, which may be more than one word for a host; false: none. */
static bool add_host_place(struct jr_translator *t, struct places *to, const char *name,
                           const char *slots)
{
    uint32_t number = 1;
    if (slots != NULL && (!jr_num_u32(slots, &number) || number == 0))
        return false;
    to->stated |= slots != NULL;
    for (size_t i = 0; i < to->count; i++)
        if (strcmp(to->items[i].name, name) == 0) {
            to->stated = true;
            to->items[i].slots += number;
            return true;
        }
    struct place *place = jr_arena_push(t->arena, &to->items, &to->count, sizeof *place);
    if (place != NULL)
        *place = (struct place){jr_arena_strdup(t->arena, name), number};
    return to->count <= MOST_HOSTS;
}

/* HOST or HOST:SLOTS; an address of IPv6 has more colons, and no slots. */
static bool add_host_word(struct jr_translator *t, struct places *to, char *word, const char *slots)
{
    char *colon = strchr(word, ':');
    if (colon != NULL && strchr(colon + 1, ':') == NULL) {
        *colon = '\0';
        slots = colon + 1;
    }
    return *word != '\0' && add_host_place(t, to, word, slots);
}

/* Slots are ranks, unless an option before has said how many a node has. */
static int put_slots(struct jr_translator *t, const struct jr_given *given,
                     const struct places *places)
{
    char **slots = jr_arena_array(t->arena, places->count + 1, sizeof *slots);
    if (!places->stated || jr_doc_get(t->to->spec, "local_world_size") != NULL)
        return 0;
    for (size_t i = 0; slots != NULL && i < places->count; i++)
        slots[i] = jr_arena_printf(t->arena, "%" PRIu32, places->items[i].slots);
    if (slots != NULL && places->count == 1)
        return jr_put(t, given, "local_world_size", slots[0]);
    return jr_put_list(t, given, "local_world_size", slots);
}

static int put_places(struct jr_translator *t, const struct jr_given *given,
                      const struct places *places)
{
    char **names = jr_arena_array(t->arena, places->count + 1, sizeof *names);
    if (names == NULL)
        return -1;
    for (size_t i = 0; i < places->count; i++)
        names[i] = places->items[i].name;
    /* A host alone that is this machine: the ranks start here, without ssh. */
    bool here =
        places->count == 1 && (strcmp(names[0], "localhost") == 0 ||
                               strcmp(names[0], "127.0.0.1") == 0 || strcmp(names[0], "::1") == 0);
    if (t->launcher->ssh && here) {
        if (jr_put(t, given, "nodes", "1") != 0)
            return -1;
        return put_slots(t, given, places);
    }
    if (jr_put_list(t, given, "hosts", names) != 0 || put_slots(t, given, places) != 0)
        return -1;
    if (places->user != NULL)
        jr_note_add(t, JR_VERDICT_LOST, places->user,
                    "which user logs in on a host belongs into ~/.ssh/config");
    if (t->launcher->ssh) { /* have jobrun start the ranks of `hosts` by ssh */
        if (jr_doc_find(t->to->spec, "engine.ssh") == NULL &&
            !jr_node_set_path(t->arena, t->to->spec, "engine.ssh", jr_node_mapping(t->arena)))
            return -1;
        jr_note_add(t, JR_VERDICT_CHANGED, given->what, BY_SSH);
    } else if (places->count > 1)
        jr_note_add(t, JR_VERDICT_CHANGED, given->what,
                    "start jobrun on each of them, with a --run-id that all "
                    "share; or once, with --engine ssh");
    return 0;
}

static int turn_hosts(struct jr_translator *t, const struct jr_given *given)
{
    struct places places = {0};
    char **words = jr_put_split(t, given->value, ',');
    for (size_t i = 0; words != NULL && words[i] != NULL; i++)
        if (!add_host_word(t, &places, words[i], NULL))
            return jr_given_wrong(t, given,
                                  "hosts as HOST or HOST:SLOTS, where SLOTS is "
                                  "an integer of at least 1");
    return words == NULL ? -1 : put_places(t, given, &places);
}

/* The next word behind a host: KEY=VALUE, "KEY = VALUE" or "KEY VALUE". False where it is something
 * else. */
static bool read_setting(char **rest, char *word, struct places *to, const char **slots)
{
    char *value = strchr(word, '=');
    if (value != NULL)
        *value++ = '\0';
    while (value == NULL || *value == '\0' || strcmp(value, "=") == 0)
        if ((value = strsep(rest, BLANKS)) == NULL)
            return false;
    if (strncmp(word, "slot", 4) == 0 || strcmp(word, "count") == 0)
        *slots = value;
    else if (strncmp(word, "user", 4) == 0)
        to->user = value;
    return isalpha((unsigned char)*word) != 0;
}

/* A line of a hostfile: of Open MPI, MPICH, DeepSpeed, a scheduler. */
static bool add_hostfile_line(struct jr_translator *t, struct places *to, char *line)
{
    line[strcspn(line, "#")] = '\0';
    line += strspn(line, BLANKS);
    if (*line == '\0')
        return true;
    char *host = strsep(&line, BLANKS);
    const char *slots = NULL;
    /* Behind the host its slots, alone or by name, and what is no number of ranks, such as
     * max_slots=8. */
    for (char *word; (word = strsep(&line, BLANKS)) != NULL;) {
        if (*word == '\0')
            continue;
        if (word[strspn(word, "0123456789")] == '\0') { /* HOST SLOTS ... */
            slots = word;
            break;
        }
        if (!read_setting(&line, word, to, &slots))
            return false;
    }
    char *at = strchr(host, '@');
    if (at != NULL) { /* USER@HOST */
        to->user = host;
        *at = '\0';
        host = at + 1;
    }
    return add_host_word(t, to, host, slots);
}

/* The hosts of a file, or why there are none. Returns NULL: all is well. */
static const char *read_hostfile(struct jr_translator *t, const char *path, struct places *ret)
{
    struct jr_error err = {0};
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    if (jr_io_read_file(&text, AT_FDCWD, path, MOST_BYTES, &err) != 0)
        return jr_arena_strdup(t->arena, err.text);
    char *at = jr_buf_keep(&text, t->arena);
    for (unsigned line = 1; at != NULL; line++)
        if (!add_hostfile_line(t, ret, strsep(&at, "\n")))
            return jr_arena_printf(t->arena,
                                   "line %u of %s is not one of a hostfile, "
                                   "such as 'node1 slots=4'",
                                   line, path);
    return ret->count == 0 ? jr_arena_printf(t->arena, "%s names no host", path) : NULL;
}

static int turn_hostfile(struct jr_translator *t, const struct jr_given *given)
{
    struct places places = {0};
    struct jr_error *err = t->err, wrong = {0};
    t->hostfile = true;
    if (jr_hosts_count(t) > 0) {
        jr_note_add(t, JR_VERDICT_CHANGED, given->what,
                    "the line itself names the hosts, and the file was not "
                    "read: state their slots in `local_world_size`");
        return 0;
    }
    const char *why = read_hostfile(t, given->value, &places);
    t->err = &wrong;
    if (why == NULL && put_places(t, given, &places) != 0)
        why = wrong.text[0] == '\0'
                  ? "out of memory"
                  : jr_arena_printf(t->arena, "%s names what is no host", given->value);
    t->err = err;
    if (why != NULL)
        jr_note_add(t, JR_VERDICT_LOST, given->what,
                    jr_arena_printf(t->arena,
                                    "%s: translate the line where the file is, or write its hosts "
                                    "into `hosts: [a, b]` and their slots into `local_world_size: "
                                    "[4, 4]`",
                                    why));
    return 0;
}

static int turn_nodelist(struct jr_translator *t, const struct jr_given *given)
{
    struct jr_strv hosts = {0};
    const char *bad;
    if (strchr(given->value, '/') != NULL)
        return turn_hostfile(t, given);
    if (!jr_hostlist_expand(&hosts, t->arena, given->value, &bad))
        return jr_given_wrong(t, given, "hosts as gpu01,gpu[02-04]");
    return jr_put_list(t, given, "hosts", hosts.items);
}

uint32_t jr_hosts_count(const struct jr_translator *t)
{
    const struct jr_node *hosts = jr_doc_get(t->to->spec, "hosts");
    return hosts != NULL && hosts->kind == JR_NODE_SEQUENCE ? (uint32_t)hosts->count : 0;
}

/* A list of hosts and, if it is as long, that of their ranks: keep what `kept` says. */
static void keep_hosts(struct jr_translator *t, const bool *kept)
{
    struct jr_node *hosts = jr_doc_get(t->to->spec, "hosts");
    struct jr_node *ranks = jr_doc_get(t->to->spec, "local_world_size");
    size_t count = 0, all = hosts->count;
    bool both = ranks != NULL && ranks->kind == JR_NODE_SEQUENCE && ranks->count == all;
    for (size_t i = 0; i < all; i++) {
        if (!kept[i])
            continue;
        hosts->items[count] = hosts->items[i];
        if (both)
            ranks->items[count] = ranks->items[i];
        count++;
    }
    hosts->count = count;
    if (both)
        ranks->count = count;
}

static void hosts_choose(struct jr_translator *t, char *const *named, bool others)
{
    const struct jr_node *hosts = jr_doc_get(t->to->spec, "hosts");
    uint32_t count = jr_hosts_count(t), left = 0;
    bool *kept = jr_arena_array(t->arena, count, sizeof *kept);
    for (uint32_t i = 0; kept != NULL && i < count; i++) {
        char *const *at = named;
        while (*at != NULL && strcmp(*at, hosts->items[i]->text) != 0)
            at++;
        kept[i] = (*at != NULL) != others;
        left += kept[i];
    }
    if (left > 0)
        keep_hosts(t, kept);
}

void jr_hosts_cut(struct jr_translator *t, uint32_t first)
{
    uint32_t count = jr_hosts_count(t);
    bool *kept = jr_arena_array(t->arena, count, sizeof *kept);
    for (uint32_t i = 0; kept != NULL && i < count; i++)
        kept[i] = i < first;
    if (kept != NULL && count > first)
        keep_hosts(t, kept);
}

/* ssh's port or its key: words for ssh, behind those that are there. */
static int turn_ssh(struct jr_translator *t, const struct jr_given *given)
{
    const char *letter = strstr(given->flag->names, "port") != NULL ? "-p" : "-i";
    struct jr_node *words = jr_doc_find(t->to->spec, "engine.ssh.options");
    if (words == NULL) {
        words = jr_node_sequence(t->arena);
        if (!jr_node_set_path(t->arena, t->to->spec, "engine.ssh.options", words))
            return -1;
    }
    jr_node_append(t->arena, words, jr_put_scalar(t, letter));
    jr_node_append(t->arena, words, jr_put_scalar(t, given->value));
    return 0;
}

static int turn_no_ssh(struct jr_translator *t, const struct jr_given *given)
{
    jr_note_add(t, JR_VERDICT_CHANGED, given->what,
                "start a jobrun on each host, with its --node-rank and a --run-id that all share");
    t->no_ssh = true;
    return 0;
}

static int turn_ips(struct jr_translator *t, const struct jr_given *given)
{
    if (strcmp(given->value, "127.0.0.1") == 0)
        return jr_put(t, given, "nodes", "1");
    return turn_hosts(t, given);
}

#define TURN_ROW(name, function) [JR_TURN_##name] = turn_##function,

int jr_turn(struct jr_translator *t, const struct jr_given *given)
{
    static turn_function *const turns[] = {JR_TURNS(TURN_ROW)};
    return turns[given->flag->turn](t, given);
}

/* The hosts that the filters of deepspeed and --num_nodes leave. */
static int choose_hosts(struct jr_translator *t)
{
    uint32_t nodes = jr_put_count(t, "nodes");
    if (t->include != NULL && jr_hosts_count(t) > 0) {
        hosts_choose(t, t->include, false);
    } else if (t->include != NULL) {
        struct jr_buf list JR_BUF_CLEANUP = JR_BUF_INIT;
        for (char **at = t->include; *at != NULL; at++)
            jr_buf_printf(&list, "%s%s", at == t->include ? "" : ",", *at);
        const struct jr_given given = {.what = t->include_what,
                                       .value = jr_buf_keep(&list, t->arena)};
        if (given.value == NULL || turn_hosts(t, &given) != 0)
            return -1;
    }
    if (t->exclude != NULL && jr_hosts_count(t) > 0)
        hosts_choose(t, t->exclude, true);
    else if (t->exclude != NULL)
        jr_note_add(t, JR_VERDICT_LOST, t->exclude_what, "state the `hosts` to use");
    if (nodes > 0)
        jr_hosts_cut(t, nodes);
    if (t->no_ssh)
        (void)jr_put_drop(t, "engine");
    return 0;
}

/* Put 1 into a field, as the launcher does where the line says nothing. */
static int put_default(struct jr_translator *t, const char *whose, const char *path)
{
    const struct jr_given unasked = {.what = whose};
    return jr_put(t, &unasked, path, "1");
}

int jr_turn_finish(struct jr_translator *t)
{
    const struct jr_given paddle = {.what = "paddle.distributed.launch"};
    char profile[] = "paddle", *profiles[] = {profile, NULL};
    const struct jr_node *spec = t->to->spec;
    bool nodes = jr_doc_get(spec, "nodes") != NULL, hosts = jr_doc_get(spec, "hosts") != NULL;
    bool local = jr_doc_get(spec, "local_world_size") != NULL;
    bool ranks = local || jr_doc_get(spec, "world_size") != NULL;
    switch (t->launcher->finish) {
    case JR_FINISH_TORCHRUN:
        if (!local && put_default(t, "torchrun's default", "local_world_size") != 0)
            return -1;
        return nodes ? 0 : put_default(t, "torchrun's default", "nodes");
    case JR_FINISH_SRUN: /* with a number of nodes and nothing else, one task on each */
        return !nodes || ranks ? 0 : put_default(t, "srun's default", "local_world_size");
    case JR_FINISH_MPI:
        t->mpi = true;
        return jr_hosts_count(t) == 0 || ranks || t->hostfile
                   ? 0
                   : put_default(t, "mpirun's default", "local_world_size");
    case JR_FINISH_PADDLE: /* its programs read the variables of its own profile */
        if (jr_put_list(t, &paddle, "env_profiles", profiles) != 0)
            return -1;
        return nodes || hosts ? 0 : put_default(t, paddle.what, "nodes");
    case JR_FINISH_DEEPSPEED: /* this node, where the line says nothing of others */
        if (choose_hosts(t) != 0)
            return -1;
        return t->hostfile || jr_doc_get(spec, "nodes") != NULL ||
                       jr_doc_get(spec, "hosts") != NULL || jr_doc_get(spec, "node_rank") != NULL ||
                       jr_doc_get(spec, "master_addr") != NULL
                   ? 0
                   : put_default(t, "deepspeed's default", "nodes");
    case JR_FINISH_HOROVOD: /* ranks find each other by a server of horovodrun's, or by MPI, whose
                               process manager jobrun is */
        jr_note_add(t, t->mpi ? JR_VERDICT_CHANGED : JR_VERDICT_LOST, "hvd.init()",
                    t->mpi ? "it finds its ranks through MPI, if Horovod was built with "
                             "it; without, it sees a single rank"
                           : "horovodrun's own server is not started, and it sees a single rank; "
                             "if Horovod was built with MPI, it finds its ranks by env_profiles: "
                             "[torch, mpi]; torch.distributed works as it is");
        break;
    case JR_FINISH_NONE:
        break;
    }
    return 0;
}
