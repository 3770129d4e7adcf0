#include "doc/source_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "doc/doc.h"

#include "base/banned.h"

/* Drop the last component; false if there is none that can be. */
static bool drop_last(struct jr_buf *name, size_t root)
{
    if (name->failed)
        return false;
    const char *slash = memrchr(name->data + root, '/', name->len - root);
    size_t start = slash == NULL ? root : (size_t)(slash - name->data);
    const char *last = name->data + start + (slash != NULL);
    if (name->len == root || strcmp(last, "..") == 0)
        return false;
    name->len = start;
    name->data[start] = '\0';
    return true;
}

/* Append the components of `path`, folded, except for ".." that lead out. */
static void append_below_root(struct jr_buf *name, size_t root,
                              const char *path)
{
    for (size_t len; *path != '\0'; path += len + (path[len] == '/')) {
        len = strcspn(path, "/");
        bool up = len == 2 && strncmp(path, "..", 2) == 0;
        if (len == 0 || (len == 1 && *path == '.') ||
            (up && (drop_last(name, root) || root > 0)))
            continue;
        if (name->len > root)
            jr_buf_char(name, '/');
        jr_buf_add(name, path, len);
    }
}

const char *jr_reader_name(struct jr_arena *arena, const char *from,
                           const char *path)
{
    struct jr_buf name JR_BUF_CLEANUP = JR_BUF_INIT;
    JR_FREE char *copy = strdup(from);
    const char *folder = copy == NULL ? "." : dirname(copy);
    bool absolute = *path == '/' || *folder == '/';
    jr_buf_str(&name, absolute ? "/" : "");
    if (*path != '/')
        append_below_root(&name, absolute, folder);
    append_below_root(&name, absolute, path);
    if (copy == NULL)
        arena->failed = true;
    const char *kept = jr_buf_keep(&name, arena);
    return kept == NULL ? "" : kept;
}

static bool is_path_below(const char *path, const char *root)
{
    size_t len = strlen(root);
    while (len > 0 && root[len - 1] == '/')
        len--;
    return strncmp(path, root, len) == 0 && path[len] == '/';
}

/* The folder of an absolute path, in the arena. */
static const char *parent_folder(struct jr_arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t len = slash == NULL ? 0 : (size_t)(slash - path);
    return len == 0 ? "/" : jr_arena_strndup(arena, path, len);
}

/* Whether the path, with its ".." folded, leads below the root, without looking
 * at any file, so that nothing about other folders is revealed. */
static bool leads_below_root(const struct jr_reading *reading, const char *root)
{
    JR_FREE char *folder = realpath(reading->from->folder, NULL);
    JR_FREE char *path = NULL;
    if (folder != NULL)
        path = jr_io_absolute(folder, reading->path);
    return path != NULL && is_path_below(path, root);
}

static int refuse_outside(struct jr_reading *reading, const char *root,
                          struct jr_error *err)
{
    reading->outside = true;
    return jr_error_set(err, JR_STATUS_INVALID, "it is not below %s", root);
}

/* Why it cannot be read, without its path, which the message already has. */
static int read_reading_text(struct jr_reading *reading, const char *path,
                             struct jr_error *err)
{
    struct jr_error why = {0};
    size_t len = strlen(path);
    if (jr_io_read_file(&reading->text, AT_FDCWD, path, JR_DOC_MAX_BYTES,
                        &why) == 0)
        return 0;
    bool named = strncmp(why.text, path, len) == 0 &&
                 strncmp(why.text + len, ": ", 2) == 0;
    errno = why.sys;
    if (why.sys == ENOMEM)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "cannot be read");
    return jr_error_set(err, JR_STATUS_INVALID, "%s",
                        named ? why.text + len + 2 : why.text);
}

static int read_spec_part(const struct jr_reader *reader,
                          struct jr_reading *reading, struct jr_error *err)
{
    const char *root = reader->context;
    struct jr_arena *arena = reading->arena;
    JR_FREE char *path = jr_io_absolute(reading->from->folder, reading->path);
    errno = 0;
    if (path == NULL || !leads_below_root(reading, root)) {
        if (path != NULL && errno != ENOMEM)
            return refuse_outside(reading, root, err);
        errno = ENOMEM;
        return jr_error_sys(err, JR_STATUS_LAUNCH, "cannot be read");
    }
    JR_FREE char *real = realpath(path, NULL);
    if (real == NULL) {
        int sys = errno;
        (void)jr_error_set(err, JR_STATUS_INVALID, "%s", strerror(sys));
        if (err != NULL)
            err->sys = sys;
        return -1;
    }
    if (!is_path_below(real, root))
        return refuse_outside(reading, root, err);
    reading->file = (struct jr_file){
        .id = jr_arena_strdup(arena, real),
        .name = jr_reader_name(arena, reading->from->name, reading->path),
        .folder = parent_folder(arena, path),
    };
    return read_reading_text(reading, real, err);
}

struct jr_reader jr_reader_of_files(const char *root)
{
    return (struct jr_reader){read_spec_part, root};
}
