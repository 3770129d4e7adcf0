#include "doc/doc.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/utf8.h"
#include "doc/compose.h"
#include "doc/node_path.h"

#include "base/banned.h"

#define BOM "\xef\xbb\xbf"

void jr_doc_release(struct jr_doc *doc)
{
    if (doc == NULL)
        return;
    jr_arena_release(&doc->arena);
    *doc = (struct jr_doc)JR_DOC_INIT;
}

static struct jr_source *new_doc_source(struct jr_doc *doc, const char *name)
{
    struct jr_source *source = jr_arena_alloc(&doc->arena, sizeof *source);
    if (source != NULL)
        source->name = jr_arena_strdup(&doc->arena, name);
    if (doc->arena.failed)
        source = NULL;
    doc->source = source;
    return source;
}

/* A finding about the whole file. */
static int refuse_file(struct jr_doc *doc, struct jr_diags *diags,
                       const char *text)
{
    struct jr_span nowhere = {.source = doc->source};
    jr_diags_error(diags, JR_CODE_FILE_UNREADABLE, nowhere, NULL, "%s", text);
    return -1;
}

static int report_no_memory(struct jr_doc *doc, struct jr_diags *diags)
{
    struct jr_span nowhere = {.source = doc->source};
    jr_diags_error(diags, JR_CODE_INTERNAL, nowhere, NULL, "out of memory");
    return -1;
}

static int finish_doc(struct jr_doc *doc, struct jr_diags *diags)
{
    if (doc->arena.failed) {
        doc->root = NULL;
        return report_no_memory(doc, diags);
    }
    return doc->root == NULL ? -1 : 0;
}

int jr_doc_load(struct jr_doc *ret, const char *name, const char *text,
                size_t len, struct jr_diags *diags)
{
    *ret = (struct jr_doc)JR_DOC_INIT;
    struct jr_source *source = new_doc_source(ret, name);
    if (source == NULL)
        return report_no_memory(ret, diags);
    if (len > JR_DOC_MAX_BYTES)
        return refuse_file(ret, diags, "is larger than 1 MiB");
    if (len >= strlen(BOM) && memcmp(text, BOM, strlen(BOM)) == 0) {
        text += strlen(BOM);
        len -= strlen(BOM);
    }
    source->text = jr_arena_strndup(&ret->arena, len == 0 ? "" : text, len);
    source->len = source->text == NULL ? 0 : len;
    if (source->text != NULL)
        jr_compose(ret, source->text, len, diags);
    return finish_doc(ret, diags);
}

/* The text with a blank for each code point before byte `from`. */
static char *blank_text_before(struct jr_arena *arena, const char *text,
                               size_t from)
{
    size_t len = strlen(text), blanks = 0;
    uint32_t point;
    for (size_t at = 0; at < from; blanks++) {
        size_t size = jr_utf8_decode(text + at, len - at, &point);
        at += size == 0 ? 1 : size;
    }
    char *copy = jr_arena_alloc(arena, blanks + len - from + 1);
    if (copy == NULL)
        return NULL;
    memset(copy, ' ', blanks);
    memcpy(copy + blanks, text + from, len - from);
    return copy;
}

static struct jr_node *null_at_end(struct jr_doc *doc)
{
    size_t len = doc->source->len;
    struct jr_node *node = jr_node_scalar(&doc->arena, "", true);
    if (node != NULL)
        node->span = jr_point_bytes(doc->source, len, len);
    return node;
}

int jr_doc_load_value(struct jr_doc *ret, const char *name, const char *text,
                      size_t from, struct jr_diags *diags)
{
    *ret = (struct jr_doc)JR_DOC_INIT;
    struct jr_source *source = new_doc_source(ret, name);
    if (source == NULL)
        return report_no_memory(ret, diags);
    if (strlen(text) > JR_DOC_MAX_BYTES)
        return refuse_file(ret, diags, "is larger than 1 MiB");
    source->text = jr_arena_strdup(&ret->arena, text);
    source->len = source->text == NULL ? 0 : strlen(text);
    source->option = true;
    char *value = blank_text_before(&ret->arena, text, from);
    if (value != NULL && value[strspn(value, " ")] == '\0')
        ret->root = null_at_end(ret);
    else if (value != NULL)
        jr_compose(ret, value, strlen(value), diags);
    return finish_doc(ret, diags);
}

static int read_spec(struct jr_buf *ret, const char *path, struct jr_error *err)
{
    if (strcmp(path, "-") == 0)
        return jr_io_read_fd(ret, STDIN_FILENO, JR_DOC_MAX_BYTES, err);
    return jr_io_read_file(ret, AT_FDCWD, path, JR_DOC_MAX_BYTES, err);
}

int jr_doc_load_file(struct jr_doc *ret, const char *path,
                     struct jr_diags *diags)
{
    const char *name = strcmp(path, "-") == 0 ? "stdin" : path;
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_error err;
    if (read_spec(&text, path, &err) == 0)
        return jr_doc_load(ret, name, text.data, text.len, diags);
    *ret = (struct jr_doc)JR_DOC_INIT;
    (void)new_doc_source(ret, name);
    if (err.sys == ENOMEM)
        return report_no_memory(ret, diags);
    /* The finding names the file already. */
    size_t prefix = strlen(path);
    bool named = strncmp(err.text, path, prefix) == 0 &&
                 strncmp(err.text + prefix, ": ", 2) == 0;
    return refuse_file(ret, diags, named ? err.text + prefix + 2 : err.text);
}
