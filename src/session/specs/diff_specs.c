#include "session/specs/diff_specs.h"

#include <stdlib.h>

#include "report/compare_runs.h"
#include "session/internal.h"
#include "session/specs/comparison.h"

#include "base/banned.h"

/* Two runs have outcomes too. */
static enum jr_status diff_runs(struct jr_comparison *comparison,
                                const struct jr_diff_options *options, struct jr_error *err)
{
    const struct jr_side *a = &comparison->a, *b = &comparison->b;
    const struct jr_run_place places[] = {{jr_side_log_dir(a, options), a->run},
                                          {jr_side_log_dir(b, options), b->run}};
    if (a->run[0] == '\0' || b->run[0] == '\0')
        return JR_STATUS_OK;
    if (jr_record_compare(&comparison->runs, places, err) != 0 ||
        jr_code_contrast_make(&comparison->code, places, options->environ, err) != 0)
        return JR_STATUS_LAUNCH;
    return JR_STATUS_OK;
}

static void note_unresolved(const struct jr_comparison *comparison,
                            const struct jr_diff_options *options)
{
    const struct jr_side *sides[] = {&comparison->a, &comparison->b};
    const char *line = options->on != NULL
                           ? "compared as they are written: one of them cannot be resolved "
                             "there (--on PROFILE: for another machine)"
                           : "compared as they are written: one of them cannot be resolved "
                             "on this machine (--on PROFILE: for another machine)";
    bool unresolved = false;
    for (size_t i = 0; i < 2; i++)
        unresolved |= !sides[i]->resolved && sides[i]->run[0] == '\0';
    if (unresolved && options->note != NULL)
        options->note(options->data, line);
}

static enum jr_status load_sides(struct jr_diff *diff, char *const *words,
                                 const struct jr_diff_options *options, struct jr_error *err)
{
    struct jr_comparison *sides = diff->sides;
    enum jr_status status = jr_side_load(&sides->a, options, words[0], &diff->diags, err);
    return status != JR_STATUS_OK ? status
                                  : jr_side_load(&sides->b, options, words[1], &diff->diags, err);
}

/* The facts need not be those of this moment: no port is tried. Findings of sides that could be
 * loaded tell nothing of what differs. */
static enum jr_status compare_sides(struct jr_diff *diff, const struct jr_session *session,
                                    const struct jr_diff_options *options, struct jr_error *err)
{
    struct jr_host host = session->host;
    host.real = false;
    jr_diags_release(&diff->diags);
    int status = jr_comparison_make(diff->sides, &host, &diff->diags, err);
    if (status != 0)
        return (enum jr_status)status;
    jr_diags_release(&diff->diags);
    return diff_runs(diff->sides, options, err);
}

static void add_comparison_json(struct jr_buf *out, const struct jr_comparison *comparison,
                                bool patches)
{
    json_t *top = json_object();
    jr_json_set_int(top, "format_version", 1);
    json_t *body = jr_comparison_json(comparison, patches);
    (void)json_object_update(top, body);
    json_decref(body);
    jr_json_print(out, top, 2);
    jr_buf_char(out, '\n');
    json_decref(top);
}

static void add_comparison(struct jr_buf *out, const struct jr_comparison *comparison,
                           const struct jr_diff_options *options)
{
    if (options->format == JR_DIFF_JSON) {
        add_comparison_json(out, comparison, options->code);
        return;
    }
    if (options->format == JR_DIFF_MARKDOWN)
        jr_comparison_markdown(out, comparison);
    else
        jr_comparison_text(out, comparison);
    if (options->code)
        jr_code_contrast_patches(out, &comparison->code);
}

enum jr_status jr_diff_two(struct jr_diff *ret, const struct jr_session *session,
                           char *const words[static 2], const struct jr_diff_options *options,
                           struct jr_error *err)
{
    *ret = (struct jr_diff){.text = {.width = options->width}, .sides = malloc(sizeof *ret->sides)};
    if (ret->sides == NULL) {
        (void)jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
        return JR_STATUS_LAUNCH;
    }
    *ret->sides = (struct jr_comparison)JR_COMPARISON_INIT;
    enum jr_status status = load_sides(ret, words, options, err);
    if (status == JR_STATUS_OK)
        status = compare_sides(ret, session, options, err);
    if (status != JR_STATUS_OK)
        return status;
    note_unresolved(ret->sides, options);
    add_comparison(&ret->text, ret->sides, options);
    ret->differs = jr_comparison_differs(ret->sides);
    return JR_STATUS_OK;
}

void jr_diff_release(struct jr_diff *diff)
{
    jr_diags_release(&diff->diags);
    if (diff->sides != NULL)
        jr_comparison_release(diff->sides);
    free(diff->sides);
    jr_buf_release(&diff->text);
    jr_arena_release(&diff->arena);
}
