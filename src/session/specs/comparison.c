#include "session/specs/comparison.h"

#include <stdio.h>
#include <string.h>

#include "resolve/spec_diff.h"

#include "base/banned.h"

/* Resolve a side, unless it is a run, which was. */
static enum jr_status resolve_side(struct jr_side *side, const struct jr_host *host,
                                   struct jr_diags *diags)
{
    const struct jr_resolve_options options = {.local = false};
    if (side->file == NULL || side->run[0] != '\0')
        return JR_STATUS_OK;
    enum jr_status status = jr_resolve(&side->resolution, side->file, host, &options, diags);
    side->resolved = status == JR_STATUS_OK;
    if (side->resolved)
        (void)snprintf(side->fingerprint, sizeof side->fingerprint, "%s",
                       side->resolution.job.fingerprint);
    return status;
}

static struct jr_diff_side diff_side_of(const struct jr_side *side)
{
    return (struct jr_diff_side){
        .file = side->file,
        .resolution = side->resolved ? &side->resolution : NULL,
    };
}

/* The position of a value in a run's own file is not shown. */
static void drop_places(struct jr_comparison *comparison)
{
    const struct jr_diff_table_side place = {0};
    struct jr_diff_table *specs = &comparison->specs;
    for (size_t i = 0; i < specs->count; i++) {
        struct jr_diff_table_row *row = &specs->rows[i];
        if (comparison->a.run[0] != '\0') {
            row->a.at = place.at;
            row->a.from = NULL;
        }
        if (comparison->b.run[0] != '\0') {
            row->b.at = place.at;
            row->b.from = NULL;
        }
    }
}

/* Whether it is a run whose nodes ran several experiments: it has no fingerprint of its own, and
 * what is compared is what one of them ran. */
static bool is_mixed(const struct jr_side *side)
{
    return side->run[0] != '\0' && side->fingerprint[0] == '\0';
}

int jr_comparison_make(struct jr_comparison *comparison, const struct jr_host *host,
                       struct jr_diags *diags, struct jr_error *err)
{
    struct jr_side *a = &comparison->a, *b = &comparison->b;
    enum jr_status left = JR_STATUS_OK, right = JR_STATUS_OK;
    if (host != NULL) {
        left = resolve_side(a, host, diags);
        right = resolve_side(b, host, diags);
    }
    if (left == JR_STATUS_INVALID || right == JR_STATUS_INVALID)
        return JR_STATUS_INVALID;
    if (left != JR_STATUS_OK || right != JR_STATUS_OK)
        a->resolved = b->resolved = false;
    const struct jr_diff_side one = diff_side_of(a), other = diff_side_of(b);
    if (jr_diff_make(&comparison->specs, &one, &other, err) != 0)
        return (int)err->status;
    drop_places(comparison);
    comparison->same = a->name != NULL && b->name != NULL && !is_mixed(a) && !is_mixed(b) &&
                       jr_diff_is_same(&comparison->specs);
    return 0;
}

bool jr_comparison_differs(const struct jr_comparison *comparison)
{
    const struct jr_diff_table *runs = &comparison->runs;
    for (size_t i = 0; i < runs->count; i++)
        if (jr_diff_table_differs(&runs->rows[i]) && (strcmp(runs->rows[i].part, "outcome") == 0 ||
                                                      strcmp(runs->rows[i].part, "result") == 0))
            return true;
    return comparison->specs.count > 0 || comparison->a.name == NULL ||
           comparison->b.name == NULL || is_mixed(&comparison->a) || is_mixed(&comparison->b) ||
           comparison->code.verdict == JR_CODES_DIFFERENT;
}

/* What the fields and the code of two runs, or the fields of specs, come to. */
static void add_likeness(struct jr_buf *out, const struct jr_comparison *comparison)
{
    if (comparison->code.verdict == JR_CODES_UNKNOWN) {
        jr_buf_str(out, "the same spec; code not recorded\n");
    } else if (comparison->code.verdict == JR_CODES_DIFFERENT) {
        jr_buf_str(out, "same spec, different code: ");
        jr_code_contrast_names(out, &comparison->code);
        jr_buf_char(out, '\n');
    } else if (comparison->code.verdict == JR_CODES_NONE) {
        jr_buf_str(out, "the same experiment if the code is the same\n");
    } else {
        jr_buf_str(out, "the same experiment\n");
    }
}

/* The conclusion, in a line of its own; there is none about one side. */
static void add_conclusion(struct jr_buf *out, const struct jr_comparison *comparison)
{
    size_t count = comparison->specs.count;
    if (comparison->a.name == NULL || comparison->b.name == NULL)
        return;
    if (comparison->specs.count > 0 || comparison->runs.count > 0)
        jr_buf_char(out, '\n');
    if (count > 0 || comparison->code.verdict != JR_CODES_DIFFERENT)
        jr_buf_printf(out,
                      count == 0   ? "no field differs"
                      : count == 1 ? "%zu field differs"
                                   : "%zu fields differ",
                      count);
    if (is_mixed(&comparison->a) || is_mixed(&comparison->b)) {
        jr_buf_char(out, '\n');
        return;
    }
    if (!comparison->same) {
        jr_buf_str(out, ": another experiment\n");
        return;
    }
    if (count > 0)
        jr_buf_str(out, ", none of them part of the experiment: ");
    else if (comparison->code.verdict != JR_CODES_DIFFERENT)
        jr_buf_str(out, ": ");
    add_likeness(out, comparison);
}

static void add_side_name(struct jr_buf *out, const char *letter, const struct jr_side *side)
{
    if (side->name == NULL)
        return;
    jr_buf_printf(out, "%s  %s", letter, side->run[0] != '\0' ? "run " : "");
    jr_buf_escaped(out, side->name, strlen(side->name));
    if (side->fingerprint[0] != '\0')
        jr_buf_printf(out, "  (fingerprint %.12s)", side->fingerprint);
    if (is_mixed(side))
        jr_buf_str(out, "  (its nodes ran different experiments; below is what one of them ran)");
    jr_buf_char(out, '\n');
}

void jr_comparison_text(struct jr_buf *out, const struct jr_comparison *comparison)
{
    add_side_name(out, "A", &comparison->a);
    add_side_name(out, "B", &comparison->b);
    if (comparison->specs.count > 0)
        jr_buf_char(out, '\n');
    jr_diff_table_text(out, &comparison->specs, "field");
    if (comparison->runs.count > 0)
        jr_buf_char(out, '\n');
    jr_diff_table_text(out, &comparison->runs, "outcome");
    add_conclusion(out, comparison);
}

void jr_comparison_markdown(struct jr_buf *out, const struct jr_comparison *comparison)
{
    jr_diff_table_markdown(out, &comparison->specs, "field");
    if (comparison->runs.count > 0 && comparison->specs.count > 0)
        jr_buf_char(out, '\n');
    jr_diff_table_markdown(out, &comparison->runs, "outcome");
    add_conclusion(out, comparison);
}

static json_t *compared_side_json(const struct jr_side *side)
{
    if (side->name == NULL)
        return json_null();
    json_t *object = json_object();
    jr_json_set_str(object, "name", side->name);
    jr_json_set_str(object, "kind", side->run[0] != '\0' ? "run" : "spec");
    jr_json_set_str(object, "fingerprint", side->fingerprint[0] != '\0' ? side->fingerprint : NULL);
    return object;
}

json_t *jr_comparison_json(const struct jr_comparison *comparison, bool patches)
{
    enum jr_code_verdict verdict = comparison->code.verdict;
    json_t *object = json_object();
    bool runs = comparison->a.run[0] != '\0' && comparison->b.run[0] != '\0';
    jr_json_set(object, "a", compared_side_json(&comparison->a));
    jr_json_set(object, "b", compared_side_json(&comparison->b));
    jr_json_set_bool(object, "same_experiment",
                     comparison->same && (verdict == JR_CODES_NONE || verdict == JR_CODES_SAME));
    jr_json_set_bool(object, "differ", jr_comparison_differs(comparison));
    jr_json_set(object, "fields", jr_diff_table_json(&comparison->specs));
    jr_json_set(object, "outcome", runs ? jr_diff_table_json(&comparison->runs) : json_null());
    jr_json_set(object, "code", jr_code_contrast_json(&comparison->code, patches));
    return object;
}

void jr_comparison_release(struct jr_comparison *comparison)
{
    jr_diff_table_release(&comparison->specs);
    jr_diff_table_release(&comparison->runs);
    jr_code_contrast_release(&comparison->code);
    jr_side_release(&comparison->a);
    jr_side_release(&comparison->b);
}
