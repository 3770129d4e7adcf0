#include "output/step_pattern.h"

#include <ctype.h>
#include <string.h>

#include "base/regex.h"

#include "base/banned.h"

/* What of a group may follow its parenthesis: a name, or nothing but a group.
 */
static bool is_plain_group(const char *after)
{
    if (after[0] != '?')
        return after[0] != '*';
    if (after[1] == ':' || after[1] == '\'')
        return true;
    if (after[1] == 'P')
        return after[2] == '<';
    return after[1] == '<' && after[2] != '=' && after[2] != '!';
}

bool jr_step_pattern_is_plain(const char *pattern)
{
    for (const char *at = pattern; *at != '\0'; at++) {
        /* \A \z and the like are about the whole text, \Q quotes. */
        if (*at == '\\' && (at[1] == '\0' || strchr("AzZGKQEX", at[1]) != NULL))
            return false;
        if (*at == '\\')
            at++;
        else if (*at == '(' && !is_plain_group(at + 1))
            return false;
        else if (*at == '+' && at > pattern && strchr("*+?}", at[-1]) != NULL)
            return false; /* possessive: it could swallow the next line */
    }
    return true;
}

int jr_step_pattern_landmark(const struct jr_regex *line, bool plain)
{
    int found = plain && jr_regex_has_first_byte(line) ? -1 : jr_regex_required_char(line);
    bool breaks = found == '\n' || found == '\r';
    return breaks || (!plain && isalpha(found)) ? -1 : found;
}
