#include "session/specs/diff_side.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/did_you_mean.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "doc/doc.h"
#include "record/record_folder.h"
#include "record/run_list.h"
#include "report/compare_runs.h"
#include "session/specs/diff_specs.h"
#include "session/sweep/show_sweep.h"

#include "base/banned.h"

/* The path from the top of what lies below it; NULL for anything else. */
static const char *file_path_from_top(const struct jr_revision *revision, const char *path)
{
    const char *top = jr_revision_top(revision);
    size_t len = strlen(top);
    if (strncmp(path, top, len) != 0 || path[len] != '/')
        return NULL;
    return path + len + 1;
}

/* What is known of a file at `path`, absolute. */
static struct jr_file file_at(struct jr_arena *arena, const struct jr_revision *revision,
                              const char *path)
{
    const char *slash = strrchr(path, '/');
    return (struct jr_file){
        .id = jr_arena_strdup(arena, path),
        .name = jr_arena_printf(arena, "%s:%s", jr_revision_name(revision),
                                file_path_from_top(revision, path)),
        .folder = jr_arena_strndup(arena, path, (size_t)(slash - path)),
    };
}

static int read_parent(const struct jr_reader *reader, struct jr_reading *reading,
                       struct jr_error *err)
{
    struct jr_revision *revision = (struct jr_revision *)reader->context;
    JR_FREE char *path = jr_io_absolute(reading->from->folder, reading->path);
    if (path == NULL)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    const char *rest = file_path_from_top(revision, path);
    reading->outside = rest == NULL;
    if (rest == NULL)
        return jr_error_set(err, JR_STATUS_INVALID, "it is not below %s",
                            jr_revision_top(revision));
    reading->file = file_at(reading->arena, revision, path);
    if (reading->arena->failed)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    return jr_revision_read(revision, rest, JR_DOC_MAX_BYTES, &reading->text, err);
}

struct jr_reader jr_rev_reader(struct jr_revision *revision)
{
    return (struct jr_reader){.read = read_parent, .context = revision};
}

/* What is read, and with what. */
struct past {
    struct jr_revision *revision;
    char *const *environ;
    struct jr_file file;
    struct jr_buf text;
};

static int load_past_spec(struct jr_spec_file **ret, const struct past *past,
                          struct jr_diags *diags)
{
    const struct jr_reader reader = jr_rev_reader(past->revision);
    const struct jr_spec_source source = {.name = past->file.name,
                                          .folder = past->file.folder,
                                          .text = past->text.len > 0 ? past->text.data : "",
                                          .len = past->text.len};
    const struct jr_spec_options options = {.root = jr_revision_top(past->revision),
                                            .reader = &reader,
                                            .environ = past->environ,
                                            .validate = true};
    return jr_spec_load(ret, &source, &options, diags);
}

int jr_rev_load(struct jr_spec_file **ret, struct jr_revision *revision, const char *path,
                char *const *envp, struct jr_diags *diags)
{
    struct jr_arena arena = JR_ARENA_INIT;
    struct past past = {.revision = revision, .environ = envp};
    struct jr_error err = {0};
    int failed = -1;
    *ret = NULL;
    const char *full = jr_arena_printf(&arena, "%s/%s", jr_revision_top(revision), path);
    if (full == NULL)
        return -1;
    past.file = file_at(&arena, revision, full);
    if (jr_revision_read(revision, path, JR_DOC_MAX_BYTES, &past.text, &err) != 0)
        (void)jr_diags_error(diags, JR_CODE_FILE_UNREADABLE, (struct jr_span){0}, NULL, "%s",
                             err.text);
    else if (!arena.failed)
        failed = load_past_spec(ret, &past, diags);
    jr_buf_release(&past.text);
    jr_arena_release(&arena);
    return failed;
}

const char *jr_side_log_dir(const struct jr_side *side, const struct jr_diff_options *options)
{
    return side->cells != NULL ? side->cells : options->log_dir;
}

void jr_side_release(struct jr_side *side)
{
    free(side->cells);
    jr_resolution_release(&side->resolution);
    jr_spec_free(side->file);
    *side = (struct jr_side)JR_SIDE_INIT;
}

bool jr_side_is_template(const struct jr_side *side)
{
    return side->file != NULL && jr_spec_get(side->file) == NULL;
}

int jr_side_load_file(struct jr_side *ret, const char *path, char *const *envp,
                      struct jr_diags *diags)
{
    const struct jr_spec_source source = {.path = path};
    const struct jr_spec_options options = {.validate = true, .environ = envp};
    ret->name = path;
    return jr_spec_load(&ret->file, &source, &options, diags);
}

/* What is loaded, and where its mistakes go. */
struct loading {
    struct jr_side *ret;
    const struct jr_diff_options *options;
    struct jr_diags *diags;
    struct jr_error *err;
};

/* Say whose a run is that is not ours. */
static void note_doubt(const struct jr_diff_options *options, const struct jr_side *side)
{
    JR_BUF_CLEANUP struct jr_buf line = JR_BUF_INIT;
    jr_buf_str(&line, "note: ");
    if (options->note != NULL &&
        jr_record_folder_doubt(&line, jr_side_log_dir(side, options), side->run) && !line.failed)
        options->note(options->data, line.data);
}

static enum jr_status load_resolved(const struct loading *loading, struct jr_arena *arena)
{
    struct jr_side *side = loading->ret;
    struct jr_record_origin origin;
    if (jr_record_origin(&origin, arena, jr_side_log_dir(side, loading->options), side->run,
                         loading->err) != 0)
        return JR_STATUS_USAGE;
    const char *path = jr_arena_printf(arena, "%s/resolved.yaml", origin.run_dir);
    if (path == NULL || jr_side_load_file(side, path, NULL, loading->diags) != 0)
        return JR_STATUS_INVALID;
    if (origin.fingerprint != NULL)
        (void)snprintf(side->fingerprint, sizeof side->fingerprint, "%s", origin.fingerprint);
    return JR_STATUS_OK;
}

/* What a run was: its resolved.yaml. */
static enum jr_status load_run(const struct loading *loading, const char *word)
{
    struct jr_arena arena = JR_ARENA_INIT;
    note_doubt(loading->options, loading->ret);
    enum jr_status status = load_resolved(loading, &arena);
    loading->ret->name = loading->ret->cells != NULL ? word : loading->ret->run;
    jr_arena_release(&arena);
    return status;
}

/* The path of a file of a revision: from the top, or, with a dot in front, from the current folder,
 * as git has it. */
static char *revision_path(const struct jr_revision *revision, const char *path, const char *here)
{
    const char *top = jr_revision_top(revision);
    bool dotted = strncmp(path, "./", 2) == 0 || strncmp(path, "../", 3) == 0;
    char *full = jr_io_absolute(dotted ? here : top, path);
    size_t len = strlen(top);
    if (full == NULL || strncmp(full, top, len) != 0 || full[len] != '/')
        return full;
    (void)memmove(full, full + len + 1, strlen(full + len));
    return full;
}

static enum jr_status refuse_side(struct jr_error *err, enum jr_status status, const char *why)
{
    (void)jr_error_set(err, status, "%s", why);
    return status;
}

static enum jr_status load_file_at_revision(const struct loading *loading,
                                            struct jr_revision *revision, const char *path)
{
    JR_FREE char *here = getcwd(NULL, 0);
    JR_FREE char *full = here == NULL ? NULL : revision_path(revision, path, here);
    if (full == NULL)
        return refuse_side(loading->err, JR_STATUS_LAUNCH, "out of memory");
    if (!jr_revision_has(revision, full)) {
        (void)jr_error_set(loading->err, JR_STATUS_INVALID,
                           "there is no file '%s' at %s (paths start at the "
                           "top of the checkout; ./FILE starts here)",
                           full, jr_revision_name(revision));
        return JR_STATUS_INVALID;
    }
    return jr_rev_load(&loading->ret->file, revision, full, loading->options->environ,
                       loading->diags) != 0
               ? JR_STATUS_INVALID
               : JR_STATUS_OK;
}

/* "REV:FILE". */
static enum jr_status load_revision(const struct loading *loading, const char *word)
{
    struct jr_revision *revision = NULL;
    const char *colon = strchr(word, ':');
    JR_FREE char *here = getcwd(NULL, 0);
    JR_FREE char *rev = strndup(word, (size_t)(colon - word));
    loading->ret->name = word;
    if (here == NULL || rev == NULL)
        return refuse_side(loading->err, JR_STATUS_LAUNCH, "out of memory");
    struct jr_error why = {0};
    if (jr_revision_open(&revision, here, rev, loading->options->environ, &why) != 0)
        return refuse_side(loading->err, why.status, why.text);
    enum jr_status status = load_file_at_revision(loading, revision, colon + 1);
    jr_revision_close(revision);
    return status;
}

/* A sweep is meant: its cell. */
static enum jr_status find_side_cell(const struct loading *loading, const char *sweep,
                                     const char *word)
{
    struct jr_side *side = loading->ret;
    const char *cell = strchr(word, '/');
    struct jr_error why = {0};
    if (cell == NULL)
        (void)jr_error_set(&why, JR_STATUS_USAGE,
                           "%s is a sweep of %zu cells: name one of them, for "
                           "example %s/0; `jobrun show %s` lists them",
                           sweep, jr_sweep_count_cells(loading->options->log_dir, sweep), word,
                           word);
    else if (jr_sweep_find_cell(&side->cells, side->run, loading->options->log_dir, sweep, cell + 1,
                                &why) == 0 &&
             jr_sweep_check_begun(side->cells, side->run, word, NULL, &why) == 0)
        return JR_STATUS_OK;
    return refuse_side(loading->err, why.status, why.text);
}

static enum jr_status find_side_run(const struct loading *loading, const char *word)
{
    const char *log_dir = loading->options->log_dir;
    struct jr_error why = {0};
    char sweep[256];
    if (jr_sweep_find(sweep, log_dir, word))
        return find_side_cell(loading, sweep, word);
    bool run = strchr(word, '/') == NULL || strstr(word, "/node_") != NULL;
    if (run && jr_record_find(loading->ret->run, log_dir, word, &why) == 0)
        return JR_STATUS_OK;
    JR_BUF_CLEANUP struct jr_buf near = JR_BUF_INIT;
    if (jr_near_file_find(&near, word))
        (void)jr_error_set(loading->err, JR_STATUS_USAGE,
                           "there is no file '%s'; did you mean '%s'?", word, near.data);
    else
        (void)jr_error_set(loading->err, JR_STATUS_USAGE,
                           "'%s' is not a file, a REV:FILE, or a run in %s%s%s", word, log_dir,
                           why.text[0] != '\0' ? ": " : "", why.text);
    return JR_STATUS_USAGE;
}

static enum jr_status load_named_side(const struct loading *loading, const char *word)
{
    if (strcmp(word, "-") == 0 || access(word, F_OK) == 0)
        return jr_side_load_file(loading->ret, word, loading->options->environ, loading->diags) != 0
                   ? JR_STATUS_INVALID
                   : JR_STATUS_OK;
    if (strchr(word, ':') != NULL)
        return load_revision(loading, word);
    enum jr_status status = find_side_run(loading, word);
    return status != JR_STATUS_OK ? status : load_run(loading, word);
}

enum jr_status jr_side_load(struct jr_side *ret, const struct jr_diff_options *options,
                            const char *word, struct jr_diags *diags, struct jr_error *err)
{
    const struct loading loading = {ret, options, diags, err};
    enum jr_status status = load_named_side(&loading, word);
    if (status != JR_STATUS_OK || !jr_side_is_template(ret))
        return status;
    (void)jr_error_set(err, JR_STATUS_INVALID, "%s is a template: there is nothing to resolve",
                       word);
    return JR_STATUS_INVALID;
}
