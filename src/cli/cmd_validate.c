/*
 * jobrun validate: check specs, on a machine that has none of the hardware;
 * resolve those that name targets, and all with --on, against those machines.
 * Executes nothing, and reads no environment but what --allow-env names; what
 * else comes from there is unknown, and judged by nothing. Findings are the
 * verb's data and go to standard output; the exit status is the lowest of what
 * the files got, 0 aside. cli.h declares it.
 */
#include <malloc.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "cli/cli.h"
#include "cli/find_specs.h"
#include "cli/fix_file.h"
#include "cli/output.h"
#include "cli/stage.h"
#include "doc/doc.h"
#include "resolve/resolve.h"
#include "spec/load.h"

#include "base/banned.h"

/* A target as a spec states it. */
struct target {
    const char *profile, *path;
    const char *written; /* the source, where ${...} had a part; or NULL */
    struct jr_span at;
};

/* The lower of two, OK aside: which verdict counts for several. */
static enum jr_status worse_status(enum jr_status a, enum jr_status b)
{
    if (a == JR_STATUS_OK || b == JR_STATUS_OK)
        return a == JR_STATUS_OK ? b : a;
    return a < b ? a : b;
}

/* Resolve the spec on a machine. `name` is told, `at` is where the spec names
 * it (line 0: it does not). Returns what jr_resolve does. */
static enum jr_status try_target(const struct jr_spec_file *file,
                                 const struct jr_host *hw, const char *name,
                                 struct jr_span at, struct jr_diags *diags)
{
    struct jr_resolution resolution = JR_RESOLUTION_INIT;
    const struct jr_resolve_options options = {.target = name, .target_at = at};
    enum jr_status status = jr_resolve(&resolution, file, hw, &options, diags);
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

/* The machine of a target. Mistakes in one that contains ${...} are reported
 * with the text of the source. */
static int load_target(struct jr_host *ret, struct jr_arena *arena,
                       const struct target *target, struct jr_diags *diags)
{
    struct jr_diags silent = JR_DIAGS_INIT;
    if (target->written == NULL)
        return jr_profile_load_target(ret, arena, target->profile, target->at,
                                      diags);
    int status = jr_profile_load_target(ret, arena, target->profile, target->at,
                                        &silent);
    if (status != 0)
        (void)jr_diags_error(diags, JR_CODE_WRONG_MACHINE_PROFILE, target->at,
                             target->path,
                             "'%s' is not a machine after substitution: '%s'",
                             target->path, target->written);
    jr_diags_release(&silent);
    return status;
}

/* Resolve the spec on each of its own targets, whose facts are read into
 * `arena` (their texts are quoted by findings). A contradiction of the spec
 * itself ends the resolving, as no machine can mend it; profiles that cannot be
 * read are all told. Returns the lowest of what the targets got, OK aside. */
static enum jr_status try_targets(const struct jr_spec_file *file,
                                  struct jr_arena *arena,
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
        struct jr_host hw;
        if (target.path == NULL)
            return JR_STATUS_LAUNCH;
        target.written = jr_spec_written(file, arena, target.path);
        target.at = jr_spec_where(file, target.path);
        const char *name = target.written != NULL
                               ? target.written
                               : path_from_folder(here, target.profile);
        if (load_target(&hw, arena, &target, diags) != 0)
            worst = JR_STATUS_INVALID;
        else if (status != JR_STATUS_INVALID)
            status = try_target(file, &hw, name, target.at, diags);
        worst = worse_status(worst, status);
    }
    return worst;
}

/* The code of what cannot be read at all. */
/* All findings, and the texts that they quote. */
struct checks {
    struct jr_arena arena;
    struct jr_diags diags;
    struct jr_checked *files;
    size_t files_count;
    struct jr_spec_file **specs;
    size_t specs_count;
    struct jr_finds finds; /* what is to be checked */
    struct jr_buf input;   /* standard input, once it was fixed */
    struct jr_host hw;     /* the machine of --on */
    const char *on;        /* its profile; NULL: none */
    bool strict;           /* a warning makes a spec invalid */
    struct jr_spec_options options;
    enum jr_status status; /* the lowest of what the files got, 0 aside */
    bool unfixed;          /* a file could not be written */
};

/* Start a file; the findings until `end_file` are its own. */
static bool begin_file(struct checks *checks, const char *name)
{
    struct jr_checked *file = jr_arena_push(&checks->arena, &checks->files,
                                            &checks->files_count, sizeof *file);
    if (file == NULL)
        return false;
    file->name = jr_arena_strdup(&checks->arena, name);
    file->first = checks->diags.count;
    file->errors = checks->diags.errors;
    file->warnings = checks->diags.warnings;
    return file->name != NULL;
}

/* Findings that others have, too, in a file that several extend, are reported
 * once. Returns whether nothing is to be reported about this one. */
static bool end_file(struct checks *checks, enum jr_status status)
{
    struct jr_checked *file = &checks->files[checks->files_count - 1];
    file->errors = checks->diags.errors - file->errors;
    file->warnings = checks->diags.warnings - file->warnings;
    file->folded = jr_diags_fold(&checks->diags, file->first);
    file->count = checks->diags.count - file->first;
    jr_diags_sort_from(&checks->diags, file->first);
    if (checks->strict && file->warnings > 0)
        status = JR_STATUS_INVALID;
    checks->status = worse_status(checks->status, status);
    return file->errors + file->warnings == file->folded;
}

/* Hold a spec that is valid in itself against the machines, if there are any:
 * a template is for none. Only that takes its values. */
static enum jr_status check_targets(struct checks *checks,
                                    struct jr_spec_file *spec)
{
    const struct jr_span nowhere = {0};
    enum jr_status status = JR_STATUS_OK;
    if (checks->on == NULL && jr_doc_get(jr_spec_tree(spec), "targets") == NULL)
        return JR_STATUS_OK;
    if (jr_spec_bind(spec, &checks->diags) != 0)
        return JR_STATUS_LAUNCH;
    if (jr_spec_get(spec) == NULL)
        return JR_STATUS_OK;
    if (checks->on != NULL)
        status =
            try_target(spec, &checks->hw, checks->on, nowhere, &checks->diags);
    if (status == JR_STATUS_INVALID)
        return status;
    return worse_status(status,
                        try_targets(spec, &checks->arena, &checks->diags));
}

static int load_checked_spec(struct checks *checks, struct jr_spec_file **ret,
                             const char *path)
{
    struct jr_spec_source source = {.path = path};
    JR_FREE char *folder = NULL;
    if (strcmp(path, "-") == 0 && checks->input.data != NULL) {
        folder = jr_spec_folder(path);
        source = (struct jr_spec_source){.name = "stdin",
                                         .folder = folder,
                                         .text = checks->input.data,
                                         .len = checks->input.len};
        checks->arena.failed |= folder == NULL;
    }
    if (checks->arena.failed)
        return -1;
    return jr_spec_load(ret, &source, &checks->options, &checks->diags);
}

static void check_file(struct checks *checks, const char *path)
{
    struct jr_spec_file **spec = jr_arena_push(
        &checks->arena, &checks->specs, &checks->specs_count, sizeof *spec);
    const char *name = strcmp(path, "-") == 0 ? "stdin" : path;
    if (spec == NULL || !begin_file(checks, name))
        return;
    enum jr_status status = JR_STATUS_INVALID;
    if (load_checked_spec(checks, spec, path) == 0)
        status = check_targets(checks, *spec);
    if (end_file(checks, status)) { /* then nobody quotes it */
        jr_spec_free(*spec);
        *spec = NULL;
    }
}

/* What cannot be looked at is a finding like any other. */
static void refuse_path(struct checks *checks, const char *path,
                        const char *why)
{
    struct jr_source *source = jr_arena_alloc(&checks->arena, sizeof *source);
    if (source == NULL || !begin_file(checks, path))
        return;
    source->name = checks->files[checks->files_count - 1].name;
    struct jr_span span = {.source = source};
    (void)jr_diags_error(&checks->diags, JR_CODE_FILE_UNREADABLE, span, NULL,
                         "cannot check it: %s", why);
    (void)end_file(checks, JR_STATUS_INVALID);
}

/* Specs come and go, by the hundred, and the memory of one does for the next:
 * it is not given back to the kernel in between. */
static void check_found_specs(struct checks *checks)
{
    enum { KEPT = 64 << 20 };
    (void)mallopt(M_TRIM_THRESHOLD, KEPT);
    for (size_t i = 0; i < checks->finds.count; i++) {
        const struct jr_found_specs *found = &checks->finds.items[i];
        if (found->why == NULL)
            check_file(checks, found->path);
        else
            refuse_path(checks, found->path, found->why);
    }
}

static bool names_input(const struct jr_cli *cli)
{
    int i = 0;
    while (i < cli->words_count && strcmp(cli->words[i], "-") != 0)
        i++;
    return i < cli->words_count;
}

/* Fix all before any is checked: the findings of one may lie in another.
 * Returns the exit status, 0 to continue. */
static int fix_found_specs(struct checks *checks, const struct jr_cli *cli)
{
    bool input = names_input(cli);
    if (input && cli->words_count > 1)
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "with --fix, - must be the only spec, because the "
                          "fixed spec goes to standard output");
    if (input)
        return jr_fix_stdin(cli, jr_fixing_check, &checks->input);
    for (size_t i = 0; i < checks->finds.count; i++) {
        const struct jr_found_specs *found = &checks->finds.items[i];
        if (found->why == NULL && !found->guessed)
            checks->unfixed |=
                jr_fix_file(cli, found->path, jr_fixing_check) != 0;
    }
    return 0;
}

/* Print what was found, beside a spec that went to standard output. CI services
 * see files from the top of the checkout. */
static int print_checks(const struct checks *checks, const struct jr_cli *cli,
                        enum jr_diag_format format)
{
    bool beside = checks->input.data != NULL;
    JR_FREE char *cwd = getcwd(NULL, 0);
    JR_FREE char *top = cwd == NULL ? NULL : jr_io_find_above(cwd, ".git");
    struct jr_diag_report report = {
        .diags = &checks->diags,
        .files = checks->files,
        .files_count = checks->files_count,
        .root = top == NULL ? cwd : top,
        .cwd = cwd,
        .strict = checks->strict,
        .color = beside ? cli->color_err : cli->color_out,
    };
    struct jr_buf out = {.failed = checks->arena.failed ||
                                   checks->status == JR_STATUS_LAUNCH};
    bool valid = jr_diag_report_valid(&report);
    if (!valid || !cli->quiet)
        jr_diags_report(&out, &report, format);
    int printed = 0;
    if (beside)
        jr_cli_err(cli, &out);
    else
        printed = jr_cli_out(cli, &out);
    if (valid)
        return checks->unfixed ? JR_STATUS_LAUNCH : printed;
    return (int)checks->status;
}

/* Say how many files a folder has that are taken for no specs. */
static void print_passed(const struct checks *checks, const struct jr_cli *cli)
{
    size_t passed = checks->finds.passed;
    if (passed > 0 && !cli->quiet)
        (void)jr_cli_say(cli, 0,
                         "%zu other YAML file%s passed over: the top level "
                         "does not have `version` and another field of a spec",
                         passed, passed == 1 ? " was" : "s were");
}

/* The machine of --on, whose mistakes are the command line's. */
static int load_target_machine(struct checks *checks, const struct jr_cli *cli)
{
    if (cli->on == NULL || jr_profile_load(&checks->hw, &checks->arena, cli->on,
                                           &checks->diags) == 0)
        return 0;
    jr_cli_diags(cli, &checks->diags);
    return (int)jr_profile_status(&checks->diags, 0);
}

static void release_checks(struct checks *checks)
{
    jr_diags_release(&checks->diags);
    for (size_t i = 0; i < checks->specs_count; i++)
        jr_spec_free(checks->specs[i]);
    jr_arena_release(&checks->arena);
    jr_buf_release(&checks->input);
}

#define WORD(name, word, help) #word,

int jr_cmd_validate(struct jr_cli *cli)
{
    static const char *const formats[] = {JR_DIAG_FORMATS(WORD) NULL};
    struct checks checks = {.on = cli->on, .strict = cli->strict};
    checks.options = jr_stage_checked(cli);
    int format = jr_cli_format(cli, formats);
    if (format < 0)
        return JR_STATUS_USAGE;
    if (cli->words_count == 0)
        return jr_cli_say(
            cli, JR_STATUS_USAGE,
            "no spec is given: jobrun validate FILE or FOLDER...");
    int status = load_target_machine(&checks, cli);
    jr_find_specs(&checks.finds, &checks.arena, cli->words, cli->words_count,
                  cli->environ);
    if (status == 0 && cli->fix)
        status = fix_found_specs(&checks, cli);
    if (status == 0) {
        check_found_specs(&checks);
        status = print_checks(&checks, cli, (enum jr_diag_format)format);
        print_passed(&checks, cli);
    }
    release_checks(&checks);
    return status;
}
