/* The parts of a drawing: places, round numbers, labels. */
#include <math.h>

#include "report/plot.h"
#include "quoted.h"

TEST(places_are_between_the_ends)
{
    static const struct {
        double value, low, high, part;
    } vectors[] = {{5, 0, 10, 0.5},
                   {0, 0, 10, 0},
                   {10, 0, 10, 1},
                   {3, 3, 3, 0.5},
                   {-1e308, -1e308, 1e308, 0},
                   {1e308, -1e308, 1e308, 1},
                   {0, -1e308, 1e308, 0.5},
                   {7, 10, 0, 0.5}};
    for (size_t i = 0; i < COUNT_OF(vectors); i++)
        CU_ASSERT_DOUBLE_EQUAL(jr_plot_part(vectors[i].value, vectors[i].low, vectors[i].high),
                               vectors[i].part, 1e-12);
}

TEST(ticks_are_round_numbers)
{
    static const struct {
        double low, high, least;
        const char *expected;
    } vectors[] = {{0, 1, 0, "0 0.2 0.4 0.6 0.8 1 "},
                   {0, 4, 0, "0 1 2 3 4 "},
                   {0.3, 11.9, 0, "2 4 6 8 10 "},
                   {-3, 3, 0, "-2 0 2 "},
                   {0, 3, 2, "0 2 "},
                   {0, 0.02, 0, "0 0.005 0.01 0.015 0.02 "},
                   {0, 6, 0, "0 2 4 6 "},
                   {0, 14, 0, "0 5 10 "},
                   {0, 30, 0, "0 10 20 30 "},
                   {0, 36, 0, "0 10 20 30 "},
                   {0, 360, 0, "0 100 200 300 "},
                   {0, 400, 0, "0 100 200 300 400 "},
                   {0, 40000, 0, "0 1e+04 2e+04 3e+04 4e+04 "},
                   {-3.5, 1, 0, "-3 -2 -1 0 1 "},
                   {0, 4, 1, "0 1 2 3 4 "},
                   {0, 1, 5, "0 "},
                   {0.5, 1, 5, "0.5 1 "}, /* none is round */
                   {0, 4e-310, 0, "0 4e-310 "},
                   {5, 5, 0, "5 "},
                   {1e300, 1e300, 0, "1e+300 "},
                   {1e20, 1.0000000000000002e20, 0, "1e+20 1e+20 "}};
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        double ticks[JR_PLOT_TICKS];
        JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
        size_t count = jr_plot_ticks(ticks, vectors[i].low, vectors[i].high, vectors[i].least);
        for (size_t j = 0; j < count; j++)
            jr_buf_printf(&out, "%.4g ", ticks[j]);
        JR_ASSERT_TEXT(out.data, vectors[i].expected);
    }
}

TEST(numbers_are_told_from_their_neighbours)
{
    JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
    static const double numbers[][2] = {{0.12345678, 1}, {1000.25, 1}, {-1000.25, 1}, {5000.4, 10},
                                        {5000.4, 10.5},  {0.5, 0},     {5000.4, 0},   {5000.4, -1}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        jr_plot_number(&out, numbers[i][0], numbers[i][1]);
        jr_buf_char(&out, ' ');
    }
    JR_ASSERT_TEXT(out.data, "0.1235 1000.25 -1000.25 5000.4 5000 0.5 5000 5000 ");
}

TEST(a_drawing_is_whole)
{
    JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
    jr_plot_value_axis(&out, 0, 4);
    JR_ASSERT_TEXT(
        out.data,
        jq("<svg class='labels' width='64' height='154' aria-hidden='true'><text x='58' "
           "y='144.0'>0</text><text x='58' y='109.0'>1</text><text x='58' y='74.0'>2</text><text "
           "x='58' y='39.0'>3</text><text x='58' y='4.0'>4</text></svg>"));
    jr_buf_clear(&out);
    jr_plot_open(&out, "a label", 0, 4);
    JR_ASSERT_TEXT(
        out.data,
        "<svg class=\"bars\" height=\"154\" role=\"img\" aria-label=\"a label\"><line x1=\"0\" "
        "x2=\"100%\" y1=\"140.0\" y2=\"140.0\"/><line x1=\"0\" x2=\"100%\" y1=\"105.0\" "
        "y2=\"105.0\"/><line x1=\"0\" x2=\"100%\" y1=\"70.0\" y2=\"70.0\"/><line x1=\"0\" "
        "x2=\"100%\" y1=\"35.0\" y2=\"35.0\"/><line x1=\"0\" x2=\"100%\" y1=\"0.0\" y2=\"0.0\"/>");
    jr_plot_label(&out, 0.05, "near");
    jr_plot_label(&out, 0.95, "far");
    jr_plot_label(&out, 0.955, "end");
    jr_plot_label(&out, 0, "first");
    jr_plot_label(&out, 0.5, "middle");
    jr_plot_label(&out, 1, "last");
    jr_plot_open_frame(&out);
    jr_plot_close(&out);
    CU_ASSERT_PTR_NOT_NULL_FATAL(out.data);
    CU_ASSERT_PTR_NOT_NULL(strstr(out.data, jq("aria-label='a label'")));
    CU_ASSERT_PTR_NOT_NULL(
        strstr(out.data, jq("<text class='left' x='0.00%' y='152'>first</text>")));
    CU_ASSERT_PTR_NOT_NULL(
        strstr(out.data, jq("<text class='tick' x='50.00%' y='152'>middle</text>")));
    CU_ASSERT_PTR_NOT_NULL(
        strstr(out.data, jq("<text class='right' x='100.00%' y='152'>last</text>")));
    CU_ASSERT_PTR_NOT_NULL(strstr(out.data, jq("<text class='tick' x='5.00%")));
    CU_ASSERT_PTR_NOT_NULL(strstr(out.data, jq("<text class='tick' x='95.00")));
    CU_ASSERT_PTR_NOT_NULL(strstr(out.data, jq("<text class='right' x='95.50")));
    CU_ASSERT_PTR_NOT_NULL(
        strstr(out.data, jq("<svg width='100%' height='140' viewBox='0 0 1000 1000' "
                            "preserveAspectRatio='none'></svg></svg></div>\n")));
}

TEST(steps_of_time_are_round)
{
    static const struct {
        double width, step;
    } vectors[] = {{0.057, 0.01}, {0.9, 0.2},     {1.2, 0.2},   {4, 1},      {7.3, 2},
                   {47, 10},      {61, 20},       {130, 30},    {1000, 300}, {5400, 1200},
                   {40000, 7200}, {86400, 21600}, {1e6, 172800}};
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        double step = jr_plot_time_step(vectors[i].width);
        CU_ASSERT_DOUBLE_EQUAL(step, vectors[i].step, 1e-9);
        CU_ASSERT(vectors[i].width / step < 6.000001);
    }
}
