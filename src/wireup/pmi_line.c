#include "wireup/pmi_line.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

enum { DIGITS = 20 };

bool jr_pmi_line_is_one(const char *line)
{
    size_t key = strcspn(line, "= ");
    for (const char *at = line; *at != '\0'; at++)
        if ((unsigned char)*at < ' ' || *at == '\x7f')
            return false;
    return key > 0 && line[key] == '=';
}

bool jr_pmi_line_rest(const char *line, const char *key, struct jr_pmi_text *ret)
{
    size_t len = strlen(key);
    *ret = (struct jr_pmi_text){"", 0};
    for (const char *at = line; *at != '\0';) {
        at += strspn(at, " ");
        if (strncmp(at, key, len) == 0 && at[len] == '=') {
            *ret = (struct jr_pmi_text){at + len + 1, strlen(at + len + 1)};
            return true;
        }
        at += strcspn(at, " ");
    }
    return false;
}

bool jr_pmi_line_word(const char *line, const char *key, struct jr_pmi_text *ret)
{
    bool found = jr_pmi_line_rest(line, key, ret);
    ret->len = strcspn(ret->at, " ");
    return found;
}

bool jr_pmi_line_begins(const char *line, const char *key, const char *value)
{
    size_t len = strlen(key), rest = strlen(value);
    line += strspn(line, " ");
    return strncmp(line, key, len) == 0 && line[len] == '=' &&
           strncmp(line + len + 1, value, rest) == 0 &&
           (line[len + 1 + rest] == ' ' || line[len + 1 + rest] == '\0');
}

bool jr_pmi_line_number(const char *line, const char *key, int64_t *ret)
{
    struct jr_pmi_text text;
    char *end;
    if (!jr_pmi_line_word(line, key, &text) || text.len == 0 || text.len > DIGITS ||
        strchr("-0123456789", text.at[0]) == NULL)
        return false;
    errno = 0;
    long long number = strtoll(text.at, &end, 10);
    if (errno != 0 || end != text.at + text.len)
        return false;
    *ret = number;
    return true;
}
