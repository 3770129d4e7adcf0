/* The reader of swept_spec.h: what was read once is not read again, so that all
 * cells are of the same parents. What could not be read is tried again. */
#include <string.h>

#include "sweep/swept_spec.h"

#include "base/banned.h"

struct read_file {
    const char *path, *folder, *name; /* as they were asked for */
    struct jr_file file;
    const char *text;
    size_t len;
    struct read_file *next;
};

static const struct read_file *find_read_file(const struct jr_swept_spec *swept,
                                              const struct jr_reading *reading)
{
    const struct read_file *file = swept->read;
    while (file != NULL && (strcmp(file->path, reading->path) != 0 ||
                            strcmp(file->folder, reading->from->folder) != 0 ||
                            strcmp(file->name, reading->from->name) != 0))
        file = file->next;
    return file;
}

/* Remember what was read; without memory it is read again. */
static void keep_read_file(struct jr_swept_spec *swept,
                           const struct jr_reading *reading)
{
    struct jr_arena *arena = &swept->arena;
    struct read_file *file = jr_arena_alloc(arena, sizeof *file);
    if (file == NULL)
        return;
    *file = (struct read_file){
        .path = jr_arena_strdup(arena, reading->path),
        .folder = jr_arena_strdup(arena, reading->from->folder),
        .name = jr_arena_strdup(arena, reading->from->name),
        .file = {.id = jr_arena_strdup(arena, reading->file.id),
                 .name = jr_arena_strdup(arena, reading->file.name),
                 .folder = jr_arena_strdup(arena, reading->file.folder)},
        .text = jr_arena_strndup(
            arena, reading->text.data == NULL ? "" : reading->text.data,
            reading->text.len),
        .len = reading->text.len,
        .next = swept->read};
    if (!arena->failed)
        swept->read = file;
}

static int read_once(const struct jr_reader *reader, struct jr_reading *reading,
                     struct jr_error *err)
{
    union {
        const void *given;
        struct jr_swept_spec *swept;
    } context = {reader->context}; /* it was made of one that is not constant */
    struct jr_swept_spec *swept = context.swept;
    const struct read_file *file = find_read_file(swept, reading);
    if (file == NULL) {
        int status = swept->files.read(&swept->files, reading, err);
        if (status == 0)
            keep_read_file(swept, reading);
        return status;
    }
    struct jr_arena *arena = reading->arena;
    reading->file =
        (struct jr_file){.id = jr_arena_strdup(arena, file->file.id),
                         .name = jr_arena_strdup(arena, file->file.name),
                         .folder = jr_arena_strdup(arena, file->file.folder)};
    jr_buf_add(&reading->text, file->text, file->len);
    if (!arena->failed && !reading->text.failed)
        return 0;
    (void)jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    return -1;
}

void jr_cached_reader_init(struct jr_swept_spec *swept)
{
    swept->reader = (struct jr_reader){read_once, swept};
}
