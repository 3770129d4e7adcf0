/* The mesh as `jobrun plan` shows it: the table and the groups, exactly. */
#include "base/buf.h"
#include "plan/print_parts.h"
#include "sample.h"

#define LAYOUT "       layout [data][pipeline][model], model fastest\n"

static void check_mesh(uint32_t model, uint32_t pipeline, uint32_t data, const char *expected)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    const struct jr_plan plan = {.world_size = model * pipeline * data,
                                 .axis_size = {model, pipeline, data}};
    jr_show_mesh(&out, &plan);
    JR_ASSERT_TEXT(out.data, expected);
}

/* An axis alone needs no table. */
static void shows_one_axis_by_its_groups(void)
{
    check_mesh(1, 1, 1,
               "1 rank = data 1 x pipeline 1 x model 1" LAYOUT
               "groups  one rank, its own group on each axis      proved: each "
               "axis partitions 0-0\n");
    check_mesh(1, 1, 4,
               "4 ranks = data 4 x pipeline 1 x model 1" LAYOUT
               "groups  data 0,1,2,3      proved: each axis partitions 0-3\n");
    check_mesh(4, 1, 1,
               "4 ranks = data 1 x pipeline 1 x model 4" LAYOUT
               "groups  model 0,1,2,3      proved: each axis partitions 0-3\n");
    check_mesh(1, 5, 1,
               "5 ranks = data 1 x pipeline 5 x model 1" LAYOUT
               "groups  pipeline 0-4      proved: each axis partitions 0-4\n");
}

static void shows_a_line_along_the_fastest_axis(void)
{
    check_mesh(2, 1, 3,
               "6 ranks = data 3 x pipeline 1 x model 2" LAYOUT "        model 0   model 1\n"
               "data 0  0         1\n"
               "data 1  2         3\n"
               "data 2  4         5\n"
               "groups  model 0,1 2,3 4,5   data 0,2,4 1,3,5      proved: each "
               "axis partitions 0-5\n");
    check_mesh(2, 2, 2,
               "8 ranks = data 2 x pipeline 2 x model 2" LAYOUT
               "                    model 0   model 1\n"
               "data 0  pipeline 0  0         1\n"
               "        pipeline 1  2         3\n"
               "data 1  pipeline 0  4         5\n"
               "        pipeline 1  6         7\n"
               "groups  model 0,1 2,3 4,5 6,7   pipeline 0,2 1,3 4,6 5,7   "
               "data 0,4 1,5 2,6 3,7      proved: each axis partitions 0-7\n");
    check_mesh(1, 2, 2,
               "4 ranks = data 2 x pipeline 2 x model 1" LAYOUT "        pipeline 0   pipeline 1\n"
               "data 0  0            1\n"
               "data 1  2            3\n"
               "groups  pipeline 0,1 2,3   data 0,2 1,3      proved: each axis partitions 0-3\n");
    check_mesh(8, 1, 2,
               "16 ranks = data 2 x pipeline 1 x model 8" LAYOUT
               "        model 0   model 1   model 2   model 3   model 4   model 5   model 6   "
               "model 7\n"
               "data 0  0         1         2         3         4         5         6         7\n"
               "data 1  8         9         10        11        12        13        14        15\n"
               "groups  model 0-7 8-15   data 0,8 1,9 2,10 3,11 4,12 5,13 6,14 7,15      proved: "
               "each axis partitions 0-15\n");
    check_mesh(9, 1, 2,
               "18 ranks = data 2 x pipeline 1 x model 9" LAYOUT "        model 0-8\n"
               "data 0  0-8\n"
               "data 1  9-17\n"
               "groups  model 0-8 9-17   data 0,9 1,10 2,11 3,12 .. 8,17 (9 "
               "groups)      proved: each axis partitions 0-17\n");
}

static void cuts_long_meshes(void)
{
    check_mesh(2, 1, 10,
               "20 ranks = data 10 x pipeline 1 x model 2" LAYOUT "        model 0   model 1\n"
               "data 0  0         1\n"
               "data 1  2         3\n"
               "data 2  4         5\n"
               "data 3  6         7\n"
               "data 4  8         9\n"
               "data 5  10        11\n"
               "data 6  12        13\n"
               "data 7  14        15\n"
               "data 8  16        17\n"
               "data 9  18        19\n"
               "groups  model 0,1 2,3 4,5 6,7 .. 18,19 (10 groups)   data "
               "0-18/2 1-19/2      proved: each axis partitions 0-19\n");
    check_mesh(2, 1, 11,
               "22 ranks = data 11 x pipeline 1 x model 2" LAYOUT "         model 0   model 1\n"
               "data 0   0         1\n"
               "data 1   2         3\n"
               "data 2   4         5\n"
               "data 3   6         7\n"
               "data 4   8         9\n"
               "data 5   10        11\n"
               "data 6   12        13\n"
               "data 7   14        15\n"
               "data 8   16        17\n"
               "data 9   18        19\n"
               "data 10  20        21\n"
               "groups  model 0,1 2,3 4,5 6,7 .. 20,21 (11 groups)   data "
               "0-20/2 1-21/2      proved: each axis partitions 0-21\n");
    check_mesh(2, 1, 16,
               "32 ranks = data 16 x pipeline 1 x model 2" LAYOUT "         model 0   model 1\n"
               "data 0   0         1\n"
               "data 1   2         3\n"
               "data 2   4         5\n"
               "data 3   6         7\n"
               "data 4   8         9\n"
               "data 5   10        11\n"
               "data 6   12        13\n"
               "data 7   14        15\n"
               "data 8   16        17\n"
               "data 9   18        19\n"
               "data 10  20        21\n"
               "data 11  22        23\n"
               "data 12  24        25\n"
               "data 13  26        27\n"
               "data 14  28        29\n"
               "data 15  30        31\n"
               "groups  model 0,1 2,3 4,5 6,7 .. 30,31 (16 groups)   data "
               "0-30/2 1-31/2      proved: each axis partitions 0-31\n");
    check_mesh(2, 1, 17,
               "34 ranks = data 17 x pipeline 1 x model 2" LAYOUT "         model 0   model 1\n"
               "data 0   0         1\n"
               "data 1   2         3\n"
               "data 2   4         5\n"
               "data 3   6         7\n"
               "data 4   8         9\n"
               "data 5   10        11\n"
               "data 6   12        13\n"
               "data 7   14        15\n"
               "...     8 more lines\n"
               "data 16  32        33\n"
               "groups  model 0,1 2,3 4,5 6,7 .. 32,33 (17 groups)   data "
               "0-32/2 1-33/2      proved: each axis partitions 0-33\n");
    check_mesh(4, 8, 4,
               "128 ranks = data 4 x pipeline 8 x model 4" LAYOUT
               "                    model 0   model 1   model 2   model 3\n"
               "data 0  pipeline 0  0         1         2         3\n"
               "        pipeline 1  4         5         6         7\n"
               "        pipeline 2  8         9         10        11\n"
               "        pipeline 3  12        13        14        15\n"
               "        pipeline 4  16        17        18        19\n"
               "        pipeline 5  20        21        22        23\n"
               "        pipeline 6  24        25        26        27\n"
               "        pipeline 7  28        29        30        31\n"
               "...     23 more lines\n"
               "data 3  pipeline 7  124       125       126       127\n"
               "groups  model 0,1,2,3 4,5,6,7 8,9,10,11 12,13,14,15 .. "
               "124,125,126,127 (32 groups)\n"
               "        pipeline 0-28/4 1-29/4 2-30/4 3-31/4 .. 99-127/4 (16 groups)\n"
               "        data 0,32,64,96 1,33,65,97 2,34,66,98 3,35,67,99 .. "
               "31,63,95,127 (32 groups)      proved: each axis partitions 0-127\n");
}

JR_UNIT_MAIN("plan.print_parts", CASE(shows_one_axis_by_its_groups),
             CASE(shows_a_line_along_the_fastest_axis), CASE(cuts_long_meshes))
