/* Which cell begins when, and on what: the schedule played through. */
#include "sweep/schedule.h"

#include "base/buf.h"
#include "unit.h"

enum { MOST = 64 };

/* A schedule with cells of kinds, and what runs. */
struct play {
    struct jr_schedule schedule;
    struct jr_arena arena;
    struct jr_grant grants[MOST];
    bool skips[MOST];
    struct jr_buf told; /* "b0 b1 e0": began and ended */
};

static void start_on(struct play *play, const struct jr_slots *kinds, size_t kinds_count,
                     const uint32_t *kind_of, size_t count, const struct jr_node_room *rooms,
                     uint32_t nodes, uint32_t parallel)
{
    const struct jr_schedule with = {.kinds = kinds,
                                     .kinds_count = kinds_count,
                                     .kind_of = kind_of,
                                     .skips = play->skips,
                                     .count = count,
                                     .rooms = rooms,
                                     .nodes_count = nodes,
                                     .parallel = parallel};
    play->arena = JR_ARENA_INIT;
    play->told = JR_BUF_INIT;
    jr_schedule_init(&play->schedule, &with);
}

/* The same on one node. */
static void start(struct play *play, const struct jr_slots *kinds, size_t kinds_count,
                  const uint32_t *kind_of, size_t count, struct jr_node_room room,
                  uint32_t parallel)
{
    start_on(play, kinds, kinds_count, kind_of, count, &room, 1, parallel);
}

static void begin(struct play *play)
{
    size_t cell;
    struct jr_grant grant;
    while (jr_schedule_next(&play->schedule, &play->arena, &cell, &grant)) {
        play->grants[cell] = grant;
        jr_buf_printf(&play->told, "b%zu ", cell);
    }
}

static void end(struct play *play, size_t cell)
{
    jr_schedule_end(&play->schedule, &play->grants[cell]);
    jr_buf_printf(&play->told, "e%zu ", cell);
    begin(play);
}

static bool has_more(const struct play *play)
{
    return jr_schedule_has_more(&play->schedule, false) ||
           jr_schedule_has_more(&play->schedule, true);
}

static void finish(struct play *play, const char *expected)
{
    JR_ASSERT_TEXT(play->told.data == NULL ? "" : play->told.data, expected);
    jr_buf_release(&play->told);
    jr_schedule_release(&play->schedule);
    jr_arena_release(&play->arena);
}

static const struct jr_slots one_core[] = {{.cores = 1}};
static const uint32_t all_zero[MOST];

TEST(begins_in_order_as_room_becomes_free)
{
    struct play play = {0};
    start(&play, one_core, 1, all_zero, 4, (struct jr_node_room){.cores = 2}, 0);
    begin(&play);
    CU_ASSERT_TRUE(has_more(&play));
    end(&play, 1);
    end(&play, 0);
    CU_ASSERT_FALSE(has_more(&play));
    end(&play, 2);
    end(&play, 3);
    finish(&play, "b0 b1 e1 b2 e0 b3 e2 e3 ");
}

TEST(gives_each_cell_its_own)
{
    static const struct jr_slots two[] = {{.cores = 2}, {.devices = 1}};
    static const uint32_t kinds[] = {0, 1, 1, 0};
    struct play play = {0};
    start(&play, two, 2, kinds, 4, (struct jr_node_room){.cores = 4, .devices = 2}, 0);
    begin(&play);
    CU_ASSERT_EQUAL(play.grants[0].cores[0], 0);
    CU_ASSERT_EQUAL(play.grants[0].cores[1], 1);
    CU_ASSERT_EQUAL(play.grants[3].cores[0], 2);
    CU_ASSERT_EQUAL(play.grants[1].devices[0], 0);
    CU_ASSERT_EQUAL(play.grants[2].devices[0], 1);
    CU_ASSERT_EQUAL(play.grants[2].cores_count, 0);
    finish(&play, "b0 b1 b2 b3 ");
}

TEST(gives_back_what_was_had)
{
    struct play play = {0};
    start(&play, one_core, 1, all_zero, 3, (struct jr_node_room){.cores = 2}, 0);
    begin(&play);
    end(&play, 0);
    CU_ASSERT_EQUAL(play.grants[2].cores[0], 0);
    finish(&play, "b0 b1 e0 b2 ");
}

TEST(obeys_the_limit)
{
    struct play play = {0};
    start(&play, one_core, 1, all_zero, 3, (struct jr_node_room){.cores = 8}, 1);
    begin(&play);
    end(&play, 0);
    finish(&play, "b0 e0 b1 ");
}

TEST(lets_cells_share_if_told_to)
{
    static const struct jr_slots shares[] = {{.cores = 2, .shares = true}};
    struct play play = {0};
    start(&play, shares, 1, all_zero, 5, (struct jr_node_room){.cores = 2}, 3);
    begin(&play);
    CU_ASSERT_EQUAL(play.grants[0].cores_count, 2);
    CU_ASSERT_EQUAL(play.grants[1].cores_count, 0);
    end(&play, 0);
    CU_ASSERT_EQUAL(play.grants[3].cores_count, 2);
    finish(&play, "b0 b1 b2 e0 b3 ");
}

TEST(runs_alone_what_is_too_large)
{
    static const struct jr_slots vectors[] = {{.cores = 9}, {.devices = 3}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct play play = {0};
        start(&play, &vectors[i], 1, all_zero, 2, (struct jr_node_room){.cores = 2, .devices = 2},
              0);
        begin(&play);
        end(&play, 0);
        finish(&play, "b0 e0 b1 ");
    }
}

TEST(skips_what_is_done)
{
    struct play play = {.skips = {true, false, true, false}};
    start(&play, one_core, 1, all_zero, 4, (struct jr_node_room){.cores = 4}, 0);
    begin(&play);
    finish(&play, "b1 b3 ");
}

/* What somebody else holds is given to nobody, and whoever lacks it is told. */
TEST(leaves_what_is_away)
{
    static const struct jr_slots kinds[] = {{.devices = 2}, {.devices = 1}};
    static const uint32_t kind_of[] = {0, 1, 1};
    struct play play = {0};
    uint32_t kind = 9;
    start(&play, kinds, 2, kind_of, 3, (struct jr_node_room){.devices = 3}, 0);
    play.schedule.nodes[0].device_away[0] = play.schedule.nodes[0].device_away[2] = true;
    begin(&play);
    CU_ASSERT_EQUAL(play.grants[1].devices[0], 1);
    CU_ASSERT_TRUE(jr_schedule_lacks(&play.schedule, &kind));
    CU_ASSERT_EQUAL(kind, 0);
    play.schedule.nodes[0].device_away[0] = false;
    begin(&play);
    CU_ASSERT_EQUAL(play.grants[2].devices[0], 0);
    /* it lacks what its own cells have, and that is no matter of others */
    CU_ASSERT_FALSE(jr_schedule_lacks(&play.schedule, &kind));
    end(&play, 1);
    CU_ASSERT_TRUE(jr_schedule_lacks(&play.schedule, &kind));
    play.schedule.nodes[0].device_away[2] = false;
    begin(&play);
    CU_ASSERT_EQUAL(play.grants[0].devices[0], 1);
    CU_ASSERT_EQUAL(play.grants[0].devices[1], 2);
    CU_ASSERT_FALSE(jr_schedule_lacks(&play.schedule, &kind));
    finish(&play, "b1 b2 e1 b0 ");
}

TEST(gives_only_devices_that_will_do)
{
    static const bool odd[] = {false, true, false, true};
    static const bool *const of_nodes[] = {odd};
    static const struct jr_slots kinds[] = {{.devices = 1, .may = of_nodes}};
    struct play play = {0};
    uint32_t kind;
    start(&play, kinds, 1, all_zero, 3, (struct jr_node_room){.devices = 4}, 0);
    begin(&play);
    CU_ASSERT_EQUAL(play.grants[0].devices[0], 1);
    CU_ASSERT_EQUAL(play.grants[1].devices[0], 3);
    CU_ASSERT_FALSE(jr_schedule_lacks(&play.schedule, &kind));
    end(&play, 1);
    CU_ASSERT_EQUAL(play.grants[2].devices[0], 3);
    finish(&play, "b0 b1 e1 b2 ");
}

TEST(takes_back_what_was_not_to_be_had)
{
    static const struct jr_slots kinds[] = {{.cores = 1, .devices = 1}};
    struct play play = {0};
    struct jr_grant grant;
    size_t cell = 9;
    start(&play, kinds, 1, all_zero, 2, (struct jr_node_room){.cores = 1, .devices = 1}, 0);
    for (int i = 0; i < 2; i++) {
        CU_ASSERT_TRUE(jr_schedule_next(&play.schedule, &play.arena, &cell, &grant));
        CU_ASSERT_EQUAL(cell, 0);
        jr_schedule_undo(&play.schedule, cell, &grant);
        CU_ASSERT_EQUAL(play.schedule.running, 0);
        CU_ASSERT_EQUAL(play.schedule.nodes[0].free_cores, 1);
    }
    begin(&play);
    end(&play, 0);
    finish(&play, "b0 e0 b1 ");
}

TEST(begins_no_cell_of_a_kind_that_was_dropped)
{
    static const struct jr_slots kinds[] = {{.cores = 1}, {.cores = 2}};
    static const uint32_t kind_of[] = {0, 1, 0};
    struct play play = {0};
    start(&play, kinds, 2, kind_of, 3, (struct jr_node_room){.cores = 2}, 0);
    jr_schedule_drop(&play.schedule, 0);
    begin(&play);
    end(&play, 1);
    CU_ASSERT_FALSE(has_more(&play));
    finish(&play, "b1 e1 ");
}

/* Cell 1 needs all there is; the small ones behind it go first only so often.
 */
TEST(brings_a_large_cell_to_its_turn)
{
    static const struct jr_slots kinds[] = {{.cores = 1}, {.cores = 2}};
    static const uint32_t kind_of[MOST] = {0, 1};
    struct play play = {0};
    size_t ended = 0, began = 0;
    start(&play, kinds, 2, kind_of, MOST, (struct jr_node_room){.cores = 2}, 0);
    begin(&play);
    JR_ASSERT_TEXT(play.told.data, "b0 b2 ");
    for (ended = 2; ended < MOST && strstr(play.told.data, "b1 ") == NULL; ended++)
        end(&play, ended == 2 ? 0 : ended - 1);
    began = play.schedule.next[0];
    CU_ASSERT_PTR_NOT_NULL(strstr(play.told.data, "b1 "));
    CU_ASSERT_EQUAL(began, 2 + 16); /* 0, and 16 behind it */
    jr_buf_release(&play.told);
    jr_schedule_release(&play.schedule);
    jr_arena_release(&play.arena);
}

/* What did not begin after all has passed nobody over. */
TEST(counts_only_cells_that_began)
{
    static const struct jr_slots kinds[] = {{.cores = 1}, {.cores = 2}};
    static const uint32_t kind_of[MOST] = {0, 1};
    struct play play = {0};
    struct jr_grant grant;
    size_t cell;
    start(&play, kinds, 2, kind_of, MOST, (struct jr_node_room){.cores = 2}, 0);
    begin(&play);
    JR_ASSERT_TEXT(play.told.data, "b0 b2 ");
    for (size_t passed = 1; passed < 16; passed++) {
        jr_schedule_end(&play.schedule, &play.grants[passed + 1]);
        CU_ASSERT_TRUE_FATAL(jr_schedule_next(&play.schedule, &play.arena, &cell, &grant));
        CU_ASSERT_EQUAL(cell, passed + 2);
        jr_schedule_undo(&play.schedule, cell, &grant);
        begin(&play);
    }
    end(&play, 17);
    JR_ASSERT_TEXT(play.told.data, "b0 b2 b3 b4 b5 b6 b7 b8 b9 b10 b11 b12 b13 b14 b15 b16 b17 "
                                   "e17 ");
    end(&play, 0);
    finish(&play, "b0 b2 b3 b4 b5 b6 b7 b8 b9 b10 b11 b12 b13 b14 b15 b16 b17 e17 e0 b1 ");
}

/* A cell that would not begin anyway lacks nothing that somebody else has. */
TEST(lacks_nothing_before_its_turn)
{
    static const struct jr_slots kinds[] = {{.cores = 2}, {.cores = 1}, {.devices = 1}};
    uint32_t kind_of[MOST] = {1, 0};
    struct play play = {0};
    uint32_t kind = 9;
    for (uint32_t i = 2; i < MOST; i++)
        kind_of[i] = i < 18 ? 1 : 2;
    start(&play, kinds, 3, kind_of, MOST, (struct jr_node_room){.cores = 2, .devices = 1}, 0);
    play.schedule.nodes[0].device_away[0] = true;
    begin(&play);
    for (size_t i = 2; i < 17; i++) {
        CU_ASSERT_TRUE(jr_schedule_lacks(&play.schedule, &kind));
        CU_ASSERT_EQUAL(kind, 2);
        end(&play, i);
    }
    CU_ASSERT_FALSE(jr_schedule_lacks(&play.schedule, &kind));
    end(&play, 17);
    CU_ASSERT_FALSE(jr_schedule_lacks(&play.schedule, &kind));
    end(&play, 0); /* 1 begins */
    CU_ASSERT_TRUE(jr_schedule_lacks(&play.schedule, &kind));
    CU_ASSERT_EQUAL(kind, 2);
    jr_buf_release(&play.told);
    jr_schedule_release(&play.schedule);
    jr_arena_release(&play.arena);
}

/* A cell that needs just what there is does not begin without a part of it. */
TEST(waits_for_the_last_part_of_a_node)
{
    static const struct jr_slots kinds[] = {{.cores = 2, .devices = 1}};
    struct play play = {0};
    uint32_t kind = 9;
    start(&play, kinds, 1, all_zero, 1, (struct jr_node_room){.cores = 2, .devices = 1}, 0);
    play.schedule.nodes[0].device_away[0] = true;
    begin(&play);
    CU_ASSERT_EQUAL(play.schedule.running, 0);
    CU_ASSERT_TRUE(jr_schedule_lacks(&play.schedule, &kind));
    play.schedule.nodes[0].device_away[0] = false;
    begin(&play);
    CU_ASSERT_EQUAL(play.grants[0].devices_count, 1);
    finish(&play, "b0 ");
}

/* Beside others it begins only where a limit says how many there may be. */
TEST(lets_cells_share_within_a_limit_alone)
{
    static const struct jr_slots shares[] = {{.cores = 2, .shares = true}};
    struct play play = {0};
    start(&play, shares, 1, all_zero, 2, (struct jr_node_room){.cores = 2}, 0);
    begin(&play);
    end(&play, 0);
    finish(&play, "b0 e0 b1 ");
}

/* Nor has it what is away. */
TEST(shares_no_device_that_is_away)
{
    static const struct jr_slots shares[] = {{.devices = 1, .shares = true}};
    static const struct jr_node_room rooms[] = {{.devices = 1}, {.devices = 1}};
    struct play play = {0};
    start_on(&play, shares, 1, all_zero, 2, rooms, 2, 2);
    play.schedule.nodes[0].device_away[0] = true;
    begin(&play);
    CU_ASSERT_EQUAL(play.grants[0].node, 1);
    CU_ASSERT_EQUAL(play.grants[0].devices_count, 1);
    CU_ASSERT_EQUAL(play.grants[1].node, 0);
    CU_ASSERT_EQUAL(play.grants[1].devices_count, 0);
    finish(&play, "b0 b1 ");
}

/* Also if less runs on it than on any other. */
TEST(shares_no_node_that_is_lost)
{
    static const struct jr_slots shares[] = {{.cores = 2, .shares = true}};
    static const struct jr_node_room rooms[] = {{.cores = 1}, {.cores = 1}};
    struct play play = {0};
    start_on(&play, shares, 1, all_zero, 3, rooms, 2, 2);
    jr_schedule_lose(&play.schedule, 0);
    begin(&play);
    CU_ASSERT_EQUAL(play.grants[0].node, 1);
    CU_ASSERT_EQUAL(play.grants[1].node, 1);
    jr_schedule_lose(&play.schedule, 1);
    end(&play, 0);
    jr_schedule_regain(&play.schedule, 0);
    begin(&play);
    CU_ASSERT_EQUAL(play.grants[2].node, 0);
    finish(&play, "b0 b1 e0 b2 ");
}

/* The node of a cell that runs. */
static void begins_on(const struct play *play, size_t cell, uint32_t node)
{
    CU_ASSERT_EQUAL(play->grants[cell].node, node);
}

TEST(fills_one_node_after_the_other)
{
    static const struct jr_node_room rooms[] = {{.cores = 2}, {.cores = 1}};
    struct play play = {0};
    start_on(&play, one_core, 1, all_zero, 5, rooms, 2, 0);
    begin(&play);
    begins_on(&play, 0, 0);
    begins_on(&play, 1, 0);
    begins_on(&play, 2, 1);
    CU_ASSERT_EQUAL(play.grants[1].cores[0], 1);
    CU_ASSERT_EQUAL(play.grants[2].cores[0], 0);
    end(&play, 2);
    begins_on(&play, 3, 1);
    end(&play, 0);
    begins_on(&play, 4, 0);
    finish(&play, "b0 b1 b2 e2 b3 e0 b4 ");
}

/* A cell is not spread over nodes, however much they have together. */
TEST(puts_a_cell_on_one_node)
{
    static const struct jr_slots kinds[] = {{.cores = 1}, {.devices = 2}};
    static const uint32_t kind_of[] = {0, 1, 1};
    static const struct jr_node_room rooms[] = {{.cores = 1, .devices = 1},
                                                {.cores = 1, .devices = 3}};
    struct play play = {0};
    start_on(&play, kinds, 2, kind_of, 3, rooms, 2, 0);
    begin(&play);
    begins_on(&play, 0, 0);
    begins_on(&play, 1, 1);
    CU_ASSERT_EQUAL(play.grants[1].devices_count, 2);
    CU_ASSERT_EQUAL(play.grants[1].devices[1], 1);
    end(&play, 1);
    begins_on(&play, 2, 1);
    finish(&play, "b0 b1 e1 b2 ");
}

TEST(knows_which_devices_of_each_node_will_do)
{
    static const bool none[] = {false, false}, second[] = {false, true};
    static const bool *const of_nodes[] = {none, second};
    static const struct jr_slots kinds[] = {{.devices = 1, .may = of_nodes}};
    static const struct jr_node_room rooms[] = {{.devices = 2}, {.devices = 2}};
    struct play play = {0};
    start_on(&play, kinds, 1, all_zero, 2, rooms, 2, 0);
    begin(&play);
    begins_on(&play, 0, 1);
    CU_ASSERT_EQUAL(play.grants[0].devices[0], 1);
    end(&play, 0);
    begins_on(&play, 1, 1);
    finish(&play, "b0 e0 b1 ");
}

/* Nothing runs beside it, and it waits for no more than its turn. */
TEST(gives_all_nodes_to_a_cell_of_several)
{
    static const struct jr_slots kinds[] = {{.cores = 1}, {.cores = 1, .alone = true}};
    static const uint32_t kind_of[] = {0, 1, 0, 1};
    static const struct jr_node_room rooms[] = {{.cores = 1}, {.cores = 1}};
    struct play play = {0};
    start_on(&play, kinds, 2, kind_of, 4, rooms, 2, 0);
    begin(&play);
    JR_ASSERT_TEXT(play.told.data, "b0 b2 ");
    end(&play, 0);
    end(&play, 2);
    CU_ASSERT_TRUE(play.grants[1].alone);
    begins_on(&play, 1, 0);
    CU_ASSERT_EQUAL(play.grants[1].cores_count, 0);
    end(&play, 1);
    CU_ASSERT_TRUE(play.grants[3].alone);
    end(&play, 3);
    finish(&play, "b0 b2 e0 e2 b1 e1 b3 e3 ");
}

TEST(begins_nothing_on_a_node_that_is_lost)
{
    static const struct jr_slots kinds[] = {{.cores = 1}, {.cores = 1, .alone = true}};
    static const uint32_t kind_of[] = {0, 0, 0, 1};
    static const struct jr_node_room rooms[] = {{.cores = 1}, {.cores = 1}};
    struct play play = {0};
    start_on(&play, kinds, 2, kind_of, 4, rooms, 2, 0);
    begin(&play);
    jr_schedule_lose(&play.schedule, 0);
    end(&play, 0);
    JR_ASSERT_TEXT(play.told.data, "b0 b1 e0 ");
    CU_ASSERT_TRUE(jr_schedule_has_more(&play.schedule, false));
    end(&play, 1);
    begins_on(&play, 2, 1);
    end(&play, 2);
    CU_ASSERT_TRUE(has_more(&play)); /* it wants both */
    CU_ASSERT_FALSE(jr_schedule_has_more(&play.schedule, false));
    CU_ASSERT_TRUE(jr_schedule_has_more(&play.schedule, true));
    jr_schedule_regain(&play.schedule, 0);
    begin(&play);
    CU_ASSERT_TRUE(play.grants[3].alone);
    finish(&play, "b0 b1 e0 e1 b2 e2 b3 ");
}

/* A cell of several nodes waits for each of them. */
TEST(waits_for_the_last_node_too)
{
    static const struct jr_slots kinds[] = {{.cores = 1, .alone = true}};
    static const struct jr_node_room rooms[] = {{.cores = 1}, {.cores = 1}};
    struct play play = {0};
    start_on(&play, kinds, 1, all_zero, 1, rooms, 2, 0);
    jr_schedule_lose(&play.schedule, 1);
    begin(&play);
    CU_ASSERT_EQUAL(play.schedule.running, 0);
    jr_schedule_regain(&play.schedule, 1);
    begin(&play);
    finish(&play, "b0 ");
}

TEST(counts_the_limit_over_all_nodes)
{
    static const struct jr_node_room rooms[] = {{.cores = 2}, {.cores = 2}};
    struct play play = {0};
    start_on(&play, one_core, 1, all_zero, 4, rooms, 2, 3);
    begin(&play);
    begins_on(&play, 2, 1);
    end(&play, 0);
    begins_on(&play, 3, 0);
    finish(&play, "b0 b1 b2 e0 b3 ");
}

/* What shares, and what is larger than any node, goes where least runs. */
TEST(puts_what_has_no_room_where_least_runs)
{
    static const struct jr_slots kinds[] = {{.cores = 1, .shares = true}, {.cores = 9}};
    static const uint32_t kind_of[] = {0, 0, 0, 0, 1};
    static const struct jr_node_room rooms[] = {{.cores = 1}, {.cores = 1}};
    struct play play = {0};
    start_on(&play, kinds, 2, kind_of, 5, rooms, 2, 4);
    begin(&play);
    begins_on(&play, 2, 0);
    begins_on(&play, 3, 1);
    CU_ASSERT_EQUAL(play.grants[3].cores_count, 0);
    end(&play, 0);
    end(&play, 2);
    begins_on(&play, 4, 0);
    finish(&play, "b0 b1 b2 b3 e0 e2 b4 ");
}

/* Also once the cell that had it gives it back. */
TEST(gives_what_is_lost_to_nobody)
{
    static const struct jr_slots kinds[] = {{.devices = 1}, {.devices = 2}};
    static const uint32_t kind_of[] = {0, 0, 0, 1, 0};
    static const struct jr_node_room rooms[] = {{.devices = 2}, {.devices = 1}};
    struct play play = {0};
    uint32_t left;
    start_on(&play, kinds, 2, kind_of, 5, rooms, 2, 0);
    begin(&play);
    CU_ASSERT_TRUE(jr_schedule_could_begin(&play.schedule, 1, &left));
    CU_ASSERT_EQUAL(left, 2);
    CU_ASSERT_TRUE(jr_schedule_lose_device(&play.schedule, 0, 0));
    CU_ASSERT_FALSE(jr_schedule_lose_device(&play.schedule, 0, 0));
    CU_ASSERT_FALSE(jr_schedule_could_begin(&play.schedule, 1, &left));
    CU_ASSERT_EQUAL(left, 1);
    CU_ASSERT_TRUE(jr_schedule_could_begin(&play.schedule, 0, &left));
    end(&play, 0);
    CU_ASSERT_FALSE(jr_schedule_lacks(&play.schedule, &left));
    jr_schedule_drop(&play.schedule, 1);
    end(&play, 1);
    CU_ASSERT_EQUAL(play.grants[4].node, 0);
    CU_ASSERT_EQUAL(play.grants[4].devices[0], 1);
    end(&play, 4);
    end(&play, 2);
    CU_ASSERT_TRUE(jr_schedule_could_begin(&play.schedule, 1, &left));
    CU_ASSERT_FALSE(has_more(&play));
    finish(&play, "b0 b1 b2 e0 e1 b4 e4 e2 ");
}

/* Whatever needs no device of its own of one node can do without those that are lost. */
TEST(goes_on_without_what_is_lost)
{
    static const struct jr_slots kinds[] = {
        {.devices = 2}, {.devices = 2, .alone = true}, {.devices = 2, .shares = true},
        {.devices = 3}, {.cores = 9, .devices = 2},    {.devices = 1}};
    static const bool could[] = {false, true, true, true, true, true};
    static const uint32_t kind_of[] = {0, 1, 2, 3, 4, 5};
    struct play play = {0};
    uint32_t left = 9;
    start(&play, kinds, 6, kind_of, 6, (struct jr_node_room){.devices = 2}, 0);
    CU_ASSERT_TRUE(jr_schedule_lose_device(&play.schedule, 0, 1));
    for (uint32_t kind = 0; kind < 6; kind++) {
        CU_ASSERT_EQUAL(jr_schedule_could_begin(&play.schedule, kind, &left), could[kind]);
        CU_ASSERT_EQUAL(left, 1);
    }
    jr_schedule_drop(&play.schedule, 0);
    CU_ASSERT_TRUE(jr_schedule_could_begin(&play.schedule, 0, &left));
    finish(&play, "");
}
