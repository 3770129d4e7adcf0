#include "cli/diff_side.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "cli/cmd_runs.h"
#include "cli/output.h"
#include "doc/doc.h"
#include "record/run_list.h"
#include "report/compare_runs.h"

#include "base/banned.h"

/* The finding that a file cannot be read. */
/* The path from the top of what lies below it; NULL for anything else. */
static const char *file_path_from_top(const struct jr_revision *revision,
                                      const char *path)
{
    const char *top = jr_revision_top(revision);
    size_t len = strlen(top);
    if (strncmp(path, top, len) != 0 || path[len] != '/')
        return NULL;
    return path + len + 1;
}

/* What is known of a file at `path`, absolute. */
static struct jr_file file_at(struct jr_arena *arena,
                              const struct jr_revision *revision,
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

static int read_parent(const struct jr_reader *reader,
                       struct jr_reading *reading, struct jr_error *err)
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
    return jr_revision_read(revision, rest, JR_DOC_MAX_BYTES, &reading->text,
                            err);
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
    const struct jr_spec_source source = {
        .name = past->file.name,
        .folder = past->file.folder,
        .text = past->text.len > 0 ? past->text.data : "",
        .len = past->text.len};
    const struct jr_spec_options options = {.root =
                                                jr_revision_top(past->revision),
                                            .reader = &reader,
                                            .environ = past->environ,
                                            .validate = true};
    return jr_spec_load(ret, &source, &options, diags);
}

int jr_rev_load(struct jr_spec_file **ret, struct jr_revision *revision,
                const char *path, char *const *envp, struct jr_diags *diags)
{
    struct jr_arena arena = JR_ARENA_INIT;
    struct past past = {.revision = revision, .environ = envp};
    struct jr_error err = {0};
    int failed = -1;
    *ret = NULL;
    const char *full =
        jr_arena_printf(&arena, "%s/%s", jr_revision_top(revision), path);
    if (full == NULL)
        return -1;
    past.file = file_at(&arena, revision, full);
    if (jr_revision_read(revision, path, JR_DOC_MAX_BYTES, &past.text, &err) !=
        0)
        (void)jr_diags_error(diags, JR_CODE_FILE_UNREADABLE,
                             (struct jr_span){0}, NULL, "%s", err.text);
    else if (!arena.failed)
        failed = load_past_spec(ret, &past, diags);
    jr_buf_release(&past.text);
    jr_arena_release(&arena);
    return failed;
}

void jr_side_release(struct jr_side *side)
{
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

/* What a run was: its resolved.yaml. */
static int load_run(struct jr_side *ret, const struct jr_cli *cli,
                    struct jr_diags *diags)
{
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_record_origin origin;
    struct jr_error err = {0};
    int status = JR_STATUS_OK;
    jr_cli_say_whose(cli, ret->run);
    if (jr_record_origin(&origin, &arena, jr_cli_log_dir(cli), ret->run,
                         &err) != 0) {
        status = jr_cli_say(cli, JR_STATUS_USAGE, "%s", err.text);
    } else {
        const char *path =
            jr_arena_printf(&arena, "%s/resolved.yaml", origin.run_dir);
        if (path == NULL || jr_side_load_file(ret, path, NULL, diags) != 0)
            status = JR_STATUS_INVALID;
        else if (origin.fingerprint != NULL)
            (void)snprintf(ret->fingerprint, sizeof ret->fingerprint, "%s",
                           origin.fingerprint);
    }
    ret->name = ret->run;
    jr_arena_release(&arena);
    return status;
}

/* The path of a file of a revision: from the top, or, with a dot in front, from
 * the current folder, as git has it. */
static char *revision_path(const struct jr_revision *revision, const char *path,
                           const char *here)
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

static int load_file_at_revision(struct jr_side *ret, const struct jr_cli *cli,
                                 struct jr_revision *revision, const char *path,
                                 struct jr_diags *diags)
{
    JR_FREE char *here = getcwd(NULL, 0);
    JR_FREE char *full =
        here == NULL ? NULL : revision_path(revision, path, here);
    if (full == NULL)
        return jr_cli_say(cli, JR_STATUS_LAUNCH, "out of memory");
    if (!jr_revision_has(revision, full))
        return jr_cli_say(cli, JR_STATUS_INVALID,
                          "there is no file '%s' at %s (paths start at the top "
                          "of the checkout; ./FILE starts here)",
                          full, jr_revision_name(revision));
    return jr_rev_load(&ret->file, revision, full, cli->environ, diags) != 0
               ? JR_STATUS_INVALID
               : JR_STATUS_OK;
}

/* "REV:FILE". */
static int load_revision(struct jr_side *ret, const struct jr_cli *cli,
                         const char *word, struct jr_diags *diags)
{
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_revision *revision = NULL;
    struct jr_error err = {0};
    const char *colon = strchr(word, ':');
    JR_FREE char *here = getcwd(NULL, 0);
    const char *rev = jr_arena_strndup(&arena, word, (size_t)(colon - word));
    int status;
    ret->name = word;
    if (here == NULL || rev == NULL)
        status = jr_cli_say(cli, JR_STATUS_LAUNCH, "out of memory");
    else if (jr_revision_open(&revision, here, rev, cli->environ, &err) != 0)
        status = jr_cli_say(cli, (int)err.status, "%s", err.text);
    else
        status = load_file_at_revision(ret, cli, revision, colon + 1, diags);
    jr_revision_close(revision);
    jr_arena_release(&arena);
    return status;
}

static int find_side_run(struct jr_side *ret, const struct jr_cli *cli,
                         const char *word)
{
    struct jr_error err = {0};
    bool run = strchr(word, '/') == NULL || strstr(word, "/node_") != NULL;
    if (run && jr_record_find(ret->run, jr_cli_log_dir(cli), word, &err) == 0)
        return 0;
    return jr_cli_say(cli, JR_STATUS_USAGE,
                      "'%s' is not a file, a REV:FILE, or a run in %s%s%s",
                      word, jr_cli_log_dir(cli),
                      err.text[0] != '\0' ? ": " : "", err.text);
}

static int load_named_side(struct jr_side *ret, const struct jr_cli *cli,
                           const char *word, struct jr_diags *diags)
{
    if (strcmp(word, "-") == 0 || access(word, F_OK) == 0)
        return jr_side_load_file(ret, word, cli->environ, diags) != 0
                   ? JR_STATUS_INVALID
                   : JR_STATUS_OK;
    if (strchr(word, ':') != NULL)
        return load_revision(ret, cli, word, diags);
    int status = find_side_run(ret, cli, word);
    return status != 0 ? status : load_run(ret, cli, diags);
}

int jr_side_load(struct jr_side *ret, const struct jr_cli *cli,
                 const char *word, struct jr_diags *diags)
{
    int status = load_named_side(ret, cli, word, diags);
    if (status == 0 && jr_side_is_template(ret))
        return jr_cli_say(cli, JR_STATUS_INVALID,
                          "%s is a template: there is nothing to resolve",
                          word);
    return status;
}
