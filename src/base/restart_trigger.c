#include "base/restart_trigger.h"

#include <string.h>

#include "base/names.h"
#include "base/regex.h"

#include "base/banned.h"

enum { LAST_CODE = 255, LAST_SIGNAL = 64, LONGEST_NAME = 16 };

#define WORD(name, word, help) word,
static const char *const words[] = {JR_TRIGGERS(WORD)};

/* A text on its way into a trigger. */
struct reading {
    struct jr_restart_trigger *ret;
    struct jr_arena *arena;
    const char *text;
    struct jr_restart_trigger_fault *fault;
};

static bool refuse_trigger(const struct reading *reading, const char *from, const char *to,
                           const char *why)
{
    *reading->fault = (struct jr_restart_trigger_fault){
        .from = (size_t)(from - reading->text),
        .to = (size_t)(to - reading->text),
        .text = why,
    };
    return false;
}

static bool refuse_rest(const struct reading *reading, const char *from, const char *why)
{
    return refuse_trigger(reading, from, from + strlen(from), why);
}

/* Behind "exit:". */
static bool read_codes(const struct reading *reading, const char *text)
{
    struct jr_set *codes = &reading->ret->codes;
    const char *bad;
    uint32_t last;
    if (!jr_set_parse(codes, reading->arena, text, &bad))
        return refuse_trigger(reading, bad, bad + strcspn(bad, ","),
                              "exit codes are written as 75 or 1-3,75");
    if (!jr_set_max(codes, &last))
        return refuse_rest(reading, text,
                           codes->all ? "`exit` alone means any code but 0"
                                      : "exit codes are from 1 to 255");
    if (jr_set_has(codes, 0))
        return refuse_rest(reading, text, "exit code 0 is no failure");
    return last <= LAST_CODE ? true : refuse_rest(reading, text, "exit codes are from 1 to 255");
}

/* The number of SEGV or SIGSEGV; 0 if it is not one. */
static int read_signal_name(const char *name, size_t len)
{
    char full[LONGEST_NAME + 4] = "SIG";
    if (len == 0 || len > LONGEST_NAME)
        return 0;
    bool whole = len > 3 && memcmp(name, "SIG", 3) == 0;
    *(char *)mempcpy(full + (whole ? 0 : 3), name, len) = '\0';
    return jr_signal_of(full);
}

/* Behind "signal:". */
static bool read_signals(const struct reading *reading, const char *text)
{
    for (const char *name = text;; name++) {
        size_t len = strcspn(name, ",");
        int number = read_signal_name(name, len);
        if (number <= 0 || number > LAST_SIGNAL)
            return refuse_trigger(reading, name, name + len,
                                  "signals are written by name: SEGV or SIGKILL,BUS");
        reading->ret->signals |= UINT64_C(1) << (number - 1);
        name += len;
        if (*name == '\0')
            return true;
    }
}

/* Behind "stderr:". */
static bool read_pattern(const struct reading *reading, const char *text)
{
    size_t len = strlen(text), bad;
    struct jr_regex *regex = NULL;
    struct jr_error err = {0};
    if (len < 3 || text[0] != '/' || text[len - 1] != '/')
        return refuse_rest(reading, text,
                           "the regular expression must be between slashes: stderr:/CUDA error/");
    char *pattern = jr_arena_strndup(reading->arena, text + 1, len - 2);
    if (pattern == NULL)
        return refuse_rest(reading, text, "out of memory");
    reading->ret->pattern = pattern;
    if (jr_regex_new(&regex, pattern, &bad, &err) == 0) {
        jr_regex_free(regex);
        return true;
    }
    if (err.status == JR_STATUS_LAUNCH)
        reading->arena->failed = true;
    const char *why = jr_arena_strdup(reading->arena, err.text);
    const char *at = text + 1 + (bad < len - 2 ? bad : len - 3);
    (void)refuse_trigger(reading, at, at + 1, why == NULL ? "out of memory" : why);
    reading->fault->regex = true;
    return false;
}

/* Read the text after the word of a kind and its colon; NULL: there is none. */
static bool read_rest(const struct reading *reading, const char *rest)
{
    switch (reading->ret->kind) {
    case JR_RESTART_TRIGGER_EXIT:
        reading->ret->codes.all = rest == NULL;
        return rest == NULL || read_codes(reading, rest);
    case JR_RESTART_TRIGGER_SIGNAL:
        return rest == NULL || read_signals(reading, rest);
    case JR_RESTART_TRIGGER_STDERR:
        return read_pattern(reading, rest == NULL ? strchr(reading->text, '\0') : rest);
    case JR_RESTART_TRIGGER_OOM:
    case JR_RESTART_TRIGGER_HANG:
    case JR_RESTART_TRIGGER_TIMEOUT:
    case JR_RESTART_TRIGGER_START:
    case JR_RESTART_TRIGGER_RESULT:
    case JR_RESTART_TRIGGER_LOST_NODE:
    case JR_RESTART_TRIGGER_COUNT:
        break;
    }
    return rest == NULL || refuse_rest(reading, rest - 1, "nothing may follow this word");
}

bool jr_restart_trigger_parse(struct jr_restart_trigger *ret, struct jr_arena *arena,
                              const char *text, struct jr_restart_trigger_fault *ret_fault)
{
    const struct reading reading = {ret, arena, text, ret_fault};
    size_t len = strcspn(text, ":");
    int kind = 0;
    while (kind < JR_RESTART_TRIGGER_COUNT &&
           (strlen(words[kind]) != len || memcmp(words[kind], text, len) != 0))
        kind++;
    if (kind == JR_RESTART_TRIGGER_COUNT) {
        (void)refuse_trigger(&reading, text, text + len,
                             "it is exit, signal, oom, hang, timeout, start, result or stderr");
        ret_fault->word = true;
        return false;
    }
    *ret = (struct jr_restart_trigger){.kind = (enum jr_restart_trigger_kind)kind};
    return read_rest(&reading, text[len] == ':' ? text + len + 1 : NULL);
}

static void print_signals(struct jr_buf *out, uint64_t signals)
{
    char before = ':', name[24];
    for (int number = 1; number <= LAST_SIGNAL; number++) {
        if ((signals >> (number - 1) & 1) == 0)
            continue;
        jr_signal_name(name, number);
        jr_buf_printf(out, "%c%s", before, name);
        before = ',';
    }
}

void jr_restart_trigger_print(struct jr_buf *out, const struct jr_restart_trigger *trigger)
{
    jr_buf_str(out, words[trigger->kind]);
    if (trigger->codes.count > 0) {
        jr_buf_char(out, ':');
        jr_set_write(out, &trigger->codes);
    }
    print_signals(out, trigger->signals);
    if (trigger->pattern != NULL)
        jr_buf_printf(out, ":/%s/", trigger->pattern);
}

bool jr_restart_trigger_takes_code(const struct jr_restart_trigger *trigger, int code)
{
    return trigger->kind == JR_RESTART_TRIGGER_EXIT && code > 0 &&
           jr_set_has(&trigger->codes, (uint32_t)code);
}

bool jr_restart_trigger_takes_signal(const struct jr_restart_trigger *trigger, int signal)
{
    return trigger->kind == JR_RESTART_TRIGGER_SIGNAL && signal > 0 && signal <= LAST_SIGNAL &&
           (trigger->signals == 0 || (trigger->signals >> (signal - 1) & 1) != 0);
}
