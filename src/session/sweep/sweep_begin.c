/* A sweep up to its first cell: what its cells need, whether they are good, and where all of it is
 * written. sweep_run_parts.h declares it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/num.h"
#include "resolve/resolve.h"
#include "session/begin.h"
#include "session/stages.h"
#include "session/sweep/settle_cell.h"
#include "session/sweep/session_cells.h"
#include "session/sweep/sweep_run_parts.h"
#include "session/sweep/sweep_screen.h"
#include "sweep/shared_files.h"

#include "base/banned.h"

/* What the cells write, and where: as the first cell's spec says it. */
struct place {
    const char *name, *log_dir;
    enum jr_log_mode mode;
};

/* Name the cell that findings from `first` on are about. */
static void name_cell(struct jr_sweep_run *run, size_t cell, size_t first)
{
    struct jr_diags *diags = &run->session->diags;
    struct jr_buf more JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_printf(&more, " (cell %zu: ", cell);
    jr_cells_text(&more, &run->session->swept->cells, cell);
    jr_buf_char(&more, ')');
    for (size_t i = first; i < diags->count && !more.failed; i++)
        diags->items[i].message =
            jr_arena_printf(&diags->arena, "%s%s", diags->items[i].message, more.data);
}

/* Load every cell, so that a mistake in the last one is found before the first begins. The findings
 * are those of the first that has some. */
static enum jr_status check_cells(struct jr_sweep_run *run)
{
    struct jr_session *session = run->session;
    struct jr_shared_files files;
    enum jr_status status = JR_STATUS_OK;
    size_t count = session->swept->cells.count;
    jr_shared_files_init(&files);
    session->swept->options.unbound = true;
    for (size_t i = 0; i < count && status == JR_STATUS_OK; i++) {
        struct jr_spec_file *file = NULL;
        size_t first = session->diags.count;
        if (jr_swept_spec_load(&file, session->swept, i, &session->diags) != 0 ||
            jr_shared_files_add(&files, file, i, &session->diags) != 0)
            status = jr_spec_status(&session->diags);
        if (status != JR_STATUS_OK)
            name_cell(run, i, first);
        else /* warnings are told by the first cell that is resolved */
            session->diags.count = first;
        if (status != JR_STATUS_OK)
            jr_session_keep_cell_file(session, file);
        else
            jr_spec_free(file);
    }
    session->swept->options.unbound = false;
    jr_shared_files_release(&files);
    return status;
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

/* A fresh folder, and the sweep as it is before its first cell. */
static int make_sweep_folder(struct jr_sweep_run *run, const struct place *place,
                             struct jr_error *err)
{
    const char *given = run->session->options.run_id;
    char id[128];
    pid_t holder;
    if (given == NULL)
        jr_run_folder_id(id, place->name);
    else if (strlen(given) > 100)
        return jr_error_set(err, JR_STATUS_USAGE, "--run-id of a sweep has at most 100 characters");
    if (jr_run_folder_create(&run->dir, place->log_dir, given != NULL ? given : id, given != NULL,
                             place->mode, err) != 0 ||
        jr_sweep_make_cells(run, err) != 0 ||
        jr_journal_open(&run->journal, run->dir.fd, run->dir.file_mode, &holder, err) != 0)
        return -1;
    jr_sweep_code_open(run);
    struct jr_journal_line started = {.event = JR_JOURNAL_SWEEP_STARTED,
                                      .cell = JR_JOURNAL_NO_CELL};
    jr_leader_of_now(run, &started);
    jr_journal_add(&run->journal, &started);
    if (jr_sweep_write(run, err) != 0)
        return -1;
    return run->submits ? 0 : jr_run_folder_latest(&run->dir, err);
}

/* The sweep's record on its way into a file. */
struct writing {
    const struct jr_sweep_record *record;
    int fd, error; /* 0: so far all was written */
};

static int write_piece(void *data, struct jr_buf *text)
{
    struct writing *writing = data;
    if (jr_io_write_all(writing->fd, text->data, text->len) != 0)
        writing->error = errno;
    jr_buf_clear(text);
    return writing->error;
}

static int fill_sweep_file(void *data, int fd)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    struct writing writing = {.record = data, .fd = fd};
    const struct jr_drain drain = {write_piece, &writing};
    jr_sweep_record_json(&text, writing.record, &drain);
    if (writing.error == 0) /* the rest is none of a file that lacks a piece */
        (void)write_piece(&writing, &text);
    errno = text.failed ? ENOMEM : writing.error;
    return errno == 0 ? 0 : -1;
}

char *jr_sweep_spec_path(const struct jr_sweep_run *run)
{
    const char *name = run->session->spec_name;
    return name == NULL ? NULL : realpath(name, NULL);
}

int jr_sweep_write(struct jr_sweep_run *run, struct jr_error *err)
{
    const struct jr_session *session = run->session;
    char *spec = jr_sweep_spec_path(run);
    struct jr_sweep_record record = {.sweep_id = run->dir.id,
                                     .name = run->name,
                                     .spec = spec,
                                     .code = run->code.tree,
                                     .cells = &session->swept->cells,
                                     .states = run->states,
                                     .submitted = run->submits,
                                     .job = run->job,
                                     .exit_code = run->ended ? &run->exit_code : NULL,
                                     .former = run->former};
    const struct jr_io_source bytes = {fill_sweep_file, &record};
    int failed = jr_io_replace_from(run->dir.fd, JR_SWEEP_FILE, &bytes, run->dir.file_mode, err);
    free(spec);
    return failed;
}

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

static enum jr_status report_error(struct jr_error *err, const struct jr_error *why)
{
    if (why->status == JR_STATUS_OK) {
        (void)jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
        return JR_STATUS_LAUNCH;
    }
    (void)jr_error_set(err, why->status, "%s", why->text);
    return why->status;
}

enum jr_status jr_sweep_open_folder(struct jr_sweep_run *run, const struct jr_spec *first,
                                    struct jr_error *err)
{
    struct jr_error why = {0};
    const struct place place = {first->name, first->log_dir, first->policy.log_mode};
    run->name = place.name;
    run->log_dir = place.log_dir;
    if (!run->session->arena.failed &&
        (run->options->resume == NULL ||
         jr_sweep_resume(run, place.mode, &run->resumed, &why) == 0) &&
        (run->resumed || make_sweep_folder(run, &place, &why) == 0))
        return JR_STATUS_OK;
    return report_error(err, &why);
}

/* The schedule, by the needs of the cells. */
static void begin_schedule(struct jr_sweep_run *run)
{
    const struct jr_cell_needs *needs = &run->needs;
    struct jr_arena *arena = &run->session->arena;
    size_t count = run->session->swept->cells.count;
    uint32_t parallel = run->options->parallel > 0 ? run->options->parallel : needs->parallel;
    run->slots = jr_arena_array(arena, needs->count, sizeof *run->slots);
    for (size_t i = 0; run->slots != NULL && i < needs->count; i++)
        run->slots[i] = jr_cell_needs_slots(&needs->kinds[i]);
    struct jr_node_room *rooms = jr_arena_array(arena, needs->nodes, sizeof *rooms);
    for (uint32_t i = 0; rooms != NULL && i < needs->nodes; i++)
        rooms[i] = (struct jr_node_room){.cores = needs->rooms[i].cores,
                                         .devices = needs->rooms[i].places};
    const struct jr_room all = jr_cell_needs_room(needs);
    const struct jr_schedule with = {
        .kinds = run->slots,
        .kinds_count = needs->count,
        .kind_of = needs->kind_of,
        .skips = run->skips,
        .count = count,
        .rooms = rooms,
        .nodes_count = rooms == NULL ? 0 : needs->nodes,
        .parallel = parallel,
    };
    jr_schedule_init(&run->schedule, &with);
    run->running_most = all.cores + all.places;
    if (parallel > run->running_most)
        run->running_most = parallel;
    if (run->running_most > count)
        run->running_most = count;
    run->running = jr_arena_array(arena, run->running_most + 1, sizeof *run->running);
}

enum jr_status jr_sweep_begin(struct jr_sweep_run *run, struct jr_error *err)
{
    struct jr_session *session = run->session;
    size_t first = session->diags.count;
    enum jr_status status = check_cells(run);
    if (status != JR_STATUS_OK)
        return jr_session_end_stage(session, first, status, err);
    status = jr_cell_needs_find(&run->needs, session, err);
    if (status != JR_STATUS_OK)
        return status;
    jr_sweep_begin_states(run);
    jr_sweep_devices_open(run);
    status = jr_sweep_open_folder(run, jr_spec_get(session->cell_files[0]), err);
    if (status != JR_STATUS_OK)
        return status;
    begin_schedule(run);
    if (!session->arena.failed && !run->schedule.arena.failed)
        return JR_STATUS_OK;
    (void)jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    return JR_STATUS_LAUNCH;
}

void jr_sweep_close(struct jr_sweep_run *run)
{
    jr_journal_close(&run->journal);
    if (run->cells_fd >= 0)
        (void)close(run->cells_fd);
    if (run->signal_fd >= 0)
        (void)close(run->signal_fd);
    for (size_t i = 0; run->states != NULL && i < run->session->swept->cells.count; i++)
        json_decref(run->states[i].result);
    json_decref(run->former);
    jr_sweep_nodes_close(run);
    jr_sweep_code_close(run);
    jr_sweep_devices_close(run);
    jr_schedule_release(&run->schedule);
    jr_cell_needs_release(&run->needs);
    jr_run_folder_close(&run->dir);
}

/* The devices that will do for a kind of cells, on all nodes. */
static uint32_t count_pools(const struct jr_cell_needs *needs, const struct jr_cell_need *need)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < needs->nodes; i++)
        for (uint32_t k = 0; k < needs->rooms[i].places; k++)
            count += need->may[i][k];
    return count;
}

/* "lr-scan: 24 cells, each 1 core; 4 at once" */
static void tell_begin(const struct jr_sweep_run *run)
{
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT, held JR_BUF_CLEANUP = JR_BUF_INIT;
    const struct jr_cell_needs *needs = &run->needs;
    size_t count = run->session->swept->cells.count;
    jr_buf_printf(&line, "%s: %zu cell%s", run->name, count, count == 1 ? "" : "s");
    if (run->kept > 0)
        jr_buf_printf(&line, ", of which %zu have delivered", run->kept);
    if (needs->count == 1 && needs->kinds[0].nodes > 1)
        jr_buf_printf(&line, ", each %u nodes, one after the other", needs->kinds[0].nodes);
    else if (needs->count == 1 && needs->kinds[0].devices > 0)
        jr_buf_printf(&line, ", each %u of %u %s", needs->kinds[0].devices,
                      count_pools(needs, &needs->kinds[0]), needs->kinds[0].device_name);
    else if (needs->count == 1)
        jr_buf_printf(&line, ", each %u of %u CPU cores", needs->kinds[0].cores,
                      jr_cell_needs_room(needs).cores);
    if (needs->nodes > 1 && needs->kinds[0].nodes <= 1)
        jr_buf_printf(&line, ", on %u nodes", needs->nodes);
    if (run->schedule.parallel > 0)
        jr_buf_printf(&line, ", at most %u at once", run->schedule.parallel);
    if (jr_sweep_devices_holders(&held, &run->devices.list, NULL, run->devices.around))
        jr_buf_printf(&line, "; %s", held.data);
    jr_buf_printf(&line, "; %s/%s", run->log_dir, run->dir.id);
    if (!line.failed && run->options->line != NULL)
        run->options->line(run->options->data, line.data);
}

/* What each cell would find out alike. */
static void read_machine(struct jr_sweep_run *run)
{
    jr_record_machine_read(&run->machine, &run->session->arena);
    jr_group_find_home(run->group_home);
}

enum jr_status jr_session_run_sweep(struct jr_session *session,
                                    const struct jr_sweep_options *options, int *ret_code,
                                    struct jr_error *err)
{
    JR_DECIMAL_POINT;
    *ret_code = 0;
    struct jr_sweep_run run = {.session = session, .options = options, JR_SWEEP_RUN_CLOSED};
    enum jr_status status = jr_sweep_begin(&run, err);
    const struct jr_sweep_place place = {run.dir.id, run.dir.fd, run.dir.file_mode};
    if (status == JR_STATUS_OK && options->begun != NULL)
        *ret_code = options->begun(options->data, &place);
    if (status == JR_STATUS_OK && *ret_code == 0) {
        read_machine(&run);
        tell_begin(&run);
        jr_sweep_nodes_open(&run);
        jr_sweep_loop(&run);
        *ret_code = jr_sweep_end(&run);
        jr_journal_close(&run.journal);
        jr_sweep_screen_finish(&run);
    }
    jr_sweep_close(&run);
    return status;
}
