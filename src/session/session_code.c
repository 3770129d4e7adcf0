/*
 * This is done after the run has a folder and a record, and before its first rank starts: what is
 * recorded is the tree at the launch, which a rank, or who edits on, may change a moment later. The
 * launch waits for it, at most LIMIT_MS, because a tree that is read while ranks run would be no
 * one's.
 */
#include "session/session_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/redact.h"
#include "doc/doc.h"
#include "eventloop/signals.h"
#include "session/begin.h"
#include "record/record_folder.h"
#include "session/findings_text.h"
#include "session/continuation.h"
#include "session/session.h"
#include "session/stages.h"
#include "vcs/tree_stamp.h"

#include "base/banned.h"

enum {
    LIMIT_MS = 10000,
    LIMIT_FROZEN_MS = 60000,
    MOST_DEPTH = 128,
    MOST_COPIES = 3 /* of a tree that changes meanwhile */
};

/* Times of files are those of a clock that may be so much behind. */
static const uint64_t CLOCK_NS = 10000000;

/* Where git's copy of the index lies meanwhile, in the run folder. */
#define SCRATCH "code.tmp"

/* The files that a spec was made of. */
struct chain {
    struct jr_arena *arena;
    const char *here;
    const struct jr_source *last;
    struct jr_strv files;
};

static void add_source(struct chain *chain, const struct jr_source *source)
{
    if (source == NULL || source == chain->last || source->name == NULL)
        return;
    chain->last = source;
    JR_FREE char *path = jr_io_absolute(chain->here, source->name);
    for (size_t i = 0; path != NULL && i < chain->files.count; i++)
        if (strcmp(chain->files.items[i], path) == 0)
            return;
    if (path != NULL && access(path, F_OK) == 0)
        jr_strv_push(&chain->files, chain->arena, jr_arena_strdup(chain->arena, path));
}

/* Each value of the tree says in which file it stood. */
static void walk_tree(struct chain *chain, const struct jr_node *node, unsigned depth)
{
    if (node == NULL || depth > MOST_DEPTH)
        return;
    add_source(chain, node->span.source);
    walk_tree(chain, node->under, depth + 1);
    for (size_t i = 0; node->kind == JR_NODE_SEQUENCE && i < node->count; i++)
        walk_tree(chain, node->items[i], depth + 1);
    for (size_t i = 0; node->kind == JR_NODE_MAPPING && i < node->count; i++)
        walk_tree(chain, node->pairs[i].value, depth + 1);
}

/* A run that is repeated has a spec that was resolved, in its folder; that of then is in its
 * record. */
static void add_recorded(struct chain *chain, const struct jr_session *session)
{
    struct jr_record_code code;
    JR_CLOSE int fd =
        jr_record_folder_open(session->resolution.job.log_dir, session->options.rerun_of, NULL);
    json_t *run = fd < 0 ? NULL : jr_record_folder_json(fd, "run.json", NULL);
    (void)jr_record_code_read(&code, chain->arena, run);
    for (size_t i = 0; code.specs != NULL && code.specs[i] != NULL; i++)
        jr_strv_push(&chain->files, chain->arena, code.specs[i]);
    json_decref(run);
}

static char *const *find_chain(struct jr_session *session)
{
    JR_FREE char *here = getcwd(NULL, 0);
    const struct jr_doc *doc = jr_spec_doc(session->file);
    struct chain chain = {.arena = &session->arena, .here = here};
    if (here == NULL)
        return NULL;
    add_source(&chain, doc->source);
    walk_tree(&chain, doc->root, 0);
    if (session->options.rerun_of != NULL)
        add_recorded(&chain, session);
    return chain.files.items;
}

/* What run.json says, in the arena of the code. */
static void fill_record(struct jr_session *session)
{
    struct jr_run_tree *code = &session->run_tree;
    struct jr_record_code *to = &session->record.code;
    struct jr_record_left_out *left_out =
        jr_arena_array(&code->arena, code->left_out_count, sizeof *left_out);
    for (size_t i = 0; i < code->left_out_count && left_out != NULL; i++)
        left_out[i] = (struct jr_record_left_out){code->left_out[i].path,
                                                  jr_left_out_word(code->left_out[i].why)};
    to->left_out = left_out;
    to->left_out_count = left_out == NULL ? 0 : code->left_out_count;
    to->left_out_all = code->left_out_count;
    to->commit = code->commit[0] != '\0' ? code->commit : NULL;
    to->tree = code->tree[0] != '\0' ? code->tree : NULL;
    to->top = code->top;
    to->dirty = code->dirty;
    session->record.commit = to->commit;
    session->record.dirty = code->listed ? &code->changed : NULL;
}

/* The run is not ended by it: what is not known is said. */
static void report_problem(struct jr_session *session, const struct jr_error *err)
{
    struct jr_arena *arena = &session->arena;
    const char *problem = jr_redact_copy(arena, err->text, session->resolution.job.hidden);
    const char *line =
        jr_arena_printf(arena, "code not recorded: %s", problem == NULL ? "" : problem);
    session->record.code.tree = NULL;
    session->record.code.problem = jr_arena_strdup(arena, problem);
    jr_session_note(session, line == NULL ? "code not recorded" : line);
}

static int write_patch(struct jr_session *session, struct jr_error *err)
{
    struct jr_buf *patch = &session->run_tree.patch;
    if (patch->len == 0)
        return 0;
    session->record.code.patch = true;
    int failed = jr_session_write(session, JR_PATCH_FILE, patch, err);
    if (failed != 0)
        session->record.code.patch = false;
    return failed;
}

/* Record what the request asks for, in place of what was recorded before. */
static int record_tree(struct jr_session *session, const struct jr_run_tree_request *request,
                       struct jr_error *err)
{
    jr_run_tree_release(&session->run_tree);
    if (session->arena.failed)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    return jr_run_tree_record(&session->run_tree, request, err);
}

/* A copy is of the recorded tree if no file was changed since, or the tree is the same once more
 * behind it. */
static int freeze_tree(struct jr_session *session, const struct jr_run_tree_request *request,
                       struct jr_freeze_watch watch, struct jr_error *err)
{
    struct jr_run_tree *code = &session->run_tree;
    char before[JR_GIT_HASH];
    bool changing = true;
    for (int i = 0; i < MOST_COPIES; i++) {
        if (jr_freeze_copy(session, code, &watch, &changing, err) != 0)
            return -1;
        if (!changing)
            return 0;
        memcpy(before, code->tree, sizeof before);
        watch.since_ns = jr_clock_wall_ns() - CLOCK_NS;
        if (record_tree(session, request, err) != 0)
            return -1;
        if (strcmp(before, code->tree) == 0)
            return 0;
        jr_freeze_discard(session);
    }
    return jr_error_set(err, JR_STATUS_LAUNCH,
                        "code: freeze: the files in %s are changed while they are copied: stop "
                        "what writes to them, or name what is no code in .gitignore",
                        code->top);
}

/* A run that was to be frozen does not begin otherwise. */
static int refuse_run(struct jr_session *session, const struct jr_error *why, struct jr_error *err)
{
    const char *text = jr_redact_copy(&session->arena, why->text, session->resolution.job.hidden);
    bool stopped = why->sys == EINTR;
    jr_freeze_discard(session);
    return jr_error_set(err, stopped ? JR_STATUS_LAUNCH : JR_STATUS_UNRESOLVED, "code: freeze: %s",
                        text == NULL ? "" : text);
}

static int freeze_code(struct jr_session *session, const struct jr_run_tree_request *request,
                       const struct jr_freeze_watch *watch, struct jr_error *err)
{
    struct jr_error why = {0};
    if (record_tree(session, request, &why) != 0)
        return refuse_run(session, &why, err);
    if (freeze_tree(session, request, *watch, err) != 0) {
        jr_freeze_discard(session);
        return -1;
    }
    fill_record(session);
    if (write_patch(session, err) == 0)
        return 0;
    jr_freeze_discard(session);
    return -1;
}

/* The code of an earlier run. */
static int take_code(struct jr_session *session, const struct jr_run_tree_request *request,
                     struct jr_error *err)
{
    const struct jr_frozen_from from = {
        .scratch = request->scratch,
        .limit = {jr_clock_ns() + LIMIT_FROZEN_MS * UINT64_C(1000000), request->stop_fd}};
    struct jr_error why = {0};
    if (request->scratch == NULL)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    if (jr_frozen_source_copy(session, &from, &why) == 0)
        return 0;
    jr_freeze_discard(session);
    const char *text = jr_redact_copy(&session->arena, why.text, session->resolution.job.hidden);
    return jr_error_set(err, why.status, "%s", text == NULL ? "" : text);
}

static const char *scratch_folder(struct jr_session *session)
{
    const struct jr_frozen *frozen = &session->frozen;
    if (frozen->folder != NULL)
        return jr_arena_printf(&session->arena, "%s/" SCRATCH, frozen->folder);
    return jr_arena_printf(&session->arena, "%s/%s/" SCRATCH, session->resolution.job.log_dir,
                           session->dir.path);
}

static bool are_same_texts(char *const *a, char *const *b)
{
    size_t i = 0;
    if (a == NULL || b == NULL)
        return (a == NULL || a[0] == NULL) && (b == NULL || b[0] == NULL);
    while (a[i] != NULL && b[i] != NULL && strcmp(a[i], b[i]) == 0)
        i++;
    return a[i] == NULL && b[i] == NULL;
}

/* What was recorded for all cells is this one's code if that is asked about in the same way, and
 * nothing has changed. */
static bool take_known_code(struct jr_session *session, const struct jr_run_tree_request *request)
{
    struct jr_known_code *known = session->known_code;
    if (known == NULL || !known->stamped || strcmp(known->folder, request->folder) != 0 ||
        !are_same_texts(known->files, request->files) ||
        (known->tree.patch.len > 0 &&
         !are_same_texts(known->hidden, session->resolution.job.hidden)) ||
        !jr_tree_stamp_holds(known->stamp, &known->tree))
        return false;
    session->run_tree = known->tree;
    known->tree = JR_RUN_TREE_INIT;
    return true;
}

void jr_session_know_code(struct jr_known_code *ret, struct jr_session *session,
                          const char *scratch)
{
    const struct jr_job *job = &session->resolution.job;
    const struct jr_secrets secrets = {
        .globs = job->secrets,
        .count = job->secrets_count,
        .values = job->hidden,
    };
    /* What would stop the run also ends waiting for git; -1: only the limit. */
    JR_CLOSE int stop_fd = jr_signals_open_stops(job->policy);
    uint64_t began_ns = jr_clock_ns(), wall_ns = jr_clock_wall_ns();
    *ret = (struct jr_known_code){.folder = job->workdir,
                                  .files = find_chain(session),
                                  .hidden = job->hidden,
                                  .asked_ns = began_ns};
    const struct jr_run_tree_request request = {
        .folder = job->workdir,
        .scratch = scratch,
        .whole = true,
        .log_dir = job->log_dir,
        .files = ret->files,
        .secrets = &secrets,
        .envp = session->options.envp,
        .limit_ms = LIMIT_MS,
        .stop_fd = stop_fd,
    };
    struct jr_error silent = {0};
    ret->stamped = jr_run_tree_record(&ret->tree, &request, &silent) == 0 &&
                   jr_tree_stamp_make(&ret->stamp, &ret->tree, wall_ns);
    ret->took_ns = jr_clock_ns() - began_ns;
}

void jr_known_code_release(struct jr_known_code *code)
{
    jr_run_tree_release(&code->tree);
    *code = (struct jr_known_code){0};
}

int jr_session_record_code(struct jr_session *session, struct jr_error *err)
{
    const struct jr_job *job = &session->resolution.job;
    struct jr_error why = {0};
    /* What would stop the run also ends waiting for git; -1: only the limit. */
    JR_CLOSE int stop_fd = jr_signals_open_stops(job->policy);
    bool frozen = session->frozen.copy != NULL;
    const struct jr_freeze_watch watch = {jr_clock_wall_ns() - CLOCK_NS, stop_fd};
    const struct jr_secrets secrets = {
        .globs = job->secrets,
        .count = job->secrets_count,
        .values = job->hidden,
    };
    if (jr_continuation_keeps_code(session))
        return 0;
    session->record.code.specs = find_chain(session);
    const struct jr_run_tree_request request = {
        .folder = frozen ? session->frozen.top : job->workdir,
        .scratch = scratch_folder(session),
        .whole = frozen,
        .log_dir = job->log_dir,
        .files = session->record.code.specs,
        .secrets = &secrets,
        .envp = session->options.envp,
        .limit_ms = frozen ? LIMIT_FROZEN_MS : LIMIT_MS,
        .stop_fd = stop_fd,
    };
    if (session->frozen.run != NULL)
        return take_code(session, &request, err);
    if (frozen)
        return freeze_code(session, &request, &watch, err);
    int failed = take_known_code(session, &request) ? 0 : record_tree(session, &request, &why);
    fill_record(session);
    if (failed == 0)
        failed = write_patch(session, &why);
    if (failed != 0)
        report_problem(session, &why);
    return 0;
}
