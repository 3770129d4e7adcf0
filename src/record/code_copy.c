#include "record/code_copy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/strv.h"
#include "record/multinode.h"
#include "record/record_code.h"
#include "record/record_folder.h"

#include "base/banned.h"

/* Why there is no copy, and what there is. */
static int report_none(const char *log_dir, const char *id,
                       struct jr_error *err)
{
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_record_code code;
    JR_CLOSE int fd = jr_record_folder_open(log_dir, id, NULL);
    json_t *run = fd < 0 ? NULL : jr_record_folder_json(fd, "run.json", NULL);
    (void)jr_record_code_read(&code, &arena, run);
    const char *why = code.frozen ? "its copy was removed"
                                  : "it was not frozen (code: freeze)";
    (void)jr_error_set(
        err, JR_STATUS_USAGE, "run %s has no copy of its code: %s%s", id, why,
        code.tree == NULL ? ""
        : code.patch      ? "; its record has the commit, and " JR_PATCH_FILE
                          : "; its record has the commit");
    json_decref(run);
    jr_arena_release(&arena);
    return -1;
}

int jr_record_code_folders(struct jr_buf *out, const char *log_dir,
                           const char *id, struct jr_error *err)
{
    struct jr_arena arena = JR_ARENA_INIT;
    JR_FREE char *real = realpath(log_dir, NULL);
    struct jr_strv ids = jr_multinode_ids(&arena, log_dir, id);
    struct stat st;
    bool any = false;
    for (size_t i = 0; real != NULL && i < ids.count; i++) {
        const char *path =
            jr_arena_printf(&arena, "%s/%s/" JR_CODE_DIR, real, ids.items[i]);
        if (path == NULL || lstat(path, &st) != 0 || !S_ISDIR(st.st_mode))
            continue;
        jr_buf_printf(out, "%s\n", path);
        any = true;
    }
    bool failed = arena.failed;
    jr_arena_release(&arena);
    if (failed)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    return any ? 0 : report_none(log_dir, id, err);
}
