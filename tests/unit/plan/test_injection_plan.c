#include "plan/internal.h"

#include "unit.h"

enum { RANKS = 8 };

/* What is ordered, and what is said of it where it is wrong. */
struct fixture {
    struct jr_arena arena;
    struct jr_diags diags;
    struct jr_policy policy;
    struct jr_plan_rank ranks[RANKS];
    struct jr_plan plan;
};

static enum jr_status parse(struct fixture *f, const char *text, uint32_t attempt)
{
    *f = (struct fixture){.policy = {.results = {.stated = true}, .requeue = {.max = 3}}};
    f->plan = (struct jr_plan){
        .world_size = RANKS, .count = RANKS, .nodes = 1, .ranks = f->ranks, .policy = &f->policy};
    for (uint32_t i = 0; i < RANKS; i++)
        f->ranks[i].rank = i;
    static const uint32_t sizes[] = {2, 1, 5};
    f->plan.attempt = attempt;
    f->plan.nodes = 3;
    return jr_inject_parse(&f->plan, &f->arena, text, sizes, &f->diags);
}

static void finish(struct fixture *f)
{
    jr_diags_release(&f->diags);
    jr_arena_release(&f->arena);
}

/* The column, and what is wrong there. */
TEST(refuses)
{
    EACH_PART(part,
              "1 |2  |1 ,|1 kill|6 kill:|1 :0|1 Kill:0|1 kill :0|6 kill:-1|6 kill:8|6 kill:0-8|"
              "6 kill:4294967296|6 kill:0-|6 kill:3-1|6 kill:none|6 kill:**|8 kill:0@|8 kill:0@5|"
              "8 kill:0@-1s|8 kill:0@1s2|8 kill:0@99999999999999999999s|8 kill:0#|8 kill:0#-1|"
              "8 kill:0#4294967296|7 kill:0=1|1 exit:0|8 exit:0=|8 exit:0=256|8 exit:0=1.0|"
              "8 exit:0=0x1|11 noresult:0@1s|10 kill:0@1s@1s|9 kill:0#1#1|6 kill:0 stop:1|"
              "6 kill:0;stop:1|1 lost_node|11 lost_node:*|11 lost_node:3|11 lost_node:-1|"
              "12 lost_node:1=2|8 preempt:1|8 preempt=1|9 preempt@|1 deadline@1s|8 kill:0,,stop:1|"
              "14 kill:0, stop:9|6 kill:0\n") {
        char *text;
        unsigned long column = strtoul(part, &text, 10);
        struct fixture f RELEASE(finish);
        CU_ASSERT_EQUAL(parse(&f, text + 1, 0), JR_STATUS_USAGE);
        CU_ASSERT_TRUE_FATAL(f.diags.count > 0);
        JR_ASSERT_TEXT(f.diags.items[0].code, "JR0510");
        CU_ASSERT_EQUAL(f.diags.items[0].span.column, column);
    }
}

TEST(orders)
{
    static const struct {
        const char *text;
        uint32_t attempt, count;
        enum jr_inject what; /* of the last */
        uint64_t after_ms;
        int code;
    } vectors[] = {{"kill:3@5s", 0, 1, JR_INJECT_KILL, 5000, 0},
                   {"exit:1=7@2s", 0, 1, JR_INJECT_EXIT, 2000, 7},
                   {"exit:1@2s=7", 0, 1, JR_INJECT_EXIT, 2000, 7},
                   {"hang:2", 0, 1, JR_INJECT_HANG, 0, 0},
                   {"stop:*", 0, 1, JR_INJECT_STOP, 0, 0},
                   {"slow:0-7/2@1m30s", 0, 1, JR_INJECT_SLOW, 90000, 0},
                   {"noresult:1-2", 0, 1, JR_INJECT_NORESULT, 0, 0},
                   {" kill:0 , oom:7@500ms ", 0, 2, JR_INJECT_OOM, 500, 0},
                   {"kill:0#1", 0, 0, 0, 0, 0},
                   {"kill:0#1", 1, 1, JR_INJECT_KILL, 0, 0},
                   {"kill:0#*, kill:1", 7, 1, JR_INJECT_KILL, 0, 0},
                   {"kill:0#0@1s", 0, 1, JR_INJECT_KILL, 1000, 0},
                   {"preempt@10s", 0, 1, JR_INJECT_PREEMPT, 10000, 0},
                   {"preempt@10s#2", 1, 0, 0, 0, 0}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct fixture f;
        CU_ASSERT_EQUAL(parse(&f, vectors[i].text, vectors[i].attempt), JR_STATUS_OK);
        CU_ASSERT_EQUAL(f.diags.count, 0);
        JR_ASSERT_TEXT(f.plan.inject, vectors[i].text);
        CU_ASSERT_EQUAL(f.plan.injections_count, vectors[i].count);
        if (vectors[i].count > 0 && f.plan.injections_count == vectors[i].count) {
            const struct jr_injection *last = &f.plan.injections[vectors[i].count - 1];
            CU_ASSERT_EQUAL(last->what, vectors[i].what);
            CU_ASSERT_EQUAL(last->after_ms, vectors[i].after_ms);
            CU_ASSERT_EQUAL(last->code, vectors[i].code);
        }
        finish(&f);
    }
}

TEST(orders_ranges)
{
    static const struct {
        const char *text;
        uint32_t first, last, step;
    } vectors[] = {{"kill:3", 3, 3, 1},      {"kill:0-7", 0, 7, 1},
                   {"kill:1-6/2", 1, 6, 2},  {"kill:*", 0, RANKS - 1, 1},
                   {"lost_node:0", 0, 1, 1}, {"lost_node:1@5s", 2, 2, 1},
                   {"lost_node:2", 3, 7, 1}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct fixture f;
        CU_ASSERT_EQUAL_FATAL(parse(&f, vectors[i].text, 0), JR_STATUS_OK);
        CU_ASSERT_EQUAL(f.plan.injections[0].first, vectors[i].first);
        CU_ASSERT_EQUAL(f.plan.injections[0].last, vectors[i].last);
        CU_ASSERT_EQUAL(f.plan.injections[0].step, vectors[i].step);
        finish(&f);
    }
}
