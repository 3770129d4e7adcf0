#include "base/restart_trigger.h"

#include <string.h>

#include "base/names.h"
#include "base/regex.h"

#include "base/banned.h"

enum { LAST_CODE = 255, LAST_SIGNAL = 64, LONGEST_NAME = 16 };

#define WORD(name, word, help) word,
static const char *const words[] = {JR_TRIGGERS(WORD)};

/* Each of these reads what is behind the word and its colon. Returns NULL, or what is wrong with
 * the text, at [*from, *to), which is all of it at first. */

static const char *read_codes(struct jr_restart_trigger *ret, struct jr_arena *arena,
                              const char **from, const char **to)
{
    struct jr_set *codes = &ret->codes;
    const char *bad;
    uint32_t last;
    if (!jr_set_parse(codes, arena, *from, &bad)) {
        *from = bad;
        *to = bad + strcspn(bad, ",");
        return "exit codes are written as 75 or 1-3,75";
    }
    if (codes->all)
        return "`exit` alone means any code but 0";
    if (!jr_set_max(codes, &last))
        return "exit codes are from 1 to 255";
    if (jr_set_has(codes, 0))
        return "exit code 0 is no failure";
    return last <= LAST_CODE ? NULL : "exit codes are from 1 to 255";
}

static const char *read_signals(struct jr_restart_trigger *ret, const char **from, const char **to)
{
    for (const char *name = *from;; name++) {
        char full[LONGEST_NAME + 4] = "SIG";
        size_t len = strcspn(name, ",");
        bool whole = len > 3 && memcmp(name, "SIG", 3) == 0;
        int number = 0;
        if (len <= LONGEST_NAME) {
            *(char *)mempcpy(full + (whole ? 0 : 3), name, len) = '\0';
            number = jr_signal_of(full);
        }
        if (number <= 0 || number > LAST_SIGNAL) {
            *from = name;
            *to = name + len;
            return "signals are written by name: SEGV or SIGKILL,BUS";
        }
        ret->signals |= UINT64_C(1) << (number - 1);
        name += len;
        if (*name == '\0')
            return NULL;
    }
}

static const char *read_pattern(struct jr_restart_trigger *ret, struct jr_arena *arena,
                                const char **from, const char **to, bool *ret_regex)
{
    const char *text = *from;
    size_t len = strlen(text), bad;
    struct jr_regex *regex = NULL;
    struct jr_error err = {0};
    if (len < 3 || text[0] != '/' || text[len - 1] != '/')
        return "the regular expression must be between slashes: stderr:/CUDA error/";
    char *pattern = jr_arena_strndup(arena, text + 1, len - 2);
    if (pattern == NULL)
        return "out of memory";
    ret->pattern = pattern;
    if (jr_regex_new(&regex, pattern, &bad, &err) == 0) {
        jr_regex_free(regex);
        return NULL;
    }
    arena->failed |= err.status == JR_STATUS_LAUNCH;
    *from = text + 1 + (bad < len - 2 ? bad : len - 3);
    *to = *from + 1;
    *ret_regex = true;
    const char *why = jr_arena_strdup(arena, err.text);
    return why == NULL ? "out of memory" : why;
}

bool jr_restart_trigger_parse(struct jr_restart_trigger *ret, struct jr_arena *arena,
                              const char *text, struct jr_restart_trigger_fault *ret_fault)
{
    size_t len = strcspn(text, ":");
    const char *from = text + len + (text[len] == ':'), *to = text + strlen(text);
    const char *rest = text[len] == ':' ? from : NULL, *why = NULL;
    bool regex = false;
    int kind = 0;
    while (kind < JR_RESTART_TRIGGER_COUNT &&
           (strlen(words[kind]) != len || memcmp(words[kind], text, len) != 0))
        kind++;
    *ret = (struct jr_restart_trigger){.kind = (enum jr_restart_trigger_kind)kind};
    if (kind == JR_RESTART_TRIGGER_COUNT) {
        from = text;
        to = text + len;
        why = "it is exit, signal, oom, hang, timeout, start, result or stderr";
    } else if (kind == JR_RESTART_TRIGGER_STDERR) {
        why = read_pattern(ret, arena, &from, &to, &regex);
    } else if (rest == NULL) {
        ret->codes.all = kind == JR_RESTART_TRIGGER_EXIT;
    } else if (kind == JR_RESTART_TRIGGER_EXIT) {
        why = read_codes(ret, arena, &from, &to);
    } else if (kind == JR_RESTART_TRIGGER_SIGNAL) {
        why = read_signals(ret, &from, &to);
    } else {
        from = rest - 1;
        why = "nothing may follow this word";
    }
    if (why != NULL)
        *ret_fault = (struct jr_restart_trigger_fault){
            .from = (size_t)(from - text),
            .to = (size_t)(to - text),
            .word = kind == JR_RESTART_TRIGGER_COUNT,
            .regex = regex,
            .text = why,
        };
    return why == NULL;
}

void jr_restart_trigger_print(struct jr_buf *out, const struct jr_restart_trigger *trigger)
{
    jr_buf_str(out, words[trigger->kind]);
    if (trigger->codes.count > 0) {
        jr_buf_char(out, ':');
        jr_set_write(out, &trigger->codes);
    }
    char before = ':', name[JR_SIGNAL_NAME];
    for (int number = 1; number <= LAST_SIGNAL; number++) {
        if ((trigger->signals >> (number - 1) & 1) == 0)
            continue;
        jr_signal_name(name, number);
        jr_buf_printf(out, "%c%s", before, name);
        before = ',';
    }
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
