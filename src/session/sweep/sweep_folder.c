/*
 * The folder of a sweep: its cells, sweep.json, what the records of cells say, and the code and the
 * experiment that they are of. internal.h declares it.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/strv.h"
#include "judge/words.h"
#include "record/record_folder.h"
#include "resolve/resolve.h"
#include "session/render_session.h"
#include "session/sweep/internal.h"

#include "base/banned.h"

#define SCRATCH "code.tmp"

/* Ranks may write into the tree all the time. */
#define WAIT_LEAST_NS (30 * UINT64_C(1000000))
#define WAIT_MOST_NS  (2 * UINT64_C(1000000000))

void jr_sweep_begin_states(struct jr_sweep_run *run)
{
    size_t count = run->session->swept->cells.count;
    struct jr_arena *arena = &run->session->arena;
    run->states = jr_arena_array(arena, count, sizeof *run->states);
    run->skips = jr_arena_array(arena, count, sizeof *run->skips);
    run->to_run = count;
    for (size_t i = 0; run->states != NULL && i < count; i++)
        run->states[i] = (struct jr_cell_state){.number = (uint32_t)i, .status = "not_started"};
}

int jr_sweep_make_cells(struct jr_sweep_run *run, struct jr_error *err)
{
    const struct jr_run_folder *dir = &run->dir;
    mode_t mask = umask(0);
    int made = mkdirat(dir->fd, JR_SWEEP_CELLS, dir->dir_mode);
    (void)umask(mask);
    run->cells_fd =
        openat(dir->fd, JR_SWEEP_CELLS, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    run->cells_dir =
        jr_arena_printf(&run->session->arena, "%s/%s/" JR_SWEEP_CELLS, run->log_dir, dir->id);
    if (run->cells_fd < 0 || run->cells_dir == NULL)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "%s/" JR_SWEEP_CELLS, dir->id);
    /* Its time says when a cell last waited for the disk. */
    return made != 0 ? 0
                     : jr_io_replace(run->cells_fd, ".gitignore", "*\n", 2, dir->file_mode, err);
}

char *jr_sweep_spec_path(const struct jr_sweep_run *run)
{
    const char *name = run->session->spec_name;
    return name == NULL ? NULL : realpath(name, NULL);
}

static void print_sweep(struct jr_buf *out, const void *data, const struct jr_drain *drain)
{
    jr_sweep_record_json(out, data, drain);
}

int jr_sweep_write(struct jr_sweep_run *run, struct jr_error *err)
{
    JR_FREE char *spec = jr_sweep_spec_path(run);
    struct jr_sweep_record record = {.sweep_id = run->dir.id,
                                     .name = run->name,
                                     .spec = spec,
                                     .code = run->code.tree,
                                     .cells = &run->session->swept->cells,
                                     .states = run->states,
                                     .submitted = run->submits,
                                     .job = run->job,
                                     .exit_code = run->ended ? &run->exit_code : NULL,
                                     .former = run->former};
    struct jr_io_printed text = {print_sweep, &record};
    const struct jr_io_source bytes = {jr_io_fill_printed, &text};
    return jr_io_replace_from(run->dir.fd, JR_SWEEP_FILE, &bytes, run->dir.file_mode, err);
}

int jr_sweep_open_cell(const struct jr_sweep_run *run, size_t cell)
{
    char folder[16];
    jr_cell_folder(folder, run->states[cell].number);
    return openat(run->cells_fd, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

bool jr_sweep_read_cell(struct jr_sweep_run *run, size_t cell)
{
    struct jr_cell_state *state = &run->states[cell];
    enum jr_run_status status;
    JR_CLOSE int fd = jr_sweep_open_cell(run, cell);
    json_t *results = fd < 0 ? NULL : jr_record_folder_json(fd, "results.json", NULL);
    if (results == NULL)
        return false;
    json_auto_t *own = jr_record_folder_json(fd, "run.json", NULL);
    const char *tree = jr_json_get_str(json_object_get(own, "code"), "tree");
    const char *print = jr_json_get_str(results, "fingerprint");
    const char *word = jr_json_get_str(results, "status"); /* may be any text */
    const char *host =
        jr_json_get_str(json_array_get(json_object_get(results, "ranks"), 0), "host");
    json_decref(state->result);
    if (host != NULL) { /* the same name of a machine for as long as the run */
        size_t i = 0;
        while (i < run->hosts.count && strcmp(run->hosts.items[i], host) != 0)
            i++;
        char *kept = i < run->hosts.count ? NULL : jr_arena_strdup(&run->session->arena, host);
        if (kept != NULL)
            jr_strv_push(&run->hosts, &run->session->arena, kept);
        state->host = i < run->hosts.count ? run->hosts.items[i] : NULL;
    }
    state->status = word != NULL && jr_run_status_of(word, &status) ? jr_run_status_word(status)
                                                                    : "launch_failed";
    state->seconds = jr_json_get_real(results, "seconds");
    state->result = jr_cell_result(results);
    (void)snprintf(state->code, sizeof state->code, "%s", tree == NULL ? "" : tree);
    (void)snprintf(state->fingerprint, sizeof state->fingerprint, "%s", print == NULL ? "" : print);
    json_decref(results);
    return true;
}

void jr_sweep_note_end(struct jr_sweep_run *run, size_t cell, bool interrupted)
{
    const struct jr_cell_state *state = &run->states[cell];
    json_auto_t *values = jr_cells_json(&run->session->swept->cells, cell);
    const struct jr_journal_line line = {.event = JR_JOURNAL_CELL_ENDED,
                                         .cell = state->number,
                                         .values = values,
                                         .status = state->status,
                                         .host = state->host,
                                         .interrupted = interrupted};
    jr_journal_add(&run->journal, &line);
}

void jr_leader_of_now(const struct jr_sweep_run *run, struct jr_journal_line *ret)
{
    struct jr_session *session = run->session;
    const struct jr_host_scheduler *scheduler = &session->host.scheduler;
    struct utsname here = {0};
    (void)uname(&here);
    ret->host = jr_arena_strdup(&session->arena, here.nodename);
    ret->job = NULL;
    if (!run->submits && scheduler->name != NULL && strstr(scheduler->name, "Slurm") != NULL)
        ret->job = jr_env_get(session->options.envp, "SLURM_JOB_ID");
}

bool jr_sweep_resolve_cell(struct jr_sweep_run *run, struct jr_spec_file *file,
                           struct jr_resolution *ret)
{
    const struct jr_session *session = run->session;
    struct jr_diags silent = JR_DIAGS_INIT;
    const struct jr_resolve_options options = {
        .local = session->options.local,
        .node_rank = session->options.node_rank,
        .args = session->options.args,
        .environ = session->options.envp,
    };
    struct jr_error why = {0};
    struct jr_host host = run->submits ? session->host : jr_cell_host_for(session, file);
    bool good = !run->assumes || jr_machine_assume(&host, &run->session->arena, jr_spec_get(file),
                                                   &why) == JR_STATUS_OK;
    host.real = false;
    good = good && jr_resolve(ret, file, &host, &options, &silent) == JR_STATUS_OK;
    jr_diags_release(&silent);
    return good;
}

const char *jr_sweep_fingerprint(struct jr_sweep_run *run, size_t cell, struct jr_arena *arena)
{
    struct jr_diags silent = JR_DIAGS_INIT;
    struct jr_spec_file *file = NULL;
    struct jr_resolution now = JR_RESOLUTION_INIT;
    const char *print = NULL;
    if (jr_swept_spec_load(&file, run->session->swept, cell, &silent) == 0 &&
        jr_sweep_resolve_cell(run, file, &now)) {
        print = jr_arena_strdup(arena, now.job.fingerprint);
        jr_resolution_release(&now);
    }
    jr_diags_release(&silent);
    jr_spec_free(file);
    return print;
}

static void ask_for_code(struct jr_sweep_run *run)
{
    struct jr_sweep_code *code = &run->code;
    struct jr_arena *arena = &code->session->arena;
    const char *scratch = jr_arena_printf(arena, "%s/%s/" SCRATCH, run->log_dir, run->dir.path);
    if (scratch == NULL)
        return;
    jr_known_code_release(&code->known);
    jr_session_know_code(&code->known, code->session, scratch);
    if (code->known.tree.tree[0] != '\0')
        (void)stpcpy(code->tree, code->known.tree.tree);
}

void jr_sweep_code_open(struct jr_sweep_run *run)
{
    const struct jr_session *sweep = run->session;
    struct jr_session_options options = {.envp = sweep->options.envp};
    const struct jr_resolve_options how = {
        .local = sweep->options.local,
        .node_rank = sweep->options.node_rank,
        .args = sweep->options.args,
        .environ = sweep->options.envp,
        .skip_leases = true,
    };
    /* That of the first cell, resolved for its folders and its secrets. */
    struct jr_session *session = jr_session_open(&options);
    run->code.wait_ns = WAIT_LEAST_NS;
    run->code.session = session;
    if (session == NULL || sweep->cell_files_count == 0)
        return;
    session->file = sweep->cell_files[0]; /* the needs were found by it */
    session->host = run->submits ? sweep->host : jr_cell_host_for(sweep, session->file);
    session->facts = true;
    if (jr_resolve(&session->resolution, session->file, &session->host, &how, &session->diags) ==
        JR_STATUS_OK)
        ask_for_code(run);
}

/* The next question comes later and later, so that a tree that changes with every cell does not
 * keep the sweep from beginning cells. */
void jr_sweep_code_renew(struct jr_sweep_run *run)
{
    struct jr_sweep_code *code = &run->code;
    const struct jr_known_code *known = &code->known;
    uint64_t now = jr_clock_ns();
    uint64_t wait_ns = code->wait_ns > 20 * known->took_ns ? code->wait_ns : 20 * known->took_ns;
    if (!known->tree.work_tree || now < code->looked_ns + WAIT_LEAST_NS)
        return;
    code->looked_ns = now;
    if ((known->stamped && jr_tree_stamp_holds(known->stamp, &known->tree)) ||
        now < known->asked_ns + wait_ns)
        return;
    code->wait_ns *= 2;
    if (code->wait_ns > WAIT_MOST_NS)
        code->wait_ns = WAIT_MOST_NS;
    ask_for_code(run);
}

void jr_sweep_code_close(struct jr_sweep_run *run)
{
    jr_known_code_release(&run->code.known);
    if (run->code.session != NULL)
        run->code.session->file = NULL;
    jr_session_close(run->code.session);
    run->code.session = NULL;
}
