/* JSON of any size, read in pieces: declared in json.h. */
#include "base/json.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

/* As deep as jansson goes. */
enum { MOST_DEPTH = 2048 };

struct reader {
    const char *text, *end;
    struct jr_buf *out;
    const struct jr_json_keep *keep;
    struct jr_error *err;
    unsigned depth;
};

/* A container that is too large for a tree. */
struct container {
    char open, close;
    bool any;       /* of its items is printed */
    bool head_full; /* the tree has what it begins with */
    json_t *head;
    uint64_t *keys; /* hashes of an object's, malloc'ed */
    size_t count, room;
};

static const char *skip_space(const struct reader *reader, const char *at)
{
    while (at < reader->end && (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r'))
        at++;
    return at;
}

static int fail_at(const struct reader *reader, const char *at, const char *reason)
{
    int line = 1;
    const char *start = reader->text, *next;
    while ((next = memchr(start, '\n', (size_t)(at - start))) != NULL) {
        start = next + 1;
        line++;
    }
    return jr_error_set(reader->err, JR_STATUS_INVALID, "line %d, column %zu: %s", line,
                        (size_t)(at - start) + 1, reason);
}

/* Where a string ends that begins here; NULL: it does not. */
static const char *string_end(const struct reader *reader, const char *at)
{
    for (at++; at < reader->end; at++) {
        if (*at == '"')
            return at + 1;
        at += *at == '\\';
    }
    return NULL;
}

/* Where a value ends that begins here. NULL: an array or an object that is larger than a piece, or
 * what has no end. What is between is not looked at. */
static const char *value_end(const struct reader *reader, const char *at)
{
    const char *most =
        (size_t)(reader->end - at) > JR_JSON_PIECE ? at + JR_JSON_PIECE : reader->end;
    size_t depth = 0;
    if (*at == '"')
        return string_end(reader, at);
    if (*at != '[' && *at != '{') {
        while (at < reader->end && strchr(",]} \n\t\r", *at) == NULL)
            at++;
        return at;
    }
    while (at < most) {
        depth += *at == '[' || *at == '{';
        depth -= *at == ']' || *at == '}';
        if (depth == 0)
            return at + 1;
        at = *at == '"' ? string_end(reader, at) : at + 1;
        if (at == NULL)
            return NULL;
    }
    return NULL;
}

static int note_key(struct reader *reader, struct container *container, const char *key)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    if (container->count == container->room) {
        size_t room = container->room == 0 ? 64 : container->room * 3 / 2;
        uint64_t *keys = realloc(container->keys, room * sizeof *keys);
        if (keys == NULL)
            return jr_error_set(reader->err, JR_STATUS_LAUNCH, "out of memory");
        container->keys = keys;
        container->room = room;
    }
    for (; *key != '\0'; key++)
        hash = (hash ^ (unsigned char)*key) * UINT64_C(0x100000001b3);
    container->keys[container->count++] = hash ^ hash >> 32;
    return 0;
}

static int compare_hashes(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* What is kept of a member of the outermost object. */
static enum jr_json_kept find_kept(const struct reader *reader, const char *key)
{
    return reader->depth == 1 && reader->keep != NULL ? reader->keep->keep(reader->keep->data, key)
                                                      : JR_JSON_KEPT_NOT;
}

static void print_separator(struct reader *reader, struct container *container)
{
    if (container->any)
        jr_buf_char(reader->out, ',');
    container->any = true;
}

/* Take the items of a tree: print them, and keep what is to be kept. */
static int take_tree(struct reader *reader, struct container *container, json_t *tree)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    const char *key;
    json_t *value;
    json_object_foreach(tree, key, value) {
        if (note_key(reader, container, key) != 0)
            return -1;
        if (!container->head_full || find_kept(reader, key) != JR_JSON_KEPT_NOT)
            (void)json_object_set(container->head, key, value);
    }
    if (json_is_array(tree) && !container->head_full)
        (void)json_array_extend(container->head, tree);
    container->head_full = true;
    jr_json_print(&text, tree, -1);
    if (text.failed)
        return jr_error_set(reader->err, JR_STATUS_LAUNCH, "out of memory");
    print_separator(reader, container);
    jr_buf_add(reader->out, text.data + 1, text.len - 2);
    return 0;
}

/* Take whole items, with what is between them. */
static int take_json_piece(struct reader *reader, struct container *container, const char *at,
                           const char *end)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_error why = {0};
    jr_buf_char(&text, container->open);
    jr_buf_add(&text, at, (size_t)(end - at));
    jr_buf_char(&text, container->close);
    if (text.failed)
        return jr_error_set(reader->err, JR_STATUS_LAUNCH, "out of memory");
    json_t *tree = jr_json_parse(text.data, text.len, &why);
    if (tree != NULL && json_array_size(tree) + json_object_size(tree) == 0) {
        json_decref(tree);
        return fail_at(reader, at, "unexpected token: an item is missing");
    }
    if (tree == NULL) {
        const char *reason = strstr(why.text, ": ");
        (void)fail_at(reader, at, reason == NULL ? why.text : reason + 2);
        if (reader->err != NULL)
            reader->err->sys = why.sys;
        return -1;
    }
    int failed = take_tree(reader, container, tree);
    json_decref(tree);
    return failed;
}

static const char *take_container(struct reader *reader, const char *at, json_t **ret);

/* An item that is larger than a piece, with its key in an object. Returns where it ends; NULL with
 * the error set. */
static const char *take_large(struct reader *reader, struct container *container, const char *at,
                              const char *value)
{
    json_t *key = NULL, *head = NULL;
    const char *end = NULL;
    enum jr_json_kept kept = JR_JSON_KEPT_NOT;
    if (*value == '"') {
        (void)fail_at(reader, value, "premature end of input");
        return NULL;
    }
    print_separator(reader, container);
    if (container->open == '{') {
        const char *stop = string_end(reader, at);
        key = stop == NULL ? NULL : jr_json_parse(at, (size_t)(stop - at), reader->err);
        if (key != NULL && strlen(json_string_value(key)) < json_string_length(key)) {
            (void)fail_at(reader, at, "NUL byte in object key not supported");
            goto out;
        }
        if (key == NULL || note_key(reader, container, json_string_value(key)) != 0)
            goto out;
        kept = find_kept(reader, json_string_value(key));
        jr_json_print(reader->out, key, 0);
        jr_buf_char(reader->out, ':');
    }
    end = take_container(reader, value, &head);
    if (end != NULL && kept == JR_JSON_KEPT_WHOLE) {
        json_decref(head);
        head = jr_json_parse(value, (size_t)(end - value), reader->err);
        end = head == NULL ? NULL : end;
    }
    if (end != NULL && key != NULL && (kept != JR_JSON_KEPT_NOT || !container->head_full))
        (void)json_object_set(container->head, json_string_value(key), head);
    else if (end != NULL && key == NULL && !container->head_full)
        (void)json_array_append(container->head, head);
    container->head_full = true;
out:
    json_decref(key);
    json_decref(head);
    return end;
}

/* Where the value of the item is that begins here: behind its key in an object; NULL with the error
 * set. */
static const char *find_value(struct reader *reader, const struct container *container,
                              const char *at)
{
    if (container->open == '[')
        return at;
    const char *end = *at == '"' ? string_end(reader, at) : NULL;
    end = end == NULL ? NULL : skip_space(reader, end);
    if (end == NULL || end == reader->end || *end != ':') {
        (void)fail_at(reader, at, "string and ':' expected");
        return NULL;
    }
    return skip_space(reader, end + 1);
}

/* Its items. Returns where the closing bracket is; NULL with the error set. */
static const char *take_items(struct reader *reader, struct container *container, const char *at)
{
    const char *piece = at, *piece_end = NULL; /* items that wait; NULL: none */
    if (at < reader->end && *at == container->close)
        return at;
    while (at < reader->end) {
        const char *value = find_value(reader, container, at), *end;
        if (value == NULL)
            return NULL;
        if (value == reader->end)
            break;
        end = value_end(reader, value);
        if (piece_end != NULL && (end == NULL || (size_t)(end - piece) > JR_JSON_PIECE)) {
            if (take_json_piece(reader, container, piece, piece_end) != 0)
                return NULL;
            piece_end = NULL;
        }
        if (piece_end == NULL)
            piece = at;
        piece_end = end;
        if (end == NULL)
            end = take_large(reader, container, at, value);
        if (end == NULL)
            return NULL;
        at = skip_space(reader, end);
        if (at < reader->end && *at == ',') {
            at = skip_space(reader, at + 1);
            continue;
        }
        if (piece_end != NULL && take_json_piece(reader, container, piece, piece_end) != 0)
            return NULL;
        if (at < reader->end && *at == container->close)
            return at;
        break;
    }
    (void)fail_at(reader, at,
                  at < reader->end ? "',' or the end of the list expected"
                                   : "premature end of input");
    return NULL;
}

static const char *take_container(struct reader *reader, const char *at, json_t **ret)
{
    struct container container = {.open = *at,
                                  .close = *at == '[' ? ']' : '}',
                                  .head = *at == '[' ? json_array() : json_object()};
    const char *end = NULL;
    if (reader->depth == MOST_DEPTH)
        (void)fail_at(reader, at, "maximum parsing depth reached");
    else {
        reader->depth++;
        jr_buf_char(reader->out, container.open);
        end = take_items(reader, &container, skip_space(reader, at + 1));
        jr_buf_char(reader->out, container.close);
        reader->depth--;
    }
    if (container.count > 1)
        qsort(container.keys, container.count, sizeof *container.keys, compare_hashes);
    for (size_t i = 1; end != NULL && i < container.count; i++)
        if (container.keys[i] == container.keys[i - 1]) {
            (void)fail_at(reader, at, "an object has a key twice");
            end = NULL;
        }
    free(container.keys);
    *ret = container.head;
    return end == NULL ? NULL : end + 1;
}

json_t *jr_json_pieces(struct jr_buf *out, const char *text, size_t len,
                       const struct jr_json_keep *keep, struct jr_error *err)
{
    struct reader reader = {.text = text, .end = text + len, .out = out, .keep = keep, .err = err};
    json_t *head = NULL;
    const char *at = skip_space(&reader, text);
    if (at == reader.end || (*at != '[' && *at != '{') || value_end(&reader, at) != NULL) {
        head = jr_json_parse(text, len, err);
        if (head != NULL)
            jr_json_print(out, head, -1);
        return head;
    }
    if (memchr(text, '\0', len) != NULL) {
        (void)jr_error_set(err, JR_STATUS_INVALID, "holds a NUL byte");
        return NULL;
    }
    at = take_container(&reader, at, &head);
    if (at != NULL && skip_space(&reader, at) < reader.end) {
        (void)fail_at(&reader, skip_space(&reader, at), "end of file expected");
        at = NULL;
    }
    if (at != NULL && !out->failed)
        return head;
    if (at != NULL)
        (void)jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    json_decref(head);
    return NULL;
}
