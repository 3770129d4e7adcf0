/*
 * The step of a library entrypoint, in C: each rank takes its share of the
 * midpoint rule for 4 / (1 + x^2) between 0 and 1, whose sum over all ranks
 * is pi. Nothing is linked but libc: jobrun/rank.h is all it needs.
 */
#include <stdio.h>
#include <stdlib.h>

#include <jobrun/rank.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int step_main(const struct jr_rank *rank, struct jr_result *result);

int step_main(const struct jr_rank *rank, struct jr_result *result)
{
    long points = rank->argc > 0 ? strtol(rank->argv[0], NULL, 10) : 1000000;
    if (points <= 0) {
        fprintf(stderr, "the number of points is to be 1 or more\n");
        return 2;
    }
    double sum = 0;
    char text[64];
    for (long i = rank->rank, done = 1; i < points;
         i += rank->world_size, done++) {
        double x = ((double)i + 0.5) / (double)points;
        sum += 4 / (1 + x * x);
        if (done % 50000 != 0)
            continue;
        (void)snprintf(text, sizeof text, "{\"sum\": %.17g}",
                       sum / (double)points);
        (void)jr_progress(rank, done, points / rank->world_size, text);
    }
    int length =
        snprintf(text, sizeof text, "{\"share\": %.17g}", sum / (double)points);
    return jr_result_set_json(result, text, (size_t)length) == 0 ? 0 : 1;
}
