/*
 * The code of an earlier run, in place of the work tree as it is now: from the
 * copy that the run had, or else from its commit and its patch, where these
 * make the tree that was recorded. What git ignores is the original's of now.
 */
#include "session/session_freeze.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "record/record_folder.h"
#include "session/begin.h"
#include "session/session.h"
#include "vcs/rebuild_tree.h"
#include "vcs/snapshot.h"

#include "base/banned.h"

enum { MOST_NAMED = 5 };

static const size_t MOST_LIST = (size_t)256 << 20;
static const size_t MOST_PATCH = (size_t)2 << 20;

static int report_memory(struct jr_error *err)
{
    return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
}

int jr_frozen_source_open(struct jr_session *session, struct jr_error *err)
{
    struct jr_frozen *frozen = &session->frozen;
    const char *folder = session->options.code_of;
    JR_CLOSE int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct jr_error why = {0};
    frozen->run = fd < 0 ? NULL : jr_record_folder_json(fd, "run.json", &why);
    if (frozen->run == NULL)
        return fd < 0 ? jr_error_sys(err, JR_STATUS_UNRESOLVED, "%s", folder)
                      : jr_error_set(err, JR_STATUS_UNRESOLVED, "%s", why.text);
    (void)jr_record_code_read(&frozen->source, &session->arena, frozen->run);
    if (frozen->source.tree == NULL || frozen->source.top == NULL ||
        frozen->source.top[0] != '/')
        return jr_error_set(err, JR_STATUS_UNRESOLVED,
                            "%s: the code of this run was not recorded",
                            folder);
    frozen->top = frozen->name = frozen->source.top;
    return session->arena.failed ? report_memory(err) : 0;
}

/* A file of the run, which may not be there. */
static int read_file(const struct jr_session *session, const char *name,
                     size_t limit, struct jr_buf *out, struct jr_error *err)
{
    JR_CLOSE int fd =
        open(session->options.code_of, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return jr_io_read_file(out, fd, name, limit, err);
}

/* What is not in the patch, so that the tree cannot be made of it. */
static int refuse_gaps(const struct jr_session *session,
                       const struct jr_record_code *code, struct jr_error *err)
{
    JR_BUF_CLEANUP struct jr_buf names = JR_BUF_INIT;
    size_t named = 0, gaps = code->left_out_all - code->left_out_count;
    for (size_t i = 0; i < code->left_out_count; i++) {
        const struct jr_record_left_out *one = &code->left_out[i];
        if (strcmp(one->why, "link") == 0)
            continue;
        gaps++;
        if (named >= MOST_NAMED)
            continue;
        jr_buf_str(&names, named++ == 0 ? "" : ", ");
        jr_buf_safe(&names, one->path);
        jr_buf_str(&names, " (");
        jr_buf_safe(&names, one->why);
        jr_buf_char(&names, ')');
    }
    if (gaps == 0)
        return 0;
    if (gaps > named)
        jr_buf_printf(&names, " and %zu more", gaps - named);
    return jr_error_set(err, JR_STATUS_UNRESOLVED,
                        "%s: the code of this run cannot be made again: it has "
                        "no frozen copy, and these files are not, or not "
                        "whole, in its patch: %s",
                        session->options.code_of,
                        names.failed ? "" : names.data);
}

/* The files as the run had them, from its own copy. */
static int copy_again(struct jr_session *session, const struct jr_buf *list,
                      int stop_fd, struct jr_error *err)
{
    JR_BUF_CLEANUP struct jr_buf files = JR_BUF_INIT, links = JR_BUF_INIT;
    struct jr_arena arena = JR_ARENA_INIT;
    const struct jr_copy_tree_request request = {
        .top = session->frozen.top,
        .from = jr_arena_printf(&arena, "%s/" JR_CODE_DIR,
                                session->options.code_of),
        .to = session->frozen.copy,
        .files = &files,
        .links = &links,
        .again = true,
        .since_ns = UINT64_MAX,
        .stop_fd = stop_fd,
    };
    int failed = 0;
    if (request.from == NULL)
        failed = report_memory(err);
    else if (!jr_copied_tree_read(list, &files, &links))
        failed = jr_error_set(err, JR_STATUS_UNRESOLVED,
                              "%s/" JR_CODE_LIST ": not a list of jobrun's",
                              session->options.code_of);
    else
        failed = jr_freeze_copy_files(session, &request, list, err);
    jr_arena_release(&arena);
    return failed;
}

/* The files out of commit and patch, in the scratch folder. */
static int rebuild_files(struct jr_session *session,
                         const struct jr_frozen_from *from,
                         struct jr_buf *ret_files, struct jr_error *err)
{
    const struct jr_record_code *code = &session->frozen.source;
    JR_BUF_CLEANUP struct jr_buf patch = JR_BUF_INIT;
    if (code->patch &&
        read_file(session, JR_PATCH_FILE, MOST_PATCH, &patch, err) != 0)
        return -1;
    const struct jr_rebuild_request request = {
        .top = code->top,
        .commit = code->commit,
        .tree = code->tree,
        .patch = &patch,
        .files = code->specs,
        .log_dir = session->resolution.job.log_dir,
        .scratch = from->scratch,
        .envp = session->options.envp,
        .limit = from->limit,
    };
    return jr_tree_rebuild(&request, ret_files, err);
}

static int copy_rebuilt(struct jr_session *session,
                        const struct jr_frozen_from *from, struct jr_error *err)
{
    JR_BUF_CLEANUP struct jr_buf files = JR_BUF_INIT, links = JR_BUF_INIT;
    const char *tree =
        jr_arena_printf(&session->arena, "%s/tree", from->scratch);
    if (tree == NULL)
        return report_memory(err);
    if (refuse_gaps(session, &session->frozen.source, err) != 0 ||
        jr_freeze_find_links(session, &links, err) != 0)
        return -1;
    int failed = rebuild_files(session, from, &files, err);
    const struct jr_copy_tree_request request = {
        .top = session->frozen.top,
        .from = tree,
        .to = session->frozen.copy,
        .files = &files,
        .links = &links,
        .since_ns = UINT64_MAX,
        .stop_fd = from->limit.stop_fd,
    };
    if (failed == 0)
        failed = jr_freeze_copy_files(session, &request, NULL, err);
    jr_snapshot_remove(from->scratch);
    return failed;
}

/* The record is the earlier run's, but for the copy. */
static void take_record(struct jr_session *session)
{
    struct jr_record_code *to = &session->record.code;
    struct jr_record_code record = session->frozen.source;
    record.frozen = true;
    record.files = to->files;
    record.bytes = to->bytes;
    record.links = to->links;
    record.links_all = to->links_all;
    *to = record;
    session->record.commit = to->commit;
    session->record.dirty = &to->dirty;
}

int jr_frozen_source_copy(struct jr_session *session,
                          const struct jr_frozen_from *from,
                          struct jr_error *err)
{
    JR_BUF_CLEANUP struct jr_buf list = JR_BUF_INIT;
    struct jr_buf patch = JR_BUF_INIT;
    struct jr_error why = {0};
    int failed = read_file(session, JR_CODE_LIST, MOST_LIST, &list, &why);
    if (failed == 0)
        failed = copy_again(session, &list, from->limit.stop_fd, err);
    else if (why.sys == ENOENT)
        failed = copy_rebuilt(session, from, err);
    else
        failed = jr_error_set(err, JR_STATUS_LAUNCH, "%s", why.text);
    if (failed != 0)
        return -1;
    take_record(session);
    if (!session->frozen.source.patch)
        return 0;
    if (read_file(session, JR_PATCH_FILE, MOST_PATCH, &patch, err) != 0) {
        jr_buf_release(&patch);
        return -1;
    }
    return jr_session_write(session, JR_PATCH_FILE, &patch, err);
}
