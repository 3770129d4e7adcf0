#include "report/compare_runs.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "judge/judge.h"
#include "record/load_results.h"
#include "record/record_folder.h"
#include "report/internal.h"

#include "base/banned.h"

enum { MOST_SPEC = 1 << 20 }; /* as the reader of specs has it */

/* One of two runs. */
struct run {
    json_t *record;              /* run.json */
    struct jr_loaded_run loaded; /* its results; a NULL `json`: none yet */
};

static int load_run_side(struct run *run, const struct jr_run_place *place, struct jr_error *err)
{
    const char *log_dir = place->log_dir, *id = place->id;
    JR_CLOSE int fd = jr_record_folder_open(log_dir, id, err);
    struct jr_error none = {0};
    run->record = fd < 0 ? NULL : jr_record_folder_json(fd, "run.json", err);
    if (run->record == NULL)
        return -1;
    (void)jr_loaded_run_load(&run->loaded, fd, "results.json", log_dir, id, &none);
    return 0;
}

static void release_run_side(struct run *run)
{
    json_decref(run->record);
    if (run->loaded.json != NULL)
        jr_loaded_run_release(&run->loaded);
}

/* In what runs are compared. */
enum trait { STATUS, EXIT_CODE, ROOT_CAUSE, STARTED, TOOK, PEAK_MEMORY, HOST, VERSION, COMMIT };

struct trait_row {
    const char *name, *part;
    bool always; /* else only where the two differ */
};

static const struct trait_row traits[] = {
    [STATUS] = {"status", "outcome", true},
    [EXIT_CODE] = {"exit_code", "outcome", false},
    [ROOT_CAUSE] = {"root_cause", "outcome", false},
    [STARTED] = {"started", "time", true},
    [TOOK] = {"took", "time", true},
    [PEAK_MEMORY] = {"peak memory", "circumstance", true},
    [HOST] = {"host", "circumstance", false},
    [VERSION] = {"jobrun", "circumstance", false},
    [COMMIT] = {"git commit", "circumstance", false},
};

/* Append what it is of the run; nothing if there is none. */
static void add_trait(struct jr_buf *out, const struct run *run, enum trait trait)
{
    const json_t *results = run->loaded.json, *cause = json_object_get(results, "root_cause");
    const json_t *rank = json_object_get(cause, "rank"), *git = json_object_get(run->record, "git");
    const char *message = jr_json_get_str(cause, "message"), *text = NULL;
    double started = jr_json_get_real(run->record, "started");
    uint64_t most = 0;
    char time[32];
    switch (trait) {
    case STATUS:
        text = jr_json_get_str(results, "status");
        text = text != NULL ? text : jr_record_folder_standing(run->record);
        break;
    case EXIT_CODE:
        if (results != NULL)
            jr_buf_printf(out, "%d", run->loaded.report.exit_code);
        break;
    case ROOT_CAUSE:
        if (message != NULL && json_is_integer(rank))
            jr_buf_printf(out, "rank %lld ", (long long)json_integer_value(rank));
        text = message;
        break;
    case STARTED:
        if (started > 0 && started <= 1e10) {
            jr_clock_rfc3339(time, jr_clock_ns_of(started));
            text = time;
        }
        break;
    case TOOK:
        if (results != NULL)
            jr_clock_human(out, run->loaded.outcome.ended_ns);
        break;
    case PEAK_MEMORY:
        for (uint32_t i = 0; i < run->loaded.outcome.count; i++)
            if (run->loaded.outcome.ranks[i].max_rss_bytes > most)
                most = run->loaded.outcome.ranks[i].max_rss_bytes;
        if (most > 0)
            jr_buf_printf(out, "%.1f MiB", (double)most / (1 << 20));
        break;
    case HOST:
        text = jr_json_get_str(run->record, "host");
        break;
    case VERSION:
        text = jr_json_get_str(run->record, "version");
        break;
    case COMMIT:
        if ((text = jr_json_get_str(git, "commit")) != NULL)
            jr_buf_printf(out, "%.12s%s", text, jr_json_get_bool(git, "dirty") ? " (dirty)" : "");
        return;
    }
    jr_buf_str(out, text != NULL ? text : "");
}

static const char *keep_compared_text(struct jr_diff_table *to, struct jr_buf *text)
{
    const char *copy = text->len == 0 ? NULL : jr_arena_strdup(&to->arena, text->data);
    to->arena.failed = to->arena.failed || text->failed;
    jr_buf_clear(text);
    return copy;
}

static void add_trait_rows(struct jr_diff_table *to, const struct run *runs)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    for (size_t i = 0; i < sizeof traits / sizeof *traits; i++) {
        struct jr_diff_table_row *row = jr_diff_table_add(to, traits[i].name);
        if (row == NULL)
            return;
        row->part = traits[i].part;
        add_trait(&text, &runs[0], (enum trait)i);
        row->a.value = keep_compared_text(to, &text);
        add_trait(&text, &runs[1], (enum trait)i);
        row->b.value = keep_compared_text(to, &text);
        if (!traits[i].always && !jr_diff_table_differs(row))
            to->count--;
    }
}

static void add_result_field(struct jr_diff_table *to, const struct run *runs, const char *name)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    jr_buf_printf(&text, "results.%s", name);
    struct jr_diff_table_row *row = text.failed ? NULL : jr_diff_table_add(to, text.data);
    if (row == NULL)
        return;
    jr_buf_clear(&text);
    row->part = "result";
    jr_print_field(&text, &runs[0].loaded.report, name);
    row->a.value = keep_compared_text(to, &text);
    jr_print_field(&text, &runs[1].loaded.report, name);
    row->b.value = keep_compared_text(to, &text);
}

int jr_record_compare(struct jr_diff_table *ret, const struct jr_run_place places[static 2],
                      struct jr_error *err)
{
    struct run runs[2] = {0};
    struct jr_diff_table contrast = JR_DIFF_TABLE_INIT;
    int failed = load_run_side(&runs[0], &places[0], err) != 0 ||
                 load_run_side(&runs[1], &places[1], err) != 0;
    if (!failed) {
        json_t *a = jr_print_first_result(&runs[0].loaded.report);
        json_t *b = jr_print_first_result(&runs[1].loaded.report), *value = NULL;
        const char *name = NULL;
        add_trait_rows(&contrast, runs);
        json_object_foreach(a, name, value)
            add_result_field(&contrast, runs, name);
        json_object_foreach(b, name, value)
            if (json_object_get(a, name) == NULL)
                add_result_field(&contrast, runs, name);
        failed = contrast.arena.failed;
        if (failed)
            (void)jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    }
    release_run_side(&runs[0]);
    release_run_side(&runs[1]);
    if (failed) {
        jr_diff_table_release(&contrast);
        return -1;
    }
    *ret = contrast;
    return 0;
}

int jr_record_origin(struct jr_record_origin *ret, struct jr_arena *arena, const char *log_dir,
                     const char *id, struct jr_error *err)
{
    JR_CLOSE int fd = jr_record_folder_open(log_dir, id, err);
    json_t *run = fd < 0 ? NULL : jr_record_folder_json(fd, "run.json", err);
    if (run == NULL)
        return -1;
    JR_FREE char *here = getcwd(NULL, 0);
    JR_FREE char *folder = here == NULL ? NULL : jr_io_absolute(here, log_dir);
    const char *part = jr_json_get_str(run, "part");
    const char *whole =
        jr_arena_printf(arena, "%s%s%s", id, part == NULL ? "" : "/", part == NULL ? "" : part);
    *ret = (struct jr_record_origin){
        .log_dir = jr_arena_strdup(arena, folder),
        .fingerprint = jr_arena_strdup(arena, jr_json_get_str(run, "fingerprint")),
        .spec_folder = jr_arena_strdup(arena, jr_json_get_str(run, "spec_folder")),
        .local = jr_json_get_bool(run, "local"),
        .any_devices = jr_json_get_bool(run, "any_devices")};
    if (folder != NULL && whole != NULL) {
        ret->run_dir = jr_arena_printf(arena, "%s/%s", folder, whole);
        JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
        JR_CLOSE int part_fd = jr_record_folder_enter(&ret->trust, log_dir, whole, NULL);
        if (part_fd >= 0 && jr_run_file_read(&text, part_fd, "resolved.yaml", MOST_SPEC, NULL) == 0)
            ret->spec = jr_arena_strndup(arena, text.data, text.len);
    }
    json_decref(run);
    if (ret->run_dir == NULL || arena->failed)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    return 0;
}
