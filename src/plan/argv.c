#include "plan/argv.h"

#include <string.h>

#include "base/json.h"
#include "base/strv.h"
#include "plan/planner.h"
#include "resolve/job.h"

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

static void add_shell(struct words *words)
{
    add_argv_template(words, "/bin/sh");
    add_argv_template(words, "-c");
    add_argv_template(words, words->scopes->job->entrypoint.argv[0]);
    add_argv_template(words, "sh");
}

static void add_worker(struct words *words)
{
    const struct jr_python *python = words->scopes->job->entrypoint.python;
    add_argv_literal(words, python->interpreter);
    add_support(words, "python/jobrun/_worker.py");
}

static const char *python_form_name(const struct jr_python *python)
{
#define WORD(name, word, help) word,
    static const char *const names[] = {JR_PYTHON_FORMS(WORD)};
    return names[python->what];
}

static void add_python_target(struct words *words)
{
    const struct jr_python *python = words->scopes->job->entrypoint.python;
    add_worker(words);
    add_argv_template(words, python_form_name(python));
    add_argv_literal(words, python->target);
}

static void add_library(struct words *words)
{
    const struct jr_library *library = words->scopes->job->entrypoint.library;
    add_support(words, "jobrun-step");
    add_argv_literal(words, library->path);
    add_argv_literal(words, library->symbol);
}

static bool needs_support(const struct jr_entrypoint *entry)
{
    return entry->form == JR_FORM_PYTHON || entry->form == JR_FORM_LIBRARY;
}

int jr_argv_compile(struct jr_compiled_templates *ret, const struct jr_scopes *scopes,
                    struct jr_error *err)
{
    static void (*const heads[])(struct words *) = {
        [JR_FORM_SHELL] = add_shell,
        [JR_FORM_PYTHON] = add_python_target,
        [JR_FORM_LIBRARY] = add_library,
    };
    const struct jr_entrypoint *entry = &scopes->job->entrypoint;
    struct words words = {{0}, scopes, scopes->space.arena};
    bool function = jr_entrypoint_is_function(entry);
    if (needs_support(entry) && scopes->options->support == NULL) {
        jr_error_set(err, JR_STATUS_LAUNCH,
                     "jobrun is not completely installed: the files with which "
                     "it runs Python and libraries are not beside the program");
        return -1;
    }
    if (entry->form != JR_FORM_COMMAND)
        heads[entry->form](&words);
    for (uint32_t i = entry->form == JR_FORM_SHELL; i < entry->argv_count && !function; i++)
        add_argv_template(&words, entry->argv[i]);
    if (function)
        add_argv_template(&words, "");
    if (jr_compiled_templates_compile(ret, &scopes->space, words.argv.items, words.argv.count,
                                      err) < 0)
        return -1;
    return function && ret->count > 0 ? jr_argv_call(&ret->items[ret->count - 1], scopes, NULL, err)
                                      : 0;
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

int jr_argv_call(struct jr_compiled_template *ret, const struct jr_scopes *scopes,
                 const struct jr_rank_entry *more, struct jr_error *err)
{
    struct jr_template_space space = scopes->space;
    struct jr_buf JR_BUF_CLEANUP text = JR_BUF_INIT;
    space.json = true;
    add_call(&text, &scopes->job->entrypoint, more);
    const char *kept = jr_buf_keep(&text, space.arena);
    return kept == NULL ? 0 : jr_compiled_template_compile(ret, &space, "", kept, err);
}

/* fork_threads: refuse */
static void add_refusal(struct words *words)
{
    if (words->scopes->job->policy->fork_threads == JR_FORK_THREADS_REFUSE)
        add_argv_template(words, "--refuse-threads");
}

char **jr_argv_helper(const struct jr_scopes *scopes, struct jr_arena *arena)
{
    const struct jr_job *job = scopes->job;
    const struct jr_entrypoint *entry = &job->entrypoint;
    struct words words = {{0}, scopes, arena};
    if (job->start_method == JR_START_SPAWN || !needs_support(entry))
        return NULL;
    if (entry->form == JR_FORM_LIBRARY) {
        add_support(&words, "jobrun-step");
        add_argv_template(&words, "serve");
        add_refusal(&words);
        add_argv_template(&words, entry->library->path);
        return words.argv.items;
    }
    add_argv_template(&words, entry->python->interpreter);
    add_support(&words, "python/jobrun/_worker.py");
    add_argv_template(&words, "serve");
    add_refusal(&words);
    for (uint32_t i = 0; i < job->preload_count; i++) {
        add_argv_template(&words, "--preload");
        add_argv_template(&words, job->preload[i]);
    }
    if (job->start_method == JR_START_FORK) {
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
