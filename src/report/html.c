#include "report/html.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/banned.h"

void jr_html_escape(struct jr_buf *out, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        switch (text[i]) {
        case '&':
            jr_buf_str(out, "&amp;");
            break;
        case '<':
            jr_buf_str(out, "&lt;");
            break;
        case '>':
            jr_buf_str(out, "&gt;");
            break;
        case '"':
            jr_buf_str(out, "&quot;");
            break;
        case '\'':
            jr_buf_str(out, "&#39;");
            break;
        default:
            jr_buf_char(out, text[i]);
        }
    }
}

void jr_html_text(struct jr_buf *out, const char *text)
{
    JR_BUF_CLEANUP struct jr_buf safe = JR_BUF_INIT;
    if (text == NULL)
        return;
    jr_buf_safe(&safe, text);
    jr_html_escape(out, safe.data, safe.len);
    out->failed = out->failed || safe.failed;
}

static void add_path(struct jr_buf *out, const char *path)
{
    for (; *path != '\0'; path++) {
        unsigned char byte = (unsigned char)*path;
        if (byte < 128 && (isalnum(byte) || strchr("/-._~", byte) != NULL))
            jr_buf_char(out, *path);
        else
            jr_buf_printf(out, "%%%02X", byte);
    }
}

void jr_html_link(struct jr_buf *out, const char *base, const char *path, const char *label)
{
    jr_buf_str(out, "<a href=\"");
    add_path(out, base);
    jr_buf_char(out, '/');
    add_path(out, path);
    jr_buf_str(out, "\">");
    jr_html_text(out, label);
    jr_buf_str(out, "</a>");
}

enum { PLOT_WIDTH = 160, PLOT_HEIGHT = 24, PLOT_MARGIN = 3 };

void jr_html_plot(struct jr_buf *out, const char *label, const double *values, size_t count)
{
    double min = INFINITY, max = -INFINITY;
    for (size_t i = 0; i < count; i++) {
        min = values[i] < min ? values[i] : min;
        max = values[i] > max ? values[i] : max;
    }
    if (!(min < max) || !isfinite(max - min))
        return;
    jr_buf_printf(out,
                  "<svg class=\"plot\" width=\"%d\" height=\"%d\" role=\"img\" "
                  "aria-label=\"%s\"><path d=\"",
                  PLOT_WIDTH, PLOT_HEIGHT, label);
    double wide = PLOT_WIDTH - 2 * PLOT_MARGIN;
    double high = PLOT_HEIGHT - 2 * PLOT_MARGIN;
    for (size_t i = 0; i < count; i++)
        if (!isnan(values[i]))
            jr_buf_printf(out, "M%.1f %.1fh.1",
                          PLOT_MARGIN + wide * ((double)i + 0.5) / (double)count,
                          PLOT_MARGIN + high * (max - values[i]) / (max - min));
    jr_buf_str(out, "\"/></svg>");
}
