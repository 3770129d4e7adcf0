#include "cluster/controller.h"

#include "unit.h"

#include "base/buf.h"

/* "n1 n4 n3 | n5": the nodes, and the spares that are left. */
static const char *say(const struct jr_placing *placing, struct jr_buf *out)
{
    jr_buf_clear(out);
    for (uint32_t i = 0; i < placing->nodes + placing->spares; i++) {
        if (i == placing->nodes)
            jr_buf_str(out, "| ");
        jr_buf_printf(out, "%s ", placing->hosts[i]);
    }
    return out->len == 0 ? "" : out->data;
}

static char n1[] = "n1", n2[] = "n2", n3[] = "n3", n4[] = "n4", n5[] = "n5";
static char *hosts[] = {n1, n2, n3, n4, n5};

TEST(begins_with_the_first)
{
    struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_placing placing;
    CU_ASSERT_EQUAL(jr_placing_make(&placing, &arena, hosts, 3, 2), 0);
    JR_ASSERT_TEXT(say(&placing, &out), "n1 n2 n3 | n4 n5 ");
    CU_ASSERT_EQUAL(placing.left_out_count, 0);
    CU_ASSERT_EQUAL(jr_placing_make(&placing, &arena, hosts, 5, 0), 0);
    JR_ASSERT_TEXT(say(&placing, &out), "n1 n2 n3 n4 n5 ");
    CU_ASSERT_EQUAL(jr_placing_leave_out(&placing, 1, "gone"), -1);
    CU_ASSERT_EQUAL(placing.left_out_count, 0);
    JR_ASSERT_TEXT(say(&placing, &out), "n1 n2 n3 n4 n5 ");
}

TEST(is_refused_without_memory)
{
    struct jr_arena arena RELEASE(jr_arena_release) = {.failed = true};
    struct jr_placing placing;
    CU_ASSERT_EQUAL(jr_placing_make(&placing, &arena, hosts, 3, 2), -1);
}

struct step {
    uint32_t index;
    int result;
    const char *expected;
};

/* Each step leaves out a machine of the placing that the step before made. */
static void walk(const struct step *steps, size_t count)
{
    struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_placing placing;
    CU_ASSERT_EQUAL(jr_placing_make(&placing, &arena, hosts, 3, 2), 0);
    for (size_t i = 0; i < count; i++) {
        CU_ASSERT_EQUAL(jr_placing_leave_out(&placing, steps[i].index, "gone"), steps[i].result);
        JR_ASSERT_TEXT(say(&placing, &out), steps[i].expected);
    }
}

#define WALK(steps) walk(steps, sizeof(steps) / sizeof *(steps))

TEST(puts_spares_in_the_places_of_nodes)
{
    static const struct step ends[] = {
        {0, 0, "n4 n2 n3 | n5 "}, {2, 0, "n4 n2 n5 "}, {1, -1, "n4 n2 n5 "}};
    static const struct step same[] = {{1, 0, "n1 n4 n3 | n5 "}, {1, 0, "n1 n5 n3 "}};
    static const struct step spares[] = {{3, 0, "n1 n2 n3 | n5 "}, {1, 0, "n1 n5 n3 "}};
    static const struct step last[] = {
        {4, 0, "n1 n2 n3 | n4 "}, {3, 0, "n1 n2 n3 "}, {0, -1, "n1 n2 n3 "}};
    WALK(ends);
    WALK(same);
    WALK(spares);
    WALK(last);
}

TEST(keeps_who_was_left_out_and_why)
{
    struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
    struct jr_placing placing;
    char why[] = "it is down";
    CU_ASSERT_EQUAL(jr_placing_make(&placing, &arena, hosts, 3, 2), 0);
    CU_ASSERT_EQUAL(jr_placing_leave_out(&placing, 3, "not reached"), 0);
    CU_ASSERT_EQUAL(jr_placing_leave_out(&placing, 1, why), 0);
    why[0] = '\0';
    CU_ASSERT_EQUAL_FATAL(placing.left_out_count, 2);
    JR_ASSERT_TEXT(placing.left_out[0].host, "n4");
    JR_ASSERT_TEXT(placing.left_out[0].reason, "not reached");
    JR_ASSERT_TEXT(placing.left_out[1].host, "n2");
    JR_ASSERT_TEXT(placing.left_out[1].reason, "it is down");
}

/* A scheduler numbers the tasks of nodes in its own order. */
TEST(knows_the_tasks_of_nodes)
{
    struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
    struct jr_placing placing;
    static const uint32_t before[] = {0, 1, 2}, after[] = {2, 0, 1};
    CU_ASSERT_EQUAL(jr_placing_make(&placing, &arena, hosts, 3, 2), 0);
    for (uint32_t i = 0; i < 3; i++)
        CU_ASSERT_EQUAL(jr_placing_task(&placing, i), before[i]);
    CU_ASSERT_EQUAL(jr_placing_leave_out(&placing, 0, "gone"), 0);
    for (uint32_t i = 0; i < 3; i++)
        CU_ASSERT_EQUAL(jr_placing_task(&placing, i), after[i]);
}
