#include "cli/rev_reader.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "doc/doc.h"

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
