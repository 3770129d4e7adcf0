#include "base/regex.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/banned.h"

enum {
    MOST_PATTERN = 4096,    /* bytes */
    MOST_MATCH = 100000,    /* steps of backtracking */
    MOST_HEAP_KIB = 16384,  /* of the interpreter */
    FIRST_STACK = 32 << 10, /* of compiled code */
    MOST_STACK = 1 << 20,
    SHORT_TEXT = 256 /* bytes */
};

struct jr_regex {
    pcre2_code *code;
    pcre2_match_context *limits;
    pcre2_match_data *found;
    pcre2_jit_stack *stack; /* NULL: 32 KiB of the machine's were enough */
    bool tried, matched;    /* tried: has been searched for */
    bool compiled;          /* to machine code, where that can be */
    uint32_t names, name_size;
    PCRE2_SPTR table; /* of named groups: 2 bytes of number, the name, NUL */
};

void jr_regex_free(struct jr_regex *regex)
{
    if (regex == NULL)
        return;
    pcre2_jit_stack_free(regex->stack);
    pcre2_match_data_free(regex->found);
    pcre2_match_context_free(regex->limits);
    pcre2_code_free(regex->code);
    free(regex);
}

/* Compile, or set `err` to PCRE2's message. */
static pcre2_code *compile_pattern(const char *pattern, bool lines, size_t *ret_offset,
                                   struct jr_error *err)
{
    int number = 0;
    PCRE2_SIZE offset = 0;
    pcre2_code *code = NULL;
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    if (context != NULL) {
        uint32_t options = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C |
                           (lines ? PCRE2_MULTILINE : PCRE2_DOLLAR_ENDONLY);
        pcre2_set_max_pattern_length(context, MOST_PATTERN);
        if (lines)
            pcre2_set_newline(context, PCRE2_NEWLINE_ANYCRLF);
        code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, options, &number, &offset,
                             context);
        pcre2_compile_context_free(context);
    }
    if (code == NULL) {
        char text[256] = "out of memory";
        bool starved = number == 0 || number == PCRE2_ERROR_HEAP_FAILED;
        if (!starved)
            (void)pcre2_get_error_message(number, (PCRE2_UCHAR *)text, sizeof text);
        size_t len = strlen(pattern); /* PCRE2 may go one beyond it */
        *ret_offset = offset < len ? offset : len;
        jr_error_set(err, starved ? JR_STATUS_LAUNCH : JR_STATUS_INVALID, "%s", text);
    }
    return code;
}

/* Everything that a match needs. Returns false if memory runs out. */
static bool prepare_matching(struct jr_regex *regex)
{
    regex->limits = pcre2_match_context_create(NULL);
    regex->found = pcre2_match_data_create_from_pattern(regex->code, NULL);
    if (regex->limits == NULL || regex->found == NULL)
        return false;
    pcre2_set_match_limit(regex->limits, MOST_MATCH);
    pcre2_set_heap_limit(regex->limits, MOST_HEAP_KIB);
    (void)pcre2_pattern_info(regex->code, PCRE2_INFO_NAMECOUNT, &regex->names);
    (void)pcre2_pattern_info(regex->code, PCRE2_INFO_NAMEENTRYSIZE, &regex->name_size);
    (void)pcre2_pattern_info(regex->code, PCRE2_INFO_NAMETABLE, &regex->table);
    return true;
}

static int make_regex(struct jr_regex **ret, const char *pattern, bool lines, size_t *ret_offset,
                      struct jr_error *err)
{
    struct jr_regex *regex = calloc(1, sizeof *regex);
    if (regex == NULL)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "regular expression");
    regex->code = compile_pattern(pattern, lines, ret_offset, err);
    if (regex->code == NULL || !prepare_matching(regex)) {
        if (regex->code != NULL)
            jr_error_sys(err, JR_STATUS_LAUNCH, "regular expression");
        jr_regex_free(regex);
        return -1;
    }
    *ret = regex;
    return 0;
}

int jr_regex_new(struct jr_regex **ret, const char *pattern, size_t *ret_offset,
                 struct jr_error *err)
{
    return make_regex(ret, pattern, false, ret_offset, err);
}

int jr_regex_new_lines(struct jr_regex **ret, const char *pattern, size_t *ret_offset,
                       struct jr_error *err)
{
    return make_regex(ret, pattern, true, ret_offset, err);
}

static int match_subject(const struct jr_regex *regex, const char *subject, size_t len, size_t from)
{
    return pcre2_match(regex->code, (PCRE2_SPTR)subject, len, from, 0, regex->found, regex->limits);
}

bool jr_regex_find(struct jr_regex *regex, const char *subject, size_t len, size_t from,
                   struct jr_match *ret, bool *ret_limited)
{
    /* Machine code for a pattern that is only checked, or held against one short text, takes longer
     * to make than it saves. */
    if (!regex->compiled && (regex->tried || len > SHORT_TEXT)) {
        (void)pcre2_jit_compile(regex->code, PCRE2_JIT_COMPLETE);
        regex->compiled = true;
    }
    regex->tried = true;
    int result = match_subject(regex, subject, len, from);
    if (result == PCRE2_ERROR_JIT_STACKLIMIT && regex->stack == NULL) {
        /* A stack of its own for compiled code that ran out of the machine's. */
        regex->stack = pcre2_jit_stack_create(FIRST_STACK, MOST_STACK, NULL);
        pcre2_jit_stack_assign(regex->limits, NULL, regex->stack);
        if (regex->stack != NULL)
            result = match_subject(regex, subject, len, from);
    }
    regex->matched = result > 0;
    *ret_limited = result == PCRE2_ERROR_MATCHLIMIT || result == PCRE2_ERROR_HEAPLIMIT ||
                   result == PCRE2_ERROR_DEPTHLIMIT || result == PCRE2_ERROR_NOMEMORY ||
                   result == PCRE2_ERROR_JIT_STACKLIMIT;
    if (!regex->matched)
        return false;
    const PCRE2_SIZE *bounds = pcre2_get_ovector_pointer(regex->found);
    *ret = (struct jr_match){bounds[0], bounds[1]};
    return true;
}

bool jr_regex_has_first_byte(const struct jr_regex *regex)
{
    uint32_t type = 0;
    (void)pcre2_pattern_info(regex->code, PCRE2_INFO_FIRSTCODETYPE, &type);
    return type == 1;
}

int jr_regex_required_char(const struct jr_regex *regex)
{
    uint32_t type = 0, unit = 0;
    (void)pcre2_pattern_info(regex->code, PCRE2_INFO_LASTCODETYPE, &type);
    (void)pcre2_pattern_info(regex->code, PCRE2_INFO_LASTCODEUNIT, &unit);
    return type == 1 && unit < 0x80 ? (int)unit : -1;
}

size_t jr_regex_group_count(const struct jr_regex *regex)
{
    return regex->names;
}

static PCRE2_SPTR name_table_entry(const struct jr_regex *regex, size_t i)
{
    return regex->table + i * regex->name_size;
}

const char *jr_regex_group_name(const struct jr_regex *regex, size_t i)
{
    return (const char *)name_table_entry(regex, i) + 2;
}

bool jr_regex_group(const struct jr_regex *regex, size_t i, struct jr_match *ret)
{
    PCRE2_SPTR row = name_table_entry(regex, i);
    size_t number = (size_t)row[0] << 8 | row[1];
    if (!regex->matched || number >= pcre2_get_ovector_count(regex->found))
        return false;
    const PCRE2_SIZE *bounds = pcre2_get_ovector_pointer(regex->found);
    if (bounds[2 * number] == PCRE2_UNSET)
        return false;
    *ret = (struct jr_match){bounds[2 * number], bounds[2 * number + 1]};
    return true;
}
