/*
 * A page of the manual, in one of two forms: Markdown for docs/, roff (man(7))
 * for man/. What is written does not depend on the form.
 *
 * Texts are plain: `backticks` around what is typed, a blank line between
 * paragraphs, lines that begin with two blanks as they are.
 */
#ifndef JR_PAGE_H
#define JR_PAGE_H

#include <stdbool.h>

#include "base/buf.h"

enum page_form { PAGE_MARKDOWN, PAGE_ROFF, PAGE_SCHEMA };

struct page {
    struct jr_buf *out;
    enum page_form form;
    bool in_list, after_heading;
};

/* The head: "jobrun.yaml", section "5", "the spec of a job". */
void page_begin(struct page *page, const char *name, const char *section,
                const char *summary);

/* Level 1 is a section of the page, 2 part of one, 3 an entry. An entry's
 * heading is typed text. */
void page_heading(struct page *page, int level, const char *text);

void page_text(struct page *page, const char *text);

/* Lines as they are; `language` is for Markdown's colours. */
void page_code(struct page *page, const char *language, const char *text);

/* A list of terms, and what each is. A term may be typed text. */
void page_item(struct page *page, const char *term, const char *text);
void page_list_end(struct page *page);

#endif
