/*
 * Writing HTML: text from outside becomes text and nothing else, links lead beneath one folder.
 */
#ifndef JR_HTML_H
#define JR_HTML_H

#include <stdint.h>

#include "base/buf.h"

/* Append text of our own making: & < > " ' as references. */
void jr_html_escape(struct jr_buf *out, const char *text, size_t len);

/* Append text from outside: control bytes, broken UTF-8 and what turns the direction of writing as
 * \xNN, then as above. NULL is nothing. */
void jr_html_text(struct jr_buf *out, const char *text);

/* Append a link to the file `path` beneath the folder `base`, both relative or absolute paths and
 * no URLs: what is not a letter, a digit or one of /-._~ is percent-encoded (RFC 3986, 2.1), so
 * that it cannot begin with a scheme. The text of the link is `label`. */
void jr_html_link(struct jr_buf *out, const char *base, const char *path, const char *label);

/* Append a small plot of `count` values by their index, with `label` (our own text, escaped by the
 * caller) for those who do not see it. NAN: no value there. Nothing where all are the same or
 * missing. */
void jr_html_plot(struct jr_buf *out, const char *label, const double *values, size_t count);

#endif
