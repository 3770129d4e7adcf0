/* JSON in the text of a test, and its values held to others. */
#ifndef QUOTED_H
#define QUOTED_H

#include <stdbool.h>
#include <stdlib.h>

#include "base/json.h"
#include "unit.h"

/* A value of a block, which is released with that. */
static inline void drop_json(json_t **value)
{
    json_decref(*value);
}
#define JSON RELEASE(drop_json) json_t

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* JSON that is written with single quotes, as "{'a': [1, null]}": with those that it has. `\'` is
 * one of the text. What is returned holds for the next fifteen calls. */
static inline const char *jq(const char *text)
{
    static char texts[16][8192];
    static unsigned next;
    char *out = texts[next++ % 16], *at = out;
    CU_ASSERT_TRUE_FATAL(strlen(text) < sizeof texts[0]);
    for (; *text != '\0'; text++) {
        bool kept = text[0] == '\\' && text[1] == '\'';
        text += kept;
        *at++ = *text == '\'' && !kept ? '"' : *text;
    }
    *at = '\0';
    return out;
}

/* The value of such text. The caller's. */
static inline json_t *json_of(const char *text)
{
    struct jr_error err = {0};
    const char *quoted = jq(text);
    json_t *json = jr_json_parse(quoted, strlen(quoted), &err);
    if (json == NULL)
        printf("\n    %s\n    %s", err.text, quoted);
    CU_ASSERT_PTR_NOT_NULL_FATAL(json);
    return json;
}

/* Hold values of it to such texts: "status 'failed' | ranks.1.state 'stopped' | more -", where - is
 * that there is none. */
static inline void check_values(json_t *json, const char *expected)
{
    char *copy = strdup(jq(expected));
    for (char *at = copy, *end; at != NULL; at = end) {
        end = strstr(at, " | ");
        if (end != NULL)
            *end = '\0', end += 3;
        struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
        const char *path = strsep(&at, " ");
        char *rest = strdup(path), *steps = rest, *key = NULL;
        json_t *found = json;
        while (found != NULL && (key = strsep(&steps, ".")) != NULL)
            found = json_is_array(found) ? json_array_get(found, strtoul(key, NULL, 10))
                                         : json_object_get(found, key);
        if (found != NULL)
            jr_json_print(&text, found, 0);
        const char *actual = found == NULL ? "-" : text.data;
        if (at == NULL || strcmp(actual, at) != 0)
            printf("\n    %s:", path);
        JR_ASSERT_TEXT(actual, at == NULL ? "(a value)" : at);
        free(rest);
    }
    free(copy);
}

#endif
