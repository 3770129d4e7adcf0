/* What a YAML file is, by the keys of its top level. It may be broken, and is
 * to be checked just the same: so it is not parsed. */
#include <string.h>

#include "base/did_you_mean.h"
#include "cli/find_specs.h"
#include "spec/field.h"

#include "base/banned.h"

enum { LONGEST = 64, FIELDS = 128 };

/* Copy the key that a line begins with; false where it begins with none. Quotes
 * are taken off. */
static bool take_key(char ret[static LONGEST], const char *line)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$-";
    char quote = *line == '"' || *line == '\'' ? *line : '\0';
    const char *key = line + (quote != '\0');
    size_t len = strspn(key, letters);
    const char *end = key + len;
    if (len == 0 || len >= LONGEST || (quote != '\0' && *end++ != quote))
        return false;
    end += strspn(end, " \t");
    (void)memcpy(ret, key, len);
    ret[len] = '\0';
    return *end == ':';
}

/* Whether a key is a field of the spec, or was meant to be one. */
static bool is_field(const char *key)
{
    const char *names[FIELDS + 1];
    size_t count = 0;
    const struct jr_spec_field *field = jr_field_root()->fields;
    for (; field->key != NULL && count < FIELDS; field++)
        if (strcmp(field->key, "version") != 0)
            names[count++] = field->key;
    names[count] = NULL;
    return jr_did_you_mean(key, names) != NULL;
}

/* What the keys so far say. */
struct guess {
    bool version, field;
};

static void look_at_line(struct guess *guess, const char *line)
{
    char key[LONGEST];
    if (!take_key(key, line))
        return;
    if (strcmp(key, "version") == 0)
        guess->version = true;
    else
        guess->field = guess->field || is_field(key);
}

/* The keys of {version: 1, ...}: those after a brace or a comma that is in no
 * other bracket. */
static void look_within_braces(struct guess *guess, const char *text)
{
    int depth = 0;
    for (; *text != '\0'; text++) {
        depth +=
            (*text == '{' || *text == '[') - (*text == '}' || *text == ']');
        if (depth <= 0)
            return;
        if (depth == 1 && (*text == '{' || *text == ','))
            look_at_line(guess, text + 1 + strspn(text + 1, " \t\r\n"));
    }
}

bool jr_find_reads_like_spec(const char *text)
{
    struct guess guess = {0};
    text += strncmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    for (bool begun = false; *text != '\0'; text += *text == '\n') {
        bool mark = strncmp(text, "---", 3) == 0;
        if (mark && begun)
            break;
        if (*text == '{' && !begun)
            look_within_braces(&guess, text);
        look_at_line(&guess, text);
        begun = begun || (!mark && strchr("#%\r\n", *text) == NULL);
        text += strcspn(text, "\n");
    }
    return guess.version && guess.field;
}
