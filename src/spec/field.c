#include "spec/field.h"

#include <string.h>

#include <jobrun/policy.h>

#include "base/restart_trigger.h"
#include "spec/fields.h"
#include "spec/sweep_axes.h"

#include "base/banned.h"

#define WORD(name, word, help) {word, help},

static const struct jr_spec_word word_device[] = {JR_DEVICES(WORD){0}};
static const struct jr_spec_word word_backend[] = {JR_BACKENDS(WORD){0}};
static const struct jr_spec_word word_bind[] = {JR_BINDS(WORD){0}};
static const struct jr_spec_word word_start[] = {JR_START_METHODS(WORD){0}};
static const struct jr_spec_word word_visible[] = {JR_VISIBILITIES(WORD){0}};
static const struct jr_spec_word word_failure[] = {JR_ON_FAILURES(WORD){0}};
static const struct jr_spec_word word_target[] = {JR_STOP_TARGETS(WORD){0}};
static const struct jr_spec_word word_threads[] = {JR_FORK_THREADS(WORD){0}};
static const struct jr_spec_word word_status[] = {JR_EXIT_STATUSES(WORD){0}};
static const struct jr_spec_word word_protocol[] = {JR_MPI_PROTOCOLS(WORD){0}};
static const struct jr_spec_word word_isolation[] = {JR_ISOLATIONS(WORD){0}};
static const struct jr_spec_word word_signal[] = {JR_ON_SIGNALS(WORD){0}};
static const struct jr_spec_word word_mode[] = {JR_LOG_MODES(WORD){0}};
static const struct jr_spec_word word_from[] = {JR_RESULT_FROMS(WORD){0}};
static const struct jr_spec_word word_progress[] = {JR_PROGRESS_FROMS(WORD){0}};
static const struct jr_spec_word word_code[] = {JR_CODE_MODES(WORD){0}};
static const struct jr_spec_word word_json[] = {JR_JSON_TYPES(WORD){0}};
static const struct jr_spec_word word_init[] = {JR_PYTHON_INITS(WORD){0}};
static const struct jr_spec_word word_dialect[] = {JR_MPI_DIALECTS(WORD){0}};
static const struct jr_spec_word word_collect[] = {JR_COLLECTS(WORD){0}};
static const struct jr_spec_word word_requeue[] = {JR_REQUEUE_CAUSES(WORD){0}};
static const struct jr_spec_word word_trigger[] = {JR_TRIGGERS(WORD){0}};
static const struct jr_spec_word word_goal[] = {JR_SWEEP_GOALS(WORD){0}};
static const struct jr_spec_word word_of[] = {JR_SWEEP_OFS(WORD){0}};
static const struct jr_spec_word word_devices[] = {
    {"all", "all that are visible"},
    {"any", "as many free ones as the ranks need"},
    {"none", "no device"},
    {0},
};
static const struct jr_spec_word word_links[] = {
    {"all", "all that git ignores"},
    {"none", "nothing"},
    {0},
};
static const struct jr_spec_word word_profile[] = {
    {"torch", "PyTorch, as torchrun sets them"},
    {"paddle", "PaddlePaddle, as its launch sets them"},
    {"megengine", "MegEngine"},
    {"mpi", "what Open MPI and MPICH set before MPI_Init"},
    {0},
};

#define TYPE(name, ...)    static const struct jr_spec_type type_##name = {__VA_ARGS__};
#define INTEGER(low, high) .kind = JR_KIND_INTEGER, .min = (low), .max = (high)
#define ONE_OF(table)      .kind = JR_KIND_WORD, .words = (table)
#define LIST_OF(name)      .kind = JR_KIND_LIST, .item = &type_##name
#define NAMES_OF(name)     .kind = JR_KIND_NAMES, .item = &type_##name

TYPE(VERSION, INTEGER(1, 1), .literal = true)
TYPE(COUNT, INTEGER(1, JR_RANKS_MAX))
TYPE(INDEX, INTEGER(0, JR_RANKS_MAX))
TYPE(WHOLE, INTEGER(0, UINT32_MAX))
TYPE(PORT, INTEGER(0, 65535))
TYPE(NUMBER, .kind = JR_KIND_NUMBER, .wants = "a number")
TYPE(FLAG, .kind = JR_KIND_BOOLEAN, .wants = "true or false")
TYPE(BASE, .kind = JR_KIND_BOOLEAN, .wants = "true or false", .literal = true, .gone = true)
TYPE(DURATION, .kind = JR_KIND_DURATION, .wants = "a duration such as 500ms, 30s or 1h30m")
TYPE(RANKS, .kind = JR_KIND_RANKS, .wants = "ranks such as 0-3,8, all or none")
TYPE(TRIGGER, .kind = JR_KIND_TRIGGER, .words = word_trigger,
     .wants = "exit:CODES, signal:NAMES, oom, hang, timeout, start, result or stderr:/REGEX/")
TYPE(PATTERN, .kind = JR_KIND_PATTERN, .wants = "a regular expression")
TYPE(SCALAR, .kind = JR_KIND_SCALAR, .wants = "a string, number or boolean")

TYPE(TEXT, .kind = JR_KIND_TEXT, .wants = "a string")
TYPE(TEMPLATE, .kind = JR_KIND_TEXT, .wants = "a string", .is_template = true)
TYPE(SHELL, .kind = JR_KIND_TEXT, .wants = "shell text", .is_template = true, .is_shell = true)
TYPE(SETUP, .kind = JR_KIND_TEXT, .wants = "shell text", .is_shell = true)
TYPE(NAME, .kind = JR_KIND_TEXT,
     .wants = "letters, digits, '.', '_' and '-', at most 63, a letter or digit first",
     .pattern = "^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$")

/* A name whose last part is a number would be taken for an address. */
#define OCTET "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
#define IPV4  "(" OCTET "\\.){3}" OCTET
#define IPV6                                                                                       \
    "(?=\\[[^\\]]*\\]$|[^\\[\\]]*$)(?=(?:[^:]*:){2})(?!.*:::)(?!.*::.*::)"                         \
    "(?!(?:[^:]*:){8})(?=.*::|(?:[^:]*:){7}[^:]|(?:[^:]*:){6}[0-9]*\\.)"                           \
    "\\[?(::)?([0-9A-Fa-f]{1,4}::?)*([0-9A-Fa-f]{1,4}|" IPV4 ")?"                                  \
    "(%[A-Za-z0-9._-]+)?\\]?"
#define HOST_PART "[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
#define HOST_NAME "(?=.{1,253}$)(?!(.*\\.)?[0-9]+\\.?$)" HOST_PART "(\\." HOST_PART ")*\\.?"
TYPE(ADDRESS, .kind = JR_KIND_TEXT, .is_address = true, .wants = "a host name or an address",
     .pattern = "^(" IPV4 "|" HOST_NAME "|" IPV6 ")$")
#define PORT                                                                                       \
    "(6553[0-5]|655[0-2][0-9]|65[0-4][0-9]{2}|6[0-4][0-9]{3}|[1-5][0-9]{4}|"                       \
    "[1-9][0-9]{0,3})"
TYPE(INIT_METHOD, .kind = JR_KIND_TEXT, .wants = "env://, tcp://HOST:PORT or file:///PATH",
     .pattern = "^(env://|tcp://[^/ ]+:" PORT "|file:///[^ ].*)$")
TYPE(DEVICE_ID, .kind = JR_KIND_TEXT, .wants = "a device's index or UUID",
     .pattern = "^(0|[1-9][0-9]*|[A-Za-z][A-Za-z0-9._/-]*)$")
TYPE(LOG_DIR, .kind = JR_KIND_PATH, .wants = "a path", .here = true)
TYPE(WORKDIR, .kind = JR_KIND_PATH, .wants = "a path", .is_template = true)

/* Names of Python, which may be of any script. */
#define PART   "[^\\s.:/\\\\()0-9-][^\\s.:/\\\\()]*"
#define DOTTED PART "(\\." PART ")*"
TYPE(MODULE, .kind = JR_KIND_TEXT, .is_python = true, .wants = "a module such as pkg.train",
     .pattern = "^(?!.*\\.py$)" DOTTED "$")
TYPE(FUNCTION, .kind = JR_KIND_TEXT, .is_python = true,
     .wants = "a module and its function, such as pkg.train:main",
     .pattern = "^(?!.*\\.py:)" DOTTED ":" DOTTED "$")
TYPE(SYMBOL, .kind = JR_KIND_TEXT, .wants = "the name of a C function",
     .pattern = "^[A-Za-z_][A-Za-z0-9_]*$")
TYPE(PATH, .kind = JR_KIND_PATH, .wants = "a path")
TYPE(PROGRAM, .kind = JR_KIND_PATH, .is_program = true, .wants = "a program or its path")

TYPE(TARGET, .kind = JR_KIND_PATH, .is_profile = true,
     .wants = "a machine such as 2x8:H100, or the path of a facts file")

TYPE(DEVICE, ONE_OF(word_device), .custom = true)
TYPE(BACKEND, ONE_OF(word_backend), .custom = true)
TYPE(START_METHOD, ONE_OF(word_start))
TYPE(VISIBILITY, ONE_OF(word_visible))
TYPE(BIND, ONE_OF(word_bind))
TYPE(ON_FAILURE, ONE_OF(word_failure))
TYPE(STOP_TARGET, ONE_OF(word_target))
TYPE(FORK_THREADS, ONE_OF(word_threads))
TYPE(EXIT_STATUS, ONE_OF(word_status))
TYPE(ISOLATION, ONE_OF(word_isolation))
TYPE(MPI_PROTOCOL, ONE_OF(word_protocol))
TYPE(ON_SIGNAL, ONE_OF(word_signal))
TYPE(SIGNALS, NAMES_OF(ON_SIGNAL), .wants = "a mapping of signals to forward, stop or ignore",
     .names = "signals such as USR1 or RTMIN+1",
     .pattern = "^(HUP|INT|QUIT|TERM|USR1|USR2|ALRM|WINCH|URG|PWR|TSTP|CONT|RTMIN(\\+([1-9]|[12][0-"
                "9]|30))?)$")
TYPE(HANG_SIGNAL, .kind = JR_KIND_TEXT, .wants = "none, or a signal such as ABRT, USR1 or RTMIN+1",
     .pattern = "^(none|HUP|INT|QUIT|ILL|TRAP|ABRT|BUS|FPE|USR1|SEGV|USR2|ALRM|TERM|XCPU|XFSZ|"
                "WINCH|URG|PWR|SYS|RTMIN(\\+([1-9]|[12][0-9]|30))?)$")
TYPE(DEADLINE_SIGNAL, .kind = JR_KIND_TEXT, .wants = "a signal such as USR1, TERM or RTMIN+1",
     .pattern =
         "^(HUP|INT|QUIT|USR1|USR2|ALRM|TERM|XCPU|WINCH|URG|PWR|RTMIN(\\+([1-9]|[12][0-9]|30))?)$")
TYPE(REQUEUE_CAUSE, ONE_OF(word_requeue))
TYPE(COLLECT, ONE_OF(word_collect))
TYPE(HANG_WORD, .kind = JR_KIND_TEXT, .wants = "a word; the only template in it may be %{pid}",
     .pattern = "^([^%]|%(?!\\{)|%\\{pid\\})*$")
TYPE(END_WORD, .kind = JR_KIND_TEXT, .wants = "a word without templates such as %{rank}",
     .pattern = "^([^%]|%(?!\\{))*$")
TYPE(LIMIT_COUNT, .kind = JR_KIND_TEXT, .is_size = true, .wants = "a whole number or unlimited",
     .pattern = "^(unlimited|0|[1-9][0-9]{0,17})$")
TYPE(LIMIT_SIZE, .kind = JR_KIND_TEXT, .is_size = true,
     .wants = "bytes, a size such as 8MiB, or unlimited",
     .pattern = "^(unlimited|0|[1-9][0-9]{0,17}|[1-9][0-9]{0,5}[KMGT]iB)$")
TYPE(SIZE, .kind = JR_KIND_TEXT, .is_size = true, .wants = "bytes, or a size such as 256MiB",
     .pattern = "^([1-9][0-9]{0,17}|[1-9][0-9]{0,5}[KMGT]iB)$")
TYPE(LOG_LIMIT, .kind = JR_KIND_TEXT, .is_size = true, .min = 65536,
     .wants = "a size of at least 64KiB, such as 64MiB",
     .pattern = "^((6[4-9]|[7-9][0-9]|[1-9][0-9]{2,5})KiB|[1-9][0-9]{0,5}[MGT]iB|6553[6-9]|655[4-9]"
                "[0-9]|65[6-9][0-9]{2}|6[6-9][0-9]{3}|[7-9][0-9]{4}|[1-9][0-9]{5,17})$")

/* What goes to engines stays on one line of a script. */
#define ONE_LINE "[^\\x00-\\x1f\\x7f]"
TYPE(OPTION, .kind = JR_KIND_TEXT, .wants = "text on one line, or a boolean",
     .pattern = "^(?!(null|Null|NULL|~)$)" ONE_LINE "*$")
TYPE(SLURM, NAMES_OF(OPTION), .outside = true, .wants = "a mapping of options to values",
     .names = "long options of sbatch, without dashes, except those that the "
              "job itself decides (nodes, ntasks, array, wrap, ...)",
     .pattern = "^(?!(nodes|ntasks.*|array|job-name|wrap|wait|test-only|parsable|help|usage|"
                "version)$)[a-z][a-z0-9]*(-[a-z0-9]+)*$")
TYPE(LINE, .kind = JR_KIND_TEXT, .wants = "text on one line", .pattern = "^" ONE_LINE "+$")
#define DNS_LABEL  "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
#define IMAGE_PART "[a-z0-9]+(([._]|__|-+)[a-z0-9]+)*"
TYPE(LABEL, .kind = JR_KIND_TEXT,
     .wants = "a Kubernetes name: lower-case letters, digits, '-' and '.'",
     .pattern = "^(?=.{1,253}$)" DNS_LABEL "(\\." DNS_LABEL ")*$")
TYPE(NAMESPACE, .kind = JR_KIND_TEXT,
     .wants = "a namespace: lower-case letters, digits and '-', at most 63",
     .pattern = "^(?=.{1,63}$)" DNS_LABEL "$")
TYPE(IMAGE, .kind = JR_KIND_TEXT, .wants = "an image such as registry.example.org/team/train:7",
     .pattern =
         "^([A-Za-z0-9.-]+(:[0-9]+)?/)?" IMAGE_PART "(/" IMAGE_PART
         ")*(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@[a-z0-9]+([+._-][a-z0-9]+)*:[0-9A-Fa-f]{32,})?$")
TYPE(MOUNT, .kind = JR_KIND_TEXT, .wants = "an absolute path without ':'",
     .pattern = "^/[^:\\x00-\\x1f\\x7f]*$")
TYPE(RESOURCE, .kind = JR_KIND_TEXT, .wants = "a resource such as nvidia.com/gpu",
     .pattern = "^" DNS_LABEL "(\\." DNS_LABEL ")*/[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$")
TYPE(CPUS, .kind = JR_KIND_TEXT, .wants = "CPUs such as 500m, 0.5 or 16",
     .pattern = "^(0|[1-9][0-9]{0,17})(m|\\.[0-9]{1,9})?$")
TYPE(BYTES, .kind = JR_KIND_TEXT, .wants = "bytes, or a size such as 64Gi",
     .pattern = "^(0|[1-9][0-9]{0,17})(k|[KMGTPE]i|[MGTPE])?$")
TYPE(MPI_DIALECT, ONE_OF(word_dialect))
TYPE(LOG_MODE, ONE_OF(word_mode))
TYPE(RESULT_FROM, ONE_OF(word_from))
TYPE(CODE_MODE, ONE_OF(word_code))
TYPE(PROGRESS_FROM, ONE_OF(word_progress))
TYPE(JSON_TYPE, ONE_OF(word_json))
TYPE(PROFILE, ONE_OF(word_profile), .or_file = true,
     .wants = "torch, paddle, megengine, mpi, or the path of a profile")
TYPE(INIT, ONE_OF(word_init))
TYPE(STREAMS, .kind = JR_KIND_STREAMS,
     .wants = "none, out, err or all, or RANKS:STREAMS such as 0:all,1-3:err")

TYPE(HANG_COMMAND, LIST_OF(HANG_WORD), .min = 1, .wants = "a program and its arguments")
TYPE(END_COMMAND, LIST_OF(END_WORD), .min = 1, .wants = "a program and its arguments")
TYPE(TEXTS, LIST_OF(TEXT), .wants = "a list of strings")
TYPE(TRIGGERS, LIST_OF(TRIGGER), .lone = true,
     .wants = "a cause such as exit:75, or a list of them")
TYPE(REQUEUE_CAUSES, LIST_OF(REQUEUE_CAUSE), .lone = true, .min = 1,
     .wants = "a cause such as preempted, or a list of them")
TYPE(COLLECTS, LIST_OF(COLLECT), .lone = true, .min = 1,
     .wants = "results, logs, or a list of them")
TYPE(EXTENDS, LIST_OF(TEXT), .lone = true, .literal = true, .early = true, .gone = true,
     .named = true, .wants = "a path, a list of paths, or a mapping of names to paths")
TYPE(TEMPLATES, LIST_OF(TEMPLATE), .wants = "a list of strings")
TYPE(ARGV, LIST_OF(TEMPLATE), .min = 1, .wants = "a program and its arguments")
TYPE(VALUE, .kind = JR_KIND_VALUE, .wants = "a value of a JSON type", .is_template = true)
TYPE(ARGUMENT, .kind = JR_KIND_VALUE, .item = &type_TEMPLATE,
     .wants = "a string; for a function any JSON value", .is_template = true)
TYPE(ARGS, LIST_OF(ARGUMENT), .wants = "a list of strings; for a function, of JSON values")
TYPE(KWARGS, NAMES_OF(VALUE), .outside = true, .wants = "a mapping of names to values")
TYPE(MODULES, LIST_OF(MODULE), .wants = "a list of modules")
TYPE(HOSTS, LIST_OF(ADDRESS), .min = 1, .wants = "a list of addresses")
TYPE(TARGETS, LIST_OF(TARGET), .min = 1,
     .wants = "a list of machines such as 2x8:H100, or paths of facts files")
TYPE(PROFILES, LIST_OF(PROFILE), .wants = "a list of profiles: words, or paths of files")
TYPE(COUNTS, LIST_OF(COUNT), .min = 1, .lone = true,
     .wants = "an integer of at least 1, or a list of them")
TYPE(DEVICES, LIST_OF(DEVICE_ID), .min = 1, .words = word_devices,
     .wants = "all, any, none, or a list of indices or UUIDs")
TYPE(LINKS, LIST_OF(PATH), .min = 1, .words = word_links,
     .wants = "all, none, or a list of paths that git ignores")
TYPE(LINES, LIST_OF(LINE), .wants = "a list of words")
TYPE(SCALARS, LIST_OF(SCALAR), .min = 1, .wants = "a list of values")
TYPE(LABELS, NAMES_OF(SCALAR))
TYPE(VARS, NAMES_OF(SCALAR), .outside = true, .declared = true, .gone = true)
TYPE(ENV, NAMES_OF(TEMPLATE), .env = true)

TYPE(AXIS, .kind = JR_KIND_VALUE, .literal = true,
     .wants = "a list of values, or a range such as {from: 0, to: 4}")
TYPE(AXES, NAMES_OF(AXIS), .literal = true, .wants = "a mapping of fields to lists of values")
TYPE(CELL, NAMES_OF(AXIS), .literal = true, .wants = "a mapping of fields to values")
TYPE(CELLS, LIST_OF(CELL), .literal = true, .wants = "a list of mappings of fields to values")
TYPE(SAMPLES, INTEGER(1, JR_SWEEP_CELLS_MAX), .literal = true)
TYPE(SEED, INTEGER(0, UINT32_MAX), .literal = true)
TYPE(PARALLEL, INTEGER(1, JR_SWEEP_CELLS_MAX), .literal = true)
TYPE(WORD, .kind = JR_KIND_TEXT, .literal = true, .wants = "the name of a result's field",
     .pattern = "^[^\\s]+$")
TYPE(GOAL, ONE_OF(word_goal), .literal = true)
TYPE(BEST_OF, ONE_OF(word_of), .literal = true)

#define FIELD_X(key, type, need, bind, fallback, unit, part, missing, help)                        \
    {key,     &type_##type, JR_NEED_##need, fallback, unit, JR_FIELDS_SINCE, JR_PART_##part,       \
     missing, help},
#define FIELDS(name)                                                                               \
    static const struct jr_spec_field fields_##name[] = {JR_FIELDS_##name(FIELD_X){0}};
#define MAPPING(name, ...)                                                                         \
    FIELDS(name)                                                                                   \
    TYPE(name, .kind = JR_KIND_MAP, .fields = fields_##name, __VA_ARGS__)

#define FORM(name, word, help) word,
static const char *const forms[] = {JR_FORMS(FORM) NULL};
static const char *const pythons[] = {JR_PYTHON_FORMS(FORM) NULL};

MAPPING(RANK_ENTRY, .wants = "a mapping of args, kwargs and env")
TYPE(RANK_ENTRIES, NAMES_OF(RANK_ENTRY), .ranks = true,
     .wants = "a mapping of rank sets to args, kwargs and env")
MAPPING(RESULT_FIELD, .wants = "a mapping with `type`")
TYPE(RESULT_FIELDS, NAMES_OF(RESULT_FIELD))
MAPPING(RESTART, .stated = true, .shorthand = "max",
        .wants = "a number of restarts, or a mapping with `max`")
MAPPING(PARALLELISM, .wants = "a mapping of model, pipeline and data")
MAPPING(BACKENDS, .shorthand = "default", .wants = "a backend or a mapping")
MAPPING(CONSOLE, .wants = "a mapping")
MAPPING(TIMEOUTS, .wants = "a mapping of durations")
MAPPING(ON_HANG, .wants = "a mapping of signal, wait and command")
MAPPING(LIMITS, .wants = "a mapping of limits")
MAPPING(KUBERNETES, .wants = "a mapping")
MAPPING(MPI, .wants = "a mapping of dialect and launcher")
MAPPING(SSH, .stated = true, .wants = "a mapping of options, program, copy, collect and env")
MAPPING(ENGINE, .wants = "a mapping of slurm, kubernetes, mpi and ssh")
MAPPING(RESULTS, .wants = "a mapping")
MAPPING(CODE, .shorthand = "mode", .stated = true,
        .wants = "record, freeze, or a mapping of mode and link")
MAPPING(DEADLINE, .stated = true, .wants = "a mapping such as {before: 10m}")
MAPPING(REQUEUE, .shorthand = "max", .stated = true,
        .wants = "a number of requeues, or a mapping with `max`")
MAPPING(PROGRESS, .stated = true, .wants = "a mapping of from, pattern, ranks and of")
MAPPING(PYTHON, .forms = pythons, .stated = true,
        .wants = "a mapping with script, module or function")
MAPPING(BEST, .literal = true, .wants = "a mapping of field and goal")
MAPPING(SWEEP, .literal = true, .gone = true, .stated = true, .wants = "a mapping with `axes`")
MAPPING(LIBRARY, .stated = true, .wants = "a mapping of path and symbol")
MAPPING(ENTRYPOINT, .shorthand = "command", .forms = forms,
        .wants = "a list (a command) or a mapping with command, shell, python or library")
MAPPING(SPEC, .wants = "a mapping of fields")

const struct jr_spec_group *jr_field_groups(size_t *ret_count)
{
#define GROUP(name, path) {path, fields_##name},
    static const struct jr_spec_group groups[] = {JR_FIELD_GROUPS(GROUP)};
    *ret_count = sizeof groups / sizeof *groups;
    return groups;
}

const struct jr_spec_type *jr_field_root(void)
{
    return &type_SPEC;
}

const struct jr_spec_field *jr_field_get(const struct jr_spec_field *fields, const char *key)
{
    for (; fields->key != NULL; fields++)
        if (strcmp(fields->key, key) == 0)
            return fields;
    return NULL;
}

const struct jr_spec_field *jr_field_find(const char *path)
{
    const struct jr_spec_type *type = &type_SPEC;
    const struct jr_spec_field *field = NULL;
    char key[64];
    for (const char *rest = path; rest != NULL;) {
        const char *dot = strchrnul(rest, '.');
        size_t len = (size_t)(dot - rest);
        if (type->kind == JR_KIND_NAMES) {
            type = type->item;
        } else if (type->kind == JR_KIND_MAP && len < sizeof key) {
            memcpy(key, rest, len);
            key[len] = '\0';
            field = jr_field_get(type->fields, key);
            if (field == NULL)
                return NULL;
            type = field->type;
        } else {
            return NULL;
        }
        rest = *dot == '.' ? dot + 1 : NULL;
    }
    return field;
}

struct jr_strv jr_field_defaults(const struct jr_spec_field *field, struct jr_arena *arena)
{
    struct jr_strv items = {0};
    const char *at = field->fallback == NULL ? "" : field->fallback;
    for (size_t len; *at != '\0'; at += len + strspn(at + len, " ")) {
        len = strcspn(at, " ");
        jr_strv_push(&items, arena, jr_arena_strndup(arena, at, len));
    }
    return items;
}

static void words_text(struct jr_buf *out, const struct jr_spec_type *type)
{
    const char *before = "one of ";
    for (const struct jr_spec_word *row = type->words; row->word; row++) {
        if (type->custom && strcmp(row->word, "custom") == 0)
            continue;
        jr_buf_printf(out, "%s%s", before, row->word);
        before = ", ";
    }
    if (type->custom)
        jr_buf_str(out, " or custom:NAME");
}

void jr_field_wants(struct jr_buf *out, const struct jr_spec_type *type)
{
    if (type->wants != NULL)
        jr_buf_str(out, type->wants);
    else if (type->kind == JR_KIND_WORD)
        words_text(out, type);
    else if (type->kind == JR_KIND_NAMES)
        jr_buf_str(out, "a mapping of names to values");
    else if (type->min == type->max)
        jr_buf_printf(out, "%u", type->min);
    else if (type->max >= JR_RANKS_MAX) /* nobody comes near to it */
        jr_buf_printf(out, "an integer of at least %u", type->min);
    else
        jr_buf_printf(out, "an integer from %u to %u", type->min, type->max);
}
