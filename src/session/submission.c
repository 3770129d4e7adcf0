#include "session/submission.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/json.h"
#include "base/num.h"
#include "base/shell_words.h"
#include "base/strv.h"
#include "doc/doc.h"
#include "record/record_folder.h"
#include "session/internal.h"
#include "session/render_session.h"
#include "session/slurm_queue.h"
#include "store/run_folder.h"
#include "sweep/sweep_file.h"

#include "base/banned.h"

#define SPEC_FILE "spec.yaml"

static const size_t MOST_SPEC = (size_t)16 << 20;

static enum jr_status report_memory(struct jr_error *err)
{
    (void)jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    return JR_STATUS_LAUNCH;
}

static int make_folder(struct jr_session *session, struct jr_error *err)
{
    const struct jr_job *job = &session->resolution.job;
    struct jr_arena *arena = &session->arena;
    char id[128];
    const char *all = jr_arena_printf(arena, "%s/" JR_SUBMITTED_DIR, job->log_dir);
    if (all == NULL)
        return (int)report_memory(err);
    jr_run_folder_id(id, job->name);
    if (jr_run_folder_create(&session->dir, all, id, false, job->policy->log_mode, err) != 0)
        return -1;
    session->frozen.folder = jr_arena_printf(arena, "%s/%s", all, session->dir.id);
    if (session->frozen.top != NULL)
        jr_freeze_place(session, session->frozen.folder);
    return arena->failed ? (int)report_memory(err) : 0;
}

/* `job` NULL: it is not known yet. */
static int write_run(struct jr_session *session, const char *job, struct jr_error *err)
{
    struct jr_buf text = JR_BUF_INIT;
    json_auto_t *run = json_object();
    session->dir.unread = false; /* by this file it is a submission */
    jr_json_set_int(run, "format_version", 1);
    jr_json_set_str(run, "spec", session->spec_name);
    jr_json_set_str(run, "spec_folder", jr_spec_folder_of(session->file));
    jr_json_set_str(run, "job", job);
    if (session->sweep_id != NULL)
        jr_json_set_str(run, "sweep", session->sweep_id);
    jr_json_set(run, "code", jr_record_code_json(&session->record.code));
    jr_json_print(&text, run, 2);
    return jr_session_write(session, "run.json", &text, err);
}

/* Write the spec of one session into the folder of another. */
static int write_spec(struct jr_session *session, const struct jr_session *of, const char *name,
                      struct jr_error *err)
{
    struct jr_doc doc = JR_DOC_INIT;
    struct jr_buf text = JR_BUF_INIT;
    const struct jr_node *root = jr_session_portable_spec(of, &doc, false);
    if (root != NULL)
        jr_doc_emit(&text, root);
    text.failed |= root == NULL;
    jr_doc_release(&doc);
    return jr_session_write(session, name, &text, err);
}

/* The folder, with the code if that is frozen, and its run.json. */
static int begin_submission(struct jr_session *session, struct jr_error *err)
{
    if (make_folder(session, err) != 0)
        return -1;
    if ((session->frozen.top == NULL || jr_session_record_code(session, err) == 0) &&
        write_run(session, NULL, err) == 0)
        return 0;
    jr_submission_discard(session);
    return -1;
}

enum jr_status jr_submission_make(struct jr_session *session, const char **ret_folder,
                                  struct jr_error *err)
{
    struct jr_error why = {.status = JR_STATUS_LAUNCH};
    enum jr_status status = jr_session_resolve(session, err);
    *ret_folder = NULL;
    if (status != JR_STATUS_OK)
        return status;
    int failed = jr_freeze_find(session, &why);
    if (failed == 0 && session->frozen.top == NULL)
        return JR_STATUS_OK;
    if (failed == 0)
        failed = begin_submission(session, &why);
    if (failed == 0 && write_spec(session, session, SPEC_FILE, &why) != 0) {
        jr_submission_discard(session);
        failed = -1;
    }
    if (failed != 0)
        return jr_session_fail(err, &why);
    *ret_folder = session->frozen.folder;
    return JR_STATUS_OK;
}

enum jr_status jr_submission_make_cells(struct jr_session *session, const char **ret_folder,
                                        struct jr_error *err)
{
    struct jr_error why = {.status = JR_STATUS_LAUNCH};
    if (jr_freeze_find(session, &why) != 0 || begin_submission(session, &why) != 0)
        return jr_session_fail(err, &why);
    *ret_folder = session->frozen.folder;
    return JR_STATUS_OK;
}

/* "0007.yaml" */
static void cell_file(char ret[static 32], uint32_t number)
{
    char folder[16];
    jr_cell_folder(folder, number);
    (void)snprintf(ret, 32, "%s.yaml", folder);
}

int jr_submission_add_cell(struct jr_session *session, const struct jr_session *cell,
                           uint32_t number, struct jr_error *err)
{
    char name[32];
    cell_file(name, number);
    return write_spec(session, cell, name, err);
}

int jr_submission_note_job(struct jr_session *session, const char *job, struct jr_error *err)
{
    return session->frozen.folder == NULL ? 0 : write_run(session, job, err);
}

void jr_submission_discard(struct jr_session *session)
{
    if (session->frozen.folder == NULL)
        return;
    jr_freeze_discard(session);
    jr_run_folder_discard(&session->dir);
}

/* Which spec of the folder is meant, and, where it is a cell's, what that is to the session: a run
 * in the folder of its sweep. */
static int choose_spec(struct jr_session *session, const json_t *run, const char *cell,
                       char ret_name[static 32], struct jr_error *err)
{
    struct jr_arena *arena = &session->arena;
    const char *folder = session->options.code_of;
    const char *sweep = jr_json_get_str(run, "sweep");
    const char *below = strstr(folder, "/" JR_SUBMITTED_DIR "/");
    uint32_t number;
    (void)snprintf(ret_name, 32, SPEC_FILE);
    if (sweep == NULL && cell == NULL)
        return 0;
    if (sweep == NULL || cell == NULL || !jr_num_u32(cell, &number))
        return jr_error_set(err, JR_STATUS_USAGE,
                            sweep == NULL ? "%s is one job, and no sweep: leave out --cell"
                                          : "%s has the cells of a sweep: --cell N runs one "
                                            "of them",
                            folder);
    if (below == NULL || !jr_run_folder_is_id(sweep))
        return jr_error_set(err, JR_STATUS_LAUNCH,
                            "%s is not where `jobrun submit` makes such a folder", folder);
    cell_file(ret_name, number);
    char *run_id = jr_arena_printf(arena, "%.*s", (int)strlen(ret_name) - 5, ret_name);
    session->submitted = true;
    session->cell = jr_arena_printf(arena, "%u", number);
    session->sweep_id = jr_arena_strdup(arena, sweep);
    session->cells_dir =
        jr_arena_printf(arena, "%.*s/%s/" JR_SWEEP_CELLS, (int)(below - folder), folder, sweep);
    session->cell_run_id = jr_arena_printf(arena, "%s.%s", sweep, run_id);
    session->options.run_id = run_id;
    return arena->failed ? (int)report_memory(err) : 0;
}

enum jr_status jr_submission_load(struct jr_session *session, const char *cell,
                                  struct jr_error *err)
{
    struct jr_arena *arena = &session->arena;
    const char *folder = session->options.code_of;
    char name[32];
    struct jr_error why = {0};
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    JR_CLOSE int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        (void)jr_error_sys(err, JR_STATUS_LAUNCH, "the frozen spec and code, %s, are not there",
                           folder);
        return JR_STATUS_LAUNCH;
    }
    struct stat st;
    if (fstat(fd, &st) != 0) {
        (void)jr_error_sys(err, JR_STATUS_LAUNCH, "%s", folder);
        return JR_STATUS_LAUNCH;
    }
    if (st.st_uid != geteuid() || (st.st_mode & S_IWOTH) != 0) {
        (void)jr_error_set(err, JR_STATUS_LAUNCH,
                           "%s is not yours alone: what it says would be run as you", folder);
        return JR_STATUS_LAUNCH;
    }
    json_t *run = jr_record_folder_json(fd, "run.json", NULL);
    int failed = choose_spec(session, run, cell, name, &why);
    if (failed == 0)
        failed = jr_io_read_file(&text, fd, name, MOST_SPEC, &why);
    const char *place = jr_arena_strdup(arena, jr_json_get_str(run, "spec_folder"));
    json_decref(run);
    if (failed != 0)
        return jr_session_fail(err, &why);
    const struct jr_spec_source source = {
        .name = jr_arena_printf(arena, "%s/%s", folder, name),
        .folder = place != NULL && place[0] == '/' ? place : folder,
        .text = jr_buf_keep(&text, arena),
        .len = text.len,
    };
    if (arena->failed || source.text == NULL)
        return report_memory(err);
    return jr_session_load(session, &source, err);
}

void jr_submissions_prune(struct jr_pruned *ret, struct jr_buf *out, struct jr_buf *bad,
                          const char *log_dir, const struct jr_prune_options *options,
                          char *const *envp)
{
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    struct jr_strv all = {0}, names = {0}, jobs = {0}; /* a job that was never noted is "" */
    struct jr_slurm_queue queue;
    JR_CLOSE int log = open(log_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    JR_CLOSE int dir_fd =
        openat(log, JR_SUBMITTED_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    *ret = (struct jr_pruned){0};
    jr_slurm_queue_init(&queue, envp);
    /* All folders are listed before Slurm is asked for the first: a job that is submitted meanwhile
     * is in neither list, or in both. One that is not ours, or has not this form, is not looked
     * at. */
    jr_io_names(&all, &arena, dir_fd, ".");
    for (size_t i = 0; i < all.count; i++) {
        struct stat st;
        JR_CLOSE int fd =
            openat(dir_fd, all.items[i], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (!jr_run_folder_is_id(all.items[i]) || fd < 0 || fstat(fd, &st) != 0 ||
            st.st_uid != geteuid() || (st.st_mode & S_IWOTH) != 0)
            continue;
        json_t *run = jr_record_folder_json(fd, "run.json", NULL);
        const char *job = jr_json_get_str(run, "job");
        double age = (double)jr_clock_wall_ns() / 1e9 - (double)st.st_ctim.tv_sec;
        bool any = jr_json_get_str(run, "spec_folder") != NULL;
        bool young = age * 1e3 < (double)options->older_ms;
        ret->kept += any && young;
        if (any && !young) {
            jr_strv_push(&names, &arena, all.items[i]);
            jr_strv_push(&jobs, &arena, jr_arena_strdup(&arena, job == NULL ? "" : job));
        }
        json_decref(run);
    }
    for (size_t i = 0; i < names.count && !arena.failed; i++) {
        const char *name = names.items[i], *job = jobs.items[i], *why = NULL;
        enum jr_queue_place place = jr_slurm_queue_find(&queue, job);
        if (place == JR_QUEUE_NO_JOB)
            why = "its job was never noted";
        if (place == JR_QUEUE_SILENT)
            why = jr_arena_printf(&arena, "squeue, asked for job %s, %s", job, queue.silent);
        if (place != JR_QUEUE_ENDED) {
            ret->unfinished++;
        } else if (!options->dry && jr_prune_folder(ret, dir_fd, name) != 0) {
            ret->failed++;
            jr_buf_printf(bad, "jobrun: " JR_SUBMITTED_DIR "/%s could not be removed: %s\n", name,
                          strerror(errno));
        } else {
            ret->removed++;
            jr_buf_printf(out, JR_SUBMITTED_DIR "/%s\n", name);
        }
        if (why == NULL)
            continue;
        const char *path = jr_arena_printf(&arena, "%s/%s/%s", log_dir, JR_SUBMITTED_DIR, name);
        jr_buf_printf(bad,
                      "jobrun: " JR_SUBMITTED_DIR "/%s was left alone: %s; if its "
                      "job has ended, remove it: rm -r ",
                      name, why);
        jr_shell_quote(bad, path == NULL ? "" : path);
        jr_buf_char(bad, '\n');
    }
    jr_slurm_queue_release(&queue);
}
