#include "plan/log_paths.h"

#include "base/rank_set.h"
#include "resolve/job.h"

#include "base/banned.h"

/* The streams of each local rank by a list of rules, no two of which have a
 * rank in common: a bit set of enum jr_streams. */
struct streams {
    struct jr_arena *arena;
    uint32_t count;
    unsigned *of; /* `count` of them */
};

static int apply_stream_rule(const struct streams *streams,
                             const struct jr_stream_rule *rule,
                             const char *field, struct jr_error *err)
{
    struct jr_set set;
    const char *bad;
    if (!jr_set_parse(&set, streams->arena, rule->ranks, &bad))
        return jr_error_set(err, JR_STATUS_INVALID,
                            "%s: '%s' is not a set of local ranks", field,
                            rule->ranks);
    jr_set_fill(&set, streams->of, streams->count, (unsigned)rule->streams);
    return 0;
}

static enum jr_sink stream_sink(unsigned redirected, unsigned teed,
                                enum jr_streams stream)
{
    if (teed & (unsigned)stream)
        return JR_SINK_FILE | JR_SINK_CONSOLE;
    return redirected & (unsigned)stream ? JR_SINK_FILE : JR_SINK_INHERIT;
}

struct jr_sinks *jr_sinks_build(struct jr_arena *arena,
                                const struct jr_job *job, uint32_t count,
                                struct jr_error *err)
{
    struct jr_sinks *sinks = jr_arena_array(arena, count, sizeof *sinks);
    struct streams files = {arena, count, NULL}, tees = files;
    files.of = jr_arena_array(arena, count, sizeof *files.of);
    tees.of = jr_arena_array(arena, count, sizeof *tees.of);
    if (sinks == NULL || files.of == NULL || tees.of == NULL)
        return NULL;
    for (uint32_t i = 0; i < job->redirects_count; i++)
        if (apply_stream_rule(&files, &job->redirects[i], "redirects", err) < 0)
            return NULL;
    for (uint32_t i = 0; i < job->tee_count; i++)
        if (apply_stream_rule(&tees, &job->tee[i], "tee", err) < 0)
            return NULL;
    for (uint32_t rank = 0; rank < count; rank++) {
        unsigned teed = job->tee_stated
                            ? tees.of[rank]
                            : (unsigned)JR_STREAM_ALL & ~files.of[rank];
        sinks[rank].out = stream_sink(files.of[rank], teed, JR_STREAM_OUT);
        sinks[rank].err = stream_sink(files.of[rank], teed, JR_STREAM_ERR);
    }
    return sinks;
}
