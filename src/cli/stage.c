#include <string.h>

#include "doc.h"
#include "stage.h"

#include "banned.h"

void jr_stages_release(struct jr_stages *stages)
{
    jr_resolution_release(&stages->resolution);
    jr_diags_release(&stages->diags);
    jr_spec_free(stages->file);
    jr_arena_release(&stages->arena);
}

/* Where a field stands, or the nearest mapping around it that the spec states;
 * else the file as a whole. */
static struct jr_span place_of(const struct jr_spec_file *file,
                               const char *field)
{
    struct jr_span span = {0};
    char path[256] = "";
    if (field != NULL && strlen(field) < sizeof path)
        (void)stpcpy(path, field);
    for (size_t len = strlen(path); len > 0 && span.line == 0; len--) {
        bool part = path[len] == '\0' || path[len] == '.' || path[len] == '[';
        path[len] = '\0';
        if (part)
            span = jr_spec_where(file, path);
    }
    if (span.line == 0)
        span.source = jr_spec_doc(file)->source;
    return span;
}

struct jr_spec_options jr_stage_checked(const struct jr_cli *cli)
{
    static char *const nothing[] = {NULL};
    return (struct jr_spec_options){
        .sets = cli->sets.items,
        .root = cli->root,
        .environ = cli->environ,
        .allow_env = cli->allow_env.count > 0 ? cli->allow_env.items : nothing,
        .validate = true,
        .strict = cli->strict,
        .unbound = true,
    };
}

/* Print what was found and start an empty list for the next stage. A failure of
 * the program itself that found nothing to tell has run out of memory. */
static int told(struct jr_stages *stages, const struct jr_cli *cli, int status)
{
    bool silent = status == JR_STATUS_LAUNCH && stages->diags.errors == 0;
    jr_cli_diags(cli, &stages->diags);
    jr_diags_release(&stages->diags);
    return silent ? jr_cli_say(cli, status, "out of memory") : status;
}

/* -n needs a command, a spec needs no -n. */
static int check_words(const struct jr_cli *cli)
{
    if (cli->words_count > 1)
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "one spec at a time: what is '%s'? (arguments for "
                          "the job go behind --)",
                          cli->words[1]);
    if (cli->words_count == 1 && cli->count != NULL)
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "-n goes with a command behind --, not with a spec: "
                          "state world_size in '%s'",
                          cli->words[0]);
    bool command = cli->rest != NULL && cli->rest[0] != NULL;
    if (cli->words_count == 0 && !command)
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "which spec? (jobrun SPEC, or jobrun -n N -- CMD; "
                          "see jobrun --help)");
    if (cli->count != NULL && cli->count_value == 0)
        return jr_cli_say(cli, JR_STATUS_USAGE, "-n wants at least 1");
    return 0;
}

int jr_stage_load(struct jr_stages *stages, struct jr_cli *cli)
{
    int status = check_words(cli);
    if (status != 0)
        return status;
    const struct jr_spec_source command = {.argv = cli->rest,
                                           .ranks = cli->count_value};
    const struct jr_spec_source spec = {
        .path = cli->words_count == 0 ? NULL : cli->words[0]};
    const struct jr_spec_options options = {
        .sets = cli->sets.items, .root = cli->root, .environ = cli->environ};
    status = jr_spec_load(&stages->file, spec.path != NULL ? &spec : &command,
                          &options, &stages->diags);
    return told(stages, cli,
                status == 0 ? JR_STATUS_OK
                            : (int)jr_spec_status(&stages->diags));
}

int jr_stage_facts(struct jr_stages *stages, const struct jr_cli *cli)
{
    struct jr_error err = {0};
    int failed;
    if (cli->on != NULL) {
        failed = jr_profile_load(&stages->hw, &stages->arena, cli->on,
                                 &stages->diags);
        return told(stages, cli, failed ? JR_STATUS_USAGE : JR_STATUS_OK);
    }
    failed = jr_hw_probe(&stages->hw, &stages->arena, "", cli->environ, &err);
    return failed ? jr_cli_say(cli, JR_STATUS_LAUNCH, "%s", err.text) : 0;
}

int jr_stage_settle(struct jr_stages *stages, const struct jr_cli *cli,
                    bool keep_port)
{
    int status = jr_stage_facts(stages, cli);
    if (status != 0)
        return status;
    struct jr_resolve_options options = {
        .local = cli->local,
        .node_rank = cli->node_rank,
        .keep_port = keep_port,
        .args = cli->words_count == 0 ? NULL : cli->rest,
    };
    status = (int)jr_resolve(&stages->resolution, stages->file, &stages->hw,
                             &options, &stages->diags);
    return told(stages, cli, status);
}

int jr_stage_resolve(struct jr_stages *stages, struct jr_cli *cli,
                     bool keep_port)
{
    int status = jr_stage_load(stages, cli);
    return status != 0 ? status : jr_stage_settle(stages, cli, keep_port);
}

int jr_stage_plan(struct jr_stages *stages, const struct jr_cli *cli,
                  const char *run_id)
{
    struct jr_plan_options options = {
        .run_id = run_id,
        .environ = cli->environ,
        .local = cli->local,
    };
    int status =
        (int)jr_plan_build(&stages->plan, &stages->arena,
                           &stages->resolution.job, &options, &stages->diags);
    /* The plan knows fields, not texts. */
    for (size_t i = 0; i < stages->diags.count; i++) {
        struct jr_diag *diag = &stages->diags.items[i];
        if (diag->span.source == NULL)
            diag->span = place_of(stages->file, diag->path);
    }
    return told(stages, cli, status);
}
