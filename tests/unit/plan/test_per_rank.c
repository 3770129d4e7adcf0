/* What some ranks get besides, through the plan. */
#include "plan/internal.h"
#include "plan/plan_print.h"
#include "resolve/job.h"

#include "sample.h"

static struct jr_env_entry debug[] = {{.name = TEXT("DEBUG"), .value = TEXT("%{rank}")},
                                      {.name = TEXT("COMMON"), .value = TEXT("own")},
                                      {.name = TEXT("GONE")},
                                      {.name = TEXT("LANG")},
                                      {.name = TEXT("TRACE"), .value = TEXT("t%{local_rank}")}};
static struct jr_env_entry asked[] = {{.name = TEXT("DATA_ROOT"), .required = true}};
static struct jr_env_entry common[] = {{.name = TEXT("COMMON"), .value = TEXT("all")},
                                       {.name = TEXT("GONE"), .value = TEXT("all")}};

static char lang[] = "LANG=C", path[] = "PATH=/bin";

static void sample_of(struct sample *s, struct jr_rank_entry *entries, uint32_t count)
{
    static char *outer[] = {lang, path, NULL};
    sample_init(s, 1, 1, 4);
    s->job.env = common;
    s->job.env_count = LENGTH(common);
    s->job.per_rank = entries;
    s->job.per_rank_count = count;
    s->options.environ = outer;
}

TEST(adds_arguments)
{
    char *first[] = {TEXT("--main"), TEXT("%{rank}")}, *rest[] = {TEXT("-q")};
    struct jr_rank_entry entries[] = {{.ranks = TEXT("0"), .args = first, .args_count = 2},
                                      {.ranks = TEXT("2-3"), .args = rest, .args_count = 1}};
    static const char *const expected[4] = {"./train --epochs 5 --main 0 ", "./train --epochs 5 ",
                                            "./train --epochs 5 -q ", "./train --epochs 5 -q "};
    struct sample s SAMPLE_CLEANUP;
    sample_of(&s, entries, 2);
    CU_ASSERT_EQUAL_FATAL(sample_build(&s), JR_STATUS_OK);
    for (uint32_t rank = 0; rank < 4; rank++) {
        struct jr_buf words JR_BUF_CLEANUP = JR_BUF_INIT;
        char *const *argv = s.plan.ranks[rank].argv;
        for (; *argv != NULL; argv++)
            jr_buf_printf(&words, "%s ", *argv);
        JR_ASSERT_TEXT(words.data, expected[rank]);
    }
}

/* Over those of all ranks; null takes away what was inherited, too. */
TEST(adds_variables)
{
    struct jr_rank_entry entries[] = {
        {.ranks = TEXT("1,3"), .env = debug, .env_count = LENGTH(debug)}};
    struct sample s SAMPLE_CLEANUP;
    sample_of(&s, entries, 1);
    CU_ASSERT_EQUAL_FATAL(sample_build(&s), JR_STATUS_OK);
    JR_ASSERT_TEXT(sample_env(&s, 1, "DEBUG"), "1");
    JR_ASSERT_TEXT(sample_env(&s, 3, "DEBUG"), "3");
    JR_ASSERT_TEXT(sample_env(&s, 1, "TRACE"), "t1");
    JR_ASSERT_TEXT(sample_env(&s, 3, "TRACE"), "t3");
    CU_ASSERT_PTR_NULL(sample_env(&s, 2, "TRACE"));
    JR_ASSERT_TEXT(sample_env(&s, 3, "COMMON"), "own");
    CU_ASSERT_PTR_NULL(sample_env(&s, 3, "GONE"));
    CU_ASSERT_PTR_NULL(sample_env(&s, 3, "LANG"));
    JR_ASSERT_TEXT(sample_env(&s, 3, "PATH"), "/bin");
    CU_ASSERT_PTR_NULL(sample_env(&s, 2, "DEBUG"));
    JR_ASSERT_TEXT(sample_env(&s, 2, "COMMON"), "all");
    JR_ASSERT_TEXT(sample_env(&s, 2, "GONE"), "all");
    JR_ASSERT_TEXT(sample_env(&s, 2, "LANG"), "C");
    for (uint32_t rank = 0; rank < 4; rank++) {
        const struct jr_plan_rank *at = &s.plan.ranks[rank];
        bool apart = rank % 2 == 1;
        CU_ASSERT_EQUAL(at->env_own, s.plan.ranks[apart ? 1 : 0].env_own);
        JR_ASSERT_TEXT(at->env[at->env_own], apart ? "PATH=/bin" : "LANG=C");
    }
}

TEST(tells_what_ranks_have_apart)
{
    struct jr_rank_entry entries[] = {
        {.ranks = TEXT("1"), .env = debug, .env_count = LENGTH(debug)}};
    struct sample s SAMPLE_CLEANUP;
    sample_of(&s, entries, 1);
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    CU_ASSERT_EQUAL_FATAL(sample_build(&s), JR_STATUS_OK);
    jr_plan_print(&out, &s.plan, true, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(out.data);
    const char *all = strstr(out.data, "environment of every rank");
    const char *zero = strstr(out.data, "environment of rank 0");
    const char *one = strstr(out.data, "environment of rank 1");
    const char *two = strstr(out.data, "environment of rank 2");
    CU_ASSERT_TRUE_FATAL(all != NULL && zero != NULL && one != NULL && two != NULL);
    const char *world = strstr(all, "  WORLD_SIZE=4\n");
    CU_ASSERT_TRUE(world != NULL && world < zero);
    CU_ASSERT_PTR_NULL(strstr(world + 1, "  WORLD_SIZE=4\n"));
    const char *own = strstr(out.data, "  DEBUG=1\n");
    CU_ASSERT_TRUE(own > one && own < two);
    own = strstr(out.data, "  COMMON=all\n");
    CU_ASSERT_TRUE(own > zero && own < one);
    own = strstr(one, "  COMMON=own\n");
    CU_ASSERT_TRUE(own > one && own < two);
}

TEST(refuses)
{
    char *bad[] = {TEXT("%{nope}")};
    struct jr_rank_entry unset[] = {{.ranks = TEXT("0"), .env = asked, .env_count = 1}};
    struct jr_rank_entry args[] = {{.ranks = TEXT("0"), .args = bad, .args_count = 1}};
    struct jr_rank_entry ranks[] = {{.ranks = TEXT("x")}};
    struct sample s;
    sample_of(&s, unset, 1);
    CU_ASSERT_EQUAL(sample_build(&s), JR_STATUS_UNRESOLVED);
    CU_ASSERT_TRUE(sample_found(&s, "JR0501", "DATA_ROOT"));
    JR_ASSERT_TEXT(s.diags.items[0].path, "per_rank.0.env.DATA_ROOT");
    sample_release(&s);
    sample_of(&s, args, 1);
    CU_ASSERT_EQUAL(sample_build(&s), JR_STATUS_INVALID);
    CU_ASSERT_TRUE(sample_found(&s, "JR0502", "nope"));
    sample_release(&s);
    sample_of(&s, ranks, 1);
    CU_ASSERT_EQUAL(sample_build(&s), JR_STATUS_INVALID);
    CU_ASSERT_TRUE(sample_found(&s, "JR0506", "not a set of ranks"));
    sample_release(&s);
}

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

static uint32_t copy(struct jr_stream_rule *ret, struct jr_arena *arena, const char *ranks,
                     enum jr_streams streams)
{
    if (ranks == NULL)
        return 0;
    *ret = (struct jr_stream_rule){jr_arena_strdup(arena, ranks), streams};
    return 1;
}

static void check(const struct rules *rules, bool good)
{
    struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
    struct jr_stream_rule redirects[3], tee[3];
    struct jr_job job = {.redirects = redirects, .tee = tee};
    struct jr_error err = {0};
    char got[3 * RANKS + 1] = "";
    job.tee_stated = rules->tee_stated;
    for (int i = 0; i < 3; i++) {
        job.redirects_count +=
            copy(&redirects[i], &arena, rules->redirects[i].ranks, rules->redirects[i].streams);
        job.tee_count += copy(&tee[i], &arena, rules->tee[i].ranks, rules->tee[i].streams);
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
}

TEST(refuses_what_is_no_set_of_ranks)
{
    static const struct rules bad[] = {{.redirects = {{"0", JR_STREAM_ALL}, {"x", JR_STREAM_OUT}},
                                        .expected = "redirects: 'x' is not a set of local ranks"},
                                       {.tee = {{"1-", JR_STREAM_ALL}},
                                        .tee_stated = true,
                                        .expected = "tee: '1-' is not a set of local ranks"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        check(&bad[i], false);
}

TEST(applies_rules)
{
    static const struct rules good[] = {
        /* Nothing said: everything is captured and shown. */
        {.expected = "tt tt tt tt"},
        {.tee_stated = true, .expected = "ii ii ii ii"},
        {.tee = {{"all", JR_STREAM_NONE}}, .tee_stated = true, .expected = "ii ii ii ii"},
        {.redirects = {{"all", JR_STREAM_ALL}}, .expected = "ff ff ff ff"},
        {.redirects = {{"all", JR_STREAM_OUT}}, .expected = "ft ft ft ft"},
        {.redirects = {{"0", JR_STREAM_ALL}, {"1-3/2", JR_STREAM_ERR}}, .expected = "ff tf tt tf"},
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
        {.redirects = {{"none", JR_STREAM_ALL}}, .expected = "tt tt tt tt"}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        check(&good[i], true);
}
