#include "record/record_code.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/strv.h"
#include "record/internal.h"
#include "record/multinode.h"
#include "record/record_folder.h"
#include "store/run_folder.h"

#include "base/banned.h"

enum { SHORT = 12, MOST_SHOWN = 5 };

/* What is named of the files that are left out, so that run.json stays small.
 */
enum { MOST_NAMED = 1000, MOST_NAMES = 64 << 10 };

static json_t *left_out_json(const struct jr_record_code *code)
{
    json_t *list = json_array();
    size_t bytes = 0;
    for (size_t i = 0; i < code->left_out_count && i < MOST_NAMED; i++) {
        const struct jr_record_left_out *one = &code->left_out[i];
        bytes += strlen(one->path);
        if (bytes > MOST_NAMES)
            break;
        json_t *entry = json_object();
        jr_json_set_str(entry, "path", one->path);
        jr_json_set_str(entry, "why", one->why);
        jr_json_append(list, entry);
    }
    return list;
}

static json_t *texts_json(char *const *texts)
{
    json_t *list = json_array();
    size_t bytes = 0;
    for (size_t i = 0; texts != NULL && texts[i] != NULL && i < MOST_NAMED; i++) {
        bytes += strlen(texts[i]);
        if (bytes > MOST_NAMES)
            break;
        jr_json_append(list, jr_json_str(texts[i]));
    }
    return list;
}

json_t *jr_record_code_json(const struct jr_record_code *code)
{
    json_t *object = json_object();
    jr_json_set_str(object, "commit", code->commit);
    if (code->tree == NULL)
        jr_json_set_null(object, "dirty");
    else
        jr_json_set_bool(object, "dirty", code->dirty);
    jr_json_set_str(object, "tree", code->tree);
    jr_json_set_str(object, "patch", code->patch ? JR_PATCH_FILE : NULL);
    jr_json_set(object, "left_out", left_out_json(code));
    jr_json_set_int(object, "left_out_count", (json_int_t)code->left_out_all);
    jr_json_set_bool(object, "frozen", code->frozen);
    if (code->frozen) {
        jr_json_set_int(object, "files", (json_int_t)code->files);
        jr_json_set_int(object, "bytes", (json_int_t)code->bytes);
        jr_json_set(object, "links", texts_json(code->links));
        jr_json_set_int(object, "links_count", (json_int_t)code->links_all);
    }
    jr_json_set_str(object, "top", code->top);
    jr_json_set(object, "specs", texts_json(code->specs));
    jr_json_set_str(object, "problem", code->problem);
    return object;
}

static void read_left_out(struct jr_record_code *ret, struct jr_arena *arena, const json_t *list)
{
    size_t count = json_array_size(list);
    struct jr_record_left_out *items = jr_arena_array(arena, count, sizeof *items);
    for (size_t i = 0; i < count && items != NULL; i++) {
        const json_t *entry = json_array_get(list, i);
        const char *path = jr_json_get_str(entry, "path");
        const char *why = jr_json_get_str(entry, "why");
        if (path != NULL)
            items[ret->left_out_count++] =
                (struct jr_record_left_out){path, why == NULL ? "unknown" : why};
    }
    ret->left_out = items;
}

/* A number of the record, which anybody may have written: `least` at least. */
static size_t read_count(const json_t *code, const char *key, size_t least)
{
    json_int_t count = jr_json_get_int(code, key);
    return count > (json_int_t)least ? (size_t)count : least;
}

bool jr_record_code_read(struct jr_record_code *ret, struct jr_arena *arena, const json_t *run)
{
    const json_t *code = json_object_get(run, "code");
    *ret = (struct jr_record_code){0};
    if (!json_is_object(code))
        return false;
    ret->commit = jr_json_get_str(code, "commit");
    ret->tree = jr_json_get_str(code, "tree");
    ret->top = jr_json_get_str(code, "top");
    ret->dirty = jr_json_get_bool(code, "dirty");
    ret->patch = jr_json_get_str(code, "patch") != NULL;
    ret->problem = jr_json_get_str(code, "problem");
    ret->specs = jr_results_texts(arena, json_object_get(code, "specs")).items;
    read_left_out(ret, arena, json_object_get(code, "left_out"));
    ret->left_out_all = read_count(code, "left_out_count", ret->left_out_count);
    ret->frozen = jr_json_get_bool(code, "frozen");
    ret->files = read_count(code, "files", 0);
    ret->bytes = read_count(code, "bytes", 0);
    struct jr_strv links = jr_results_texts(arena, json_object_get(code, "links"));
    ret->links = links.items;
    ret->links_all = read_count(code, "links_count", links.count);
    return true;
}

/* How many there are besides those that were named, if any were. */
static void add_rest(struct jr_buf *out, size_t named, size_t all)
{
    if (all > named && named > 0)
        jr_buf_printf(out, " and %zu more", all - named);
    else if (all > named)
        jr_buf_printf(out, "%zu that the record does not name", all);
}

static void print_left_out(struct jr_buf *out, const struct jr_record_code *code)
{
    size_t shown = 0;
    if (code->left_out_all == 0)
        return;
    jr_buf_str(out, "; not, or not whole, in the patch: ");
    for (; shown < code->left_out_count && shown < MOST_SHOWN; shown++) {
        jr_buf_str(out, shown == 0 ? "" : ", ");
        jr_buf_safe(out, code->left_out[shown].path);
        jr_buf_str(out, " (");
        jr_buf_safe(out, code->left_out[shown].why);
        jr_buf_char(out, ')');
    }
    add_rest(out, shown, code->left_out_all);
}

void jr_record_size(struct jr_buf *out, uint64_t bytes)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
    double size = (double)bytes / 1024;
    size_t unit = 0;
    for (; size >= 1024 && unit < 3; unit++)
        size /= 1024;
    jr_buf_printf(out, "%.1f %s", size, units[unit]);
}

static void print_frozen(struct jr_buf *out, const struct jr_record_code *code)
{
    size_t shown = 0;
    jr_buf_printf(out, "; frozen: %" PRIu64 " files, ", code->files);
    jr_record_size(out, code->bytes);
    if (code->links_all == 0)
        return;
    jr_buf_str(out, ", and links to the original: ");
    for (; code->links != NULL && code->links[shown] != NULL && shown < MOST_SHOWN; shown++) {
        jr_buf_str(out, shown == 0 ? "" : ", ");
        jr_buf_safe(out, code->links[shown]);
    }
    add_rest(out, shown, code->links_all);
}

static void print_hash(struct jr_buf *out, const char *hash)
{
    jr_buf_escaped(out, hash, strnlen(hash, SHORT));
}

void jr_record_code_print(struct jr_buf *out, const struct jr_record_code *code)
{
    if (code->tree == NULL) {
        jr_buf_str(out, "not recorded");
        if (code->problem != NULL) {
            jr_buf_str(out, ": ");
            jr_buf_safe(out, code->problem);
        }
        return;
    }
    if (code->commit == NULL) {
        jr_buf_str(out, "no commit yet");
    } else {
        jr_buf_str(out, "commit ");
        print_hash(out, code->commit);
    }
    jr_buf_str(out, ", tree ");
    print_hash(out, code->tree);
    if (code->dirty)
        jr_buf_str(out, ", with changes that were not committed");
    if (code->patch)
        jr_buf_str(out, " (" JR_PATCH_FILE ")");
    print_left_out(out, code);
    if (code->frozen)
        print_frozen(out, code);
}

/* Why there is no copy, and what there is. */
static int report_none(const char *log_dir, const char *id, struct jr_error *err)
{
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_record_code code;
    JR_CLOSE int fd = jr_record_folder_open(log_dir, id, NULL);
    json_t *run = fd < 0 ? NULL : jr_record_folder_json(fd, "run.json", NULL);
    (void)jr_record_code_read(&code, &arena, run);
    const char *why = code.frozen ? "its copy was removed" : "it was not frozen (code: freeze)";
    (void)jr_error_set(err, JR_STATUS_USAGE, "run %s has no copy of its code: %s%s", id, why,
                       code.tree == NULL ? ""
                       : code.patch      ? "; its record has the commit, and " JR_PATCH_FILE
                                         : "; its record has the commit");
    json_decref(run);
    jr_arena_release(&arena);
    return -1;
}

int jr_record_code_folders(struct jr_buf *out, const char *log_dir, const char *id,
                           struct jr_error *err)
{
    struct jr_arena arena = JR_ARENA_INIT;
    JR_FREE char *real = realpath(log_dir, NULL);
    struct jr_strv ids = jr_multinode_ids(&arena, log_dir, id);
    struct stat st;
    bool any = false;
    for (size_t i = 0; real != NULL && i < ids.count; i++) {
        const char *path = jr_arena_printf(&arena, "%s/%s/" JR_CODE_DIR, real, ids.items[i]);
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
