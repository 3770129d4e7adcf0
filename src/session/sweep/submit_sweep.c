#include "session/sweep/submit_sweep.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "session/render_session.h"
#include "session/submission.h"
#include "session/sweep/internal.h"
#include "sweep/swept_spec.h"

#include "base/banned.h"

struct jr_sweep_submission {
    struct jr_sweep_run run;
    const struct jr_sweep_submit_options *options;
    struct jr_session *first; /* of the first cell; has the frozen folder */
    const char *folder;       /* that; NULL: nothing is frozen */
    bool made;                /* the folder of the sweep, and not joined */
    struct jr_buf array;      /* the cells, as --array has them */
    struct jr_shared_files files;
    size_t asked; /* the cell whose script is in `script`: the first that is
                     handed over */
    struct jr_buf script;
};

/* Close a cell's session, having told its findings, or `err`. */
static enum jr_status end_cell(struct jr_sweep_submission *submission, struct jr_session *cell,
                               enum jr_status status, const struct jr_error *err)
{
    const struct jr_sweep_options *options = &submission->options->sweep;
    if (status != JR_STATUS_OK)
        options->refused(options->data, cell, status, err);
    jr_session_close(cell);
    return status;
}

/* Open the session of a cell, resolved for the machine that it will run on. What is wrong with it
 * has been told. */
static enum jr_status open_cell(struct jr_sweep_submission *submission, size_t i,
                                struct jr_session **ret)
{
    const struct jr_sweep_run *run = &submission->run;
    const struct jr_session *sweep = run->session;
    struct jr_session_options options = sweep->options;
    struct jr_error err = {0};
    options.cell = NULL;
    options.run_id = NULL;
    options.dry_run = true;
    struct jr_session *cell = jr_session_open(&options);
    if (cell == NULL)
        return JR_STATUS_LAUNCH;
    cell->cell = jr_arena_printf(&cell->arena, "%u", run->states[i].number);
    cell->sweep_id = run->dir.id;
    cell->spec_name = sweep->spec_name;
    enum jr_status status = JR_STATUS_OK;
    if (jr_swept_spec_load(&cell->file, sweep->swept, i, &cell->diags) != 0)
        status = jr_spec_status(&cell->diags);
    else
        cell->progress = JR_PROGRESS_LOADED;
    status = jr_session_end_stage(cell, 0, status, &err);
    if (status == JR_STATUS_OK && run->assumes) {
        status = jr_session_assume_machine(cell, &err);
    } else if (status == JR_STATUS_OK) {
        cell->host = sweep->host;
        cell->facts = true;
    }
    if (status == JR_STATUS_OK)
        status = jr_session_resolve(cell, &err);
    if (status != JR_STATUS_OK)
        return end_cell(submission, cell, status, &err);
    *ret = cell;
    return JR_STATUS_OK;
}

/* "0-3,7,9-12%4": the cells that are to be run. */
static void list_cells(struct jr_sweep_submission *submission)
{
    const struct jr_sweep_run *run = &submission->run;
    size_t count = run->session->swept->cells.count;
    uint32_t parallel =
        run->options->parallel > 0 ? run->options->parallel : run->session->swept->axes.parallel;
    struct jr_buf *out = &submission->array;
    for (size_t i = 0; i < count; i++) {
        size_t last = i;
        if (run->skips[i])
            continue;
        if (out->len == 0)
            submission->asked = i;
        while (last + 1 < count && !run->skips[last + 1] &&
               run->states[last + 1].number == run->states[last].number + 1)
            last++;
        jr_buf_printf(out, "%s%u", out->len == 0 ? "" : ",", run->states[i].number);
        if (last > i)
            jr_buf_printf(out, "-%u", run->states[last].number);
        i = last;
    }
    if (parallel > 0 && out->len > 0)
        jr_buf_printf(out, "%%%u", parallel);
}

/* The first line in which two scripts differ, "--cpus-per-task=4"; "nothing" where it ends
 * before. */
static void add_script_line(struct jr_buf *out, const char *script, size_t at)
{
    static const char head[] = "#SBATCH ";
    while (at > 0 && script[at - 1] != '\n')
        at--;
    size_t len = strcspn(script + at, "\n");
    if (strncmp(script + at, head, strlen(head)) == 0)
        jr_buf_add(out, script + at + strlen(head), len - strlen(head));
    else
        jr_buf_str(out, "nothing more");
}

/* An array has one request for all of its tasks. */
static enum jr_status compare_scripts(struct jr_sweep_submission *submission, size_t i,
                                      const struct jr_buf *script, struct jr_error *err)
{
    const struct jr_sweep_run *run = &submission->run;
    const char *one = submission->script.data, *other = script->data;
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    size_t at = 0;
    while (one[at] != '\0' && one[at] == other[at])
        at++;
    if (one[at] == other[at])
        return JR_STATUS_OK;
    jr_buf_printf(&text, "cell %u (", run->states[submission->asked].number);
    jr_cells_text(&text, &run->session->swept->cells, submission->asked);
    jr_buf_str(&text, ") asks Slurm for ");
    add_script_line(&text, one, at);
    jr_buf_printf(&text, ", and cell %u (", run->states[i].number);
    jr_cells_text(&text, &run->session->swept->cells, i);
    jr_buf_str(&text, ") for ");
    add_script_line(&text, other, at);
    (void)jr_error_set(err, JR_STATUS_UNRESOLVED,
                       "%s: a job array asks the same for all of its tasks: submit each size "
                       "apart, with --sweep PATH=VALUE or --cell, or run the sweep in an "
                       "allocation",
                       text.failed ? "" : text.data);
    return JR_STATUS_UNRESOLVED;
}

/* Take a cell into the array. */
static enum jr_status add_cell(struct jr_sweep_submission *submission, size_t i)
{
    const struct jr_sweep_submit_options *options = submission->options;
    struct jr_session *cell;
    struct jr_error err = {0};
    struct jr_buf script JR_BUF_CLEANUP = JR_BUF_INIT;
    char *const frozen[] = {(char *)(uintptr_t)options->program, (char[]){"run"},
                            (char[]){"--frozen"}, (char *)(uintptr_t)submission->folder, NULL};
    bool first = submission->script.len == 0;
    const struct jr_render_request request = {
        .engine = "slurm",
        .command = submission->folder != NULL ? frozen : options->command,
        .array = submission->array.data,
        .checked = !first};
    enum jr_status status = open_cell(submission, i, &cell);
    if (status != JR_STATUS_OK)
        return status;
    if (jr_shared_files_add(&submission->files, cell->file, i, &cell->diags) != 0)
        status = jr_session_end_stage(cell, 0, jr_spec_status(&cell->diags), &err);
    if (status == JR_STATUS_OK)
        status = jr_session_render(cell, &request, first ? &submission->script : &script, &err);
    if (status == JR_STATUS_OK && !first)
        status = compare_scripts(submission, i, &script, &err);
    if (status == JR_STATUS_OK && submission->folder != NULL &&
        jr_submission_add_cell(submission->first, cell, submission->run.states[i].number, &err) !=
            0)
        status = err.status;
    return end_cell(submission, cell, status, &err);
}

static enum jr_status add_cells(struct jr_sweep_submission *submission, struct jr_error *err)
{
    struct jr_sweep_run *run = &submission->run;
    enum jr_status status = JR_STATUS_OK;
    list_cells(submission);
    if (submission->array.len == 0)
        return JR_STATUS_OK;
    if (submission->options->freezes) {
        submission->first->sweep_id = run->dir.id;
        status = jr_submission_make_cells(submission->first, &submission->folder, err);
    }
    size_t count = run->session->swept->cells.count;
    for (size_t i = 0; i < count && status == JR_STATUS_OK; i++)
        if (!run->skips[i])
            status = add_cell(submission, i);
    return status;
}

enum jr_status jr_session_submit_sweep(struct jr_sweep_submission **ret, struct jr_session *session,
                                       const struct jr_sweep_submit_options *options,
                                       struct jr_buf *out, struct jr_error *err)
{
    JR_DECIMAL_POINT;
    struct jr_sweep_submission *submission = calloc(1, sizeof *submission);
    *ret = submission;
    if (submission == NULL)
        return JR_STATUS_LAUNCH;
    *submission = (struct jr_sweep_submission){.run = {.session = session,
                                                       .options = &options->sweep,
                                                       JR_SWEEP_RUN_CLOSED,
                                                       .submits = true,
                                                       .assumes = !session->facts},
                                               .options = options};
    jr_shared_files_init(&submission->files);
    jr_sweep_begin_states(&submission->run);
    enum jr_status status = open_cell(submission, 0, &submission->first);
    if (status == JR_STATUS_OK && options->freezes) {
        status = jr_sweep_open_folder(&submission->run, jr_spec_get(submission->first->file), err);
        submission->made = status == JR_STATUS_OK && !submission->run.resumed;
    }
    if (status == JR_STATUS_OK)
        status = add_cells(submission, err);
    if (status == JR_STATUS_OK) /* its warnings are those of all */
        options->sweep.refused(options->sweep.data, submission->first, status, err);
    jr_buf_add(out, submission->script.data, submission->script.len);
    return status;
}

int jr_sweep_submission_note_job(struct jr_sweep_submission *submission, const char *job,
                                 struct jr_error *err)
{
    struct jr_sweep_run *run = &submission->run;
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    size_t count = run->session->swept->cells.count;
    if (submission->folder == NULL)
        return 0;
    run->job = job;
    if (jr_submission_note_job(submission->first, job, err) != 0 || jr_sweep_write(run, err) != 0 ||
        jr_run_folder_latest(&run->dir, err) != 0)
        return -1;
    jr_journal_close(&run->journal); /* nobody leads it */
    jr_buf_printf(&line, "%s: %zu cell%s", run->name, count, count == 1 ? "" : "s");
    if (run->kept > 0)
        jr_buf_printf(&line, ", of which %zu have delivered", run->kept);
    jr_buf_printf(&line, "; tasks %s of job %s; %s/%s", submission->array.data, job, run->log_dir,
                  run->dir.id);
    jr_session_note_buf(run->session, &line);
    return 0;
}

void jr_sweep_submission_discard(struct jr_sweep_submission *submission)
{
    struct jr_sweep_run *run = &submission->run;
    if (submission->first != NULL)
        jr_submission_discard(submission->first);
    submission->folder = NULL;
    if (!submission->made)
        return;
    (void)unlinkat(run->cells_fd, ".gitignore", 0);
    (void)unlinkat(run->dir.fd, JR_SWEEP_CELLS, AT_REMOVEDIR);
    jr_run_folder_discard(&run->dir);
}

int jr_sweep_submission_status(const struct jr_sweep_submission *submission, int *ret_code,
                               struct jr_error *err)
{
    return jr_sweep_exit_status(submission->run.log_dir, submission->run.dir.id, ret_code, err);
}

void jr_sweep_submission_close(struct jr_sweep_submission *submission)
{
    if (submission == NULL)
        return;
    jr_shared_files_release(&submission->files);
    jr_buf_release(&submission->array);
    jr_buf_release(&submission->script);
    jr_sweep_close(&submission->run);
    jr_session_close(submission->first);
    free(submission);
}
