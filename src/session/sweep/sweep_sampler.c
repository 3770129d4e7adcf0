#include "session/sweep/sweep_sampler.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "session/stages.h"
#include "session/sweep/sweep_run_parts.h"
#include "sweep/sampler_lines.h"

#include "base/banned.h"

/* Answers in a row without a new cell. */
enum { REPEATS_MOST = 100 };

int jr_sweep_sampler_prepare(struct jr_sweep_run *run)
{
    struct jr_sweep_sampler *sampler = &run->sampler;
    struct jr_session *session = run->session;
    struct jr_arena *arena = &session->arena;
    sampler->on = session->swept->axes.sampler != NULL;
    if (!sampler->on)
        return 0;
    size_t most = JR_SWEEP_CELLS_MAX;
    sampler->process = JR_SAMPLER_PROCESS_INIT;
    sampler->known = json_object();
    jr_shared_files_init(&sampler->files);
    run->needs.kind_of = jr_arena_array(&run->needs.arena, most, sizeof *run->needs.kind_of);
    run->states = jr_arena_array(arena, most, sizeof *run->states);
    run->skips = jr_arena_array(arena, most, sizeof *run->skips);
    run->slots = jr_arena_array(arena, JR_SWEEP_KINDS_MOST, sizeof *run->slots);
    run->to_run = 0;
    return jr_swept_spec_begin_proposals(session->swept) != 0 || arena->failed ||
                   run->needs.arena.failed || sampler->known == NULL
               ? -1
               : 0;
}

/* What findings say, since `first`, as an error. */
static int refuse_by_findings(struct jr_sweep_run *run, size_t first, struct jr_error *err)
{
    struct jr_diags *diags = &run->session->diags;
    size_t i = first;
    while (i < diags->count && diags->items[i].severity != JR_SEVERITY_ERROR)
        i++;
    if (i == diags->count)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    const char *help = diags->items[i].help;
    return jr_error_set(err, JR_STATUS_LAUNCH, "%s%s%s", diags->items[i].message,
                        help == NULL ? "" : ": ", help == NULL ? "" : help);
}

/* Load the cell that was proposed as the last one, and find its needs. Nothing of its spec is
 * kept. */
static int take_needs(struct jr_sweep_run *run, size_t cell, struct jr_error *err)
{
    struct jr_session *session = run->session;
    struct jr_diags *diags = &session->diags;
    struct jr_spec_file *file = NULL;
    size_t first = diags->count;
    int status = 0;
    if (jr_swept_spec_load(&file, session->swept, cell, diags) != 0 ||
        jr_shared_files_add(&run->sampler.files, file, cell, diags) != 0 ||
        jr_cell_needs_add(&run->needs, session, file, cell) != JR_STATUS_OK)
        status = refuse_by_findings(run, first, err);
    jr_diags_drop_from(diags, first);
    jr_spec_free(file);
    if (status != 0)
        return -1;
    uint32_t kind = run->needs.kind_of[cell];
    if (kind >= JR_SWEEP_KINDS_MOST)
        return jr_error_set(err, JR_STATUS_LAUNCH, "its cells need more than %d different sizes",
                            JR_SWEEP_KINDS_MOST);
    run->slots[kind] = jr_cell_needs_slots(&run->needs.kinds[kind]);
    jr_sweep_devices_name(&run->devices.list, session, &run->needs);
    return 0;
}

int jr_sweep_sampler_add(struct jr_sweep_run *run, const json_t *values, uint32_t number,
                         struct jr_error *err)
{
    struct jr_session *session = run->session;
    size_t first = session->diags.count, cell = session->swept->cells.count;
    JR_FREE char *key = json_dumps(values, JSON_SORT_KEYS | JSON_COMPACT);
    if (key == NULL)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    if (jr_swept_spec_propose(session->swept, values, &session->diags) != 0) {
        (void)refuse_by_findings(run, first, err);
        jr_diags_drop_from(&session->diags, first);
        return -1;
    }
    if (take_needs(run, cell, err) != 0) {
        session->swept->cells.count = cell;
        return -1;
    }
    run->states[cell] = (struct jr_cell_state){.number = number, .status = "not_started"};
    run->to_run++;
    if (number >= run->sampler.next)
        run->sampler.next = number + 1;
    (void)json_object_set_new(run->sampler.known, key, json_integer((json_int_t)cell));
    return 0;
}

/* The sampler is of no more use: what runs goes on, and nothing else begins. */
static void fail_sampler(struct jr_sweep_run *run, const char *why)
{
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    run->sampler.failed = true;
    run->sampler.asked_ns = 0;
    run->closing = true;
    jr_buf_str(&line, "the sampler ");
    jr_buf_str(&line, why);
    jr_buf_printf(&line, " (%s/%s/" JR_SAMPLER_LOG ")", run->log_dir, run->dir.id);
    jr_session_note_buf(run->session, &line);
}

void jr_sweep_sampler_tell(struct jr_sweep_run *run, size_t cell)
{
    struct jr_sweep_sampler *sampler = &run->sampler;
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    const struct jr_cell_state *state = &run->states[cell];
    if (!sampler->on || sampler->failed)
        return;
    json_t *values = jr_cells_json(&run->session->swept->cells, cell);
    jr_sampler_tell(&text, state->number, values, state->status, state->result);
    if (sampler->await == cell + 1) { /* the answer that it has waited for */
        jr_sampler_tell(&text, sampler->next, values, state->status, state->result);
        sampler->next++;
        sampler->await = 0;
    }
    json_decref(values);
    jr_sampler_say(&sampler->process, &text);
}

int jr_sweep_sampler_start(struct jr_sweep_run *run, struct jr_error *err)
{
    struct jr_session *session = run->session;
    const struct jr_sampler_command command = {.argv = session->swept->axes.sampler,
                                               .envp = session->options.envp,
                                               .folder = jr_spec_folder_of(session->swept->file),
                                               .dir_fd = run->dir.fd,
                                               .file_mode = run->dir.file_mode};
    if (!run->sampler.on)
        return 0;
    if (jr_sampler_start(&run->sampler.process, &command, err) != 0)
        return -1;
    for (size_t i = 0; i < session->swept->cells.count; i++)
        if (run->skips[i])
            jr_sweep_sampler_tell(run, i);
    return 0;
}

/* Values that are a cell already: it is told of that one. */
static void take_known(struct jr_sweep_run *run, size_t cell)
{
    struct jr_sweep_sampler *sampler = &run->sampler;
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    const struct jr_cell_state *state = &run->states[cell];
    const char *status = state->status;
    if (++sampler->repeats > REPEATS_MOST) {
        fail_sampler(run, "proposed 100 times in a row what it had proposed before");
        return;
    }
    if (strcmp(status, "running") == 0 || strcmp(status, "not_started") == 0) {
        sampler->await = cell + 1;
        return;
    }
    json_t *values = jr_cells_json(&run->session->swept->cells, cell);
    jr_sampler_tell(&text, sampler->next++, values, status, state->result);
    json_decref(values);
    jr_sampler_say(&sampler->process, &text);
}

/* Returns whether there is a new cell. */
static bool take_proposal(struct jr_sweep_run *run, const json_t *values)
{
    struct jr_sweep_sampler *sampler = &run->sampler;
    struct jr_error err = {0};
    struct jr_buf why JR_BUF_CLEANUP = JR_BUF_INIT;
    JR_FREE char *key = json_dumps(values, JSON_SORT_KEYS | JSON_COMPACT);
    const json_t *known = key == NULL ? NULL : json_object_get(sampler->known, key);
    if (known != NULL) {
        take_known(run, (size_t)json_integer_value(known));
        return false;
    }
    sampler->repeats = 0;
    if (jr_sweep_sampler_add(run, values, sampler->next, &err) == 0) {
        jr_schedule_add(&run->schedule);
        return true;
    }
    jr_buf_printf(&why, "proposed a cell that cannot be: %s", err.text);
    fail_sampler(run, why.failed ? "failed" : why.data);
    return false;
}

/* Whether it says something, which may be the beginning of a line, that nobody has asked for; then
 * it fails. */
static bool is_unasked(struct jr_sweep_run *run)
{
    if (run->sampler.asked_ns == 0)
        fail_sampler(run, "answered what it was not asked");
    return run->sampler.failed;
}

static bool take_answer(struct jr_sweep_run *run, const char *line, size_t len)
{
    struct jr_sweep_sampler *sampler = &run->sampler;
    struct jr_error err = {0};
    json_t *values = NULL;
    if (is_unasked(run))
        return false;
    sampler->asked_ns = 0;
    enum jr_sampler_answer answer = jr_sampler_read(line, len, &values, &err);
    bool added = answer == JR_SAMPLER_VALUES && take_proposal(run, values);
    json_decref(values);
    if (answer == JR_SAMPLER_DONE)
        sampler->done = true;
    else if (answer == JR_SAMPLER_WRONG)
        fail_sampler(run, err.text);
    return added;
}

static void take_end(struct jr_sweep_run *run)
{
    struct jr_sweep_sampler *sampler = &run->sampler;
    struct jr_buf why JR_BUF_CLEANUP = JR_BUF_INIT;
    if (sampler->process.said.len <= JR_SAMPLER_LINE_MOST)
        jr_sampler_await(&sampler->process);
    if (sampler->process.said.len > JR_SAMPLER_LINE_MOST)
        jr_buf_str(&why, "printed a line of more than a mebibyte");
    else
        jr_sampler_describe(&why, &sampler->process);
    fail_sampler(run, why.failed ? "has ended" : why.data);
}

/* Ask for a cell if none waits, and there is room, or will be: where nothing of the sweep runs,
 * others hold what the cell is to wait for. */
static void ask_for_cell(struct jr_sweep_run *run)
{
    struct jr_sweep_sampler *sampler = &run->sampler;
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    if (sampler->asked_ns != 0 || sampler->await != 0 || run->closing || run->devices.over ||
        run->running_count == run->running_most || jr_schedule_has_more(&run->schedule))
        return;
    jr_sweep_devices_look(run);
    if (run->running_count > 0 && !jr_schedule_has_room(&run->schedule, 0))
        return;
    sampler->asked_ns = jr_clock_ns();
    jr_sampler_ask(&text, sampler->next);
    jr_sampler_say(&sampler->process, &text);
}

/* Its time counts while no cell runs: until then it may think. */
static void check_time(struct jr_sweep_run *run)
{
    uint64_t due = jr_sweep_sampler_due(run);
    if (due != 0 && jr_clock_ns() >= due)
        fail_sampler(run, "has not answered within `sampler_timeout`");
}

bool jr_sweep_sampler_turn(struct jr_sweep_run *run)
{
    struct jr_sweep_sampler *sampler = &run->sampler;
    const char *line;
    size_t len;
    bool added = false;
    if (!sampler->on || sampler->failed || sampler->done)
        return false;
    jr_sampler_turn(&sampler->process);
    while (!sampler->failed && !sampler->done &&
           (line = jr_sampler_line(&sampler->process, &len)) != NULL)
        added |= take_answer(run, line, len);
    if (!sampler->failed && !sampler->done && sampler->process.over)
        take_end(run);
    if (sampler->failed || sampler->done || (sampler->process.said.len > 0 && is_unasked(run)))
        return added;
    check_time(run);
    ask_for_cell(run);
    return added;
}

bool jr_sweep_sampler_is_asked(const struct jr_sweep_run *run)
{
    return run->sampler.on && run->sampler.asked_ns != 0 && !run->sampler.failed && !run->closing;
}

uint64_t jr_sweep_sampler_due(const struct jr_sweep_run *run)
{
    uint64_t limit_ms = run->session->swept->axes.sampler_ms;
    if (!jr_sweep_sampler_is_asked(run) || run->running_count > 0 || limit_ms == 0 ||
        limit_ms > UINT64_MAX / 4000000)
        return 0;
    uint64_t since = run->sampler.asked_ns > run->idle_ns ? run->sampler.asked_ns : run->idle_ns;
    return since + limit_ms * UINT64_C(1000000);
}

bool jr_sweep_sampler_reap(struct jr_sweep_run *run, pid_t pid, int status)
{
    struct jr_sampler_process *process = &run->sampler.process;
    if (!run->sampler.on || process->pid != pid)
        return false;
    jr_sampler_ended(process, status);
    return true;
}

void jr_sweep_sampler_close(struct jr_sweep_run *run)
{
    if (!run->sampler.on)
        return;
    jr_sampler_close(&run->sampler.process);
    jr_shared_files_release(&run->sampler.files);
    json_decref(run->sampler.known);
    run->sampler.known = NULL;
}
