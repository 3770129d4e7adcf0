/* The drawings of metrics: where lines go, and what is said beside them. */
#include "report/page.h"
#include "report/internal.h"

#include <math.h>

#include "scratch.h"
#include "quoted.h"

/* What is drawn of a metrics.jsonl; NULL: there is none. */
static void draw(struct jr_buf *out, const char *metrics)
{
    SCRATCH(scratch);
    if (metrics != NULL)
        scratch_write(&scratch, "metrics.jsonl", metrics);
    const struct jr_html_page html = {.out = out, .fd = scratch.fd};
    jr_html_page_curves(&html);
    CU_ASSERT_FALSE(out->failed);
    if (out->data == NULL)
        jr_buf_str(out, "");
}

static size_t count_of(const struct jr_buf *text, const char *word)
{
    size_t count = 0;
    for (const char *at = text->data; at != NULL && (at = strstr(at, word)) != NULL; at++)
        count++;
    return count;
}

static void check_holds(const struct jr_buf *text, const char *word)
{
    if (text->data == NULL || strstr(text->data, word) == NULL)
        printf("\n  no %s in\n%s\n", word, text->data == NULL ? "" : text->data);
    CU_ASSERT_TRUE(text->data != NULL && strstr(text->data, word) != NULL);
}

TEST(nothing_is_drawn_of_nothing)
{
    static const char *const texts[] = {NULL, "", "junk\n", "{\"step\":1,\"metrics\":{}}\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
        draw(&out, texts[i]);
        CU_ASSERT_EQUAL(out.len, 0);
    }
}

#define POINT(step, value) "{\"step\":" step ",\"metrics\":{\"a\":" value "}}\n"

TEST(lines_follow_the_values)
{
    static const struct {
        const char *text, *path;
    } vectors[] = {
        {POINT("0", "1") POINT("10", "3") POINT("20", "2"),
         "<path d=\"M0 1000h0L500 0L1000 500\">"},
        /* what has no value interrupts the line */
        {POINT("0", "1") POINT("5", "null") POINT("10", "3") POINT("20", "2"),
         "<path d=\"M0 1000h0M500 0h0L1000 500\">"},
        /* one point, and a level: in the middle */
        {POINT("7", "4"), "<path d=\"M500 500h0\">"},
        {POINT("0", "4") POINT("1", "4"), "<path d=\"M0 500h0L1000 500\">"},
        /* a step that goes back */
        {POINT("0", "0") POINT("4", "4") POINT("2", "2"), "<path d=\"M0 1000h0L1000 0L500 500\">"},
        /* no difference is too large */
        {POINT("0", "-1.7e308") POINT("1", "1.7e308") POINT("2", "0"),
         "<path d=\"M0 1000h0L500 0L1000 500\">"},
        {POINT("0", "5e-324") POINT("1", "0"), "<path d=\""},
        {POINT("-9007199254740992", "0") POINT("9007199254740992", "1"),
         "<path d=\"M0 1000h0L1000 0\">"}};
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
        draw(&out, vectors[i].text);
        check_holds(&out, vectors[i].path);
        CU_ASSERT_EQUAL(count_of(&out, "<path"), 1);
        CU_ASSERT_EQUAL(count_of(&out, ">nan<"), 0);
        CU_ASSERT_EQUAL(count_of(&out, ">inf<"), 0);
    }
}

TEST(without_a_value_there_is_no_drawing)
{
    JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
    draw(&out, POINT("1", "null") POINT("2", "null"));
    CU_ASSERT_EQUAL(count_of(&out, "<svg"), 0);
    check_holds(
        &out,
        "<tr><th scope=\"row\" class=\"name\">a</th><td class=\"n\"></td><td class=\"n\"></td><td "
        "class=\"n\"></td><td class=\"n\">2</td><td class=\"n\">2</td></tr>");
}

TEST(numbers_are_told)
{
    JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
    draw(&out, POINT("0", "2.5") POINT("100", "0.125") POINT("200", "0.25"));
    check_holds(&out, "<strong>a</strong> 0.25 at step 200</figcaption>");
    check_holds(&out, jq("<td class='n'>0.25 <small>step 200</small></td><td class='n'>0.125 "
                         "<small>step 100</small></td><td class='n'>2.5 <small>step "
                         "0</small></td><td class='n'>3</td><td class='n'>0</td>"));
    /* the axes: round numbers */
    check_holds(&out, ">0.5</text>");
    check_holds(&out, ">2.5</text>");
    check_holds(&out, jq("<text class='left' x='0.00%' y='152'>0</text>"));
    check_holds(&out, jq("<text class='tick' x='50.00%' y='152'>100</text>"));
    check_holds(&out, jq("<text class='right' x='100.00%' y='152'>200</text>"));
}

/* Each piece of it, in its place. */
TEST(a_drawing_is_whole)
{
    JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
    draw(&out, POINT("0", "1") POINT("10", "3"));
    JR_ASSERT_TEXT(
        out.data,
        "<section id=\"curves\" aria-labelledby=\"curves-title\">\n"
        "<h2 id=\"curves-title\">Metrics</h2>\n"
        "<p>The metrics over the steps of the job.</p>\n"
        "<div class=\"curves\">\n<figure>\n"
        "<figcaption><strong>a</strong> 3 at step 10</figcaption>\n"
        "<div class=\"chart\"><svg class=\"labels\" width=\"64\" height=\"154\" "
        "aria-hidden=\"true\"><text x=\"58\" y=\"144.0\">1</text><text x=\"58\" "
        "y=\"109.0\">1.5</text><text x=\"58\" y=\"74.0\">2</text><text x=\"58\" "
        "y=\"39.0\">2.5</text><text x=\"58\" y=\"4.0\">3</text></svg><svg class=\"bars\" "
        "height=\"154\" role=\"img\" aria-label=\"a over the steps; the table of metrics has its "
        "extremes\"><line x1=\"0\" x2=\"100%\" y1=\"140.0\" y2=\"140.0\"/><line x1=\"0\" "
        "x2=\"100%\" y1=\"105.0\" y2=\"105.0\"/><line x1=\"0\" x2=\"100%\" y1=\"70.0\" "
        "y2=\"70.0\"/><line x1=\"0\" x2=\"100%\" y1=\"35.0\" y2=\"35.0\"/><line x1=\"0\" "
        "x2=\"100%\" y1=\"0.0\" y2=\"0.0\"/><text class=\"left\" x=\"0.00%\" "
        "y=\"152\">0</text><text class=\"tick\" x=\"20.00%\" y=\"152\">2</text><text "
        "class=\"tick\" x=\"40.00%\" y=\"152\">4</text><text class=\"tick\" x=\"60.00%\" "
        "y=\"152\">6</text><text class=\"tick\" x=\"80.00%\" y=\"152\">8</text><text "
        "class=\"right\" x=\"100.00%\" y=\"152\">10</text><svg width=\"100%\" height=\"140\" "
        "viewBox=\"0 0 1000 1000\" preserveAspectRatio=\"none\"><path d=\"M0 1000h0L1000 "
        "0\"><title>rank 0, attempt 0</title></path></svg></svg></div>\n</figure>\n</div>\n"
        "<div class=\"wide\"><table>\n<caption>Metrics</caption>\n"
        "<thead><tr><th scope=\"col\">metric</th><th scope=\"col\" class=\"n\">last</th><th "
        "scope=\"col\" class=\"n\">lowest</th><th scope=\"col\" class=\"n\">highest</th><th "
        "scope=\"col\" class=\"n\">points</th><th scope=\"col\" class=\"n\">nan or "
        "inf</th></tr></thead>\n<tbody>\n"
        "<tr><th scope=\"row\" class=\"name\">a</th><td class=\"n\">3 <small>step "
        "10</small></td><td class=\"n\">1 <small>step 0</small></td><td class=\"n\">3 <small>step "
        "10</small></td><td class=\"n\">2</td><td class=\"n\">0</td></tr>\n"
        "</tbody>\n</table></div>\n</section>\n");
}

/* Two ranks are several; of equal values the first is the highest. */
TEST(two_ranks_are_many)
{
    JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
    draw(&out, "{\"step\":1,\"rank\":0,\"metrics\":{\"a\":2}}\n"
               "{\"step\":2,\"rank\":1,\"metrics\":{\"a\":2}}\n");
    check_holds(&out, jq("<figure class='many'>"));
    check_holds(&out, jq("<td class='n'>2 <small>step 1</small></td><td class='n'>2 <small>step "
                         "1</small></td><td class='n'>2 <small>step 1</small></td>"));
    jr_buf_clear(&out);
    draw(&out, POINT("1", "2"));
    check_holds(&out, "<figure>");
}

TEST(ranks_and_attempts_have_lines_of_their_own)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT, out = JR_BUF_INIT;
    for (int rank = 0; rank < 3; rank++)
        for (int attempt = 0; attempt < 2; attempt++)
            for (int step = 0; step < 2; step++)
                jr_buf_printf(&text,
                              "{\"step\":%d,\"rank\":%d,\"attempt\":%d,\"metrics\":{\"a\":%d}}\n",
                              step, rank, attempt, rank + step);
    draw(&out, text.data);
    CU_ASSERT_EQUAL(count_of(&out, "<path"), 6);
    CU_ASSERT_EQUAL(count_of(&out, "<path class=\"earlier\""), 3);
    check_holds(&out, "<title>rank 2, attempt 1</title>");
    check_holds(&out, "with one line for each rank; the pale lines are earlier attempts.");
    check_holds(&out, jq("<figure class='many'>"));
    jr_buf_clear(&text);
    jr_buf_clear(&out);
    for (int rank = 0; rank < 1000; rank++)
        jr_buf_printf(&text, "{\"step\":1,\"rank\":%d,\"metrics\":{\"a\":%d}}\n", rank, rank);
    draw(&out, text.data);
    CU_ASSERT_EQUAL(count_of(&out, "<path"), 16);
    check_holds(&out, "of the first 16 of 1000 ranks.");
}

/* A long line is drawn by its extremes: a peak of one point is kept. */
TEST(a_page_stays_small)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT, out = JR_BUF_INIT;
    for (int step = 0; step < 100000; step++)
        jr_buf_printf(&text, "{\"step\":%d,\"metrics\":{\"a\":%d}}\n", step,
                      step == 77777 ? 1000 : step % 2);
    draw(&out, text.data);
    CU_ASSERT_TRUE(out.len < 100000);
    CU_ASSERT_EQUAL(count_of(&out, " 0L"), 1);
    check_holds(&out, "L777.8 0L");
    jr_buf_clear(&text);
    jr_buf_clear(&out);
    /* a rank that starts again for ever */
    for (int attempt = 0; attempt < 100000; attempt++)
        jr_buf_printf(&text, "{\"step\":1,\"attempt\":%d,\"metrics\":{\"a\":1}}\n", attempt);
    draw(&out, text.data);
    CU_ASSERT_TRUE(out.len < 100000);
}

TEST(names_are_no_markup)
{
    JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
    draw(&out, "{\"step\":1,\"metrics\":{\"</svg><script>\\\"'&\\u001b[2J\":1}}\n");
    CU_ASSERT_EQUAL(count_of(&out, "<script"), 0);
    CU_ASSERT_EQUAL(count_of(&out, "\033"), 0);
    CU_ASSERT_EQUAL(count_of(&out, "&lt;/svg&gt;&lt;script&gt;&quot;&#39;&amp;\\x1b[2J"), 3);
}

TEST(damage_is_told)
{
    JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
    draw(&out, POINT("1", "1") "{\"step\":");
    check_holds(&out, "Some of metrics.jsonl is missing or unreadable.");
}
