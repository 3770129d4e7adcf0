#include "vcs/secret_lines.h"

#include <ctype.h>
#include <string.h>

#include "base/redact.h"
#include "base/strv.h"

#include "base/banned.h"

enum { MOST_NAME = 96, MOST_VALUE = 8192, LEAST_VALUE = 8 };

#define PRIVATE_KEY "PRIVATE KEY-----"

/* Bytes of one line. */
struct span {
    const char *at, *end;
};

/* A line, and what all of its names have to know of it: looked for once, since a line can be as
 * long as a file. */
struct line {
    const char *at, *end;
    const char *first; /* behind what diffs, lists and shells put before */
    const char *last;  /* its end without blanks */
};

/* An assignment as far as it was read. */
struct assignment {
    struct span name;
    bool leads;    /* nothing but blanks and marks is before it */
    bool capitals; /* of a variable of the environment */
    bool equals;   /* else a colon */
    bool tight;    /* no blank on either side of it */
    bool quoted;
    struct span value;
};

static bool is_name_byte(char byte)
{
    return isalnum((unsigned char)byte) || byte == '_' || byte == '-';
}

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    return at;
}

/* "str | None = ": what is between a colon and the `=` of a declaration. */
static const char *skip_type(const char *at, const char *end)
{
    const char *from = at;
    while (at < end && (isalnum((unsigned char)*at) || strchr("_. []|,", *at) != NULL))
        at++;
    return at < end && *at == '=' && at > from ? at + 1 : from;
}

/* Read "=", ":=", "=>" or ":"; NULL where nothing is assigned. */
static const char *read_operator(struct assignment *to, const char *at, const char *end)
{
    const char *begin = at;
    if (at < end && (*at == '"' || *at == '\''))
        at++;
    const char *sign = skip_blanks(at, end);
    if (sign == end || (*sign != '=' && *sign != ':'))
        return NULL;
    char next = '\0';
    if (sign + 1 < end)
        next = sign[1];
    if (next == *sign)
        return NULL;
    bool two = next == '>' || next == '=';
    to->equals = *sign == '=' || next == '=';
    const char *behind = sign + (two ? 2 : 1);
    const char *value = skip_blanks(behind, end);
    to->tight = sign == begin && value == behind;
    if (*sign == ':' && !two) {
        const char *typed = skip_type(value, end);
        to->equals = typed != value;
        value = skip_blanks(typed, end);
    }
    return value;
}

/* What is between quotes, or else what is left of the line. */
static void read_value(struct assignment *to, const char *at, const struct line *line)
{
    const char *end = line->end;
    if (end - at > 1 && strchr("rbfuRBFU", *at) != NULL && (at[1] == '"' || at[1] == '\''))
        at++;
    to->quoted = at < end && (*at == '"' || *at == '\'' || *at == '`');
    if (!to->quoted) {
        to->value = (struct span){at, line->last < at ? at : line->last};
        return;
    }
    const char *from = at + 1;
    for (at = from; at < end && *at != from[-1]; at++)
        if (*at == '\\' && at + 1 < end)
            at++;
    to->value = (struct span){from, at};
}

/* Whether a value that stands without quotes is one, and not a word of a program: a type, a call,
 * or another variable. */
static bool is_plain_value(const struct assignment *found)
{
    const char *value = found->value.at;
    size_t len = (size_t)(found->value.end - value);
    bool digit = false, sign = false, lower = false;
    if (found->capitals && found->equals)
        return found->tight;
    if (!found->leads)
        return false;
    for (size_t i = 0; i < len; i++) {
        if (strchr(" \t()[]{},;", value[i]) != NULL)
            return false;
        digit |= isdigit((unsigned char)value[i]) != 0;
        lower |= i == 1 && islower((unsigned char)value[i]);
        sign |= strchr("/+=@!#%&*-", value[i]) != NULL;
    }
    if (found->equals)
        return digit || sign;
    return found->capitals || digit || sign || !(isupper((unsigned char)value[0]) && lower);
}

/* Values that are too short or too common only count where the name can be nothing but a
 * variable's. */
static bool is_secret_value(const struct assignment *found)
{
    char copy[MOST_VALUE + 1];
    size_t len = (size_t)(found->value.end - found->value.at);
    if (len == 0 || *found->value.at == '$')
        return false;
    if (!found->quoted && !is_plain_value(found))
        return false;
    if (found->capitals || len > MOST_VALUE)
        return true;
    memcpy(copy, found->value.at, len);
    copy[len] = '\0';
    return jr_redact_wanted(copy, LEAST_VALUE);
}

static bool is_in_capitals(struct span name)
{
    bool letter = false;
    for (const char *at = name.at; at < name.end; at++) {
        if (islower((unsigned char)*at) || *at == '-')
            return false;
        letter |= isupper((unsigned char)*at) != 0;
    }
    return letter;
}

/* Whether all before the name is what diffs, lists and shells put there. */
static bool leads_line(const struct line *line, const char *name)
{
    static const char *const words[] = {"export ", "set ", "ENV ", "setenv "};
    const char *at = line->first;
    for (size_t i = 0; i < sizeof words / sizeof *words && at < name; i++)
        if (strncmp(at, words[i], strlen(words[i])) == 0)
            at += strlen(words[i]);
    return at == name;
}

/* The next secret that the line assigns, from `at` on. */
static bool find_assignment(struct assignment *ret, const struct jr_secrets *secrets,
                            const struct line *line, const char *at)
{
    while (at < line->end) {
        if (!isalpha((unsigned char)*at) && *at != '_') {
            at++;
            continue;
        }
        struct assignment found = {.name = {at, at}};
        while (found.name.end < line->end && is_name_byte(*found.name.end))
            found.name.end++;
        size_t len = (size_t)(found.name.end - at);
        found.leads = leads_line(line, at);
        found.capitals = is_in_capitals(found.name);
        const char *value = read_operator(&found, found.name.end, line->end);
        if (value != NULL && len <= MOST_NAME &&
            jr_env_matches(secrets->globs, secrets->count, at, len)) {
            read_value(&found, value, line);
            if (is_secret_value(&found)) {
                *ret = found;
                return true;
            }
        }
        at = found.name.end;
    }
    return false;
}

static struct line next_line(const char *at, const char *end)
{
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    struct line line = {.at = at, .end = newline == NULL ? end : newline};
    line.first = at;
    line.last = line.end;
    while (line.first < line.end && strchr("+- \t\"'", *line.first) != NULL)
        line.first++;
    while (line.last > at && isspace((unsigned char)line.last[-1]))
        line.last--;
    return line;
}

bool jr_secret_lines_assign(const struct jr_secrets *secrets, const char *text, size_t len)
{
    struct assignment found;
    const char *end = text + len;
    if (len == 0)
        return false;
    if (memmem(text, len, PRIVATE_KEY, strlen(PRIVATE_KEY)) != NULL)
        return true;
    for (struct line line = {.at = text}; line.at < end; line.at = line.end + 1) {
        line = next_line(line.at, end);
        if (find_assignment(&found, secrets, &line, line.at))
            return true;
    }
    return false;
}

/* Append the line with its secrets replaced; whether it has any. */
static bool redact_line(struct jr_buf *out, const struct jr_secrets *secrets,
                        const struct line *line)
{
    struct assignment found;
    const char *at = line->at;
    bool any = false;
    while (find_assignment(&found, secrets, line, at)) {
        jr_buf_add(out, at, (size_t)(found.value.at - at));
        jr_buf_str(out, JR_REDACTED);
        at = found.value.end;
        any = true;
    }
    jr_buf_add(out, at, (size_t)(line->end - at));
    return any;
}

bool jr_secret_lines_redact(const struct jr_secrets *secrets, struct jr_buf *text)
{
    struct jr_buf out = JR_BUF_INIT;
    bool any = false;
    if (text->len == 0)
        return false;
    const char *end = text->data + text->len;
    jr_buf_reserve(&out, text->len);
    for (struct line line = {.at = text->data}; line.at < end; line.at = line.end + 1) {
        line = next_line(line.at, end);
        any |= redact_line(&out, secrets, &line);
        if (line.end < end)
            jr_buf_char(&out, '\n');
    }
    size_t before = out.len;
    for (size_t i = 0; secrets->values != NULL && secrets->values[i] != NULL && out.data != NULL;
         i++)
        any |= memmem(out.data, before, secrets->values[i], strlen(secrets->values[i])) != NULL;
    jr_redact(&out, 0, secrets->values, false);
    out.failed |= text->failed;
    jr_buf_release(text);
    *text = out;
    return any;
}
