/* What test_entry_call.c calls. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jobrun/rank.h>

#define STEP(name)                                                             \
    int name(const struct jr_rank *rank, struct jr_result *result);            \
    int name(const struct jr_rank *rank, struct jr_result *result)

/* All that a rank is told, as the result. */
STEP(place)
{
    char text[1024];
    int len = snprintf(text, sizeof text, "[%u,%u,%u,%u,%u,%u,%u,%u",
                       rank->rank, rank->world_size, rank->local_rank,
                       rank->local_world_size, rank->node_rank, rank->nodes,
                       rank->attempt, rank->master_port);
    for (int i = 0; i < 3; i++) {
        const struct jr_rank_place *axis = &rank->axes[i];
        len += snprintf(text + len, sizeof text - (size_t)len,
                        ",[%u,%u,%u,%u,%u,\"%s\"]", axis->size, axis->at,
                        axis->group, axis->first, axis->stride, axis->backend);
    }
    len += snprintf(text + len, sizeof text - (size_t)len,
                    ",\"%s\",\"%s\",\"%s\",\"%s\",\"%s\"", rank->master_addr,
                    rank->init_method, rank->run_id, rank->run_dir,
                    rank->rank_dir);
    for (int i = 0; i < rank->argc; i++)
        len += snprintf(text + len, sizeof text - (size_t)len, ",\"%s\"",
                        rank->argv[i]);
    text[len++] = ']';
    return jr_result_set_json(result, text, (size_t)len) +
           (rank->argv[rank->argc] != NULL);
}

/* What is no function, and what C++ would have made of lost(). */
extern int placard;
int placard;

STEP(_Z4lostv)
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

/* What counts is what was set last, as it was then. */
STEP(thrice)
{
    char text[] = "{\"n\":1}";
    int bad = jr_result_set_json(result, "[1,2]", 5);
    (void)rank;
    bad |= jr_result_set_json(result, text, 7);
    text[5] = '2';
    return bad != 0 || jr_result_set_json(result, "{]", 2) != -1;
}

STEP(close_control)
{
    (void)rank;
    (void)result;
    return close(3);
}

STEP(take_control)
{
    (void)rank;
    (void)result;
    int fd = open("/dev/null", O_RDWR);
    return dup2(fd, 3) == 3 ? 0 : 1;
}

STEP(fork_and_return)
{
    (void)rank;
    (void)result;
    (void)fork(); /* the fork returns, too, which is not the rank's end */
    return 0;
}
