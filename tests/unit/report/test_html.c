#include "report/page.h"

#include <math.h>
#include <string.h>

#include "fake_run.h"
#include "quoted.h"

static void holds(struct jr_buf *out, const char *expected)
{
    CU_ASSERT_STRING_EQUAL(out->data == NULL ? "" : out->data, expected);
    jr_buf_release(out);
}

TEST(text_is_no_markup)
{
    static const char *const vectors[][2] = {
        {"<b>", "&lt;b&gt;"},     {"a&b", "a&amp;b"},
        {"\"'", "&quot;&#39;"},   {"a\nb\033[2J", "a\\x0ab\\x1b[2J"},
        {"\xff", "\\xff"},        {"\xe2\x80\xae", "\\xe2\\x80\\xae"},
        {"\xc3\xa9", "\xc3\xa9"}, {"", ""}};
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        struct jr_buf out = JR_BUF_INIT;
        jr_html_text(&out, vectors[i][0]);
        holds(&out, vectors[i][1]);
    }
    struct jr_buf out = JR_BUF_INIT;
    jr_html_text(&out, NULL);
    holds(&out, "");
}

TEST(links_lead_beneath)
{
    struct jr_buf out = JR_BUF_INIT;
    jr_html_link(&out, "../a b", "x:y?z#\"<", "<l>");
    holds(&out, "<a href=\"../a%20b/x%3Ay%3Fz%23%22%3C\">&lt;l&gt;</a>");
    jr_html_link(&out, "b", "\177\200\377az09-._~", "");
    holds(&out, "<a href=\"b/%7F%80%FFaz09-._~\"></a>");
    jr_html_link(&out, "javascript:x", "f", "f");
    holds(&out, "<a href=\"javascript%3Ax/f\">f</a>");
}

TEST(plots)
{
    static const double values[] = {1, NAN, 3};
    static const double same[] = {2, 2}, odd[] = {INFINITY, 0};
    JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
    jr_html_plot(&out, "l", same, 2);
    jr_html_plot(&out, "l", odd, 2);
    jr_html_plot(&out, "l", values, 0);
    holds(&out, "");
    jr_html_plot(&out, "l", values, 3);
    CU_ASSERT_PTR_NOT_NULL(strstr(out.data, jq("<path d='M28.7 21.0h.1M131.3 3.0h.1'/>")));
}
