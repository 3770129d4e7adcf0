/* The difference of a work tree as a patch. Declared in internal.h. */
#include "vcs/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

#define HEAD   "diff --git "
#define BINARY "Binary files "
#define BYTES  "GIT binary patch"

const char *jr_left_out_word(enum jr_left_out_why why)
{
#define WORD(name, word) word,
    static const char *const words[] = {JR_LEFT_OUTS(WORD)};
    return words[why];
}

void jr_code_patch_leave(struct jr_code_patch *patch, const char *path, enum jr_left_out_why why)
{
    struct jr_left_out *one =
        jr_arena_push(patch->arena, &patch->left_out, &patch->left_out_count, sizeof *one);
    patch->differs |= why != JR_LEFT_OUT_LINK;
    if (one == NULL)
        patch->failed = true;
    else
        *one = (struct jr_left_out){jr_arena_strdup(patch->arena, path), why};
}

/* The largest of the pieces goes, as long as all of them are too much. What is left is what would
 * be left if all were there first. */
static void drop_largest(struct jr_code_patch *patch)
{
    while (patch->bytes > JR_PATCH_MOST) {
        size_t largest = 0;
        for (size_t i = 1; i < patch->count; i++)
            if (patch->pieces[i].text.len > patch->pieces[largest].text.len)
                largest = i;
        struct jr_code_piece *piece = &patch->pieces[largest];
        patch->bytes -= piece->text.len;
        jr_code_patch_leave(patch, piece->path, JR_LEFT_OUT_SIZE);
        jr_buf_release(&piece->text);
        patch->count--;
        memmove(piece, piece + 1, (patch->count - largest) * sizeof *patch->pieces);
    }
}

static void keep_piece(struct jr_code_patch *patch, struct jr_code_piece *piece)
{
    struct jr_code_piece *grown =
        realloc(patch->pieces, (patch->count + 1) * sizeof *patch->pieces);
    if (grown == NULL) {
        patch->failed = true;
        return;
    }
    patch->pieces = grown;
    patch->pieces[patch->count++] = *piece;
    patch->bytes += piece->text.len;
    *piece = (struct jr_code_piece){0};
    drop_largest(patch);
}

/* The piece has been read. */
static void close_piece(struct jr_code_reader *reader)
{
    struct jr_code_patch *patch = reader->patch;
    struct jr_code_piece *piece = &reader->piece;
    if (!reader->open || piece->path == NULL) {
        jr_buf_release(&piece->text);
    } else if (reader->binary) {
        jr_code_patch_leave(patch, piece->path, JR_LEFT_OUT_BINARY);
    } else if (reader->large) {
        jr_code_patch_leave(patch, piece->path, JR_LEFT_OUT_SIZE);
    } else {
        if (!reader->encoded && jr_secret_lines_redact(patch->secrets, &piece->text))
            jr_code_patch_leave(patch, piece->path, JR_LEFT_OUT_REDACTED);
        patch->failed |= piece->text.failed;
        if (!piece->text.failed)
            keep_piece(patch, piece);
    }
    jr_buf_release(&piece->text);
    reader->open = reader->large = reader->binary = false;
    reader->encoded = reader->complete = false;
}

static void take_diff_line(struct jr_code_reader *reader, const struct jr_buf *line)
{
    bool begins = !reader->cut;
    if (begins && strncmp(line->data, HEAD, sizeof HEAD - 1) == 0) {
        close_piece(reader);
        reader->piece = (struct jr_code_piece){0};
        if (reader->next < reader->paths_count) /* the next that has a text */
            reader->piece.path = reader->paths[reader->next++];
        reader->open = true;
    }
    if (!reader->open || reader->piece.path == NULL || reader->large)
        return;
    if (begins && strncmp(line->data, BINARY, sizeof BINARY - 1) == 0)
        reader->binary = true;
    else if (begins && strncmp(line->data, BYTES, sizeof BYTES - 1) == 0) {
        /* What is no text is in the patch as it is now, and then, for who takes the patch back, as
         * it was; an empty line ends each. What it was stays where it is, in the commit. */
        reader->encoded = reader->shows != NULL && reader->shows(reader->data, reader->piece.path);
        reader->binary = !reader->encoded;
    }
    if (reader->binary || reader->complete)
        return;
    reader->complete = begins && reader->encoded && line->data[0] == '\n';
    jr_buf_add(&reader->piece.text, line->data, line->len);
    if (reader->piece.text.len > JR_PATCH_MOST) {
        reader->large = true;
        jr_buf_release(&reader->piece.text);
    }
}

/* A file that has become something else, such as a link, has two texts. */
static void take_path(struct jr_code_reader *reader, const char *path)
{
    struct jr_arena *arena = reader->patch->arena;
    const char *whole = reader->passes != NULL && reader->passes(reader->data, path)
                            ? NULL
                            : jr_arena_printf(arena, "%s%s", reader->prefix, path);
    reader->patch->differs |= whole != NULL;
    for (int i = reader->state == 'T' ? 2 : 1; i > 0; i--) {
        const char **slot =
            jr_arena_push(arena, &reader->paths, &reader->paths_count, sizeof *slot);
        if (slot != NULL)
            *slot = whole;
    }
}

/* ":100644 100644 OBJECT OBJECT M", then its path; at last an empty one. */
static void take_diff_record(struct jr_code_reader *reader)
{
    const struct jr_buf *record = &reader->partial;
    if (reader->expected) {
        take_path(reader, record->data);
        reader->expected = false;
    } else if (record->len == 0) {
        reader->text = true;
    } else {
        const char *state = strrchr(record->data, ' ');
        reader->state = 'M';
        if (state != NULL)
            reader->state = state[1];
        reader->expected = true;
    }
}

int jr_code_reader_take(void *data, const char *bytes, size_t len)
{
    struct jr_code_reader *reader = data;
    struct jr_buf *partial = &reader->partial;
    while (len > 0) {
        const char *end = memchr(bytes, reader->text ? '\n' : '\0', len);
        size_t size = end == NULL ? len : (size_t)(end - bytes) + 1;
        jr_buf_add(partial, bytes, size - (end != NULL && !reader->text));
        bytes += size;
        len -= size;
        if (partial->failed)
            return -1;
        if (end == NULL && partial->len <= (size_t)2 * JR_PATCH_MOST)
            continue;
        if (reader->text)
            take_diff_line(reader, partial);
        else
            take_diff_record(reader);
        reader->cut = end == NULL;
        jr_buf_clear(partial);
    }
    return reader->patch->failed || reader->patch->arena->failed ? -1 : 0;
}

void jr_code_reader_end(struct jr_code_reader *reader)
{
    if (reader->partial.len > 0 && reader->text)
        take_diff_line(reader, &reader->partial);
    close_piece(reader);
    reader->patch->failed |= reader->partial.failed;
    jr_buf_release(&reader->partial);
}

void jr_code_patch_print(struct jr_buf *out, const struct jr_code_patch *patch)
{
    for (size_t i = 0; i < patch->count; i++)
        jr_buf_add(out, patch->pieces[i].text.data, patch->pieces[i].text.len);
}

void jr_code_patch_release(struct jr_code_patch *patch)
{
    for (size_t i = 0; i < patch->count; i++)
        jr_buf_release(&patch->pieces[i].text);
    free(patch->pieces);
    patch->pieces = NULL;
    patch->count = 0;
}
