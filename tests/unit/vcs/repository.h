/* A repository for one test: a folder, and git with a home and settings of its own. */
#ifndef REPOSITORY_H
#define REPOSITORY_H

#include "base/buf.h"
#include "scratch.h"

#define COMMIT                                                                                     \
    "git add -A && git -c user.name=n -c user.email=e@example.org "                                \
    "commit -q -m m"

/* Run shell text in the folder; it has to succeed. */
static inline void shell(const struct scratch *scratch, const char *command)
{
    char text[2048];
    int len = snprintf(text, sizeof text,
                       "cd '%s' && export HOME=\"$PWD\" "
                       "GIT_CONFIG_NOSYSTEM=1 && { %s; } >/dev/null 2>&1",
                       scratch->dir, command);
    CU_ASSERT_TRUE_FATAL(len > 0 && (size_t)len < sizeof text);
    CU_ASSERT_EQUAL_FATAL(system(text), 0);
}

/* Check a list of paths, each with its NUL: "a, b". */
static inline void check_paths(const struct jr_buf *list, const char *expected)
{
    struct jr_buf text = JR_BUF_INIT;
    for (size_t at = 0; at < list->len; at += strlen(list->data + at) + 1)
        jr_buf_printf(&text, "%s%s", at == 0 ? "" : ", ", list->data + at);
    JR_ASSERT_TEXT(text.len == 0 ? "" : text.data, expected);
    jr_buf_release(&text);
}

#endif
