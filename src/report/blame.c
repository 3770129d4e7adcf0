#include "print.h"

#include <string.h>

#include "judge.h"
#include "left.h"
#include "words.h"

#include "banned.h"

enum {
    TAIL_LINES = 10,
    TAIL_COLUMNS = 200, /* bytes of one line that are shown */
    WHERE_COLUMN = 62   /* where an exception's place begins */
};

void jr_print_text(const struct jr_page *page, const char *text)
{
    if (text != NULL)
        jr_buf_safe(page->out, text);
}

/* The axes that are more than 1 long: "   data 1 model 0". */
static void print_coordinates(const struct jr_page *page,
                              const struct jr_plan_rank *rank)
{
    const char *before = "   ";
    for (int axis = JR_AXIS_COUNT - 1; axis >= 0; axis--) {
        if (page->plan->axis_size[axis] < 2)
            continue;
        jr_buf_printf(page->out, "%s%s %u", before, jr_words_axis(axis),
                      rank->at[axis]);
        before = " ";
    }
}

static void print_identity(const struct jr_page *page, size_t i)
{
    const struct jr_plan_rank *rank = jr_plan_of(page->plan, i);
    struct utsname here;
    (void)uname(&here);
    jr_buf_printf(page->out, "  rank %u   node %u (", rank->rank,
                  rank->node_rank);
    jr_print_text(page, jr_words_host(page->plan, rank->node_rank, &here));
    jr_buf_printf(page->out, ")   local %u", rank->local_rank);
    print_coordinates(page, rank);
    if (page->outcome->ranks[i].pid != 0)
        jr_buf_printf(page->out, "   pid %d", (int)page->outcome->ranks[i].pid);
    jr_buf_printf(page->out, "   attempt %u\n", jr_words_attempt(page->plan));
}

static void print_exception(const struct jr_page *page, size_t i)
{
    const struct jr_rank_report *rank = &page->report->ranks[i];
    if (!rank->error_file)
        return;
    jr_buf_str(page->out, "  ");
    size_t start = page->out->len;
    jr_print_text(page, rank->error);
    size_t width = page->out->len - start;
    if (rank->where != NULL) {
        jr_buf_fill(page->out, ' ',
                    width + 2 < WHERE_COLUMN ? WHERE_COLUMN - width : 2);
        jr_print_text(page, rank->where);
    }
    jr_buf_char(page->out, '\n');
}

/* One line of a log. Of a progress bar, the state that it was left in. */
static void print_log_line(const struct jr_page *page, const char *line,
                           size_t len)
{
    if (len > 0 && line[len - 1] == '\r')
        len--;
    const char *bar = memrchr(line, '\r', len);
    if (bar != NULL) {
        len -= (size_t)(bar + 1 - line);
        line = bar + 1;
    }
    jr_buf_str(page->out, "    | ");
    jr_buf_escaped(page->out, line, len < TAIL_COLUMNS ? len : TAIL_COLUMNS);
    jr_buf_str(page->out, len < TAIL_COLUMNS ? "\n" : "...\n");
}

/* The last lines of one log; false when it holds none. */
static bool print_tail(const struct jr_page *page, const char *path,
                       const char *stream)
{
    JR_BUF_CLEANUP struct jr_buf tail = JR_BUF_INIT;
    if (path != NULL)
        jr_left_tail(&tail, page->run_fd, path, TAIL_LINES);
    if (tail.len == 0)
        return false;
    jr_buf_printf(page->out, "  last lines of %s:\n", stream);
    const char *line = tail.data, *end = tail.data + tail.len;
    while (line < end) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        size_t len = (size_t)((stop == NULL ? end : stop) - line);
        print_log_line(page, line, len);
        line += len + 1;
    }
    return true;
}

static void print_together(const struct jr_page *page)
{
    JR_BUF_CLEANUP struct jr_buf set = JR_BUF_INIT;
    if (jr_print_ranks(&set, page, JR_RANK_FAILED) > 0)
        jr_buf_printf(page->out,
                      "  together:   %s failed with it, too close to tell "
                      "which was first\n",
                      set.data);
}

void jr_print_cause(const struct jr_page *page)
{
    size_t i = page->report->causes[0];
    const struct jr_plan_rank *rank = jr_plan_of(page->plan, i);
    print_identity(page, i);
    print_exception(page, i);
    if (!print_tail(page, rank->err_path, "stderr"))
        (void)print_tail(page, rank->out_path, "stdout");
    print_together(page);
}
