/* Steps that go wrong, for test_step.py. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jobrun/rank.h>

#define STEP(name)                                                             \
    int name(const struct jr_rank *rank, struct jr_result *result);            \
    int name(const struct jr_rank *rank, struct jr_result *result)

STEP(silent)
{
    (void)rank;
    (void)result;
    return 0;
}

STEP(code)
{
    (void)result;
    return atoi(rank->argv[0]);
}

STEP(leave)
{
    static const char text[] = "1";
    (void)rank;
    (void)jr_result_set_json(result, text, 1);
    exit(0);
}

STEP(twice)
{
    char text[] = "{\"n\": 1}";
    (void)rank;
    int first = jr_result_set_json(result, text, strlen(text));
    text[6] = '2'; /* what was set is a copy */
    return first != 0 || jr_result_set_json(result, "{]", 2) != -1;
}

STEP(big)
{
    size_t length = strtoul(rank->argv[0], NULL, 10);
    char *text = malloc(length);
    memset(text, 'x', length);
    text[0] = text[length - 1] = '"';
    int code = jr_result_set_json(result, text, length);
    free(text);
    return code;
}

STEP(die)
{
    (void)rank;
    (void)result;
    return raise(SIGKILL);
}
