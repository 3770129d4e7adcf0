#include "report/plot.h"

#include <math.h>
#include <stdint.h>

#include "base/banned.h"

enum { WANTED = 4 /* ticks, about */ };

/* In halves, for the difference of the two may be larger than a number can be.
 */
double jr_plot_part(double value, double low, double high)
{
    double range = high / 2 - low / 2;
    return range > 0 ? (value / 2 - low / 2) / range : 0.5;
}

/* 1, 2 or 5 times a power of ten: the step of about WANTED ticks; 0: there are none. */
static double tick_step(double low, double high)
{
    double raw = (high - low) / WANTED, power = 1;
    if (!isnormal(raw) || !(raw > 0))
        return 0;
    while (power <= raw / 10)
        power *= 10;
    while (power > raw)
        power /= 10;
    double times = raw / power;
    double step = power * (times < 1.5 ? 1 : times < 3.5 ? 2 : times < 7.5 ? 5 : 10);
    return isnormal(step) ? step : 0;
}

size_t jr_plot_ticks(double ret[static JR_PLOT_TICKS], double low, double high, double least)
{
    double step = tick_step(low, high);
    size_t count = 0;
    if (step < least)
        step = least;
    /* farther from zero they could not be told apart */
    bool round = step > 0 && fabs(low / step) < 1e15;
    int64_t first = round ? (int64_t)(low / step) : 0;
    if (round && (double)first * step < low)
        first++;
    while (round && count < JR_PLOT_TICKS && (double)(first + (int64_t)count) * step <= high) {
        ret[count] = (double)(first + (int64_t)count) * step;
        count++;
    }
    if (count > 0)
        return count;
    ret[0] = low;
    ret[1] = high;
    return low < high ? 2 : 1;
}

double jr_plot_time_step(double width)
{
    enum { MOST = 6, MINUTE = 60, HOUR = 60 * MINUTE, DAY = 24 * HOUR };
    static const double steps[] = {1,           2,           5,          10,         20,
                                   30,          MINUTE,      2 * MINUTE, 5 * MINUTE, 10 * MINUTE,
                                   20 * MINUTE, 30 * MINUTE, HOUR,       2 * HOUR,   3 * HOUR,
                                   6 * HOUR,    12 * HOUR,   DAY};
    double step = 1;
    while (width / step <= 1.5 && step > 1e-9)
        step /= 10;
    for (double part = step; step < 1; part = step) {
        static const double times[] = {1, 2, 5, 10};
        for (size_t i = 0; i < sizeof times / sizeof *times; i++)
            if (width / (part * times[i]) <= MOST)
                return part * times[i];
        step *= 10;
    }
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (width / steps[i] <= MOST)
            return steps[i];
    for (step = DAY; width / step > MOST;)
        step *= 2;
    return step;
}

void jr_plot_number(struct jr_buf *out, double value, double range)
{
    bool fine = range > 0 && fabs(value) / range > 500;
    jr_buf_printf(out, fine ? "%.7g" : "%.4g", value);
}

void jr_plot_value_axis(struct jr_buf *out, double low, double high)
{
    double ticks[JR_PLOT_TICKS];
    size_t count = jr_plot_ticks(ticks, low, high, 0);
    jr_buf_printf(out, "<svg class=\"labels\" width=\"64\" height=\"%d\" aria-hidden=\"true\">",
                  JR_PLOT_HEIGHT + JR_PLOT_LABELS);
    for (size_t i = 0; i < count; i++) {
        jr_buf_printf(out, "<text x=\"58\" y=\"%.1f\">",
                      4 + JR_PLOT_HEIGHT * (1 - jr_plot_part(ticks[i], low, high)));
        jr_plot_number(out, ticks[i], high - low);
        jr_buf_str(out, "</text>");
    }
    jr_buf_str(out, "</svg>");
}

void jr_plot_open(struct jr_buf *out, const char *label, double low, double high)
{
    double ticks[JR_PLOT_TICKS];
    size_t count = jr_plot_ticks(ticks, low, high, 0);
    jr_buf_printf(out, "<svg class=\"bars\" height=\"%d\" role=\"img\" aria-label=\"%s\">",
                  JR_PLOT_HEIGHT + JR_PLOT_LABELS, label);
    for (size_t i = 0; i < count; i++) {
        double y = JR_PLOT_HEIGHT * (1 - jr_plot_part(ticks[i], low, high));
        jr_buf_printf(out, "<line x1=\"0\" x2=\"100%%\" y1=\"%.1f\" y2=\"%.1f\"/>", y, y);
    }
}

void jr_plot_tick(struct jr_buf *out, double part)
{
    jr_buf_printf(out, "<line x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"%d\" y2=\"%d\"/>", 100 * part,
                  100 * part, JR_PLOT_HEIGHT, JR_PLOT_HEIGHT + 4);
}

void jr_plot_label(struct jr_buf *out, double part, const char *text)
{
    double x = 100 * part;
    jr_buf_printf(out, "<text class=\"%s\" x=\"%.2f%%\" y=\"%d\">%s</text>",
                  x < 5    ? "left"
                  : x > 95 ? "right"
                           : "tick",
                  x, JR_PLOT_HEIGHT + 12, text);
}

void jr_plot_open_frame(struct jr_buf *out)
{
    jr_buf_printf(out,
                  "<svg width=\"100%%\" height=\"%d\" viewBox=\"0 0 %d %d\" "
                  "preserveAspectRatio=\"none\">",
                  JR_PLOT_HEIGHT, JR_PLOT_SCALE, JR_PLOT_SCALE);
}

void jr_plot_close(struct jr_buf *out)
{
    jr_buf_str(out, "</svg></svg></div>\n");
}
