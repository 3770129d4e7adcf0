#include "judge.h"

#include <errno.h>
#include <string.h>

#include "left.h"

#include "banned.h"

/* Beyond this a result is data, and belongs into an artifact. */
static const size_t MAX_RESULT = (size_t)1 << 30;

const char *jr_result_name(const char *path)
{
    const char *slash = path[0] == '/' ? NULL : strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

const char *jr_result_source(const struct jr_judge *judge, size_t i)
{
    const struct jr_plan_rank *rank = jr_plan_of(judge->plan, i);
    const char *path = rank->result_path;
    if (judge->wants->from == JR_FROM_STDOUT)
        path = rank->out_path;
    if (judge->wants->from == JR_FROM_STDERR)
        path = rank->err_path;
    return path == NULL ? "the result" : jr_result_name(path);
}

static void unreadable(struct jr_judge *judge, size_t i, const char *name,
                       const struct jr_error *err)
{
    if (!jr_judge_required(judge, i))
        return;
    if (err->sys == ENOENT || err->sys == ENOTDIR)
        jr_judge_fault(judge, i, JR_RESULT_MISSING, "%s was not written", name);
    else if (err->sys == ELOOP)
        jr_judge_fault(judge, i, JR_RESULT_MISSING,
                       "%s is a symbolic link, which is not followed", name);
    else
        jr_judge_fault(judge, i, JR_RESULT_MISSING, "%s: %s", name, err->text);
}

/* The file that the rank wrote, parsed; NULL with the fault noted. */
static json_t *from_file(struct jr_judge *judge, size_t i)
{
    const char *path = jr_plan_of(judge->plan, i)->result_path;
    const char *name = jr_result_name(path);
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    struct jr_error err = {0};
    if (jr_left_read(&text, judge->run_fd, path, MAX_RESULT, &err) != 0) {
        unreadable(judge, i, name, &err);
        return NULL;
    }
    if (text.len == 0) {
        if (jr_judge_required(judge, i))
            jr_judge_fault(judge, i, JR_RESULT_EMPTY, "%s is empty", name);
        return NULL;
    }
    if (jr_artifact_stale_result(judge, i)) {
        jr_judge_fault(judge, i, JR_RESULT_STALE,
                       "%s is the one from before the start", name);
        return NULL;
    }
    json_t *result = jr_json_parse(text.data, text.len, &err);
    if (result == NULL)
        jr_judge_fault(judge, i, JR_RESULT_NOT_JSON, "%s is not JSON: %s", name,
                       err.text);
    return result;
}

static json_t *from_stream(struct jr_judge *judge, size_t i, const char *path,
                           const char *stream)
{
    if (path != NULL)
        return jr_pattern_find(judge, i, path);
    if (jr_judge_required(judge, i))
        jr_judge_fault(judge, i, JR_RESULT_MISSING, "%s was not captured",
                       stream);
    return NULL;
}

/* --inject noresult */
static bool is_withheld(const struct jr_judge *judge, uint32_t rank)
{
    const struct jr_plan *plan = judge->plan;
    for (uint32_t k = 0; k < plan->injections_count; k++) {
        const struct jr_injection *row = &plan->injections[k];
        if (row->what == JR_INJECT_NORESULT && rank >= row->first &&
            rank <= row->last && (rank - row->first) % row->step == 0)
            return true;
    }
    return false;
}

/* What a function or a step leaves behind is its result only if it returned,
 * in the rank's own process. */
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
                       "its %s returned in process %d, which is not the one "
                       "that jobrun started: a wrapper has to exec what it "
                       "starts, and a fork is not the rank",
                       what, (int)rank->returned_by);
    else
        jr_judge_fault(judge, i, JR_RESULT_MISSING,
                       "its %s did not return: the process ended before that "
                       "(%s)",
                       what,
                       library ? "exit, _exit or exec"
                               : "sys.exit, os._exit or exec");
    return false;
}

void jr_result_find(struct jr_judge *judge, size_t i)
{
    const struct jr_plan_rank *rank = jr_plan_of(judge->plan, i);
    struct jr_rank_report *report = &judge->report->ranks[i];
    if (is_withheld(judge, rank->rank)) {
        jr_judge_fault(judge, i, JR_RESULT_MISSING, "%s is withheld, injected",
                       jr_result_source(judge, i));
        return;
    }
    if (!has_returned(judge, i))
        return;
    switch (judge->wants->from) {
    case JR_FROM_FILE:
    case JR_FROM_RETURN: /* the worker writes it to the same file */
        report->result = rank->result_path == NULL ? NULL : from_file(judge, i);
        break;
    case JR_FROM_STDOUT:
        report->result =
            from_stream(judge, i, rank->out_path, "standard output");
        break;
    case JR_FROM_STDERR:
        report->result =
            from_stream(judge, i, rank->err_path, "standard error");
        break;
    }
}
