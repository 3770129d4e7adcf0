#include "session/session_freeze.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "plan/rank_env.h"
#include "record/record_folder.h"
#include "session/begin.h"
#include "session/session.h"
#include "spec/template_text.h"
#include "vcs/snapshot.h"

#include "base/banned.h"

enum { LIST_MS = 10000 };

static const struct jr_code_choice *code_choice(const struct jr_session *session)
{
    return &session->resolution.job.policy->code;
}

/* The folder of the job without what differs from rank to rank. */
static char *common_folder(struct jr_arena *arena, const struct jr_job *job)
{
    const char *rest;
    char *folder = jr_template_head(arena, job->workdir, &rest);
    if (folder != NULL && *rest != '\0')
        *strrchr(folder, '/') = '\0';
    return folder;
}

static int refuse_folder(const char *folder, const char *why, struct jr_error *err)
{
    JR_BUF_CLEANUP struct jr_buf shown = JR_BUF_INIT;
    jr_buf_safe(&shown, folder);
    return jr_error_set(err, JR_STATUS_UNRESOLVED, "code: freeze: %s %s",
                        shown.failed ? "the folder" : shown.data, why);
}

int jr_freeze_find(struct jr_session *session, struct jr_error *err)
{
    struct jr_frozen *frozen = &session->frozen;
    struct jr_arena *arena = &session->arena;
    if (code_choice(session)->mode != JR_CODE_MODE_FREEZE)
        return 0;
    if (session->options.code_of != NULL)
        return jr_frozen_source_open(session, err);
    char *folder = common_folder(arena, &session->resolution.job);
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

/* The same for the folder of the ranks, which is a template: the copy lies where it lies, and is
 * none. */
static const char *workdir_in_copy(struct jr_session *session, const char *workdir)
{
    struct jr_arena *arena = &session->arena;
    const char *rest;
    const char *head = jr_template_head(arena, workdir, &rest);
    const char *mapped = head == NULL ? NULL : folder_in_copy(session, head);
    mapped = mapped == NULL ? NULL : jr_template_literal(arena, mapped);
    return mapped == NULL ? NULL : jr_arena_printf(arena, "%s%s", mapped, rest);
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
    const struct jr_job *job = &session->resolution.job;
    frozen->folder = folder;
    frozen->copy =
        folder == NULL ? NULL : jr_arena_printf(&session->arena, "%s/" JR_CODE_DIR, folder);
    if (frozen->copy == NULL)
        return;
    frozen->entrypoint = job->entrypoint;
    frozen->workdir = workdir_in_copy(session, job->workdir);
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

static bool is_choice(const struct jr_code_choice *choice, const char *word)
{
    return choice->link_count == 1 && strcmp(choice->link[0], word) == 0;
}

/* What the copy has as links: as `code.link` says. */
static int choose_links(struct jr_session *session, const struct jr_run_tree *code,
                        struct jr_buf *out, struct jr_error *err)
{
    const struct jr_code_choice *choice = code_choice(session);
    if (choice->link_count == 0 || is_choice(choice, "all"))
        jr_buf_add(out, code->links.data, code->links.len);
    else if (!is_choice(choice, "none") && named_links(session, out, err) != 0)
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

static int check_all_needed(struct jr_session *session, struct jr_error *err)
{
    const struct jr_job *job = &session->resolution.job;
    const struct jr_python *python = job->entrypoint.python;
    const struct jr_library *library = job->entrypoint.library;
    const char *rest;
    const char *workdir = jr_template_head(&session->arena, job->workdir, &rest);
    if (workdir != NULL && *rest == '\0' && check_needed(session, workdir, err) != 0)
        return -1;
    if (python != NULL && (check_needed(session, python->interpreter, err) != 0 ||
                           check_needed(session, python->target, err) != 0))
        return -1;
    return library == NULL ? 0 : check_needed(session, library->path, err);
}

static void fill_frozen_record(struct jr_session *session, const struct jr_copied_tree *copied)
{
    struct jr_record_code *record = &session->record.code;
    record->frozen = true;
    record->files = copied->files;
    record->bytes = copied->bytes;
    record->links = session->frozen.links.items;
    record->links_all = session->frozen.links.count;
}

/* What is no longer as it was when it was copied. */
static int check_wanted(const struct jr_copied_tree *copied,
                        const struct jr_copy_tree_request *request, const struct jr_buf *wanted,
                        struct jr_error *err)
{
    const char *path = wanted == NULL ? NULL : jr_copied_tree_differ(&copied->list, wanted);
    JR_BUF_CLEANUP struct jr_buf shown = JR_BUF_INIT;
    if (path == NULL)
        return 0;
    jr_buf_safe(&shown, path);
    return jr_error_set(err, JR_STATUS_UNRESOLVED,
                        "%s/%s was changed or removed after it was frozen", request->from,
                        shown.failed ? "" : shown.data);
}

static int copy_tree(struct jr_session *session, const struct jr_copy_tree_request *request,
                     const struct jr_buf *wanted, bool *ret_changing, struct jr_error *err)
{
    struct jr_copied_tree copied;
    int failed = jr_copy_tree(&copied, request, err);
    if (failed == 0)
        failed = check_wanted(&copied, request, wanted, err);
    if (failed != 0 && err->sys == EEXIST)
        failed = jr_error_set(err, JR_STATUS_UNRESOLVED,
                              "code.link: %s: it is in the copy already, "
                              "because git does not ignore it",
                              err->text);
    *ret_changing = copied.changing;
    if (failed == 0)
        failed = check_all_needed(session, err);
    if (failed == 0) {
        fill_frozen_record(session, &copied);
        failed = jr_session_write(session, JR_CODE_LIST, &copied.list, err);
    }
    jr_copied_tree_release(&copied);
    return failed;
}

int jr_freeze_copy(struct jr_session *session, struct jr_run_tree *code,
                   const struct jr_freeze_watch *watch, bool *ret_changing, struct jr_error *err)
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
        .since_ns = watch->since_ns,
        .stop_fd = watch->stop_fd,
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

int jr_freeze_copy_files(struct jr_session *session, const struct jr_copy_tree_request *request,
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

int jr_freeze_find_links(struct jr_session *session, struct jr_buf *out, struct jr_error *err)
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
    if (jr_freeze_find_links(session, &links, err) != 0)
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
