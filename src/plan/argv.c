/* The argv of ranks and of the helper that they are forked from, and what ranks have of their own.
 * Declared in internal.h. */
#include "plan/internal.h"

#include <string.h>

#include "base/json.h"
#include "base/rank_set.h"
#include "base/strv.h"
#include "plan/planner.h"

#include "base/banned.h"

/* An argv in the making: the templates of its words. */
struct words {
    struct jr_strv argv;
    const struct jr_scopes *scopes;
    struct jr_arena *arena;
};

static void add_argv_template(struct words *words, const char *template)
{
    jr_strv_push(&words->argv, words->arena, jr_arena_strdup(words->arena, template));
}

/* The text that a template makes. */
static void add_argv_literal(struct words *words, const char *text)
{
    struct jr_buf JR_BUF_CLEANUP out = JR_BUF_INIT;
    jr_buf_replaced(&out, text, "%{", "%%{");
    words->arena->failed |= out.failed;
    add_argv_template(words, out.data == NULL ? "" : out.data);
}

/* A file of the support folder. */
static void add_support(struct words *words, const char *file)
{
    const char *path =
        jr_arena_printf(words->arena, "%s/%s", words->scopes->options->support, file);
    if (path != NULL)
        add_argv_literal(words, path);
}

static const char *python_form_name(const struct jr_python *python)
{
#define WORD(name, word, help) word,
    static const char *const names[] = {JR_PYTHON_FORMS(WORD)};
    return names[python->what];
}

static bool needs_support(const struct jr_entrypoint *entry)
{
    return entry->form == JR_FORM_PYTHON || entry->form == JR_FORM_LIBRARY;
}

static void add_call_args(struct jr_buf *out, const char *before, char *const *args, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        jr_buf_str(out, i == 0 ? before : ", ");
        jr_buf_str(out, args[i]);
    }
}

static const struct jr_kwarg *find_kwarg(const struct jr_kwarg *kwargs, uint32_t count,
                                         const char *name)
{
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(kwargs[i].name, name) == 0)
            return &kwargs[i];
    return NULL;
}

static void add_kwarg(struct jr_buf *out, const struct jr_kwarg *kwarg, bool first)
{
    struct jr_buf JR_BUF_CLEANUP name = JR_BUF_INIT;
    jr_buf_replaced(&name, kwarg->name, "%{", "%%{");
    out->failed |= name.failed;
    jr_buf_str(out, first ? "" : ", ");
    jr_json_quote(out, name.data == NULL ? "" : name.data);
    jr_buf_printf(out, ": %s", kwarg->value);
}

static void add_kwargs(struct jr_buf *out, const struct jr_entrypoint *entry,
                       const struct jr_rank_entry *more)
{
    bool first = true;
    for (uint32_t i = 0; i < entry->kwargs_count; i++) {
        const struct jr_kwarg *kwarg = &entry->kwargs[i], *over = NULL;
        if (more != NULL)
            over = find_kwarg(more->kwargs, more->kwargs_count, kwarg->name);
        add_kwarg(out, over != NULL ? over : kwarg, first);
        first = false;
    }
    for (uint32_t i = 0; more != NULL && i < more->kwargs_count; i++) {
        const struct jr_kwarg *kwarg = &more->kwargs[i];
        if (find_kwarg(entry->kwargs, entry->kwargs_count, kwarg->name) != NULL)
            continue;
        add_kwarg(out, kwarg, first);
        first = false;
    }
}

/* The text of the object, in which templates are still to be expanded. */
static void add_call(struct jr_buf *out, const struct jr_entrypoint *entry,
                     const struct jr_rank_entry *more)
{
    const struct jr_python *python = entry->python;
    jr_buf_str(out, "{\"args\": [");
    add_call_args(out, "", entry->argv, entry->argv_count);
    if (more != NULL)
        add_call_args(out, entry->argv_count > 0 ? ", " : "", more->args, more->args_count);
    jr_buf_str(out, "], \"kwargs\": {");
    add_kwargs(out, entry, more);
    jr_buf_str(out, "}, \"setup\": ");
    jr_json_quote(out, python->setup);
    jr_buf_printf(out, ", \"init\": %s, \"smoke_test\": %s}",
                  python->init == JR_INIT_TORCH ? "\"torch\"" : "null",
                  python->smoke_test ? "true" : "false");
}

/* Compile the last word of a function's argv for the ranks of an entry of `per_rank`: its arguments
 * follow those of all ranks, its named ones override theirs. No entry is NULL. */
static int compile_call(struct jr_compiled_template *ret, const struct jr_scopes *scopes,
                        const struct jr_rank_entry *more, struct jr_error *err)
{
    struct jr_template_space space = scopes->space;
    struct jr_buf JR_BUF_CLEANUP text = JR_BUF_INIT;
    space.json = true;
    add_call(&text, &scopes->job->entrypoint, more);
    const char *kept = jr_buf_keep(&text, space.arena);
    return kept == NULL ? 0 : jr_compiled_template_compile(ret, &space, "", kept, err);
}

int jr_argv_compile(struct jr_compiled_templates *ret, const struct jr_scopes *scopes,
                    struct jr_error *err)
{
    const struct jr_entrypoint *entry = &scopes->job->entrypoint;
    struct words words = {{0}, scopes, scopes->space.arena};
    bool function = jr_entrypoint_is_function(entry);
    if (needs_support(entry) && scopes->options->support == NULL) {
        jr_error_set(err, JR_STATUS_LAUNCH,
                     "jobrun is not completely installed: the files with which "
                     "it runs Python and libraries are not beside the program");
        return -1;
    }
    if (entry->form == JR_FORM_SHELL) {
        add_argv_template(&words, "/bin/sh");
        add_argv_template(&words, "-c");
        add_argv_template(&words, entry->argv[0]);
        add_argv_template(&words, "sh");
    } else if (entry->form == JR_FORM_PYTHON) {
        add_argv_literal(&words, entry->python->interpreter);
        add_support(&words, "python/jobrun/_worker.py");
        add_argv_template(&words, python_form_name(entry->python));
        add_argv_literal(&words, entry->python->target);
    } else if (entry->form == JR_FORM_LIBRARY) {
        add_support(&words, "jobrun-step");
        add_argv_literal(&words, entry->library->path);
        add_argv_literal(&words, entry->library->symbol);
    }
    for (uint32_t i = entry->form == JR_FORM_SHELL; i < entry->argv_count && !function; i++)
        add_argv_template(&words, entry->argv[i]);
    if (function)
        add_argv_template(&words, "");
    if (jr_compiled_templates_compile(ret, &scopes->space, words.argv.items, words.argv.count,
                                      err) < 0)
        return -1;
    return function && ret->count > 0 ? compile_call(&ret->items[ret->count - 1], scopes, NULL, err)
                                      : 0;
}

char **jr_argv_helper(const struct jr_scopes *scopes, struct jr_arena *arena)
{
    const struct jr_job *job = scopes->job;
    const struct jr_entrypoint *entry = &job->entrypoint;
    bool library = entry->form == JR_FORM_LIBRARY;
    struct words words = {{0}, scopes, arena};
    if (job->start_method == JR_START_SPAWN || !needs_support(entry))
        return NULL;
    if (!library)
        add_argv_template(&words, entry->python->interpreter);
    add_support(&words, library ? "jobrun-step" : "python/jobrun/_worker.py");
    add_argv_template(&words, "serve");
    if (job->policy->fork_threads == JR_FORK_THREADS_REFUSE)
        add_argv_template(&words, "--refuse-threads");
    if (library)
        add_argv_template(&words, entry->library->path);
    for (uint32_t i = 0; !library && i < job->preload_count; i++) {
        add_argv_template(&words, "--preload");
        add_argv_template(&words, job->preload[i]);
    }
    if (!library && job->start_method == JR_START_FORK) {
        add_argv_template(&words, "--load");
        add_argv_template(&words, python_form_name(entry->python));
        add_argv_template(&words, entry->python->target);
    }
    return words.argv.items;
}

const char *jr_argv_target(const struct jr_entrypoint *entry)
{
    if (entry->form == JR_FORM_PYTHON)
        return entry->python->target;
    return entry->form == JR_FORM_LIBRARY ? entry->library->symbol : NULL;
}

static enum jr_status compile_addition(struct jr_addition *ret, const struct jr_rank_entry *entry,
                                       const struct jr_scopes *scopes, struct jr_diags *diags)
{
    struct jr_arena *arena = scopes->space.arena;
    struct jr_error err = {0};
    const char *path = jr_arena_printf(arena, "per_rank.%s", entry->ranks);
    const char *bad;
    if (path == NULL)
        return JR_STATUS_LAUNCH;
    if (!jr_set_parse(&ret->ranks, arena, entry->ranks, &bad)) {
        if (arena->failed)
            return JR_STATUS_LAUNCH;
        (void)jr_diags_error(diags, JR_CODE_PLAN_INCONSISTENT, (struct jr_span){0}, path,
                             "'%s' is not a set of ranks", entry->ranks);
        return JR_STATUS_INVALID;
    }
    int compiled = 0;
    ret->call = jr_entrypoint_is_function(&scopes->job->entrypoint);
    if (ret->call) {
        ret->args.items = jr_arena_array(arena, 1, sizeof *ret->args.items);
        ret->args.count = 1;
        if (ret->args.items != NULL)
            compiled = compile_call(ret->args.items, scopes, entry, &err);
    } else {
        compiled = jr_compiled_templates_compile(&ret->args, &scopes->space, entry->args,
                                                 entry->args_count, &err);
    }
    if (compiled < 0) {
        (void)jr_diags_error(diags, JR_CODE_WRONG_TEMPLATE_IN_PLAN, (struct jr_span){0}, path, "%s",
                             err.text);
        return JR_STATUS_INVALID;
    }
    return jr_env_more_init(&ret->env, scopes, entry, path, diags);
}

enum jr_status jr_additions_init(struct jr_additions *ret, const struct jr_scopes *scopes,
                                 struct jr_arena *arena, struct jr_diags *diags)
{
    const struct jr_job *job = scopes->job;
    enum jr_status status = JR_STATUS_OK;
    *ret = (struct jr_additions){0};
    uint32_t count = job->per_rank_count;
    if (count == 0)
        return status;
    ret->items = jr_arena_array(scopes->space.arena, count, sizeof *ret->items);
    ret->of = jr_arena_array(scopes->space.arena, job->world_size, sizeof *ret->of);
    if (ret->items == NULL || ret->of == NULL)
        return JR_STATUS_LAUNCH;
    for (; ret->count < count; ret->count++) {
        struct jr_addition *item = &ret->items[ret->count];
        const struct jr_rank_entry *entry = &job->per_rank[ret->count];
        enum jr_status one = compile_addition(item, entry, scopes, diags);
        status = status == JR_STATUS_OK ? one : status;
        struct jr_strv names = {0};
        for (uint32_t i = 0; i < entry->env_count; i++)
            if (entry->env[i].value == NULL && !entry->env[i].required)
                jr_strv_push(&names, arena, jr_arena_strdup(arena, entry->env[i].name));
        item->drop = names.items;
        jr_set_fill(&item->ranks, ret->of, job->world_size, (unsigned)ret->count + 1);
    }
    return status;
}

struct jr_addition *jr_additions_find(const struct jr_additions *additions, uint32_t rank)
{
    unsigned which = additions->of == NULL ? 0 : additions->of[rank];
    return which == 0 ? NULL : &additions->items[which - 1];
}

char **jr_addition_argv(struct jr_addition *addition, struct jr_arena *arena, char *const *argv,
                        const struct jr_scope *scope)
{
    size_t count = 0, more = addition->args.count;
    if (more == 0)
        return (char **)argv;
    while (argv != NULL && argv[count] != NULL)
        count++;
    count -= addition->call && count > 0;
    char **all = jr_arena_array(arena, count + more + 1, sizeof *all);
    char **added = jr_compiled_templates_expand(&addition->args, arena, scope);
    if (all == NULL || added == NULL)
        return NULL;
    if (count > 0)
        memcpy(all, argv, count * sizeof *all);
    if (more > 0)
        memcpy(all + count, added, more * sizeof *all);
    return all;
}

/* The streams of each local rank by a list of rules, no two of which have a rank in common: a bit
 * set of enum jr_streams. NULL: no memory, or a mistake in `err`. */
static unsigned *apply_stream_rules(struct jr_arena *arena, const struct jr_stream_rule *rules,
                                    uint32_t rules_count, const char *field, uint32_t count,
                                    struct jr_error *err)
{
    unsigned *of = jr_arena_array(arena, count, sizeof *of);
    for (uint32_t i = 0; of != NULL && i < rules_count; i++) {
        struct jr_set set;
        const char *bad;
        if (!jr_set_parse(&set, arena, rules[i].ranks, &bad)) {
            jr_error_set(err, JR_STATUS_INVALID, "%s: '%s' is not a set of local ranks", field,
                         rules[i].ranks);
            return NULL;
        }
        jr_set_fill(&set, of, count, (unsigned)rules[i].streams);
    }
    return of;
}

static enum jr_sink stream_sink(unsigned redirected, unsigned teed, enum jr_streams stream)
{
    if (teed & (unsigned)stream)
        return JR_SINK_FILE | JR_SINK_CONSOLE;
    return redirected & (unsigned)stream ? JR_SINK_FILE : JR_SINK_INHERIT;
}

struct jr_sinks *jr_sinks_build(struct jr_arena *arena, const struct jr_job *job, uint32_t count,
                                struct jr_error *err)
{
    struct jr_sinks *sinks = jr_arena_array(arena, count, sizeof *sinks);
    const unsigned *files =
        apply_stream_rules(arena, job->redirects, job->redirects_count, "redirects", count, err);
    if (sinks == NULL || files == NULL)
        return NULL;
    const unsigned *tees = apply_stream_rules(arena, job->tee, job->tee_count, "tee", count, err);
    if (tees == NULL)
        return NULL;
    for (uint32_t rank = 0; rank < count; rank++) {
        unsigned teed = job->tee_stated ? tees[rank] : (unsigned)JR_STREAM_ALL & ~files[rank];
        sinks[rank].out = stream_sink(files[rank], teed, JR_STREAM_OUT);
        sinks[rank].err = stream_sink(files[rank], teed, JR_STREAM_ERR);
    }
    return sinks;
}
