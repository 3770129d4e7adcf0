/* What srun says on its standard error, where it is about nodes:
 *
 *   srun: error: n2: task 1: Killed
 *   srun: error: n[2-3]: tasks 1-2: Exited with exit code 1
 *   srun: error: Node failure on n2
 */
#include <string.h>

#include "base/rank_set.h"
#include "cluster/srun.h"

#include "base/banned.h"

static const char digits[] = "0123456789";

/* Whether a line names `host`: as a word, not as a part of another. */
static bool line_names_host(const char *line, const char *host)
{
    size_t len = host == NULL ? 0 : strlen(host);
    const char *at = len == 0 ? NULL : strstr(line, host);
    for (; at != NULL; at = strstr(at + 1, host)) {
        bool begins = at > line && (at[-1] == ' ' || at[-1] == ',');
        if (begins && (at[len] == '\0' || strchr(" ,:", at[len]) != NULL))
            return true;
    }
    return false;
}

/* A task is a node: there is one on each. */
static bool line_names_task(const char *line, uint32_t node)
{
    const char *at = strstr(line, ": task ");
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_set tasks;
    const char *bad;
    if (at == NULL)
        at = strstr(line, ": tasks ");
    if (at == NULL)
        return false;
    at += strcspn(at, digits);
    size_t len = strspn(at, "0123456789-,");
    const char *text = jr_arena_strndup(&arena, at, len);
    bool found = len > 0 && text != NULL &&
                 jr_set_parse(&tasks, &arena, text, &bad) && !tasks.all &&
                 jr_set_has(&tasks, node);
    jr_arena_release(&arena);
    return found;
}

bool jr_srun_lost(const char *line, uint32_t node, const char *host)
{
    static const char error[] = "srun: error: ";
    if (strncmp(line, error, sizeof error - 1) != 0)
        return false;
    const char *failure = strstr(line, "ode failure on ");
    return failure != NULL ? line_names_host(failure, host)
                           : line_names_task(line, node);
}
