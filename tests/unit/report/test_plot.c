/* The parts of a drawing: places, round numbers, labels. */
#include <math.h>

#include "report/plot.h"
#include "unit.h"

static void places_are_between_the_ends(void)
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
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        CU_ASSERT_DOUBLE_EQUAL(
            jr_plot_part(vectors[i].value, vectors[i].low, vectors[i].high),
            vectors[i].part, 1e-12);
}

static void ticks_are_round_numbers(void)
{
    static const struct {
        double low, high, least;
        const char *expected;
    } vectors[] = {{0, 1, 0, "0 0.2 0.4 0.6 0.8 1 "},
                   {0, 4, 0, "0 1 2 3 4 "},
                   {0.3, 11.9, 0, "2 4 6 8 10 "},
                   {-3, 3, 0, "-2 0 2 "},
                   {0, 3, 2, "0 2 "},
                   {5, 5, 0, "5 "},
                   {1e300, 1e300, 0, "1e+300 "},
                   {1e20, 1.0000000000000002e20, 0, "1e+20 1e+20 "}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        double ticks[JR_PLOT_TICKS];
        struct jr_buf out = JR_BUF_INIT;
        size_t count = jr_plot_ticks(ticks, vectors[i].low, vectors[i].high,
                                     vectors[i].least);
        for (size_t j = 0; j < count; j++)
            jr_buf_printf(&out, "%.4g ", ticks[j]);
        JR_ASSERT_TEXT(out.data, vectors[i].expected);
        jr_buf_release(&out);
    }
}

static void numbers_are_told_from_their_neighbours(void)
{
    struct jr_buf out = JR_BUF_INIT;
    jr_plot_number(&out, 0.12345678, 1);
    jr_buf_char(&out, ' ');
    jr_plot_number(&out, 1000.25, 1);
    JR_ASSERT_TEXT(out.data, "0.1235 1000.25");
    jr_buf_release(&out);
}

static void a_drawing_is_whole(void)
{
    struct jr_buf out = JR_BUF_INIT;
    jr_plot_value_axis(&out, 0, 4);
    jr_plot_open(&out, "a label", 0, 4);
    jr_plot_label(&out, 0, "first");
    jr_plot_label(&out, 0.5, "middle");
    jr_plot_label(&out, 1, "last");
    jr_plot_open_frame(&out);
    jr_plot_close(&out);
    CU_ASSERT_PTR_NOT_NULL_FATAL(out.data);
    CU_ASSERT_PTR_NOT_NULL(strstr(out.data, "aria-label=\"a label\""));
    CU_ASSERT_PTR_NOT_NULL(strstr(
        out.data, "<text class=\"left\" x=\"0.00%\" y=\"152\">first</text>"));
    CU_ASSERT_PTR_NOT_NULL(strstr(
        out.data, "<text class=\"tick\" x=\"50.00%\" y=\"152\">middle</text>"));
    CU_ASSERT_PTR_NOT_NULL(strstr(
        out.data, "<text class=\"right\" x=\"100.00%\" y=\"152\">last</text>"));
    CU_ASSERT_PTR_NOT_NULL(strstr(out.data, "</svg></svg></div>\n"));
    jr_buf_release(&out);
}

JR_UNIT_MAIN("plot", CASE(places_are_between_the_ends),
             CASE(ticks_are_round_numbers),
             CASE(numbers_are_told_from_their_neighbours),
             CASE(a_drawing_is_whole))
