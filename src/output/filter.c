#include "output/filter.h"

#include <errno.h>

#include "base/banned.h"

static int compile_filter(struct jr_regex **ret, const char *pattern)
{
    size_t offset;
    if (pattern == NULL || jr_regex_new(ret, pattern, &offset, NULL) == 0)
        return 0;
    errno = EINVAL;
    return -1;
}

int jr_filter_open(struct jr_filter *ret, const struct jr_console *console)
{
    *ret = (struct jr_filter){0};
    if (compile_filter(&ret->show, console->show) == 0 &&
        compile_filter(&ret->hide, console->hide) == 0)
        return 0;
    jr_filter_close(ret);
    return -1;
}

void jr_filter_close(struct jr_filter *filter)
{
    jr_regex_free(filter->show);
    jr_regex_free(filter->hide);
    filter->show = filter->hide = NULL;
}

bool jr_filter_is_set(const struct jr_filter *filter)
{
    return filter->show != NULL || filter->hide != NULL;
}

static bool filter_matches(struct jr_filter *filter, struct jr_regex *regex,
                           const char *line, size_t len)
{
    struct jr_match match;
    bool limited;
    bool found = jr_regex_find(regex, line, len, 0, &match, &limited);
    filter->limited += limited;
    return found;
}

bool jr_filter_passes(struct jr_filter *filter, const char *line, size_t len)
{
    if (filter->limited >= JR_FILTER_LIMITED_MOST)
        return true;
    if (filter->show != NULL &&
        !filter_matches(filter, filter->show, line, len))
        return false;
    return filter->hide == NULL ||
           !filter_matches(filter, filter->hide, line, len);
}
