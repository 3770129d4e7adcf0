#include "doc/source_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/did_you_mean.h"
#include "base/io.h"
#include "base/shell_words.h"
#include "base/utf8.h"
#include "doc/internal.h"
#include "doc/doc.h"

#include "base/banned.h"

/* Drop the last component; false if there is none that can be. */
static bool drop_last(struct jr_buf *name, size_t root)
{
    if (name->failed)
        return false;
    const char *slash = memrchr(name->data + root, '/', name->len - root);
    size_t start = slash == NULL ? root : (size_t)(slash - name->data);
    const char *last = name->data + start + (slash != NULL);
    if (name->len == root || strcmp(last, "..") == 0)
        return false;
    name->len = start;
    name->data[start] = '\0';
    return true;
}

/* Append the components of `path`, folded, except for ".." that lead out. */
static void append_below_root(struct jr_buf *name, size_t root, const char *path)
{
    for (size_t len; *path != '\0'; path += len + (path[len] == '/')) {
        len = strcspn(path, "/");
        bool up = len == 2 && strncmp(path, "..", 2) == 0;
        if (len == 0 || (len == 1 && *path == '.') || (up && (drop_last(name, root) || root > 0)))
            continue;
        if (name->len > root)
            jr_buf_char(name, '/');
        jr_buf_add(name, path, len);
    }
}

const char *jr_reader_name(struct jr_arena *arena, const char *from, const char *path)
{
    struct jr_buf name JR_BUF_CLEANUP = JR_BUF_INIT;
    JR_FREE char *copy = strdup(from);
    const char *folder = copy == NULL ? "." : dirname(copy);
    bool absolute = *path == '/' || *folder == '/';
    jr_buf_str(&name, absolute ? "/" : "");
    if (*path != '/')
        append_below_root(&name, absolute, folder);
    append_below_root(&name, absolute, path);
    if (copy == NULL)
        arena->failed = true;
    const char *kept = jr_buf_keep(&name, arena);
    return kept == NULL ? "" : kept;
}

static bool is_path_below(const char *path, const char *root)
{
    size_t len = strlen(root);
    while (len > 0 && root[len - 1] == '/')
        len--;
    return strncmp(path, root, len) == 0 && path[len] == '/';
}

/* Why a file cannot be read, without its path, which the message has already. */
static const char *why_unread(const struct jr_error *why, const char *path)
{
    size_t len = strlen(path);
    bool named = strncmp(why->text, path, len) == 0 && strncmp(why->text + len, ": ", 2) == 0;
    return why->text + (named ? len + 2 : 0);
}

static int refuse_outside(struct jr_reading *reading, const char *root, struct jr_error *err)
{
    reading->outside = true;
    return jr_error_set(err, JR_STATUS_INVALID, "it is not below %s", root);
}

static int read_spec_part(const struct jr_reader *reader, struct jr_reading *reading,
                          struct jr_error *err)
{
    const char *root = reader->context;
    struct jr_arena *arena = reading->arena;
    struct jr_error why = {0};
    JR_FREE char *path = jr_io_absolute(reading->from->folder, reading->path);
    errno = 0;
    /* Whether the path, with its ".." folded, leads below the root, without looking at any file, so
     * that nothing about other folders is revealed. */
    JR_FREE char *folder = path == NULL ? NULL : realpath(reading->from->folder, NULL);
    JR_FREE char *folded = folder == NULL ? NULL : jr_io_absolute(folder, reading->path);
    if (folded == NULL || !is_path_below(folded, root)) {
        if (path != NULL && errno != ENOMEM)
            return refuse_outside(reading, root, err);
        errno = ENOMEM;
        return jr_error_sys(err, JR_STATUS_LAUNCH, "cannot be read");
    }
    JR_FREE char *real = realpath(path, NULL);
    if (real == NULL) {
        int sys = errno;
        (void)jr_error_set(err, JR_STATUS_INVALID, "%s", strerror(sys));
        if (err != NULL)
            err->sys = sys;
        return -1;
    }
    if (!is_path_below(real, root))
        return refuse_outside(reading, root, err);
    const char *slash = strrchr(path, '/');
    size_t len = slash == NULL ? 0 : (size_t)(slash - path);
    reading->file = (struct jr_file){
        .id = jr_arena_strdup(arena, real),
        .name = jr_reader_name(arena, reading->from->name, reading->path),
        .folder = len == 0 ? "/" : jr_arena_strndup(arena, path, len),
    };
    if (jr_io_read_file(&reading->text, AT_FDCWD, real, JR_DOC_MAX_BYTES, &why) == 0)
        return 0;
    errno = why.sys;
    if (why.sys == ENOMEM)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "cannot be read");
    return jr_error_set(err, JR_STATUS_INVALID, "%s", why_unread(&why, real));
}

struct jr_reader jr_reader_of_files(const char *root)
{
    return (struct jr_reader){read_spec_part, root};
}

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

/* A finding about the whole file, which may be a folder that has the one that was meant. */
static int refuse_file(struct jr_doc *doc, struct jr_diags *diags, const char *path,
                       const char *text)
{
    struct jr_span nowhere = {.source = doc->source};
    struct jr_buf only JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_diag *diag =
        jr_diags_error(diags, JR_CODE_FILE_UNREADABLE, nowhere, NULL, "%s", text);
    if (path != NULL && jr_near_file_only(&only, path))
        jr_diag_help(diags, diag, "did you mean '%s'?", only.data);
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

int jr_doc_load(struct jr_doc *ret, const char *name, const char *text, size_t len,
                struct jr_diags *diags)
{
    *ret = (struct jr_doc)JR_DOC_INIT;
    struct jr_source *source = new_doc_source(ret, name);
    if (source == NULL)
        return report_no_memory(ret, diags);
    if (len > JR_DOC_MAX_BYTES)
        return refuse_file(ret, diags, NULL, "is larger than 1 MiB");
    if (len >= strlen(BOM) && memcmp(text, BOM, strlen(BOM)) == 0) {
        text += strlen(BOM);
        len -= strlen(BOM);
    }
    source->text = jr_arena_strndup(&ret->arena, len == 0 ? "" : text, len);
    source->len = source->text == NULL ? 0 : len;
    if (source->text != NULL && !jr_other_file_report(diags, source))
        jr_compose(ret, source->text, len, diags);
    return finish_doc(ret, diags);
}

/* The text with a blank for each code point before byte `from`. */
static char *blank_text_before(struct jr_arena *arena, const char *text, size_t from)
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

int jr_doc_load_value(struct jr_doc *ret, const char *name, const char *text, size_t from,
                      struct jr_diags *diags)
{
    *ret = (struct jr_doc)JR_DOC_INIT;
    struct jr_source *source = new_doc_source(ret, name);
    if (source == NULL)
        return report_no_memory(ret, diags);
    if (strlen(text) > JR_DOC_MAX_BYTES)
        return refuse_file(ret, diags, NULL, "is larger than 1 MiB");
    source->text = jr_arena_strdup(&ret->arena, text);
    source->len = source->text == NULL ? 0 : strlen(text);
    source->option = true;
    char *value = source->text == NULL ? NULL : blank_text_before(&ret->arena, text, from);
    bool blank = value != NULL && value[strspn(value, " ")] == '\0';
    if (blank)
        ret->root = jr_node_scalar(&ret->arena, "", true); /* null, at the end */
    if (blank && ret->root != NULL)
        ret->root->span = jr_point_bytes(source, source->len, source->len);
    else if (value != NULL && !blank)
        jr_compose(ret, value, strlen(value), diags);
    return finish_doc(ret, diags);
}

int jr_doc_load_file(struct jr_doc *ret, const char *path, struct jr_diags *diags)
{
    bool input = strcmp(path, "-") == 0;
    const char *name = input ? "stdin" : path;
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT, near JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_error err;
    int status = input ? jr_io_read_fd(&text, STDIN_FILENO, JR_DOC_MAX_BYTES, &err)
                       : jr_io_read_file(&text, AT_FDCWD, path, JR_DOC_MAX_BYTES, &err);
    if (status == 0)
        return jr_doc_load(ret, name, text.data, text.len, diags);
    *ret = (struct jr_doc)JR_DOC_INIT;
    (void)new_doc_source(ret, name);
    if (err.sys == ENOMEM)
        return report_no_memory(ret, diags);
    if (err.sys != ENOENT)
        return refuse_file(ret, diags, path, why_unread(&err, path));
    struct jr_diag *diag =
        jr_diags_error(diags, JR_CODE_FILE_UNREADABLE, (struct jr_span){.source = ret->source},
                       NULL, "there is no such file");
    if (strstr(path, "://") != NULL)
        jr_diag_help(diags, diag, "download it first: curl -LO %s", path);
    else if (jr_near_file_find(&near, path))
        jr_diag_help(diags, diag, "did you mean '%s'?", near.data);
    return -1;
}

#define BYTES(text) text, sizeof text - 1

/* The first bytes of files, what they are, and what to do. */
struct other_file {
    const char *bytes;
    size_t len;
    const char *message, *help;
};

static const struct other_file other_files[] = {
    {BYTES("\xff\xfe"), "this is UTF-16, not UTF-8",
     "convert it: iconv -f UTF-16 -t UTF-8 OLD > NEW"},
    {BYTES("\xfe\xff"), "this is UTF-16, not UTF-8",
     "convert it: iconv -f UTF-16 -t UTF-8 OLD > NEW"},
    {BYTES("\x7f"
           "ELF"),
     "this is a program, not YAML", "start 2 ranks of it: jobrun -n 2 -- ./PROGRAM"},
    {BYTES("\x1f\x8b"), "this is compressed (gzip), not YAML", "unpack it: gunzip -c OLD > NEW"},
    {BYTES("PK\x03\x04"), "this is an archive (zip), not YAML", "unpack it: unzip FILE"},
    {BYTES("\x28\xb5\x2f\xfd"), "this is compressed (zstd), not YAML",
     "unpack it: zstd -dc OLD > NEW"},
    {BYTES("\xfd"
           "7zXZ"),
     "this is compressed (xz), not YAML", "unpack it: xz -dc OLD > NEW"},
    {BYTES("\x89PNG"), "this is a picture (PNG), not YAML", NULL},
    {BYTES("<!DOCTYPE"), "this is a web page, not YAML",
     "download the file itself, not the page that shows it"},
    {BYTES("<html"), "this is a web page, not YAML",
     "download the file itself, not the page that shows it"},
    {BYTES("<?xml"), "this is XML, not YAML", "begin a spec: jobrun new -o NAME.jobrun.yaml"},
};

static void report_file(struct jr_diags *diags, const struct jr_source *source, const char *message,
                        const char *help)
{
    struct jr_diag *diag = jr_diags_error(diags, JR_CODE_NOT_YAML,
                                          (struct jr_span){.source = source}, NULL, "%s", message);
    if (help != NULL)
        jr_diag_help(diags, diag, "%s", help);
}

/* The length of what a line of TOML begins with, `[table]` or `key =`; 0 for a line that begins
 * otherwise. */
static size_t toml_head(const char *line, bool *ret_table)
{
    static const char name[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-\" ";
    size_t open = strspn(line, "["), len = open + strspn(line + open, name);
    *ret_table = open > 0;
    if (len == open)
        return 0;
    if (open == 0)
        return line[len] == '=' && line[len + 1] != '=' ? len + 1 : 0;
    size_t close = strspn(line + len, "]");
    bool ends = close == open && strchr("\r\n#", line[len + close]) != NULL;
    return ends ? len + close : 0;
}

/* TOML, as of pyproject.toml, or the older form with its looks: a table, and below it `key =
 * value`. No line of either begins a mapping of YAML. */
static bool is_toml(const char *text)
{
    bool table = false, pair = false;
    for (size_t len; *text != '\0'; text += len + (text[len] == '\n')) {
        bool is_table;
        len = strcspn(text, "\n");
        if (*text == '#' || text[strspn(text, " \t\r")] == '\n')
            continue;
        if (toml_head(text, &is_table) == 0)
            return false;
        table |= is_table;
        pair |= !is_table;
        if (table && pair)
            return true;
    }
    return false;
}

bool jr_other_file_report(struct jr_diags *diags, const struct jr_source *source)
{
    static const char mark[] = "<<<<<<< ";
    const char *text = source->text, *conflict = strstr(text, mark);
    size_t line = strcspn(text, "\n"), i = 0, count = sizeof other_files / sizeof *other_files;
    while (i < count && (source->len < other_files[i].len ||
                         memcmp(text, other_files[i].bytes, other_files[i].len) != 0))
        i++;
    /* UTF-16 without a mark: each other byte is 0. */
    bool wide = source->len >= 4 && (text[0] == '\0') == (text[2] == '\0') &&
                (text[1] == '\0') == (text[3] == '\0') && (text[0] == '\0') != (text[1] == '\0');
    /* A script of a shell or of Python; a spec may begin with #! too. */
    bool script =
        strncmp(text, "#!", 2) == 0 && memmem(text, line, "jobrun", 6) == NULL &&
        (memmem(text, line, "sh", 2) != NULL || memmem(text, line, "python", 6) != NULL) &&
        strstr(text, "version:") == NULL;
    struct jr_buf start JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_str(&start, "start 2 ranks of it: jobrun -n 2 -- ");
    if (strchr(source->name, '/') == NULL) /* a word without one is looked up in PATH */
        jr_buf_str(&start, "./");
    jr_shell_quote(&start, source->name);
    if (i < count || wide)
        report_file(diags, source, other_files[i < count ? i : 0].message,
                    other_files[i < count ? i : 0].help);
    else if (script)
        report_file(diags, source, "this is a script, not YAML", start.failed ? NULL : start.data);
    else if (is_toml(text))
        report_file(diags, source, "this is TOML or INI, not YAML",
                    "write version: 1 for version = 1, and below `entrypoint:` "
                    "what is in the table [entrypoint]");
    else {
        while (conflict != NULL && conflict > text && conflict[-1] != '\n')
            conflict = strstr(conflict + 1, mark);
        if (conflict == NULL)
            return false;
        size_t at = (size_t)(conflict - text);
        struct jr_diag *diag = jr_diags_error(
            diags, JR_CODE_NOT_YAML, jr_point_bytes(source, at, at + strcspn(conflict, "\r\n")),
            NULL, "a conflict of a merge begins here");
        jr_diag_help(diags, diag,
                     "keep one of the two sides, and delete the lines that begin "
                     "with <<<<<<<, ======= and >>>>>>>");
    }
    return true;
}
