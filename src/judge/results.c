/* What the ranks delivered, found and parsed: see internal.h. */
#include "judge/internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/json.h"
#include "judge/artifacts.h"
#include "judge/result_checks.h"
#include "run/policies/pin_results.h"

#include "base/banned.h"

const char *jr_result_name(const char *path)
{
    const char *slash = path[0] == '/' ? NULL : strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* The file that rank `i` delivers by; NULL: there is none. */
static const char *find_source_path(const struct jr_judge *judge, size_t i)
{
    const struct jr_plan_rank *rank = jr_plan_of(judge->plan, i);
    if (judge->wants->from == JR_FROM_STDOUT)
        return rank->out_path;
    if (judge->wants->from == JR_FROM_STDERR)
        return rank->err_path;
    return rank->result_path;
}

const char *jr_result_source(const struct jr_judge *judge, size_t i)
{
    const char *path = find_source_path(judge, i);
    return path == NULL ? "the result" : jr_result_name(path);
}

static void report_unreadable(struct jr_judge *judge, size_t i, const char *name,
                              const struct jr_error *err)
{
    if (!jr_judge_required(judge, i))
        return;
    bool absent = err->sys == ENOENT || err->sys == ENOTDIR;
    judge->report->ranks[i].unwritten = absent && !judge->plan->returns &&
                                        judge->wants->from == JR_FROM_FILE &&
                                        judge->wants->file == NULL;
    if (absent)
        jr_judge_fault(judge, i, JR_RESULT_MISSING, "%s was not written", name);
    else if (err->sys == ELOOP)
        jr_judge_fault(judge, i, JR_RESULT_MISSING, "%s is a symbolic link, which is not followed",
                       name);
    else
        jr_judge_fault(judge, i, JR_RESULT_MISSING, "%s: %s", name, err->text);
}

/* Note a fault of a rank that must deliver. What another rank left is then no result, and no fault.
 * Always false. */
#define REFUSE(judge, i, ...)                                                                      \
    (jr_judge_required(judge, i) ? jr_judge_fault(judge, i, __VA_ARGS__) : (void)0, false)

/* Whether it is what the rank had delivered when it ended. */
static bool is_result_kept(struct jr_judge *judge, size_t i, const char *name,
                           const struct stat *st)
{
    const struct jr_rank_outcome *rank = &judge->outcome->ranks[i];
    const char *when = judge->plan->returns ? "returned" : "ended";
    if (!rank->pinned || !jr_judge_required(judge, i) || jr_pin_is(&rank->result, st, rank->far))
        return true;
    if (!rank->result.there)
        return REFUSE(judge, i, JR_RESULT_MISSING,
                      "%s was not there when the rank ended: what was written later does not count",
                      name);
    return REFUSE(judge, i, JR_RESULT_CHANGED,
                  "%s was changed after the rank had %s (%" PRIu64 " bytes then, %lld now)", name,
                  when, rank->result.size, (long long)st->st_size);
}

bool jr_result_is_old_link(const struct jr_judge *judge, const struct stat *st)
{
    uint64_t began = judge->outcome->started_wall_ns / 1000000000;
    return st->st_nlink > 1 && (uint64_t)st->st_mtim.tv_sec < began;
}

/* Whether the file can be the rank's result, before a byte of it is read. */
static bool is_result_fit(struct jr_judge *judge, size_t i, const char *name, int fd,
                          const struct stat *st)
{
    if (!is_result_kept(judge, i, name, st))
        return false;
    const char *stale = jr_artifact_stale_result(judge, i, fd, st);
    if (stale != NULL)
        return REFUSE(judge, i, JR_RESULT_STALE, "%s %s", name, stale);
    if (st->st_size == 0)
        return REFUSE(judge, i, JR_RESULT_EMPTY, "%s is empty", name);
    if ((uint64_t)st->st_size <= judge->limit)
        return true;
    return REFUSE(judge, i, JR_RESULT_TOO_LARGE,
                  "%s has %lld bytes, more than results.limit (%s) allows; "
                  "write large data to a file of `artifacts`",
                  name, (long long)st->st_size, judge->limit_text);
}

/* Read all of it once; what it was before, it must be afterwards. */
static bool read_result_file(struct jr_judge *judge, size_t i, int fd, struct jr_buf *ret)
{
    const char *name = jr_result_name(jr_plan_of(judge->plan, i)->result_path);
    struct jr_error err = {0};
    struct stat before, after;
    if (fstat(fd, &before) != 0)
        return REFUSE(judge, i, JR_RESULT_MISSING, "%s could not be read", name);
    jr_judge_see(judge, i, NULL, &before);
    if (!is_result_fit(judge, i, name, fd, &before))
        return false;
    struct jr_pin pin;
    jr_pin_fill(&pin, &before);
    int failed = jr_io_read_fd(ret, fd, (size_t)before.st_size, &err);
    if (failed == 0)
        pin.digest = jr_pin_digest(ret->data, ret->len);
    if (fstat(fd, &after) != 0 || !jr_pin_is(&pin, &after, false))
        return REFUSE(judge, i, JR_RESULT_CHANGED, "%s was changed while it was read", name);
    if (failed != 0)
        return REFUSE(judge, i, JR_RESULT_MISSING, "%s: %s", name, err.text);
    const struct jr_rank_outcome *rank = &judge->outcome->ranks[i];
    if (!rank->pinned || rank->result.digest == 0 || rank->result.digest == pin.digest ||
        !jr_judge_required(judge, i))
        return true;
    return REFUSE(judge, i, JR_RESULT_CHANGED,
                  "%s was changed after the rank had ended: it has the size and the times that it "
                  "had, and holds something else",
                  name);
}

static bool is_field_named(char *const *names, uint32_t count, const char *key)
{
    for (uint32_t n = 0; n < count; n++)
        if (strcmp(names[n], key) == 0)
            return true;
    return false;
}

/* Of a large result, what is checked: of a field its type, of what is compared all of it. */
static enum jr_json_kept find_kept_field(const void *data, const char *key)
{
    const struct jr_results *wants = data;
    if (is_field_named(wants->equal, wants->equal_count, key) ||
        is_field_named(wants->distinct, wants->distinct_count, key))
        return JR_JSON_KEPT_WHOLE;
    for (uint32_t f = 0; f < wants->fields_count; f++)
        if (strcmp(wants->fields[f].name, key) == 0)
            return wants->fields[f].enums_count > 0 ? JR_JSON_KEPT_WHOLE : JR_JSON_KEPT_HEAD;
    return JR_JSON_KEPT_NOT;
}

/* As a tree, a large result would take many times its size. It is one where secrets are to be found
 * in it, or it is on its way to who judges the run. */
static json_t *parse_result(struct jr_judge *judge, size_t i, struct jr_buf *text,
                            struct jr_error *err)
{
    const struct jr_json_keep keep = {find_kept_field, judge->wants};
    char *const *hidden = judge->plan->hidden;
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    if (text->len <= JR_JSON_PIECE || judge->apart || (hidden != NULL && hidden[0] != NULL))
        return jr_json_parse(text->data, text->len, err);
    jr_buf_reserve(&line, text->len);
    json_t *head = jr_json_pieces(&line, text->data, text->len, &keep, err);
    jr_buf_release(text);
    if (head == NULL)
        return NULL;
    judge->report->ranks[i].text = json_stringn_nocheck(line.data, line.len);
    judge->report->arena.failed |= judge->report->ranks[i].text == NULL;
    return head;
}

/* The file that the rank wrote, parsed; NULL with the fault noted. */
static json_t *take_file_result(struct jr_judge *judge, size_t i)
{
    const char *path = jr_plan_of(judge->plan, i)->result_path;
    const char *name = jr_result_name(path);
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    struct jr_error err = {0};
    JR_CLOSE int fd = jr_run_file_open(judge->run_fd, path, &err);
    if (fd < 0) {
        report_unreadable(judge, i, name, &err);
        return NULL;
    }
    if (!read_result_file(judge, i, fd, &text))
        return NULL;
    json_t *result = parse_result(judge, i, &text, &err);
    if (result == NULL && err.sys == ERANGE)
        jr_judge_fault(judge, i, JR_RESULT_NOT_JSON, "%s: %s", name, err.text);
    else if (result == NULL)
        jr_judge_fault(judge, i, JR_RESULT_NOT_JSON, "%s is not JSON: %s", name, err.text);
    return result;
}

static json_t *take_stream_result(struct jr_judge *judge, size_t i, const char *path,
                                  const char *stream)
{
    if (path != NULL)
        return jr_pattern_find(judge, i, path);
    if (jr_judge_required(judge, i))
        jr_judge_fault(judge, i, JR_RESULT_MISSING, "%s was not captured", stream);
    return NULL;
}

/* --inject noresult */
static bool is_result_withheld(const struct jr_judge *judge, uint32_t rank)
{
    const struct jr_plan *plan = judge->plan;
    for (uint32_t k = 0; k < plan->injections_count; k++) {
        const struct jr_injection *row = &plan->injections[k];
        if (row->what == JR_INJECT_NORESULT && rank >= row->first && rank <= row->last &&
            (rank - row->first) % row->step == 0)
            return true;
    }
    return false;
}

/* What a function or a step leaves behind is its result only if it returned, in the rank's own
 * process. */
static bool has_returned(struct jr_judge *judge, size_t i)
{
    const struct jr_rank_outcome *rank = &judge->outcome->ranks[i];
    bool library = judge->plan->form == JR_FORM_LIBRARY;
    const char *what = library ? "step" : "function";
    if (!judge->plan->returns || rank->returned)
        return true;
    if (!jr_judge_required(judge, i))
        return false;
    if (rank->returned_by != 0)
        jr_judge_fault(judge, i, JR_RESULT_MISSING,
                       "its %s returned in process %d, which is not the one that jobrun started: "
                       "a wrapper must exec the program that it starts, and a fork is not the rank",
                       what, (int)rank->returned_by);
    else
        jr_judge_fault(judge, i, JR_RESULT_MISSING,
                       "its %s did not return: the process ended before that (%s)", what,
                       library ? "exit, _exit or exec" : "sys.exit, os._exit or exec");
    return false;
}

void jr_result_find(struct jr_judge *judge, size_t i)
{
    const struct jr_plan_rank *rank = jr_plan_of(judge->plan, i);
    struct jr_rank_judgement *report = &judge->report->ranks[i];
    if (is_result_withheld(judge, rank->rank)) {
        jr_judge_fault(judge, i, JR_RESULT_MISSING, "%s was withheld by --inject",
                       jr_result_source(judge, i));
        return;
    }
    if (!has_returned(judge, i))
        return;
    switch (judge->wants->from) {
    case JR_FROM_FILE:
    case JR_FROM_RETURN: /* the worker writes it to the same file */
        report->result = rank->result_path == NULL ? NULL : take_file_result(judge, i);
        break;
    case JR_FROM_STDOUT:
        report->result = take_stream_result(judge, i, rank->out_path, "standard output");
        break;
    case JR_FROM_STDERR:
        report->result = take_stream_result(judge, i, rank->err_path, "standard error");
        break;
    }
}

/* Files that were read, by what they are. */
static int compare_seen_files(const void *a, const void *b)
{
    const struct jr_seen *x = a, *y = b;
    if (x->dev != y->dev)
        return x->dev < y->dev ? -1 : 1;
    if (x->ino != y->ino)
        return x->ino < y->ino ? -1 : 1;
    return (x->i > y->i) - (x->i < y->i);
}

static const char *find_seen_path(const struct jr_judge *judge, const struct jr_seen *file)
{
    return file->artifact != NULL ? file->artifact : find_source_path(judge, file->i);
}

/* Whether two ranks have it by one path. That of an artifact begins in the rank's working folder,
 * and that of a result in the run folder. */
static bool is_same_place(const struct jr_judge *judge, const struct jr_seen *a,
                          const struct jr_seen *b)
{
    const char *path = find_seen_path(judge, a);
    const char *here = jr_plan_of(judge->plan, a->i)->workdir;
    const char *there = jr_plan_of(judge->plan, b->i)->workdir;
    if (strcmp(path, find_seen_path(judge, b)) != 0)
        return false;
    return path[0] == '/' || ((a->artifact == NULL) == (b->artifact == NULL) &&
                              (a->artifact == NULL || strcmp(here, there) == 0));
}

/* The file is that of another rank, too. If the path is the same, it is the
 * result of the rank that must deliver; through a link, its owner is not known.
 */
static void refuse_shared_file(struct jr_judge *judge, const struct jr_seen *file,
                               const struct jr_seen *first, const struct jr_seen *end)
{
    struct jr_rank_judgement *report = &judge->report->ranks[file->i];
    const struct jr_seen *other = first; /* who has it by another path */
    while (other < end && (other->i == file->i || is_same_place(judge, other, file)))
        other++;
    bool required = jr_judge_required(judge, file->i);
    if ((required || file->artifact != NULL) && other < end)
        jr_judge_fault(judge, file->i, JR_RESULT_MISSING,
                       "%s%s is also the file%s%s of rank %u: a link to the %s of "
                       "another rank does not count",
                       file->artifact == NULL ? "" : "artifact ",
                       file->artifact == NULL ? jr_result_source(judge, file->i) : file->artifact,
                       other->artifact == NULL ? "" : " ",
                       other->artifact == NULL ? "" : other->artifact,
                       jr_plan_of(judge->plan, other->i)->rank,
                       other->artifact == NULL ? "result" : "artifact");
    if (required || file->artifact != NULL)
        return;
    json_decref(report->result);
    json_decref(report->text);
    report->result = report->text = NULL;
}

void jr_result_part(struct jr_judge *judge)
{
    struct jr_seen *seen = judge->seen, *end = seen + judge->seen_count;
    if (judge->seen_count > 1)
        qsort(seen, judge->seen_count, sizeof *seen, compare_seen_files);
    for (struct jr_seen *first = seen, *next; first < end; first = next) {
        next = first + 1;
        while (next < end && first->dev == next->dev && first->ino == next->ino)
            next++;
        for (struct jr_seen *file = first; file < next && next - first > 1; file++)
            refuse_shared_file(judge, file, first, next);
    }
}
