#include "resolve/device_profile.h"

#include <fnmatch.h>
#include <stddef.h>
#include <string.h>

#include <jobrun/contract.h>

#include "base/did_you_mean.h"
#include "base/num.h"
#include "base/utf8.h"
#include "resolve/internal.h"

#include "base/banned.h"

#define DIGITS "0123456789"
#define FORM   "NODESxDEVICES[:MODEL][,CPUSc][,MEMg]"

/* Models by name, in any case; `*` matches whatever follows. */
struct models {
    enum jr_device kind;
    const char *names[40];
};

static const struct models models[] = {
    {JR_DEVICE_CUDA, {"H100", "H200", "H20", "H800", "GH200", "A100", "A800", "A10",   "A10G",
                      "A2",   "A16",  "A30", "A40",  "B100",  "B200", "B300", "GB200", "GB300",
                      "V100", "P100", "T4",  "L4",   "L40",   "L40S", "RTX*", "GTX*"}},
    {JR_DEVICE_ROCM,
     {"MI100", "MI210", "MI250", "MI250X", "MI300A", "MI300X", "MI308X", "MI325X", "MI350X",
      "MI355X"}},
    {JR_DEVICE_XPU, {"PVC", "Max1100", "Max1550", "K200", "R200", "R300", "P800"}},
    {JR_DEVICE_HPU, {"Gaudi", "Gaudi2", "Gaudi3"}},
    {JR_DEVICE_NPU, {"910", "910A", "910B", "910C", "Ascend*"}},
    {JR_DEVICE_MLU, {"MLU290", "MLU370", "MLU590"}},
};

enum { KINDS = sizeof models / sizeof models[0] };

/* What the shorthand says. */
struct machines {
    uint32_t nodes, devices, cpus, memory;
    enum jr_device kind;
    const char *model;
};

/* Its numbers; those after a comma are distinguished by their unit. */
enum { NODES, DEVICES, CPUS, MEMORY, AMOUNTS };

struct amount {
    const char *what;
    uint32_t least, most;
    char unit;
    size_t at; /* in struct machines */
};

static const struct amount amounts[] = {
    [NODES] = {"the number of nodes", 1, 1 << 20, 'x', offsetof(struct machines, nodes)},
    [DEVICES] = {"the number of devices", 0, 1024, '\0', offsetof(struct machines, devices)},
    [CPUS] = {"the number of CPUs", 1, 65536, 'c', offsetof(struct machines, cpus)},
    [MEMORY] = {"the memory in GiB", 1, 1 << 20, 'g', offsetof(struct machines, memory)},
};

/* A profile that is read, and how far. */
struct reading {
    const char *text;
    struct jr_span stated; /* where the text is */
    const char *at;
    struct jr_arena *arena;
    struct jr_diags *diags;
};

/* Columns count code points. */
static uint32_t text_column(const char *text, const char *at)
{
    return 1 + (uint32_t)jr_utf8_points(text, (size_t)(at - text));
}

/* The `len` bytes at the place that is read now; all of the text if the source differs from it
 * (escapes, folded lines). */
static struct jr_span span_here(const struct reading *s, size_t len)
{
    struct jr_span span = s->stated;
    uint32_t points = text_column(s->text, s->text + strlen(s->text)) - 1;
    uint32_t width = span.end_column - span.column;
    bool quoted = width == points + 2;
    if (span.line != span.end_line || (width != points && !quoted))
        return span;
    uint32_t start = span.column + quoted - 1;
    span.column = start + text_column(s->text, s->at);
    span.end_column = start + text_column(s->text, s->at + len);
    return span;
}

static bool find_model(struct machines *ret, const char *name)
{
    for (size_t i = 0; i < KINDS; i++) {
        for (const char *const *known = models[i].names; *known; known++) {
            if (fnmatch(*known, name, FNM_CASEFOLD) != 0)
                continue;
            ret->kind = models[i].kind;
            ret->model = strchr(*known, '*') == NULL ? *known : name;
            return true;
        }
    }
    return false;
}

/* The words of a machine in another order, or between other marks, as people write them: "8xH100",
 * "H100:8", "2*8". */
enum { LOOSE_WORD = 16 };

struct loose_words {
    uint32_t numbers[2];
    size_t numbers_count;
    char model[LOOSE_WORD]; /* "": there is none */
};

static bool add_loose_word(struct loose_words *words, const char *word)
{
    if (word[strspn(word, DIGITS)] == '\0' && words->numbers_count < 2)
        return jr_num_u32(word, &words->numbers[words->numbers_count++]);
    struct machines found;
    if (words->model[0] != '\0' || !find_model(&found, word))
        return false;
    memcpy(words->model, found.model, strlen(found.model) + 1);
    return true;
}

/* Append what was probably meant, NODESxDEVICES:MODEL; false where a word is neither a number nor a
 * model. */
static bool add_meant_form(struct jr_buf *out, const char *text)
{
    static const char marks[] = "x*:- ";
    struct loose_words words = {0};
    char word[LOOSE_WORD];
    for (text += strspn(text, marks); *text != '\0';) {
        size_t len = strcspn(text, marks);
        if (len >= sizeof word)
            return false;
        memcpy(word, text, len);
        word[len] = '\0';
        if (!add_loose_word(&words, word))
            return false;
        text += len + strspn(text + len, marks);
    }
    const uint32_t *numbers = words.numbers;
    size_t count = words.numbers_count;
    if (words.model[0] == '\0' && count < 2)
        return false;
    jr_buf_printf(out, "%ux%u", count == 2 ? numbers[0] : 1, count == 0 ? 8 : numbers[count - 1]);
    if (words.model[0] != '\0')
        jr_buf_printf(out, ":%s", words.model);
    return !out->failed;
}

static void help_form(struct jr_diags *diags, struct jr_diag *diag, const char *text)
{
    JR_BUF_CLEANUP struct jr_buf meant = JR_BUF_INIT;
    if (add_meant_form(&meant, text))
        jr_diag_help(diags, diag, "did you mean %s (" FORM ")?", meant.data);
    else
        jr_diag_help(diags, diag,
                     "write " FORM ", as 2x8:H100,96c,1024g, or the path of a facts file");
}

/* Report the text from here to the next part as a mistake. */
static bool refuse_profile(struct reading *s, const char *what)
{
    size_t len = strcspn(s->at, ",:");
    if (len == 0 && *s->at != '\0')
        len = 1;
    struct jr_diag *diag = jr_diags_error(
        s->diags, JR_CODE_WRONG_MACHINE_PROFILE, span_here(s, len), NULL,
        len == 0 ? "%s is missing at the end of the profile" : "%s belongs here in the profile",
        what);
    help_form(s->diags, diag, s->text);
    return false;
}

/* A number, stepped over. */
static bool read_amount_number(struct reading *s, const struct amount *amount, struct machines *ret)
{
    size_t len = strspn(s->at, DIGITS);
    if (len == 0)
        return refuse_profile(s, amount->what);
    const char *digits = jr_arena_strndup(s->arena, s->at, len);
    uint32_t value;
    if (digits == NULL)
        return false;
    if (!jr_num_u32(digits, &value) || value < amount->least || value > amount->most) {
        jr_diags_error(s->diags, JR_CODE_WRONG_MACHINE_PROFILE, span_here(s, len), NULL,
                       "%s is from %u to %u, not %s", amount->what, amount->least, amount->most,
                       digits);
        return false;
    }
    s->at += len;
    *(uint32_t *)(void *)((char *)ret + amount->at) = value;
    return true;
}

static void report_unknown_model(struct reading *s, const char *name)
{
    JR_BUF_CLEANUP struct jr_buf known = JR_BUF_INIT;
    const char *nearest = NULL;
    for (size_t i = 0; nearest == NULL && i < KINDS; i++)
        nearest = jr_did_you_mean(name, models[i].names);
    if (nearest != NULL)
        jr_buf_printf(&known, "did you mean '%s'? ", nearest);
    jr_buf_str(&known, "known are");
    for (size_t i = 0; i < KINDS; i++)
        for (const char *const *model = models[i].names; *model; model++)
            jr_buf_printf(&known, " %s", *model);
    struct jr_diag *diag =
        jr_diags_error(s->diags, JR_CODE_UNKNOWN_DEVICE_MODEL, span_here(s, strlen(name)), NULL,
                       "unknown device model '%s'", name);
    jr_diag_help(s->diags, diag, "%s", known.failed ? "" : known.data);
}

/* The model after a colon, up to the next comma. */
static bool read_model(struct reading *s, struct machines *ret)
{
    size_t len = strcspn(s->at, ",");
    const char *name = jr_arena_strndup(s->arena, s->at, len);
    if (len == 0)
        return refuse_profile(s, "the model of the devices");
    if (name == NULL)
        return false;
    if (!find_model(ret, name)) {
        report_unknown_model(s, name);
        return false;
    }
    s->at += len;
    return true;
}

/* "96c" or "1024g" after a comma. */
static bool read_amount(struct reading *s, struct machines *ret)
{
    const char *unit = s->at + strspn(s->at, DIGITS);
    const struct amount *amount = &amounts[CPUS];
    while (amount < &amounts[AMOUNTS] && amount->unit != *unit)
        amount++;
    if (amount == &amounts[AMOUNTS])
        return refuse_profile(s, "CPUSc or MEMg");
    if (*(uint32_t *)(void *)((char *)ret + amount->at) != 0)
        return refuse_profile(s, "something that is not there yet");
    if (!read_amount_number(s, amount, ret))
        return false;
    s->at++;
    return true;
}

static bool read_profile_shorthand(struct reading *s, struct machines *ret)
{
    if (!read_amount_number(s, &amounts[NODES], ret))
        return false;
    if (*s->at != 'x')
        return refuse_profile(s, "x and the number of devices");
    s->at++;
    if (!read_amount_number(s, &amounts[DEVICES], ret))
        return false;
    if (*s->at == ':' && (s->at++, !read_model(s, ret)))
        return false;
    while (*s->at == ',')
        if (s->at++, !read_amount(s, ret))
            return false;
    return *s->at == '\0' || refuse_profile(s, "a comma or nothing");
}

/* Make the facts that the short form describes. Every CPU counts as a core. */
static void make_facts(struct jr_host *hw, struct jr_arena *arena, const struct machines *machines)
{
    uint32_t cpus = machines->cpus;
    hw->nodes = machines->nodes;
    hw->memory = (uint64_t)machines->memory << 30;
    hw->cpus.online = hw->cpus.usable = hw->cpus.usable_cores = cpus;
    if (cpus > 0)
        hw->cpus.set = cpus == 1 ? "0" : jr_arena_printf(arena, "0-%u", cpus - 1);
    hw->devices = jr_arena_array(arena, machines->devices, sizeof *hw->devices);
    if (hw->devices != NULL)
        hw->devices_count = machines->devices;
    for (uint32_t i = 0; i < hw->devices_count; i++)
        hw->devices[i] = (struct jr_host_device){.kind = machines->kind,
                                                 .index = i,
                                                 .model = machines->model,
                                                 .numa_node = -1,
                                                 .visible = true};
}

static int load_shorthand(struct jr_host *ret, struct reading *s)
{
    struct machines machines = {.kind = JR_DEVICE_CUDA};
    char *text = jr_arena_strdup(s->arena, s->text);
    struct jr_source *source = jr_arena_alloc(s->arena, sizeof *source);
    if (text == NULL || source == NULL)
        return -1;
    s->text = s->at = text;
    if (s->stated.line == 0) { /* the value of the option, as a text of its own */
        size_t len = strlen(text);
        *source = (struct jr_source){.name = "--on", .text = text, .len = len, .option = true};
        s->stated = (struct jr_span){source, 1, 1, 1, text_column(text, text + len)};
    }
    if (!read_profile_shorthand(s, &machines))
        return -1;
    make_facts(ret, s->arena, &machines);
    return 0;
}

/* A file that cannot be read may be meant as the short form, such as `H100x8`; it is reported where
 * it is named. */
static int load_file(struct jr_host *ret, struct reading *s)
{
    size_t before = s->diags->count;
    int got = jr_facts_read(ret, s->arena, s->text, NULL, 0, s->diags);
    for (size_t i = before; i < s->diags->count; i++) {
        struct jr_diag *diag = &s->diags->items[i];
        bool whole = diag->span.line == 0;
        if (whole)
            help_form(s->diags, diag, s->text);
        if (s->stated.line == 0)
            continue;
        if (!whole) {
            jr_diag_relate(s->diags, diag, s->stated, "this target");
            continue;
        }
        diag->span = s->stated;
        diag->message = jr_arena_printf(&s->diags->arena, "%s: %s", s->text, diag->message);
    }
    return got;
}

static struct jr_host blank_machine(const char *origin)
{
    return (struct jr_host){
        .origin = origin,
        .scheduler = {.node_rank = -1},
        .port_low = JR_HOST_PORT_LOW,
        .port_high = JR_HOST_PORT_HIGH,
    };
}

static int load_profile(struct jr_host *ret, const char *origin, struct reading *s)
{
    struct jr_host hw = blank_machine(origin);
    int got = jr_profile_is_shorthand(s->text) ? load_shorthand(&hw, s) : load_file(&hw, s);
    if (s->arena->failed) {
        jr_diags_error(s->diags, JR_CODE_INTERNAL, s->stated, NULL,
                       "out of memory as the profile was read");
        return -1;
    }
    if (got == 0)
        *ret = hw;
    return got;
}

int jr_profile_load(struct jr_host *ret, struct jr_arena *arena, const char *profile,
                    struct jr_diags *diags)
{
    struct reading s = {.text = profile, .arena = arena, .diags = diags};
    return load_profile(ret, jr_arena_printf(arena, "--on %s", profile), &s);
}

int jr_profile_load_target(struct jr_host *ret, struct jr_arena *arena, const char *profile,
                           struct jr_span at, struct jr_diags *diags)
{
    struct reading s = {profile, at, NULL, arena, diags};
    return load_profile(ret, "the target", &s);
}

int jr_profile_read(struct jr_host *ret, struct jr_arena *arena, const char *name, const char *text,
                    size_t len, struct jr_diags *diags)
{
    struct jr_host hw = blank_machine("hardware");
    if (jr_facts_read(&hw, arena, name, text, len, diags) != 0)
        return -1;
    *ret = hw;
    return 0;
}

enum jr_status jr_profile_status(const struct jr_diags *diags, size_t first)
{
    enum jr_status status = JR_STATUS_UNRESOLVED;
    for (size_t i = first; i < diags->count; i++) {
        const struct jr_diag *diag = &diags->items[i];
        if (jr_diag_is(diag, JR_CODE_INTERNAL))
            return JR_STATUS_LAUNCH;
        if (diag->severity == JR_SEVERITY_ERROR && !jr_diag_is(diag, JR_CODE_FACTS_CONTRADICT))
            status = JR_STATUS_USAGE;
    }
    return status;
}
