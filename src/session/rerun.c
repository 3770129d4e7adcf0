/*
 * The code of an earlier run, in place of the work tree as it is now: from the copy that the run
 * had, or else from its commit and its patch, where these make the tree that was recorded. What git
 * ignores is the original's of now.
 */
#include "session/rerun.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "doc/doc.h"
#include "doc/emit.h"
#include "doc/interpolate.h"
#include "record/record_folder.h"
#include "report/compare_runs.h"
#include "resolve/fingerprint.h"
#include "session/internal.h"
#include "vcs/code_patch.h"
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
    if (frozen->source.tree == NULL || frozen->source.top == NULL || frozen->source.top[0] != '/')
        return jr_error_set(err, JR_STATUS_UNRESOLVED, "%s: the code of this run was not recorded",
                            folder);
    frozen->top = frozen->name = frozen->source.top;
    return session->arena.failed ? report_memory(err) : 0;
}

/* A file of the run, which may not be there. */
static int read_file(const struct jr_session *session, const char *name, size_t limit,
                     struct jr_buf *out, struct jr_error *err)
{
    JR_CLOSE int fd = open(session->options.code_of, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return jr_io_read_file(out, fd, name, limit, err);
}

/* What is not in the patch, so that the tree cannot be made of it. */
static int refuse_gaps(const struct jr_session *session, const struct jr_record_code *code,
                       struct jr_error *err)
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
                        "%s: the code of this run cannot be made again: it has no frozen copy, "
                        "and these files are not, or not whole, in its patch: %s",
                        session->options.code_of, names.failed ? "" : names.data);
}

/* The files as the run had them, from its own copy. */
static int copy_again(struct jr_session *session, const struct jr_buf *list, int stop_fd,
                      struct jr_error *err)
{
    JR_BUF_CLEANUP struct jr_buf files = JR_BUF_INIT, links = JR_BUF_INIT;
    struct jr_arena arena = JR_ARENA_INIT;
    const struct jr_copy_tree_request request = {
        .top = session->frozen.top,
        .from = jr_arena_printf(&arena, "%s/" JR_CODE_DIR, session->options.code_of),
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
        failed =
            jr_error_set(err, JR_STATUS_UNRESOLVED, "%s/" JR_CODE_LIST ": not a list of jobrun's",
                         session->options.code_of);
    else
        failed = jr_freeze_copy_files(session, &request, list, err);
    jr_arena_release(&arena);
    return failed;
}

/* The files out of commit and patch, in the scratch folder. */
static int rebuild_files(struct jr_session *session, const struct jr_frozen_from *from,
                         struct jr_buf *ret_files, struct jr_error *err)
{
    const struct jr_record_code *code = &session->frozen.source;
    JR_BUF_CLEANUP struct jr_buf patch = JR_BUF_INIT;
    if (code->patch && read_file(session, JR_PATCH_FILE, MOST_PATCH, &patch, err) != 0)
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

static int copy_rebuilt(struct jr_session *session, const struct jr_frozen_from *from,
                        struct jr_error *err)
{
    JR_BUF_CLEANUP struct jr_buf files = JR_BUF_INIT, links = JR_BUF_INIT;
    const char *tree = jr_arena_printf(&session->arena, "%s/tree", from->scratch);
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

int jr_frozen_source_copy(struct jr_session *session, const struct jr_frozen_from *from,
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

/* A rehearsal of several nodes keeps them: they are no machines of then. Hosts that were reached by
 * ssh were stated, and are kept with all that reaches them. */
static bool is_machine_field(const char *key, bool local, bool ssh)
{
    if (ssh && (strcmp(key, "hosts") == 0 || strcmp(key, "engine") == 0))
        return false;
    return jr_part_moves(key) &&
           !(local && (strcmp(key, "nodes") == 0 || strcmp(key, "local_world_size") == 0));
}

/* What the resolver found, and an address of then by which process groups find each other, is
 * MISSING again. */
static void forget_machine(struct jr_strv *sets, struct jr_arena *arena, const struct jr_node *root,
                           const struct jr_record_origin *origin)
{
    const struct jr_node *method = jr_doc_get(root, "init_method");
    bool ssh = jr_doc_find(root, "engine.ssh") != NULL;
    for (size_t i = 0; i < root->count; i++) {
        const char *key = root->pairs[i].key->text;
        bool any = origin->any_devices && strcmp(key, "devices") == 0;
        if (is_machine_field(key, origin->local, ssh))
            jr_strv_push(sets, arena, jr_arena_printf(arena, "%s=%s", key, any ? "any" : "null"));
    }
    if (method != NULL && method->kind == JR_NODE_SCALAR && strncmp(method->text, "tcp://", 6) == 0)
        jr_strv_push(sets, arena, jr_arena_strdup(arena, "init_method=null"));
}

static void forget_placement(struct jr_rerun *rerun, const struct jr_record_origin *origin)
{
    const struct jr_spec_source *source = &rerun->source;
    struct jr_doc doc = JR_DOC_INIT;
    struct jr_diags diags = JR_DIAGS_INIT;
    if (jr_doc_load(&doc, source->name, source->text, source->len, &diags) == 0 &&
        doc.root->kind == JR_NODE_MAPPING)
        forget_machine(&rerun->sets, &rerun->arena, doc.root, origin);
    jr_diags_release(&diags);
    jr_doc_release(&doc);
}

/* The new run goes beside the old one, wherever that is by now. */
static void keep_folder(struct jr_strv *sets, struct jr_arena *arena, const char *log_dir)
{
    JR_BUF_CLEANUP struct jr_buf path = JR_BUF_INIT, text = JR_BUF_INIT;
    jr_interpolation_escape(&path, log_dir, strlen(log_dir));
    jr_buf_str(&text, "log_dir=");
    jr_quote_double(&text, path.data, path.len);
    arena->failed |= path.failed;
    jr_strv_push(sets, arena, jr_buf_keep(&text, arena));
}

/* What another user wrote is a program of that user's, to be run as us. */
static int refuse_untrusted_rerun(const char *log_dir, const char *id, const char *spec,
                                  const struct jr_record_origin *origin, struct jr_error *err)
{
    JR_BUF_CLEANUP struct jr_buf why = JR_BUF_INIT, typed = JR_BUF_INIT;
    jr_trust_explain(&why, &origin->trust);
    jr_record_words(&typed, log_dir, id);
    return jr_error_set(err, JR_STATUS_LAUNCH,
                        "run %s %s: rerun would execute its commands as you; "
                        "read %s, then type: jobrun rerun %s --trust",
                        id, why.failed ? "is not trusted" : why.data, spec,
                        typed.failed ? id : typed.data);
}

/* What the record of the run says of its spec. */
static json_t *read_values(const char *log_dir, const char *id)
{
    json_t *values = json_object();
    JR_CLOSE int fd = jr_record_folder_open(log_dir, id, NULL);
    json_t *run = fd < 0 ? NULL : jr_record_folder_json(fd, "run.json", NULL);
    if (json_is_object(json_object_get(run, "vars")))
        jr_json_share(values, run, "vars");
    json_decref(run);
    return values;
}

void jr_rerun_keep_values(struct jr_session *session, const struct jr_rerun *rerun)
{
    session->values = json_incref(rerun->values);
}

int jr_rerun_prepare(struct jr_rerun *ret, const char *log_dir, const char *id,
                     const struct jr_rerun_options *options, struct jr_error *err)
{
    struct jr_record_origin origin;
    struct jr_error why = {0};
    *ret = (struct jr_rerun){0};
    if (jr_record_origin(&origin, &ret->arena, log_dir, id, &why) != 0)
        return jr_error_set(err, JR_STATUS_LAUNCH, "%s", why.text);
    const char *spec = jr_arena_printf(&ret->arena, "%s/resolved.yaml", origin.run_dir);
    if (spec == NULL || origin.spec == NULL)
        return jr_error_set(err, JR_STATUS_USAGE, "run '%s' has no resolved.yaml: it never started",
                            id);
    if (!jr_trust_is_ours(&origin.trust) && !options->trust)
        return refuse_untrusted_rerun(log_dir, id, spec, &origin, err);
    ret->values = read_values(log_dir, id);
    bool known = origin.spec_folder != NULL && origin.spec_folder[0] == '/';
    ret->source = (struct jr_spec_source){.name = spec,
                                          .folder = known ? origin.spec_folder : origin.run_dir,
                                          .text = origin.spec,
                                          .len = strlen(origin.spec)};
    ret->local = options->local || origin.local;
    if (!options->exact)
        forget_placement(ret, &origin);
    keep_folder(&ret->sets, &ret->arena,
                options->log_dir != NULL ? options->log_dir : origin.log_dir);
    if (options->code) {
        ret->code_of = origin.run_dir;
        jr_strv_push(&ret->sets, &ret->arena, jr_arena_strdup(&ret->arena, "code.mode=freeze"));
    }
    return ret->arena.failed ? jr_error_set(err, JR_STATUS_LAUNCH, "out of memory") : 0;
}

void jr_rerun_release(struct jr_rerun *rerun)
{
    json_decref(rerun->values);
    jr_arena_release(&rerun->arena);
}
