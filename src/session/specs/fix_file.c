#include "session/specs/fix_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/syscalls.h"
#include "diag/diag.h"
#include "doc/doc.h"
#include "session/specs/check_specs.h"
#include "spec/load.h"

#include "base/banned.h"

/* A fix may uncover others: none that is known takes more passes. */
enum { MOST_PASSES = 10 };

/* A text that is being fixed. */
struct fixing {
    const struct jr_check_options *options;
    const char *name, *folder; /* of the text */
    struct jr_buf *text;       /* as far as it is fixed */
    struct jr_buf *told;       /* a line for each fix */
};

/* Whether a text is YAML at all. */
static bool is_readable(const struct fixing *fixing, const struct jr_buf *text)
{
    struct jr_diags diags = JR_DIAGS_INIT;
    struct jr_doc doc;
    int failed = jr_doc_load(&doc, fixing->name, text->data, text->len, &diags);
    jr_diags_release(&diags);
    jr_doc_release(&doc);
    return failed == 0;
}

/* The byte order mark is before the source's text. */
static bool make_fixes(struct fixing *fixing, struct jr_arena *arena, const struct jr_doc *doc,
                       const struct jr_diags *diags)
{
    struct jr_buf out = JR_BUF_INIT;
    size_t count = 0, mark = fixing->text->len - doc->source->len;
    struct jr_edit *edits = jr_fix_choose(arena, doc->source, diags, &count);
    if (edits == NULL)
        return false;
    jr_buf_add(&out, fixing->text->data, mark);
    jr_fix_apply(&out, doc->source, edits, count);
    if (out.failed || (doc->root != NULL && !is_readable(fixing, &out))) {
        fixing->told->failed |= out.failed;
        jr_buf_release(&out);
        return false;
    }
    for (size_t i = 0; i < count; i++)
        jr_fix_tell(fixing->told, &edits[i]);
    jr_buf_release(fixing->text);
    *fixing->text = out;
    return true;
}

/* Make the fixes of one reading, unless they would spoil the text: then they were not that sure.
 * `doc` was read from the text. Returns whether there were any. */
static bool try_fixes(struct fixing *fixing, const struct jr_doc *doc, const struct jr_diags *diags)
{
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    return make_fixes(fixing, &arena, doc, diags);
}

/* The fixes of what checking finds. */
static bool fix_findings(struct fixing *fixing)
{
    struct jr_diags diags = JR_DIAGS_INIT;
    struct jr_spec_file *file = NULL;
    bool fixed = false;
    const struct jr_spec_options options = jr_check_reading(fixing->options);
    const struct jr_spec_source source = {
        .name = fixing->name,
        .folder = fixing->folder,
        .text = fixing->text->data,
        .len = fixing->text->len,
    };
    (void)jr_spec_load(&file, &source, &options, &diags);
    if (file != NULL && jr_spec_doc(file)->source != NULL)
        fixed = try_fixes(fixing, jr_spec_doc(file), &diags);
    jr_diags_release(&diags);
    jr_spec_free(file);
    return fixed;
}

/* Returns whether the text is another one now. */
static bool fix_text(struct fixing *fixing)
{
    int passes = 0;
    while (passes < MOST_PASSES && fix_findings(fixing))
        passes++;
    return passes > 0;
}

static bool is_unchanged_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Replace the file, of which `path` is the real one, unless it is no longer the one that was
 * read. */
static int replace_fixed_file(const char *path, const struct stat *as_read,
                              const struct jr_buf *text, struct jr_error *err)
{
    const char *name = strrchr(path, '/') + 1;
    JR_FREE char *folder = strndup(path, (size_t)(name - path));
    struct stat now;
    if (folder == NULL)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    JR_CLOSE int dir_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (dir_fd < 0 || fstatat(dir_fd, name, &now, AT_SYMLINK_NOFOLLOW) != 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "it no longer exists");
    if (!is_unchanged_file(as_read, &now))
        return jr_error_set(err, JR_STATUS_LAUNCH, "it has changed since it was read");
    if (jr_access(dir_fd, name, W_OK, AT_EACCESS) != 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "it cannot be written");
    if (jr_io_replace(dir_fd, name, text->data, text->len, as_read->st_mode & 07777, err) != 0)
        return -1;
    /* The new file is ours; only root can give it back. */
    if (as_read->st_uid != geteuid() || as_read->st_gid != getegid())
        (void)!fchownat(dir_fd, name, as_read->st_uid, as_read->st_gid, AT_SYMLINK_NOFOLLOW);
    return 0;
}

/* A file that is being fixed: its real path, and what it was when read. */
struct fixed_file {
    const char *path;
    struct stat as_read;
};

static int write_fixed_file(const struct fixing *fixing, const struct fixed_file *file,
                            struct jr_error *err)
{
    if (fixing->text->failed || fixing->told->failed)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    return replace_fixed_file(file->path, &file->as_read, fixing->text, err);
}

int jr_fix_file(struct jr_buf *told, const char *path, const struct jr_check_options *options,
                struct jr_error *err)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT, fixes = JR_BUF_INIT;
    JR_FREE char *real = realpath(path, NULL);
    struct fixed_file file = {.path = real};
    if (real == NULL || stat(real, &file.as_read) != 0 ||
        jr_io_read_file(&text, AT_FDCWD, real, JR_DOC_MAX_BYTES, NULL) != 0)
        return 0;
    JR_FREE char *folder = jr_spec_folder(path);
    struct fixing fixing = {
        .options = options, .name = path, .folder = folder, .text = &text, .told = &fixes};
    if (folder == NULL || !fix_text(&fixing))
        return 0;
    if (write_fixed_file(&fixing, &file, err) != 0)
        return -1;
    jr_buf_add(told, fixes.data, fixes.len);
    return 0;
}

int jr_fix_input(struct jr_buf *ret, struct jr_buf *told, int fd,
                 const struct jr_check_options *options, struct jr_error *err)
{
    JR_FREE char *folder = jr_spec_folder("-");
    struct fixing fixing = {
        .options = options, .name = "stdin", .folder = folder, .text = ret, .told = told};
    if (jr_io_read_fd(ret, fd, JR_DOC_MAX_BYTES, err) != 0)
        return -1;
    if (folder != NULL)
        (void)fix_text(&fixing);
    return 0;
}
