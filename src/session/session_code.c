#include "session/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/redact.h"
#include "base/subprocess.h"
#include "cluster/controller.h"
#include "cluster/protocol.h"
#include "doc/doc.h"
#include "eventloop/signals.h"
#include "plan/rank_env.h"
#include "record/prune.h"
#include "record/record_folder.h"
#include "spec/template_text.h"

#include "base/banned.h"

enum { LIST_MS = 10000 };

static const struct jr_code_choice *code_choice(const struct jr_session *session)
{
    return &session->resolution.job.policy->code;
}

static int refuse_folder(const char *folder, const char *why, struct jr_error *err)
{
    JR_BUF_CLEANUP struct jr_buf shown = JR_BUF_INIT;
    jr_buf_safe(&shown, folder);
    return jr_error_set(err, JR_STATUS_UNRESOLVED, "code: freeze: %s %s",
                        shown.failed ? "the folder" : shown.data, why);
}

/* Read the record of the earlier run whose code it is to be, the session's `code_of`. -1 with `err`
 * where it has none. */
static int open_earlier_code(struct jr_session *session, struct jr_error *err)
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
    return session->arena.failed ? jr_error_set(err, JR_STATUS_LAUNCH, "out of memory") : 0;
}

int jr_freeze_find(struct jr_session *session, struct jr_error *err)
{
    struct jr_frozen *frozen = &session->frozen;
    struct jr_arena *arena = &session->arena;
    if (code_choice(session)->mode != JR_CODE_MODE_FREEZE)
        return 0;
    if (session->options.code_of != NULL)
        return open_earlier_code(session, err);
    const char *rest;
    char *folder = jr_template_head(arena, session->resolution.job.workdir, &rest);
    if (folder != NULL && *rest != '\0') /* what differs from rank to rank */
        *strrchr(folder, '/') = '\0';
    JR_FREE char *real = folder == NULL ? NULL : realpath(folder, NULL);
    if (folder == NULL)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    if (real == NULL)
        return refuse_folder(folder, strerror(errno), err);
    JR_FREE char *top = jr_io_find_above(real, ".git");
    JR_FREE char *name = jr_io_find_above(folder, ".git");
    if (top == NULL)
        return refuse_folder(folder,
                             "is in no git work tree, and only what git knows can be frozen: "
                             "make a repository there (git init, git add, git commit), or leave "
                             "`code` out",
                             err);
    frozen->top = jr_arena_strdup(arena, top);
    frozen->name = jr_arena_strdup(arena, name == NULL ? top : name);
    return arena->failed ? jr_error_set(err, JR_STATUS_LAUNCH, "out of memory") : 0;
}

/* What is behind the folder in a path that is it, or below it. */
static const char *behind_folder(const char *path, const char *folder)
{
    size_t len = strlen(folder);
    return strncmp(path, folder, len) == 0 && (path[len] == '/' || path[len] == '\0') ? path + len
                                                                                      : NULL;
}

/* The path in the copy of one in the work tree; any other is what it is. */
static const char *path_in_copy(struct jr_session *session, const char *path)
{
    const struct jr_frozen *frozen = &session->frozen;
    const char *rest = behind_folder(path, frozen->top);
    if (rest == NULL)
        rest = behind_folder(path, frozen->name);
    return rest == NULL ? path : jr_arena_printf(&session->arena, "%s%s", frozen->copy, rest);
}

/* The same for a folder that may be named by way of a link. */
static const char *folder_in_copy(struct jr_session *session, const char *path)
{
    const char *mapped = path_in_copy(session, path);
    JR_FREE char *real = mapped == path ? realpath(path, NULL) : NULL;
    if (real == NULL)
        return mapped;
    const char *inside = path_in_copy(session, real);
    return inside == real ? path : inside;
}

/* PYTHONPATH, so that modules are those of the copy. */
static char **environment_in_copy(struct jr_session *session)
{
    struct jr_arena *arena = &session->arena;
    struct jr_strv env = {0};
    JR_BUF_CLEANUP struct jr_buf value = JR_BUF_INIT;
    const char *at = jr_env_get(session->options.envp, JR_PYTHON_PATH);
    jr_strv_copy(&env, arena, session->options.envp);
    if (at == NULL)
        return env.items;
    for (size_t len; at != NULL; at = at[len] == '\0' ? NULL : at + len + 1) {
        len = strcspn(at, ":");
        const char *entry = jr_arena_strndup(arena, at, len);
        const char *mapped = entry == NULL ? NULL : path_in_copy(session, entry);
        jr_buf_printf(&value, "%s%s", mapped == NULL ? "" : mapped, at[len] == '\0' ? "" : ":");
    }
    const char *text = jr_buf_keep(&value, arena);
    jr_env_unset(&env, JR_PYTHON_PATH);
    jr_strv_push(&env, arena,
                 jr_arena_printf(arena, JR_PYTHON_PATH "=%s", text == NULL ? "" : text));
    return env.items;
}

void jr_freeze_plan_copy(struct jr_session *session)
{
    if (session->frozen.top != NULL)
        jr_freeze_place(session,
                        jr_arena_printf(&session->arena, "%s/%s", session->resolution.job.log_dir,
                                        session->dir.path));
}

void jr_freeze_place(struct jr_session *session, const char *folder)
{
    struct jr_frozen *frozen = &session->frozen;
    struct jr_arena *arena = &session->arena;
    const struct jr_job *job = &session->resolution.job;
    frozen->folder = folder;
    frozen->copy = folder == NULL ? NULL : jr_arena_printf(arena, "%s/" JR_CODE_DIR, folder);
    if (frozen->copy == NULL)
        return;
    frozen->entrypoint = job->entrypoint;
    /* The folder of the ranks is a template: the copy lies where it lies, and is none. */
    const char *rest;
    const char *head = jr_template_head(arena, job->workdir, &rest);
    const char *mapped = head == NULL ? NULL : folder_in_copy(session, head);
    mapped = mapped == NULL ? NULL : jr_template_literal(arena, mapped);
    frozen->workdir = mapped == NULL ? NULL : jr_arena_printf(arena, "%s%s", mapped, rest);
    frozen->envp = environment_in_copy(session);
    if (job->entrypoint.python != NULL) {
        frozen->python = *job->entrypoint.python;
        frozen->python.interpreter =
            (char *)path_in_copy(session, job->entrypoint.python->interpreter);
        frozen->python.target = (char *)path_in_copy(session, job->entrypoint.python->target);
        frozen->entrypoint.python = &frozen->python;
    }
    if (job->entrypoint.library != NULL) {
        frozen->library = *job->entrypoint.library;
        frozen->library.path = (char *)path_in_copy(session, job->entrypoint.library->path);
        frozen->entrypoint.library = &frozen->library;
    }
}

const struct jr_job *jr_freeze_job(struct jr_session *session)
{
    struct jr_frozen *frozen = &session->frozen;
    if (frozen->copy == NULL)
        return &session->resolution.job;
    frozen->job = session->resolution.job;
    frozen->job.workdir = frozen->workdir;
    frozen->job.entrypoint = frozen->entrypoint;
    return &frozen->job;
}

char *const *jr_freeze_environ(const struct jr_session *session)
{
    return session->frozen.copy == NULL ? session->options.envp : session->frozen.envp;
}

const char *jr_freeze_spec_folder(struct jr_session *session)
{
    const char *folder = jr_spec_folder_of(session->file);
    const char *mapped = session->frozen.copy == NULL ? folder : folder_in_copy(session, folder);
    return mapped != NULL && access(mapped, F_OK) == 0 ? mapped : folder;
}

/* The links that `code.link` names; each has to be in the tree. */
static int named_links(struct jr_session *session, struct jr_buf *out, struct jr_error *err)
{
    const struct jr_code_choice *choice = code_choice(session);
    const struct jr_frozen *frozen = &session->frozen;
    for (uint32_t i = 0; i < choice->link_count; i++) {
        const char *path = choice->link[i];
        const char *rest = behind_folder(path, frozen->top);
        if (rest == NULL)
            rest = behind_folder(path, frozen->name);
        JR_BUF_CLEANUP struct jr_buf shown = JR_BUF_INIT;
        jr_buf_safe(&shown, path);
        if (rest == NULL || *rest == '\0')
            return jr_error_set(err, JR_STATUS_UNRESOLVED,
                                "code.link: %s is not in the work tree %s",
                                shown.failed ? "" : shown.data, frozen->top);
        if (access(path, F_OK) != 0)
            return jr_error_set(err, JR_STATUS_UNRESOLVED, "code.link: %s: %s",
                                shown.failed ? "" : shown.data, strerror(errno));
        jr_buf_add(out, rest + 1, strlen(rest + 1) + 1);
    }
    return 0;
}

/* What the copy has as links: as `code.link` says. */
static int choose_links(struct jr_session *session, const struct jr_run_tree *code,
                        struct jr_buf *out, struct jr_error *err)
{
    const struct jr_code_choice *choice = code_choice(session);
    const char *word = choice->link_count == 1 ? choice->link[0] : "";
    if (choice->link_count == 0 || strcmp(word, "all") == 0)
        jr_buf_add(out, code->links.data, code->links.len);
    else if (strcmp(word, "none") != 0 && named_links(session, out, err) != 0)
        return -1;
    for (size_t at = 0; at < out->len; at += strlen(out->data + at) + 1)
        jr_strv_push(&session->frozen.links, &session->arena,
                     jr_arena_strdup(&session->arena, out->data + at));
    return out->failed || session->arena.failed
               ? jr_error_set(err, JR_STATUS_LAUNCH, "out of memory")
               : 0;
}

/* Whether a path that the entrypoint needs is there, but not in the copy. */
static int check_needed(struct jr_session *session, const char *path, struct jr_error *err)
{
    const char *mapped = path_in_copy(session, path);
    if (mapped == path || mapped == NULL || access(path, F_OK) != 0 || access(mapped, F_OK) == 0)
        return 0;
    return refuse_folder(path,
                         "is not in the copy: git ignores it and code.link "
                         "does not name it, or it has a secret in it",
                         err);
}

static int copy_tree(struct jr_session *session, const struct jr_copy_tree_request *request,
                     const struct jr_buf *wanted, bool *ret_changing, struct jr_error *err)
{
    const struct jr_entrypoint *entry = &session->resolution.job.entrypoint;
    struct jr_record_code *record = &session->record.code;
    JR_BUF_CLEANUP struct jr_buf shown = JR_BUF_INIT;
    struct jr_copied_tree copied;
    const char *rest, *changed = NULL;
    int failed = jr_copy_tree(&copied, request, err);
    if (failed == 0 && wanted != NULL)
        changed = jr_copied_tree_differ(&copied.list, wanted);
    if (changed != NULL) {
        jr_buf_safe(&shown, changed);
        failed = jr_error_set(err, JR_STATUS_UNRESOLVED,
                              "%s/%s was changed or removed after it was frozen", request->from,
                              shown.failed ? "" : shown.data);
    }
    if (failed != 0 && err->sys == EEXIST)
        failed = jr_error_set(err, JR_STATUS_UNRESOLVED,
                              "code.link: %s: it is in the copy already, "
                              "because git does not ignore it",
                              err->text);
    *ret_changing = copied.changing;
    const char *workdir = jr_template_head(&session->arena, session->resolution.job.workdir, &rest);
    if (failed == 0 && workdir != NULL && *rest == '\0')
        failed = check_needed(session, workdir, err);
    if (failed == 0 && entry->python != NULL)
        failed = check_needed(session, entry->python->interpreter, err);
    if (failed == 0 && entry->python != NULL)
        failed = check_needed(session, entry->python->target, err);
    if (failed == 0 && entry->library != NULL)
        failed = check_needed(session, entry->library->path, err);
    if (failed == 0) {
        record->frozen = true;
        record->files = copied.files;
        record->bytes = copied.bytes;
        record->links = session->frozen.links.items;
        record->links_all = session->frozen.links.count;
        failed = jr_session_write(session, JR_CODE_LIST, &copied.list, err);
    }
    jr_copied_tree_release(&copied);
    return failed;
}

/* Copy the recorded tree, of which `code` has the files, and write the list of what the copy has.
 * `ret_changing` says that a file changed since the recording (CLOCK_REALTIME): then the copy may
 * not be what was recorded. 0, or -1 with `err`; then there is no copy. */
static int copy_frozen_code(struct jr_session *session, struct jr_run_tree *code, uint64_t since_ns,
                            int stop_fd, bool *ret_changing, struct jr_error *err)
{
    JR_BUF_CLEANUP struct jr_buf links = JR_BUF_INIT;
    session->frozen.links = (struct jr_strv){0};
    if (choose_links(session, code, &links, err) != 0)
        return -1;
    const struct jr_copy_tree_request request = {
        .top = code->top,
        .to = session->frozen.copy,
        .files = &code->files,
        .links = &links,
        .since_ns = since_ns,
        .stop_fd = stop_fd,
    };
    int failed = copy_tree(session, &request, NULL, ret_changing, err);
    if (failed != 0)
        jr_freeze_discard(session);
    return failed;
}

void jr_freeze_discard(struct jr_session *session)
{
    if (session->frozen.copy != NULL)
        jr_snapshot_remove(session->frozen.copy);
}

/* Copy as the request says, and write the list of what the copy has, which has to be `wanted`
 * unless that is NULL. 0, or -1 with `err`. */
static int copy_earlier_files(struct jr_session *session,
                              const struct jr_copy_tree_request *request,
                              const struct jr_buf *wanted, struct jr_error *err)
{
    bool changing;
    for (size_t at = 0; wanted != NULL && at < request->links->len;
         at += strlen(request->links->data + at) + 1)
        jr_strv_push(&session->frozen.links, &session->arena,
                     jr_arena_strdup(&session->arena, request->links->data + at));
    int failed = copy_tree(session, request, wanted, &changing, err);
    if (failed != 0)
        jr_freeze_discard(session);
    return failed;
}

void jr_freeze_release(struct jr_session *session)
{
    json_decref(session->frozen.run);
}

/* Append what git ignores in the tree as it is now and `code.link` chooses: paths from the top,
 * each with a NUL. */
static int find_ignored_links(struct jr_session *session, struct jr_buf *out, struct jr_error *err)
{
    struct jr_run_tree code;
    const struct jr_job *job = &session->resolution.job;
    const struct jr_secrets secrets = {job->secrets, job->secrets_count, job->hidden};
    const struct jr_run_tree_request request = {
        .folder = session->frozen.top,
        .whole = true,
        .log_dir = job->log_dir,
        .secrets = &secrets,
        .envp = session->options.envp,
        .limit_ms = LIST_MS,
        .stop_fd = -1,
    };
    int failed = jr_run_tree_record(&code, &request, err);
    if (failed != 0)
        (void)jr_error_wrap(err, "code: freeze");
    else
        failed = choose_links(session, &code, out, err);
    jr_run_tree_release(&code);
    if (failed != 0)
        err->status = JR_STATUS_UNRESOLVED;
    return failed;
}

int jr_freeze_preview(struct jr_session *session, struct jr_error *err)
{
    JR_BUF_CLEANUP struct jr_buf links = JR_BUF_INIT;
    if (session->frozen.top == NULL)
        return 0;
    if (find_ignored_links(session, &links, err) != 0)
        return -1;
    session->plan.frozen = session->frozen.top;
    session->plan.links = session->frozen.links.items;
    session->plan.links_count = session->frozen.links.count;
    return 0;
}

int jr_freeze_join(struct jr_session *session, struct jr_error *err)
{
    struct jr_frozen *frozen = &session->frozen;
    struct jr_record_code code;
    struct stat st;
    if (code_choice(session)->mode != JR_CODE_MODE_FREEZE || frozen->copy != NULL)
        return 0;
    json_t *run = jr_record_folder_json(session->dir.fd, "run.json", NULL);
    (void)jr_record_code_read(&code, &session->arena, run);
    frozen->top = frozen->name = code.frozen ? jr_arena_strdup(&session->arena, code.top) : NULL;
    json_decref(run);
    if (session->code_top != NULL) {
        frozen->top = session->code_top;
        frozen->name = session->code_name;
    }
    jr_freeze_plan_copy(session);
    if (frozen->copy != NULL && stat(frozen->copy, &st) == 0 && S_ISDIR(st.st_mode))
        return 0;
    return jr_error_set(err, JR_STATUS_LAUNCH,
                        "the copy of the code, %s/%s/" JR_CODE_DIR
                        ", is not there (log_dir has to be where all nodes see it)",
                        session->resolution.job.log_dir, session->dir.path);
}

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

static char *const *find_chain(struct jr_session *session)
{
    JR_FREE char *here = getcwd(NULL, 0);
    const struct jr_doc *doc = jr_spec_doc(session->file);
    struct chain chain = {.arena = &session->arena, .here = here};
    if (here == NULL)
        return NULL;
    add_source(&chain, doc->source);
    walk_tree(&chain, doc->root, 0);
    if (session->options.rerun_of != NULL) {
        /* It has a spec that was resolved, in its folder; that of then is in its record. */
        struct jr_record_code code;
        JR_CLOSE int fd =
            jr_record_folder_open(session->resolution.job.log_dir, session->options.rerun_of, NULL);
        json_t *run = fd < 0 ? NULL : jr_record_folder_json(fd, "run.json", NULL);
        (void)jr_record_code_read(&code, chain.arena, run);
        for (size_t i = 0; code.specs != NULL && code.specs[i] != NULL; i++)
            jr_strv_push(&chain.files, chain.arena, code.specs[i]);
        json_decref(run);
    }
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

static const char *hide_secrets(struct jr_session *session, const char *text)
{
    text = jr_redact_copy(&session->arena, text, session->resolution.job.hidden);
    return text == NULL ? "" : text;
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
                       uint64_t since_ns, struct jr_error *err)
{
    struct jr_run_tree *code = &session->run_tree;
    char before[JR_GIT_HASH];
    bool changing = true;
    for (int i = 0; i < MOST_COPIES; i++) {
        if (copy_frozen_code(session, code, since_ns, request->stop_fd, &changing, err) != 0)
            return -1;
        if (!changing)
            return 0;
        memcpy(before, code->tree, sizeof before);
        since_ns = jr_clock_wall_ns() - CLOCK_NS;
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

static int freeze_code(struct jr_session *session, const struct jr_run_tree_request *request,
                       uint64_t since_ns, struct jr_error *err)
{
    struct jr_error why = {0};
    if (record_tree(session, request, &why) != 0) {
        /* A run that was to be frozen does not begin otherwise. */
        jr_freeze_discard(session);
        return jr_error_set(err, why.sys == EINTR ? JR_STATUS_LAUNCH : JR_STATUS_UNRESOLVED,
                            "code: freeze: %s", hide_secrets(session, why.text));
    }
    if (freeze_tree(session, request, since_ns, err) == 0) {
        fill_record(session);
        if (write_patch(session, err) == 0)
            return 0;
    }
    jr_freeze_discard(session);
    return -1;
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

enum { MOST_NAMED = 5 };

static const size_t MOST_LIST = (size_t)256 << 20;
static const size_t MOST_PATCH = (size_t)2 << 20;

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
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
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
        failed = jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    else if (!jr_copied_tree_read(list, &files, &links))
        failed =
            jr_error_set(err, JR_STATUS_UNRESOLVED, "%s/" JR_CODE_LIST ": not a list of jobrun's",
                         session->options.code_of);
    else
        failed = copy_earlier_files(session, &request, list, err);
    return failed;
}

/* The files out of commit and patch, in the scratch folder. */
static int rebuild_files(struct jr_session *session, const char *scratch,
                         struct jr_task_limit limit, struct jr_buf *ret_files, struct jr_error *err)
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
        .scratch = scratch,
        .envp = session->options.envp,
        .limit = limit,
    };
    return jr_tree_rebuild(&request, ret_files, err);
}

static int copy_rebuilt(struct jr_session *session, const char *scratch, struct jr_task_limit limit,
                        struct jr_error *err)
{
    JR_BUF_CLEANUP struct jr_buf files = JR_BUF_INIT, links = JR_BUF_INIT;
    const char *tree = jr_arena_printf(&session->arena, "%s/tree", scratch);
    if (tree == NULL)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    if (refuse_gaps(session, &session->frozen.source, err) != 0 ||
        find_ignored_links(session, &links, err) != 0)
        return -1;
    int failed = rebuild_files(session, scratch, limit, &files, err);
    const struct jr_copy_tree_request request = {
        .top = session->frozen.top,
        .from = tree,
        .to = session->frozen.copy,
        .files = &files,
        .links = &links,
        .since_ns = UINT64_MAX,
        .stop_fd = limit.stop_fd,
    };
    if (failed == 0)
        failed = copy_earlier_files(session, &request, NULL, err);
    jr_snapshot_remove(scratch);
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

/* Make the copy out of that of the earlier run, or out of its commit and its patch, where these
 * make the tree that was recorded; what git ignores is the original's of now. The record is the
 * earlier run's. -1 with `err` where neither gives that tree. */
static int copy_earlier_code(struct jr_session *session, const char *scratch,
                             struct jr_task_limit limit, struct jr_error *err)
{
    JR_BUF_CLEANUP struct jr_buf list = JR_BUF_INIT;
    struct jr_buf patch = JR_BUF_INIT;
    struct jr_error why = {0};
    int failed = read_file(session, JR_CODE_LIST, MOST_LIST, &list, &why);
    if (failed == 0)
        failed = copy_again(session, &list, limit.stop_fd, err);
    else if (why.sys == ENOENT)
        failed = copy_rebuilt(session, scratch, limit, err);
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

/* Whether the copy of the code is the one that the start before has made, which then is the
 * record's. */
static bool keeps_code_of_start_before(struct jr_session *session)
{
    struct jr_record_code code;
    struct stat st;
    const char *copy = session->frozen.copy;
    if (!session->dir.kept || copy == NULL || lstat(copy, &st) != 0)
        return false;
    if (S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
        jr_record_code_read(&code, &session->arena, session->earlier) && code.frozen &&
        code.tree != NULL) {
        session->record.code = code;
        return true;
    }
    jr_freeze_discard(session); /* it was killed while it made the copy */
    return false;
}

int jr_session_record_code(struct jr_session *session, struct jr_error *err)
{
    const struct jr_job *job = &session->resolution.job;
    struct jr_error why = {0};
    /* What would stop the run also ends waiting for git; -1: only the limit. */
    JR_CLOSE int stop_fd = jr_signals_open_stops(job->policy);
    bool frozen = session->frozen.copy != NULL;
    uint64_t since_ns = jr_clock_wall_ns() - CLOCK_NS;
    const struct jr_secrets secrets = {
        .globs = job->secrets,
        .count = job->secrets_count,
        .values = job->hidden,
    };
    if (keeps_code_of_start_before(session))
        return 0;
    session->record.code.specs = find_chain(session);
    const char *scratch =
        session->frozen.folder != NULL
            ? jr_arena_printf(&session->arena, "%s/" SCRATCH, session->frozen.folder)
            : jr_arena_printf(&session->arena, "%s/%s/" SCRATCH, job->log_dir, session->dir.path);
    const struct jr_run_tree_request request = {
        .folder = frozen ? session->frozen.top : job->workdir,
        .scratch = scratch,
        .whole = frozen,
        .log_dir = job->log_dir,
        .files = session->record.code.specs,
        .secrets = &secrets,
        .envp = session->options.envp,
        .limit_ms = frozen ? LIMIT_FROZEN_MS : LIMIT_MS,
        .stop_fd = stop_fd,
    };
    if (session->frozen.run != NULL) { /* the code of an earlier run */
        const struct jr_task_limit limit = {jr_clock_ns() + LIMIT_FROZEN_MS * UINT64_C(1000000),
                                            stop_fd};
        if (scratch == NULL)
            return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
        if (copy_earlier_code(session, scratch, limit, &why) == 0)
            return 0;
        jr_freeze_discard(session);
        return jr_error_set(err, why.status, "%s", hide_secrets(session, why.text));
    }
    if (frozen)
        return freeze_code(session, &request, since_ns, err);
    int failed = take_known_code(session, &request) ? 0 : record_tree(session, &request, &why);
    fill_record(session);
    if (failed == 0)
        failed = write_patch(session, &why);
    if (failed != 0) { /* the run is not ended by it: what is not known is said */
        struct jr_record_code *record = &session->record.code;
        record->problem = jr_arena_strdup(&session->arena, hide_secrets(session, why.text));
        record->tree = NULL;
        const char *line = jr_arena_printf(&session->arena, "code not recorded: %s",
                                           record->problem == NULL ? "" : record->problem);
        jr_session_note(session, line == NULL ? "code not recorded" : line);
    }
    return 0;
}

#define ARCHIVE ".code.tar"

/* Wait for tar's end. -1 with `err`. */
static int await_tar(struct jr_task *tar, const char *what, struct jr_error *err)
{
    static const struct jr_task_limit for_ever = {.stop_fd = -1};
    int status = 0, failed = jr_task_end(tar, NULL, &for_ever, &status);
    jr_task_cancel(tar);
    if (failed == 0 && status == 0)
        return 0;
    return jr_error_set(err, JR_STATUS_LAUNCH, "tar could not %s the code of the run (it %s %d)",
                        what, WIFEXITED(status) ? "ended with exit code" : "was killed by signal",
                        WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}

static int start_tar(struct jr_task *ret, const struct jr_session *session, char **argv,
                     const int fds[3], struct jr_error *err)
{
    const struct jr_subprocess tar = {
        .argv = argv, .envp = session->options.envp, .fds = fds, .session = true};
    if (jr_task_begin(ret, &tar, NULL) == 0)
        return 0;
    return jr_error_sys(err, JR_STATUS_LAUNCH, "tar, by which code goes to other hosts");
}

int jr_far_code_pack(int *ret_fd, struct jr_session *session, const char *folder,
                     struct jr_error *err)
{
    char pack[] = "tar", exact[] = "--format=posix", to[] = "-cf", out[] = "-", in[] = "-C",
         all[] = ".";
    char *from = jr_arena_strdup(&session->arena, folder);
    char *argv[] = {pack, exact, to, out, in, from, all, NULL};
    JR_CLOSE int fd = openat(session->dir.fd, ARCHIVE, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (from == NULL || fd < 0 || unlinkat(session->dir.fd, ARCHIVE, 0) != 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "the run folder's " ARCHIVE);
    const int fds[3] = {-1, fd, STDERR_FILENO};
    struct jr_task tar;
    if (start_tar(&tar, session, argv, fds, err) != 0 || await_tar(&tar, "pack", err) != 0)
        return -1;
    *ret_fd = jr_steal_fd(&fd);
    return 0;
}

bool jr_far_code_lacks(const struct jr_session *session)
{
    const struct jr_policy *policy = session->resolution.job.policy;
    return session->apart && policy->code.mode == JR_CODE_MODE_FREEZE && session->code_top == NULL;
}

/* In a folder that is there. */
static int begin_unpacking(struct jr_session *session, struct jr_far_code *code, const char *folder,
                           struct jr_error *err)
{
    char unpack[] = "tar", from[] = "-xpf", in[] = "-", to[] = "-C";
    char *copy = jr_arena_strdup(&session->arena, folder);
    char *argv[] = {unpack, from, in, to, copy, NULL};
    static const int fds[3] = {JR_FD_TASK, STDERR_FILENO, STDERR_FILENO};
    return copy == NULL ? jr_error_set(err, JR_STATUS_LAUNCH, "out of memory")
                        : start_tar(&code->tar, session, argv, fds, err);
}

/* The bytes of a message, and with the last one the end. What tar does not take, its exit code
 * says. */
static int take_code_bytes(struct jr_far_code *code, const struct jr_message *message,
                           struct jr_error *err)
{
    JR_BUF_CLEANUP struct jr_buf bytes = JR_BUF_INIT;
    code->begun = true;
    if (message->bytes != NULL && code->tar.pid != 0) {
        if (!jr_base64_take(&bytes, message->bytes, strlen(message->bytes)) || bytes.failed)
            return jr_error_set(err, JR_STATUS_LAUNCH,
                                "the code of the run did not come as it was sent");
        if (jr_io_write_all(code->tar.in, bytes.data, bytes.len) != 0 &&
            await_tar(&code->tar, "unpack", err) != 0)
            return -1;
    }
    return message->on && code->tar.pid != 0 ? await_tar(&code->tar, "unpack", err) : 0;
}

int jr_far_code_take(struct jr_session *session, struct jr_far_code *code,
                     const struct jr_message *message, struct jr_error *err)
{
    const struct jr_run_folder *dir = &session->dir;
    if (!code->begun) {
        struct jr_pruned pruned = {0};
        char aside[40];
        const char *copy = jr_arena_printf(&session->arena, "%s/%s/" JR_CODE_DIR,
                                           session->resolution.job.log_dir, dir->path);
        /* That of an agent before this one: ranks may have changed it since. Where there is one
         * aside for this attempt, no rank has had the other. */
        (void)snprintf(aside, sizeof aside, JR_CODE_DIR ".before_%u", session->attempt);
        if (renameat(dir->fd, JR_CODE_DIR, dir->fd, aside) != 0)
            (void)jr_prune_folder(&pruned, dir->fd, JR_CODE_DIR);
        if (copy == NULL || mkdirat(dir->fd, JR_CODE_DIR, dir->dir_mode) != 0)
            return jr_error_sys(err, JR_STATUS_LAUNCH, "the run folder's %s/%s", dir->path,
                                JR_CODE_DIR);
        if (begin_unpacking(session, code, copy, err) != 0)
            return -1;
    }
    if (take_code_bytes(code, message, err) != 0)
        return -1;
    if (!message->on)
        return 0;
    session->code_top = jr_arena_strdup(&session->arena, message->folder);
    session->code_name = jr_arena_strdup(&session->arena, message->name);
    return session->code_top != NULL && session->code_name != NULL
               ? 0
               : jr_error_set(err, JR_STATUS_LAUNCH, "the controller did not say whose code it is");
}

int jr_far_code_take_cells(struct jr_session *session, struct jr_far_code *code, const char *folder,
                           const struct jr_message *message, struct jr_error *err)
{
    if (!code->begun && mkdir(folder, S_IRWXU) != 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "%s", folder);
    if (!code->begun && begin_unpacking(session, code, folder, err) != 0)
        return -1;
    return take_code_bytes(code, message, err);
}

void jr_far_code_close(struct jr_far_code *code)
{
    if (code->tar.pid != 0)
        jr_task_cancel(&code->tar);
}
