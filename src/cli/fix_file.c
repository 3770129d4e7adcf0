#include "cli/fix_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "cli/output.h"
#include "cli/stage.h"
#include "diag/fix.h"
#include "doc/doc.h"

#include "base/banned.h"

/* A fix may uncover others: none that is known takes more passes. */
enum { MOST_PASSES = 10 };

static void release_fixing(struct jr_fixing *fixing)
{
    jr_buf_release(&fixing->text);
    jr_buf_release(&fixing->told);
}

/* Whether a text is YAML at all. */
static bool is_readable(const struct jr_fixing *fixing,
                        const struct jr_buf *text)
{
    struct jr_diags diags = JR_DIAGS_INIT;
    struct jr_doc doc;
    int failed = jr_doc_load(&doc, fixing->name, text->data, text->len, &diags);
    jr_diags_release(&diags);
    jr_doc_release(&doc);
    return failed == 0;
}

/* The byte order mark is before the source's text. */
static bool make_fixes(struct jr_fixing *fixing, struct jr_arena *arena,
                       const struct jr_doc *doc, const struct jr_diags *diags)
{
    struct jr_buf out = JR_BUF_INIT;
    size_t count = 0, mark = fixing->text.len - doc->source->len;
    struct jr_edit *edits = jr_fix_choose(arena, doc->source, diags, &count);
    if (edits == NULL)
        return false;
    jr_buf_add(&out, fixing->text.data, mark);
    jr_fix_apply(&out, doc->source, edits, count);
    if (out.failed || (doc->root != NULL && !is_readable(fixing, &out))) {
        fixing->told.failed |= out.failed;
        jr_buf_release(&out);
        return false;
    }
    for (size_t i = 0; i < count; i++)
        jr_fix_tell(&fixing->told, &edits[i]);
    jr_buf_release(&fixing->text);
    fixing->text = out;
    return true;
}

bool jr_fixing_make(struct jr_fixing *fixing, const struct jr_doc *doc,
                    const struct jr_diags *diags)
{
    struct jr_arena arena = JR_ARENA_INIT;
    bool made = make_fixes(fixing, &arena, doc, diags);
    jr_arena_release(&arena);
    return made;
}

bool jr_fixing_check(struct jr_fixing *fixing)
{
    struct jr_diags diags = JR_DIAGS_INIT;
    struct jr_spec_file *file = NULL;
    bool fixed = false;
    const struct jr_spec_options options = jr_stage_checked(fixing->cli);
    const struct jr_spec_source source = {
        .name = fixing->name,
        .folder = fixing->folder,
        .text = fixing->text.data,
        .len = fixing->text.len,
    };
    (void)jr_spec_load(&file, &source, &options, &diags);
    if (file != NULL && jr_spec_doc(file)->source != NULL)
        fixed = jr_fixing_make(fixing, jr_spec_doc(file), &diags);
    jr_diags_release(&diags);
    jr_spec_free(file);
    return fixed;
}

/* Returns whether the text is another one now. */
static bool fix_text(struct jr_fixing *fixing, jr_fixing_pass *pass)
{
    int passes = 0;
    while (passes < MOST_PASSES && pass(fixing))
        passes++;
    return passes > 0;
}

static bool is_unchanged_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
           a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Replace the file, of which `path` is the real one, unless it is no longer the
 * one that was read. */
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
        return jr_error_set(err, JR_STATUS_LAUNCH,
                            "it has changed since it was read");
    if (faccessat(dir_fd, name, W_OK, AT_EACCESS) != 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "it cannot be written");
    if (jr_io_replace(dir_fd, name, text->data, text->len,
                      as_read->st_mode & 07777, err) != 0)
        return -1;
    /* The new file is ours; only root can give it back. */
    if (as_read->st_uid != geteuid() || as_read->st_gid != getegid())
        (void)!fchownat(dir_fd, name, as_read->st_uid, as_read->st_gid,
                        AT_SYMLINK_NOFOLLOW);
    return 0;
}

/* Say what was fixed, unless nothing is to be said of specs that are good. */
static void print_fixes(const struct jr_cli *cli, struct jr_fixing *fixing)
{
    if (!cli->quiet)
        jr_cli_err(cli, &fixing->told);
}

static int write_back(const struct jr_cli *cli, struct jr_fixing *fixing,
                      const char *path, const struct stat *as_read)
{
    struct jr_error err = {0};
    if (fixing->text.failed || fixing->told.failed)
        return jr_cli_say(cli, JR_STATUS_LAUNCH, "%s: not fixed: out of memory",
                          fixing->name);
    if (replace_fixed_file(path, as_read, &fixing->text, &err) != 0)
        return jr_cli_say(cli, JR_STATUS_LAUNCH, "%s: not fixed: %s",
                          fixing->name, err.text);
    print_fixes(cli, fixing);
    return 0;
}

int jr_fix_file(const struct jr_cli *cli, const char *path,
                jr_fixing_pass *pass)
{
    JR_FREE char *real = realpath(path, NULL);
    struct jr_fixing fixing = {.cli = cli, .name = path};
    struct stat as_read;
    int status = 0;
    if (real == NULL || stat(real, &as_read) != 0 ||
        jr_io_read_file(&fixing.text, AT_FDCWD, real, JR_DOC_MAX_BYTES, NULL) !=
            0)
        return 0;
    JR_FREE char *folder = jr_spec_folder(path);
    fixing.folder = folder;
    if (folder != NULL && fix_text(&fixing, pass))
        status = write_back(cli, &fixing, real, &as_read);
    release_fixing(&fixing);
    return status;
}

int jr_fix_stdin(const struct jr_cli *cli, jr_fixing_pass *pass,
                 struct jr_buf *ret)
{
    JR_FREE char *folder = jr_spec_folder("-");
    struct jr_fixing fixing = {.cli = cli, .name = "stdin", .folder = folder};
    struct jr_error err = {0};
    if (jr_io_read_fd(&fixing.text, STDIN_FILENO, JR_DOC_MAX_BYTES, &err) != 0)
        return jr_cli_say(cli, JR_STATUS_INVALID, "stdin: %s", err.text);
    if (folder != NULL)
        (void)fix_text(&fixing, pass);
    struct jr_buf copy = {.failed = fixing.told.failed};
    jr_buf_add(&copy, fixing.text.data, fixing.text.len);
    copy.failed |= fixing.text.failed;
    int status = jr_cli_out(cli, &copy);
    if (status == 0) {
        print_fixes(cli, &fixing);
        *ret = fixing.text;
        fixing.text = JR_BUF_INIT;
    }
    release_fixing(&fixing);
    return status;
}
