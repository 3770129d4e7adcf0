#include "session/specs/check_cells.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "spec/load.h"
#include "sweep/shared_files.h"
#include "sweep/swept_spec.h"

#include "base/banned.h"

/* So many different findings are kept, each with the cell that it quotes. */
enum { MOST_FINDINGS = 500 };

/* A finding, and the cells that have it. */
struct shared {
    const struct jr_diag *diag;
    size_t first, cells, last; /* `last`: the one that was counted last, + 1 */
};

/* The list of findings of one cell, which others have, too. */
struct kept {
    struct jr_diags diags;
    struct jr_spec_file *file;
};

struct checking {
    struct jr_spec_checks *checks;
    struct jr_swept_spec *swept;
    struct shared *items;
    size_t count;
    struct kept *kept; /* that findings are in */
    size_t kept_count;
    struct jr_shared_files files;
    json_t *places; /* of findings in `items`, by what they say */
    enum jr_status status;
};

static enum jr_status lower_status(enum jr_status a, enum jr_status b)
{
    if (a == JR_STATUS_OK || b == JR_STATUS_OK)
        return a == JR_STATUS_OK ? b : a;
    return a < b ? a : b;
}

/* What makes a finding the same as that of another cell. */
static void add_key(struct jr_buf *out, const struct jr_diag *diag)
{
    const struct jr_source *source = diag->span.source;
    jr_buf_printf(out, "%s %u:%u ", diag->code, diag->span.line,
                  diag->span.column);
    jr_buf_safe(out, source == NULL ? "" : source->name);
    jr_buf_safe(out, diag->message);
}

/* Count a finding of a cell. Returns whether it is a new one, which is kept. */
static bool count_finding(struct checking *checking, size_t cell,
                          const struct jr_diag *diag)
{
    struct jr_arena *arena = &checking->checks->arena;
    struct jr_buf key JR_BUF_CLEANUP = JR_BUF_INIT;
    add_key(&key, diag);
    if (key.failed || key.data == NULL) {
        arena->failed = true;
        return false;
    }
    const json_t *place = json_object_get(checking->places, key.data);
    if (place != NULL) {
        struct shared *same = &checking->items[json_integer_value(place)];
        same->cells += same->last != cell + 1;
        same->last = cell + 1;
        return false;
    }
    if (checking->count == MOST_FINDINGS)
        return false;
    (void)json_object_set_new(checking->places, key.data,
                              json_integer((json_int_t)checking->count));
    struct shared *item =
        jr_arena_push(arena, &checking->items, &checking->count, sizeof *item);
    if (item == NULL)
        return false;
    *item = (struct shared){diag, cell, 1, cell + 1};
    return true;
}

static void keep_findings(struct checking *checking, size_t cell,
                          struct jr_diags *diags, struct jr_spec_file *file)
{
    bool kept = false;
    for (size_t i = 0; i < diags->count; i++)
        kept |= count_finding(checking, cell, &diags->items[i]);
    struct kept *slot = NULL;
    if (kept)
        slot = jr_arena_push(&checking->checks->arena, &checking->kept,
                             &checking->kept_count, sizeof *slot);
    if (slot != NULL) {
        *slot = (struct kept){*diags, file};
        return;
    }
    jr_diags_release(diags);
    jr_spec_free(file);
}

static void check_cell(struct checking *checking, size_t cell,
                       jr_cell_checker *check)
{
    struct jr_diags diags = JR_DIAGS_INIT;
    struct jr_spec_file *file = NULL;
    enum jr_status status = JR_STATUS_INVALID;
    if (jr_swept_spec_load(&file, checking->swept, cell, &diags) == 0 &&
        jr_shared_files_add(&checking->files, file, cell, &diags) == 0)
        status = check(checking->checks, file, &diags);
    checking->status = lower_status(checking->status, status);
    keep_findings(checking, cell, &diags, file);
}

static void check_chosen_cell(struct checking *checking, jr_cell_checker *check)
{
    struct jr_spec_checks *checks = checking->checks;
    struct jr_error why = {0};
    size_t cell;
    if (jr_cells_choose(&cell, &checking->swept->cells, checks->options.cell,
                        &why) == 0) {
        check_cell(checking, cell, check);
        return;
    }
    (void)jr_diags_error(&checks->diags, JR_CODE_WRONG_CELLS,
                         checking->swept->axes.at, NULL, "--cell %s: %s",
                         checks->options.cell, why.text);
    checking->status = why.status;
}

/* Tell a finding, and which cells have it. */
static void tell_finding(struct checking *checking, const struct shared *item)
{
    struct jr_buf more JR_BUF_CLEANUP = JR_BUF_INIT;
    const struct jr_cells *cells = &checking->swept->cells;
    if (item->cells < cells->count && checking->checks->options.cell == NULL) {
        jr_buf_printf(&more, " (cell %zu: ", item->first);
        jr_cells_text(&more, cells, item->first);
        if (item->cells > 1)
            jr_buf_printf(&more, ", and %zu more", item->cells - 1);
        jr_buf_char(&more, ')');
    }
    jr_diags_copy(&checking->checks->diags, item->diag,
                  more.failed || more.data == NULL ? "" : more.data);
}

/* The texts that findings quote live as long as the checks. */
static void release_checking(struct checking *checking)
{
    struct jr_spec_checks *checks = checking->checks;
    for (size_t i = 0; i < checking->kept_count; i++) {
        struct jr_spec_file **slot =
            jr_arena_push(&checks->arena, &checks->specs, &checks->specs_count,
                          sizeof(struct jr_spec_file *));
        if (slot != NULL)
            *slot = checking->kept[i].file;
        jr_diags_release(&checking->kept[i].diags);
    }
    json_decref(checking->places);
    jr_shared_files_release(&checking->files);
}

enum jr_status jr_check_cells(struct jr_spec_checks *checks,
                              struct jr_spec_file *file,
                              const struct jr_swept_words *words,
                              jr_cell_checker *check)
{
    struct jr_swept_spec **slot =
        jr_arena_push(&checks->arena, &checks->swept, &checks->swept_count,
                      sizeof(struct jr_swept_spec *));
    struct jr_swept_spec *swept =
        slot == NULL ? NULL : calloc(1, sizeof *swept);
    if (swept == NULL) {
        jr_spec_free(file);
        return JR_STATUS_LAUNCH;
    }
    *slot = swept;
    struct checking checking = {
        .checks = checks, .swept = swept, .places = json_object()};
    jr_shared_files_init(&checking.files);
    if (jr_swept_spec_open(swept, file, words, &checks->diags) != 0)
        checking.status = JR_STATUS_INVALID;
    else if (checks->options.cell != NULL)
        check_chosen_cell(&checking, check);
    else
        for (size_t i = 0; i < swept->cells.count; i++)
            check_cell(&checking, i, check);
    for (size_t i = 0; i < checking.count; i++)
        tell_finding(&checking, &checking.items[i]);
    release_checking(&checking);
    return checks->arena.failed ? JR_STATUS_LAUNCH : checking.status;
}
