#include "page.h"

#include <ctype.h>
#include <string.h>

#include "generated/version.h"

#include "base/banned.h"

#define ORIGIN                                                                                     \
    "Made from the tables in src; write it anew with: cmake --build build "                        \
    "--target pages"

/* What a character is in roff when it is not itself. */
static const char *roff_escape(char c)
{
    static const struct {
        char c;
        const char *escape;
    } rows[] = {{'\\', "\\e"},  {'-', "\\-"},   {'\'', "\\(aq"}, {'"', "\\(dq"},
                {'^', "\\(ha"}, {'~', "\\(ti"}, {'.', "\\&."}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].c == c)
            return rows[i].escape;
    return NULL;
}

static void roff_text(struct jr_buf *out, const char *text, size_t len)
{
    bool typed = false;
    for (size_t i = 0; i < len; i++) {
        const char *escape = roff_escape(text[i]);
        bool starts = i == 0 || isspace((unsigned char)text[i - 1]);
        if (text[i] == '`') {
            typed = !typed;
            jr_buf_str(out, typed ? "\\fB" : "\\fR");
        } else if (escape != NULL && (starts || text[i] != '.')) {
            jr_buf_str(out, escape);
        } else {
            jr_buf_char(out, text[i]);
        }
    }
}

/* Whether a character would be markup where it stands. */
static bool is_markup(const char *text, size_t i, size_t len)
{
    if (text[i] == '_')
        return i == 0 || i + 1 == len || !isalnum((unsigned char)text[i - 1]) ||
               !isalnum((unsigned char)text[i + 1]);
    return strchr("*<>[]$\\", text[i]) != NULL;
}

static void markdown_text(struct jr_buf *out, const char *text, size_t len)
{
    bool typed = false;
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '`')
            typed = !typed;
        else if (!typed && is_markup(text, i, len))
            jr_buf_char(out, '\\');
        jr_buf_char(out, text[i]);
    }
}

static void upper(struct jr_buf *out, const char *text)
{
    for (; *text != '\0'; text++)
        jr_buf_char(out, (char)toupper((unsigned char)*text));
}

static void put(struct page *page, const char *text, size_t len)
{
    JR_BUF_CLEANUP struct jr_buf roff = JR_BUF_INIT;
    page->after_heading = false;
    if (page->form == PAGE_MARKDOWN) {
        markdown_text(page->out, text, len);
        return;
    }
    roff_text(&roff, text, len);
    jr_buf_wrapped(page->out, roff.failed ? "" : roff.data, 0);
}

/* Begin a paragraph; after a heading roff has begun one already. */
static void paragraph(struct page *page)
{
    if (page->form == PAGE_MARKDOWN)
        jr_buf_char(page->out, '\n');
    else if (!page->after_heading)
        jr_buf_str(page->out, ".PP\n");
    page->after_heading = false;
}

void page_begin(struct page *page, const char *name, const char *section, const char *summary)
{
    if (page->form == PAGE_MARKDOWN) {
        jr_buf_printf(page->out, "<!-- " ORIGIN " -->\n\n# %s: %s\n", name, summary);
        return;
    }
    jr_buf_str(page->out, ".\\\" " ORIGIN "\n.TH ");
    upper(page->out, name);
    jr_buf_printf(page->out,
                  " %s \"\" \"jobrun " JR_VERSION "\"\n"
                  ".nh\n.ad l\n.SH NAME\n%s \\- %s\n",
                  section, name, summary);
}

void page_heading(struct page *page, int level, const char *text)
{
    if (page->form == PAGE_MARKDOWN) {
        jr_buf_char(page->out, '\n');
        jr_buf_str(page->out, level == 1 ? "##" : "###");
        jr_buf_printf(page->out, level == 3 ? " `%s`\n" : " %s\n", text);
        return;
    }
    JR_BUF_CLEANUP struct jr_buf shown = JR_BUF_INIT;
    if (level == 1)
        upper(&shown, text);
    else
        jr_buf_str(&shown, text);
    page->after_heading = true;
    jr_buf_str(page->out, level == 1 ? ".SH " : ".SS ");
    roff_text(page->out, shown.data, shown.len);
    jr_buf_char(page->out, '\n');
}

/* Lines that begin with two blanks, without them. */
static void lines(struct page *page, const char *text, size_t len)
{
    JR_BUF_CLEANUP struct jr_buf part = JR_BUF_INIT;
    for (const char *line = text; line < text + len;) {
        size_t width = strcspn(line, "\n");
        size_t blanks = width < 2 ? width : 2;
        jr_buf_add(&part, line + blanks, width - blanks);
        jr_buf_char(&part, '\n');
        line += width + 1;
    }
    if (!part.failed && part.len > 0) {
        part.data[part.len - 1] = '\0';
        page_code(page, "", part.data);
    }
}

void page_text(struct page *page, const char *text)
{
    while (*text != '\0') {
        const char *end = strstr(text, "\n\n");
        size_t len = end != NULL ? (size_t)(end - text) : strlen(text);
        while (len > 0 && text[len - 1] == '\n')
            len--;
        if (strncmp(text, "  ", 2) == 0) {
            lines(page, text, len);
        } else {
            paragraph(page);
            put(page, text, len);
            jr_buf_char(page->out, '\n');
        }
        text = end != NULL ? end + 2 : "";
    }
}

void page_code(struct page *page, const char *language, const char *text)
{
    size_t len = strlen(text);
    paragraph(page);
    if (page->form == PAGE_ROFF) {
        jr_buf_str(page->out, ".RS 4\n.nf\n");
        roff_text(page->out, text, len);
        jr_buf_str(page->out, "\n.fi\n.RE\n");
        return;
    }
    jr_buf_printf(page->out, "```%s\n%s\n```\n", language, text);
}

void page_item(struct page *page, const char *term, const char *text)
{
    bool roff = page->form == PAGE_ROFF;
    if (!page->in_list)
        paragraph(page);
    if (!page->in_list && roff)
        jr_buf_str(page->out, ".PD 0\n");
    jr_buf_str(page->out, roff ? ".TP 12\n" : "- ");
    put(page, term, strlen(term));
    jr_buf_str(page->out, roff ? "\n" : ": ");
    put(page, text, strlen(text));
    jr_buf_char(page->out, '\n');
    page->in_list = true;
}

void page_list_end(struct page *page)
{
    if (page->in_list && page->form == PAGE_ROFF)
        jr_buf_str(page->out, ".PD\n");
    page->in_list = false;
}
