/* Which sweep and which cell a command line means. show_sweep.h declares it. */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/num.h"
#include "doc/doc.h"
#include "session/sweep/cell_stops.h"
#include "session/sweep/load_sweep.h"
#include "session/sweep/show_sweep.h"
#include "spec/sweep_options.h"
#include "store/run_folder.h"
#include "sweep/cell_result.h"
#include "sweep/cells.h"
#include "sweep/sweep_file.h"

#include "base/banned.h"

bool jr_sweep_is_folder(int log_fd, const char *name)
{
    char path[PATH_MAX];
    struct stat st;
    int len = snprintf(path, sizeof path, "%s/" JR_SWEEP_FILE, name);
    return len > 0 && (size_t)len < sizeof path && jr_run_folder_is_id(name) &&
           fstatat(log_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);
}

/* The only sweep whose id begins so. */
static bool find_by_beginning(char ret_id[static 256], int log_fd, const char *word)
{
    int again = dup(log_fd);
    DIR *entries = again < 0 ? NULL : fdopendir(again);
    const struct dirent *entry;
    size_t found = 0;
    while (entries != NULL && (entry = readdir(entries)) != NULL)
        if (strncmp(entry->d_name, word, strlen(word)) == 0 &&
            jr_sweep_is_folder(log_fd, entry->d_name)) {
            (void)stpcpy(ret_id, entry->d_name);
            found++;
        }
    if (entries != NULL)
        (void)closedir(entries);
    return found == 1;
}

bool jr_sweep_find(char ret_id[static 256], const char *log_dir, const char *word)
{
    char name[256];
    size_t len = strcspn(word, "/");
    JR_CLOSE int log_fd = open(log_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (log_fd < 0 || len == 0 || len >= sizeof name)
        return false;
    (void)snprintf(name, sizeof name, "%.*s", (int)len, word);
    if (strcmp(name, "latest") == 0) {
        ssize_t got = readlinkat(log_fd, name, ret_id, 255);
        if (got <= 0 || got >= 255)
            return false;
        ret_id[got] = '\0';
        return jr_sweep_is_folder(log_fd, ret_id);
    }
    if (jr_sweep_is_folder(log_fd, name)) {
        (void)stpcpy(ret_id, name);
        return true;
    }
    return find_by_beginning(ret_id, log_fd, name);
}

size_t jr_sweep_count_cells(const char *log_dir, const char *id)
{
    json_t *sweep = jr_load_sweep(log_dir, id, NULL);
    size_t count = json_array_size(json_object_get(sweep, "cells"));
    json_decref(sweep);
    return count;
}

/* Whether a cell has the value that stands from `text` to `end`, PATH=VALUE. */
static bool has_value(const json_t *cell, const char *text, const char *end)
{
    const char *equals = memchr(text, '=', (size_t)(end - text));
    struct jr_buf path JR_BUF_CLEANUP = JR_BUF_INIT, word JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_diags silent = JR_DIAGS_INIT;
    struct jr_doc doc = JR_DOC_INIT;
    bool same = false;
    if (equals == NULL)
        return false;
    jr_buf_add(&path, text, (size_t)(equals - text));
    jr_buf_add(&word, equals + 1, (size_t)(end - equals - 1));
    const json_t *value =
        path.data == NULL ? NULL : json_object_get(json_object_get(cell, "values"), path.data);
    if (value != NULL && word.data != NULL &&
        jr_doc_load_value(&doc, "CELL", word.data, 0, &silent) == 0 && silent.errors == 0) {
        json_t *wanted = jr_cell_value_json(doc.root);
        same = json_equal(value, wanted) != 0;
        json_decref(wanted);
    }
    jr_diags_release(&silent);
    jr_doc_release(&doc);
    return same;
}

/* Whether a cell has all values of "a=1,b=2". */
static bool has_values(const json_t *cell, const char *text)
{
    for (;;) {
        const char *end = jr_sweep_value_end(text);
        if (!has_value(cell, text, end))
            return false;
        if (*end == '\0')
            return true;
        text = end + 1;
    }
}

enum { MOST_TOLD = 8 }; /* values of a field */

/* The different values that cells have of the field `path`. */
static void add_field_values(struct jr_buf *out, const json_t *cells, const char *path)
{
    json_t *known = json_object();
    for (size_t i = 0; i < json_array_size(cells); i++) {
        struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
        const json_t *value =
            json_object_get(json_object_get(json_array_get(cells, i), "values"), path);
        if (value != NULL)
            jr_cell_result_text(&text, value);
        if (text.len == 0 || text.failed || json_object_get(known, text.data) != NULL)
            continue;
        (void)json_object_set_new(known, text.data, json_true());
        size_t count = json_object_size(known);
        if (count <= MOST_TOLD)
            jr_buf_printf(out, "%s%s", count == 1 ? "" : ", ", text.data);
        else
            break;
    }
    if (json_object_size(known) > MOST_TOLD)
        jr_buf_str(out, ", ...");
    json_decref(known);
}

/* ": vars.lr is 1, 2" for the first pair of "a=1,b=2" that no cell has. */
static void add_known_values(struct jr_buf *out, const json_t *cells, const char *text)
{
    for (;;) {
        const char *end = jr_sweep_value_end(text);
        struct jr_buf path JR_BUF_CLEANUP = JR_BUF_INIT;
        struct jr_buf values JR_BUF_CLEANUP = JR_BUF_INIT;
        size_t i = 0, len = strcspn(text, "=,");
        jr_buf_add(&path, text, len);
        while (i < json_array_size(cells) && !has_value(json_array_get(cells, i), text, end))
            i++;
        if (path.len > 0 && i == json_array_size(cells))
            add_field_values(&values, cells, path.data);
        if (values.len > 0 && !values.failed) {
            jr_buf_printf(out, ": %s is %s", path.data, values.data);
            return;
        }
        if (*end == '\0')
            return;
        text = end + 1;
    }
}

/* " 0 to 3", where no number between them is left out. */
static void add_known_numbers(struct jr_buf *out, const json_t *cells)
{
    size_t count = json_array_size(cells);
    json_int_t first = jr_json_get_int(json_array_get(cells, 0), "cell");
    json_int_t last = jr_json_get_int(json_array_get(cells, count - 1), "cell");
    if (count > 1 && last - first == (json_int_t)count - 1)
        jr_buf_printf(out, ": the cells are %lld to %lld", (long long)first, (long long)last);
    else if (count == 1)
        jr_buf_printf(out, ": the only cell is %lld", (long long)first);
}

/* `id`: of the sweep, for what is said. */
static int refuse_cell(const json_t *cells, const char *id, const char *word, bool numbered,
                       struct jr_error *err)
{
    struct jr_buf known JR_BUF_CLEANUP = JR_BUF_INIT;
    if (!numbered)
        add_known_values(&known, cells, word);
    if (known.len == 0)
        add_known_numbers(&known, cells);
    return jr_error_set(err, JR_STATUS_USAGE,
                        "the sweep has no cell '%s'%s (jobrun show %s lists them)", word,
                        known.failed || known.len == 0 ? "" : known.data, id);
}

static int find_cell_number(uint32_t *ret, const json_t *sweep, const char *id, const char *word,
                            struct jr_error *err)
{
    const json_t *cells = json_object_get(sweep, "cells");
    const char *digits = word;
    size_t found = 0;
    uint64_t number;
    while (digits[0] == '0' && digits[1] != '\0')
        digits++;
    bool numbered = jr_num_u64(digits, &number);
    for (size_t i = 0; i < json_array_size(cells); i++) {
        const json_t *cell = json_array_get(cells, i);
        json_int_t own = jr_json_get_int(cell, "cell");
        bool same = numbered ? own >= 0 && (uint64_t)own == number : has_values(cell, word);
        if (same)
            *ret = (uint32_t)own;
        found += same;
    }
    if (found == 1)
        return 0;
    if (found == 0)
        return refuse_cell(cells, id, word, numbered, err);
    return jr_error_set(err, JR_STATUS_USAGE,
                        "several cells of the sweep have %s: state more "
                        "values, or a number, as jobrun show %s lists them",
                        word, id);
}

int jr_sweep_find_cell(char **ret_dir, char ret_id[static 256], const char *log_dir,
                       const char *sweep_id, const char *cell, struct jr_error *err)
{
    uint32_t number = 0;
    char folder[16];
    json_t *sweep = jr_load_sweep(log_dir, sweep_id, err);
    int status = sweep == NULL ? -1 : find_cell_number(&number, sweep, sweep_id, cell, err);
    json_decref(sweep);
    if (status != 0)
        return -1;
    jr_cell_folder(folder, number);
    (void)stpcpy(ret_id, folder);
    if (asprintf(ret_dir, "%s/%s/" JR_SWEEP_CELLS, log_dir, sweep_id) >= 0)
        return 0;
    *ret_dir = NULL;
    return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
}

/* Append the host that a cell of that folder runs on, whose files are not here before it has ended;
 * nothing where it does not run. */
static void add_far_host(struct jr_buf *out, const char *dir, const char *id)
{
    long number = strtol(id, NULL, 10);
    JR_FREE char *log_dir = strdup(dir); /* LOG_DIR/SWEEP_ID/cells */
    char *slash = log_dir == NULL ? NULL : strrchr(log_dir, '/');
    if (slash == NULL)
        return;
    *slash = '\0';
    slash = strrchr(log_dir, '/');
    if (slash == NULL)
        return;
    *slash = '\0';
    json_t *sweep = jr_load_sweep(log_dir, slash + 1, NULL);
    const json_t *cells = json_object_get(sweep, "cells");
    for (size_t i = 0; i < json_array_size(cells); i++) {
        const json_t *cell = json_array_get(cells, i);
        const char *status = jr_json_get_str(cell, "status"), *host = jr_json_get_str(cell, "host");
        if (jr_json_get_int(cell, "cell") == number && host != NULL && status != NULL &&
            strcmp(status, "running") == 0)
            jr_buf_safe(out, host);
    }
    json_decref(sweep);
}

int jr_sweep_check_begun(const char *dir, const char *id, const char *word, const char *verb,
                         struct jr_error *err)
{
    char found[256];
    const struct jr_far_cell cell = {dir, id};
    struct jr_buf host JR_BUF_CLEANUP = JR_BUF_INIT, line JR_BUF_CLEANUP = JR_BUF_INIT;
    if (jr_record_find(found, dir, id, NULL) == 0)
        return 0;
    add_far_host(&host, dir, id);
    if (host.len == 0 || host.failed)
        return jr_error_set(err, JR_STATUS_USAGE,
                            "cell %s has not begun, or its folder was removed: jobrun show %.*s",
                            word, (int)strcspn(word, "/"), word);
    if (verb != NULL)
        jr_far_cell_command(&line, &cell, verb);
    return jr_error_set(
        err, JR_STATUS_USAGE, "cell %s runs on %s, and its files come here when it has ended%s%s",
        word, host.data, line.len > 0 ? "; until then: " : "", line.len > 0 ? line.data : "");
}
