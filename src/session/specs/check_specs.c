#include "session/specs/check_specs.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "doc/doc.h"
#include "resolve/device_profile.h"
#include "resolve/resolve.h"
#include "spec/load.h"
#include "sweep/swept_spec.h"

#include "base/banned.h"

/* A spec that is several: every cell of it. */

/* What is done with a cell that is valid in itself. */
typedef enum jr_status cell_checker(struct jr_spec_checks *checks, struct jr_spec_file *cell,
                                    struct jr_diags *diags);

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

/* The lower of two, OK aside: which verdict counts for several. */
static enum jr_status worse_status(enum jr_status a, enum jr_status b)
{
    if (a == JR_STATUS_OK || b == JR_STATUS_OK)
        return a == JR_STATUS_OK ? b : a;
    return a < b ? a : b;
}

/* What makes a finding the same as that of another cell. */
static void add_key(struct jr_buf *out, const struct jr_diag *diag)
{
    const struct jr_source *source = diag->span.source;
    jr_buf_printf(out, "%s %u:%u ", diag->code, diag->span.line, diag->span.column);
    jr_buf_safe(out, source == NULL ? "" : source->name);
    jr_buf_safe(out, diag->message);
}

/* Count a finding of a cell. Returns whether it is a new one, which is kept. */
static bool count_finding(struct checking *checking, size_t cell, const struct jr_diag *diag)
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
    struct shared *item = jr_arena_push(arena, &checking->items, &checking->count, sizeof *item);
    if (item == NULL)
        return false;
    *item = (struct shared){diag, cell, 1, cell + 1};
    return true;
}

static void keep_findings(struct checking *checking, size_t cell, struct jr_diags *diags,
                          struct jr_spec_file *file)
{
    bool kept = false;
    for (size_t i = 0; i < diags->count; i++)
        kept |= count_finding(checking, cell, &diags->items[i]);
    struct kept *slot = NULL;
    if (kept)
        slot = jr_arena_push(&checking->checks->arena, &checking->kept, &checking->kept_count,
                             sizeof *slot);
    if (slot != NULL) {
        *slot = (struct kept){*diags, file};
        return;
    }
    jr_diags_release(diags);
    jr_spec_free(file);
}

static void check_cell(struct checking *checking, size_t cell, cell_checker *check)
{
    struct jr_diags diags = JR_DIAGS_INIT;
    struct jr_spec_file *file = NULL;
    enum jr_status status = JR_STATUS_INVALID;
    if (jr_swept_spec_load(&file, checking->swept, cell, &diags) == 0 &&
        jr_shared_files_add(&checking->files, file, cell, &diags) == 0)
        status = check(checking->checks, file, &diags);
    checking->status = worse_status(checking->status, status);
    keep_findings(checking, cell, &diags, file);
}

static void check_chosen_cell(struct checking *checking, cell_checker *check)
{
    struct jr_spec_checks *checks = checking->checks;
    struct jr_error why = {0};
    size_t cell;
    if (jr_cells_choose(&cell, &checking->swept->cells, checks->options.cell, &why) == 0) {
        check_cell(checking, cell, check);
        return;
    }
    (void)jr_diags_error(&checks->diags, JR_CODE_WRONG_CELLS, checking->swept->axes.at, NULL,
                         "--cell %s: %s", checks->options.cell, why.text);
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
        struct jr_spec_file **slot = jr_arena_push(
            &checks->arena, &checks->specs, &checks->specs_count, sizeof(struct jr_spec_file *));
        if (slot != NULL)
            *slot = checking->kept[i].file;
        jr_diags_release(&checking->kept[i].diags);
    }
    json_decref(checking->places);
    jr_shared_files_release(&checking->files);
}

/* Load every cell of the sweep that `file` is, which is taken over, and have
 * `check` look at those that are valid. What is wrong with all of them is told
 * once; what is wrong with some names the first, and how many there are. The
 * lowest status, OK aside. */
static enum jr_status check_every_cell(struct jr_spec_checks *checks, struct jr_spec_file *file,
                                       const struct jr_swept_words *words, cell_checker *check)
{
    struct jr_swept_spec **slot = jr_arena_push(
        &checks->arena, &checks->swept, &checks->swept_count, sizeof(struct jr_swept_spec *));
    struct jr_swept_spec *swept = slot == NULL ? NULL : calloc(1, sizeof *swept);
    if (swept == NULL) {
        jr_spec_free(file);
        return JR_STATUS_LAUNCH;
    }
    *slot = swept;
    struct checking checking = {.checks = checks, .swept = swept, .places = json_object()};
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

struct jr_spec_options jr_check_reading(const struct jr_check_options *options)
{
    return (struct jr_spec_options){
        .sets = options->sets,
        .root = options->root,
        .environ = options->environ,
        .allow_env = options->allow_env,
        .validate = true,
        .strict = options->strict,
        .unbound = true,
    };
}

/* A target as a spec states it. */
struct target {
    const char *profile, *path;
    const char *written; /* the source, where ${...} had a part; or NULL */
    struct jr_span at;
};

/* Resolve the spec on a machine. `name` is told, `at` is where the spec names it (line 0: it does
 * not). Returns what jr_resolve does. */
static enum jr_status try_target(const struct jr_spec_file *file, const struct jr_host *host,
                                 const char *name, struct jr_span at, struct jr_diags *diags)
{
    struct jr_resolution resolution = JR_RESOLUTION_INIT;
    const struct jr_resolve_options options = {.target = name, .target_at = at};
    enum jr_status status = jr_resolve(&resolution, file, host, &options, diags);
    jr_resolution_release(&resolution);
    return status;
}

/* A path as it is seen from the folder `here`; a shorthand is its own name. */
static const char *path_from_folder(const char *here, const char *profile)
{
    size_t len = here == NULL ? 0 : strlen(here);
    bool below = len > 0 && strncmp(profile, here, len) == 0;
    return below && profile[len] == '/' ? profile + len + 1 : profile;
}

/* The machine of a target. Mistakes in one that contains ${...} are reported with the text of the
 * source. */
static int load_target(struct jr_host *ret, struct jr_arena *arena, const struct target *target,
                       struct jr_diags *diags)
{
    struct jr_diags silent = JR_DIAGS_INIT;
    if (target->written == NULL)
        return jr_profile_load_target(ret, arena, target->profile, target->at, diags);
    int status = jr_profile_load_target(ret, arena, target->profile, target->at, &silent);
    if (status != 0)
        (void)jr_diags_error(diags, JR_CODE_WRONG_MACHINE_PROFILE, target->at, target->path,
                             "'%s' is not a machine after substitution: '%s'", target->path,
                             target->written);
    jr_diags_release(&silent);
    return status;
}

/* Resolve the spec on each of its own targets, whose facts are read into
 * `arena` (their texts are quoted by findings). A contradiction of the spec
 * itself ends the resolving, as no machine can mend it; profiles that cannot be
 * read are all told. Returns the lowest of what the targets got, OK aside. */
static enum jr_status try_targets(const struct jr_spec_file *file, struct jr_arena *arena,
                                  struct jr_diags *diags)
{
    const struct jr_spec *spec = jr_spec_get(file);
    enum jr_status worst = JR_STATUS_OK, status = JR_STATUS_OK;
    JR_FREE char *here = spec->targets_count > 0 ? getcwd(NULL, 0) : NULL;
    for (uint32_t i = 0; i < spec->targets_count; i++) {
        struct target target = {
            .profile = spec->targets[i],
            .path = jr_arena_printf(arena, "targets[%u]", i),
        };
        struct jr_host host;
        if (target.path == NULL)
            return JR_STATUS_LAUNCH;
        target.written = jr_spec_written(file, arena, target.path);
        target.at = jr_spec_where(file, target.path);
        const char *name =
            target.written != NULL ? target.written : path_from_folder(here, target.profile);
        if (load_target(&host, arena, &target, diags) != 0)
            worst = JR_STATUS_INVALID;
        else if (status != JR_STATUS_INVALID)
            status = try_target(file, &host, name, target.at, diags);
        worst = worse_status(worst, status);
    }
    return worst;
}

/* Start a file; the findings until `end_file` are its own. */
static bool begin_file(struct jr_spec_checks *checks, const char *name)
{
    struct jr_checked *file =
        jr_arena_push(&checks->arena, &checks->files, &checks->files_count, sizeof *file);
    if (file == NULL)
        return false;
    file->name = jr_arena_strdup(&checks->arena, name);
    file->first = checks->diags.count;
    file->errors = checks->diags.errors;
    file->warnings = checks->diags.warnings;
    return file->name != NULL;
}

/* Findings that others have, too, in a file that several extend, are reported once. Returns whether
 * nothing is to be reported about this one. */
static bool end_file(struct jr_spec_checks *checks, enum jr_status status)
{
    struct jr_checked *file = &checks->files[checks->files_count - 1];
    file->errors = checks->diags.errors - file->errors;
    file->warnings = checks->diags.warnings - file->warnings;
    file->folded = jr_diags_fold(&checks->diags, file->first);
    file->count = checks->diags.count - file->first;
    jr_diags_sort_from(&checks->diags, file->first);
    if (checks->options.strict && file->warnings > 0)
        status = JR_STATUS_INVALID;
    checks->status = worse_status(checks->status, status);
    return file->errors + file->warnings == file->folded;
}

/* Hold a spec that is valid in itself against the machines, if there are any:
 * a template is for none. Only that takes its values. */
static enum jr_status check_targets(struct jr_spec_checks *checks, struct jr_spec_file *spec,
                                    struct jr_diags *diags)
{
    const struct jr_span nowhere = {0};
    enum jr_status status = JR_STATUS_OK;
    if (checks->options.on == NULL && jr_doc_get(jr_spec_tree(spec), "targets") == NULL)
        return JR_STATUS_OK;
    if (jr_spec_bind(spec, diags) != 0)
        return JR_STATUS_LAUNCH;
    if (jr_spec_get(spec) == NULL)
        return JR_STATUS_OK;
    if (checks->options.on != NULL)
        status = try_target(spec, checks->machine, checks->options.on, nowhere, diags);
    if (status == JR_STATUS_INVALID)
        return status;
    return worse_status(status, try_targets(spec, &checks->arena, diags));
}

/* Where a spec is read from; `folder` is malloc'ed, and outlives it. */
static struct jr_spec_source checked_source(struct jr_spec_checks *checks, const char *path,
                                            char **folder)
{
    struct jr_spec_source source = {.path = path};
    if (strcmp(path, "-") != 0 || checks->input.data == NULL)
        return source;
    *folder = jr_spec_folder(path);
    checks->arena.failed |= *folder == NULL;
    return (struct jr_spec_source){
        .name = "stdin", .folder = *folder, .text = checks->input.data, .len = checks->input.len};
}

/* Load a spec, or each of its cells, and check it. *ret quotes findings. */
static enum jr_status check_spec(struct jr_spec_checks *checks, struct jr_spec_file **ret,
                                 const char *path)
{
    JR_FREE char *folder = NULL;
    const struct jr_spec_source source = checked_source(checks, path, &folder);
    struct jr_spec_options options = jr_check_reading(&checks->options);
    char *const *sweeps = checks->options.sweeps;
    options.sweeps = true;
    options.swept = sweeps != NULL && sweeps[0] != NULL;
    if (checks->arena.failed || jr_spec_load(ret, &source, &options, &checks->diags) != 0)
        return JR_STATUS_INVALID;
    if (!jr_spec_sweeps(*ret))
        return check_targets(checks, *ret, &checks->diags);
    const struct jr_swept_words words = {&source, &options, sweeps};
    struct jr_spec_file *file = *ret;
    *ret = NULL;
    return check_every_cell(checks, file, &words, check_targets);
}

static void check_file(struct jr_spec_checks *checks, const char *path)
{
    size_t place = checks->specs_count;
    struct jr_spec_file *spec = NULL;
    if (jr_arena_push(&checks->arena, &checks->specs, &checks->specs_count,
                      sizeof(struct jr_spec_file *)) == NULL ||
        !begin_file(checks, strcmp(path, "-") == 0 ? "stdin" : path))
        return;
    enum jr_status status = check_spec(checks, &spec, path);
    checks->specs[place] = spec;
    if (end_file(checks, status)) { /* then nobody quotes it */
        jr_spec_free(spec);
        checks->specs[place] = NULL;
    }
}

/* What cannot be looked at is a finding like any other. */
static void refuse_path(struct jr_spec_checks *checks, const char *path, const char *why)
{
    struct jr_source *source = jr_arena_alloc(&checks->arena, sizeof *source);
    if (source == NULL || !begin_file(checks, path))
        return;
    source->name = checks->files[checks->files_count - 1].name;
    struct jr_span span = {.source = source};
    (void)jr_diags_error(&checks->diags, JR_CODE_FILE_UNREADABLE, span, NULL, "cannot check it: %s",
                         why);
    (void)end_file(checks, JR_STATUS_INVALID);
}

void jr_spec_checks_run(struct jr_spec_checks *checks)
{
    for (size_t i = 0; i < checks->finds.count; i++) {
        const struct jr_found_specs *found = &checks->finds.items[i];
        if (found->why == NULL)
            check_file(checks, found->path);
        else
            refuse_path(checks, found->path, found->why);
    }
}

enum jr_status jr_spec_checks_open(struct jr_spec_checks *ret,
                                   const struct jr_check_options *options)
{
    *ret = (struct jr_spec_checks){.options = *options};
    if (options->on == NULL)
        return JR_STATUS_OK;
    ret->machine = jr_arena_alloc(&ret->arena, sizeof *ret->machine);
    if (ret->machine == NULL)
        return JR_STATUS_LAUNCH;
    if (jr_profile_load(ret->machine, &ret->arena, options->on, &ret->diags) == 0)
        return JR_STATUS_OK;
    return jr_profile_status(&ret->diags, 0);
}

void jr_spec_checks_release(struct jr_spec_checks *checks)
{
    jr_diags_release(&checks->diags);
    for (size_t i = 0; i < checks->specs_count; i++)
        jr_spec_free(checks->specs[i]);
    for (size_t i = 0; i < checks->swept_count; i++) {
        jr_swept_spec_close(checks->swept[i]);
        free(checks->swept[i]);
    }
    jr_arena_release(&checks->arena);
    jr_buf_release(&checks->input);
}
