#include "plan/log_paths.h"

#include "resolve/job.h"
#include "unit.h"

enum { RANKS = 4 };

/* One character a rank and stream: i(nherit), f(ile), t(ee). */
static void describe(char *ret, const struct jr_sinks *sinks)
{
    static const char sink[] = {
        [JR_SINK_INHERIT] = 'i',
        [JR_SINK_FILE] = 'f',
        [JR_SINK_FILE | JR_SINK_CONSOLE] = 't',
    };
    for (int i = 0; i < RANKS; i++) {
        *ret++ = sink[sinks[i].out];
        *ret++ = sink[sinks[i].err];
        *ret++ = i + 1 < RANKS ? ' ' : '\0';
    }
}

/* Rules in the tests' shorthand; ranks NULL ends a list. */
struct rules {
    struct {
        const char *ranks;
        enum jr_streams streams;
    } redirects[3], tee[3];
    bool tee_stated;
    const char *expected; /* or the error */
};

static uint32_t copy(struct jr_stream_rule *ret, struct jr_arena *arena,
                     const char *ranks, enum jr_streams streams)
{
    if (ranks == NULL)
        return 0;
    *ret = (struct jr_stream_rule){jr_arena_strdup(arena, ranks), streams};
    return 1;
}

static void check(const struct rules *rules, bool good)
{
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_stream_rule redirects[3], tee[3];
    struct jr_job job = {.redirects = redirects, .tee = tee};
    struct jr_error err = {0};
    char got[3 * RANKS + 1] = "";
    job.tee_stated = rules->tee_stated;
    for (int i = 0; i < 3; i++) {
        job.redirects_count +=
            copy(&redirects[i], &arena, rules->redirects[i].ranks,
                 rules->redirects[i].streams);
        job.tee_count +=
            copy(&tee[i], &arena, rules->tee[i].ranks, rules->tee[i].streams);
    }
    const struct jr_sinks *sinks = jr_sinks_build(&arena, &job, RANKS, &err);
    CU_ASSERT_EQUAL(sinks != NULL, good);
    if (sinks != NULL) {
        describe(got, sinks);
        JR_ASSERT_TEXT(got, rules->expected);
    } else {
        JR_ASSERT_TEXT(err.text, rules->expected);
        CU_ASSERT_EQUAL(err.status, JR_STATUS_INVALID);
    }
    jr_arena_release(&arena);
}

static void refuses_what_is_no_set_of_ranks(void)
{
    static const struct rules bad[] = {
        {.redirects = {{"0", JR_STREAM_ALL}, {"x", JR_STREAM_OUT}},
         .expected = "redirects: 'x' is not a set of local ranks"},
        {.tee = {{"1-", JR_STREAM_ALL}},
         .tee_stated = true,
         .expected = "tee: '1-' is not a set of local ranks"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        check(&bad[i], false);
}

static void applies_rules(void)
{
    static const struct rules good[] = {
        /* Nothing said: everything is captured and shown. */
        {.expected = "tt tt tt tt"},
        {.tee_stated = true, .expected = "ii ii ii ii"},
        {.tee = {{"all", JR_STREAM_NONE}},
         .tee_stated = true,
         .expected = "ii ii ii ii"},
        {.redirects = {{"all", JR_STREAM_ALL}}, .expected = "ff ff ff ff"},
        {.redirects = {{"all", JR_STREAM_OUT}}, .expected = "ft ft ft ft"},
        {.redirects = {{"0", JR_STREAM_ALL}, {"1-3/2", JR_STREAM_ERR}},
         .expected = "ff tf tt tf"},
        {.redirects = {{"0", JR_STREAM_ALL}, {"1", JR_STREAM_NONE}},
         .tee_stated = true,
         .expected = "ff ii ii ii"},
        {.tee = {{"0", JR_STREAM_ALL}, {"3", JR_STREAM_ERR}},
         .tee_stated = true,
         .expected = "tt ii ii it"},
        /* An explicit tee wins over a redirect of the same stream. */
        {.redirects = {{"all", JR_STREAM_ALL}},
         .tee = {{"0", JR_STREAM_ERR}},
         .tee_stated = true,
         .expected = "ft ff ff ff"},
        {.redirects = {{"none", JR_STREAM_ALL}}, .expected = "tt tt tt tt"},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        check(&good[i], true);
}

JR_UNIT_MAIN("redirect", CASE(refuses_what_is_no_set_of_ranks),
             CASE(applies_rules))
