/*
 * JSON of any size, read in pieces.
 *
 * A tree of jansson's costs some forty bytes for a number and two hundred for an empty object, so
 * that many small values take up to seventy times their text. Here the text is checked and printed
 * piece by piece, and no more than one piece of it is a tree at any time.
 */
#ifndef JR_JSON_PIECES_H
#define JR_JSON_PIECES_H

#include <stdbool.h>
#include <stddef.h>

#include <jobrun/error.h>

#include "base/buf.h"
#include "base/json.h"

/* A text that is not larger is one piece. */
#define JR_JSON_PIECE ((size_t)16 << 10)

/* What is kept of a member of the outermost object that is not among the first:
 * nothing, what it begins with, or all of it. */
enum jr_json_kept { JR_JSON_KEPT_NOT, JR_JSON_KEPT_HEAD, JR_JSON_KEPT_WHOLE };

/* Who says so. */
struct jr_json_keep {
    enum jr_json_kept (*keep)(const void *data, const char *key);
    const void *data;
};

/* Append the text in its shortest form, as one line. Returns a tree of what it begins with: of each
 * array and object that is larger than a piece the first of its items, and of the outermost object
 * also those members that are kept. The caller's; NULL with `err`, as of jr_json_parse. */
json_t *jr_json_pieces(struct jr_buf *out, const char *text, size_t len,
                       const struct jr_json_keep *keep, struct jr_error *err);

#endif
