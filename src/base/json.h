/*
 * The gate to jansson: what the other layers need to read and write JSON. Documents are json_t
 * values with jansson's ownership rules; this header adds the conventions of jobrun's files.
 */
#ifndef JR_JSON_H
#define JR_JSON_H

#include <jansson.h>
#include <stdint.h>

#include <jobrun/error.h>

#include "base/buf.h"

/* A new string, or null for NULL text. Bytes that are not UTF-8 are replaced by U+FFFD. NULL if
 * memory runs out, which jansson's calls take and refuse. */
json_t *jr_json_str(const char *text);

/* The same of a buffer's text; NULL also where the buffer has failed. */
json_t *jr_json_buf(const struct jr_buf *text);

/* Set a key. `value` is taken over; NULL, as of an allocation that failed, makes jr_json_print
 * fail. */
void jr_json_set(json_t *object, const char *key, json_t *value);

/* Append an item to a list. The same holds for `value`. */
void jr_json_append(json_t *list, json_t *value);

/* Set `key` to a new string; to null for NULL text. */
void jr_json_set_str(json_t *object, const char *key, const char *text);

/* Set `key` to a whole number. */
void jr_json_set_int(json_t *object, const char *key, json_int_t value);

/* Set `key` to true or false. */
void jr_json_set_bool(json_t *object, const char *key, bool value);

/* Set `key` to null. */
void jr_json_set_null(json_t *object, const char *key);

/* Set `key` to a number, or leave it out where that is infinite or none. */
void jr_json_set_real(json_t *object, const char *key, double value);

/* Set `key` to what `from` has there, which is shared; null where that is nothing, or `from` no
 * object. */
void jr_json_share(json_t *object, const json_t *from, const char *key);

/* The string at `key`, borrowed; NULL if there is none, or no object. */
const char *jr_json_get_str(const json_t *object, const char *key);

/* The whole number at `key`; 0 if there is none, or it does not fit. */
json_int_t jr_json_get_int(const json_t *object, const char *key);

/* The same for a number of 32 bits without a sign. */
uint32_t jr_json_get_u32(const json_t *object, const char *key);

/* The number at `key`, whole or not; 0 if there is none. */
double jr_json_get_real(const json_t *object, const char *key);

/* Whether `true` is at `key`. */
bool jr_json_get_bool(const json_t *object, const char *key);

/* Append the text of `json`: indent 0 is one line, -1 one without blanks. Keys keep their order.
 * `out` fails where memory was wanting for a part of it. */
void jr_json_print(struct jr_buf *out, const json_t *json, int indent);

/* Append `text` as a JSON string, quotes and all; NULL is null. What it holds is replaced as by
 * jr_json_str. */
void jr_json_quote(struct jr_buf *out, const char *text);

/* Append a member to an object that is printed directly, without a json_t, because it may have an
 * entry for each of many ranks. The key is plain ASCII. A comma is added before it unless `out`
 * ends with "{" or white space; the caller adds the braces. jr_json_key leaves the value to the
 * caller, too. */
void jr_json_key(struct jr_buf *out, const char *key);

/* Append a member that is a string, or null for NULL. */
void jr_json_put_str(struct jr_buf *out, const char *key, const char *text);

/* Append a member that is a whole number. */
void jr_json_put_int(struct jr_buf *out, const char *key, json_int_t value);

/* Append a member that is true or false. */
void jr_json_put_bool(struct jr_buf *out, const char *key, bool value);

/* The same for `value` / 10^`places`, in as few digits as it has. */
void jr_json_put_decimal(struct jr_buf *out, const char *key, uint64_t value, unsigned places);

/* Parse strictly: one value, no duplicate keys, any value at the top. NULL and
 * `err` (line and column in its text) when it is not JSON; or when it is, but
 * has a number that 64 bits do not hold: then `sys` of `err` is ERANGE. */
json_t *jr_json_parse(const char *text, size_t len, struct jr_error *err);

/*
 * JSON of any size, read in pieces (json_pieces.c). A tree of jansson's costs some forty bytes for
 * a number and two hundred for an empty object, so that many small values take up to seventy times
 * their text. Here the text is checked and printed piece by piece, and no more than one piece of it
 * is a tree at any time.
 */

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
