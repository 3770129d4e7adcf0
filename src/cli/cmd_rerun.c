/*
 * jobrun rerun: a run's resolved.yaml once more, as an override of its own:
 * what the resolver found for the machine of then is MISSING again, unless it
 * is to be as it was. cli.h declares it.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/strv.h"
#include "cli/cmd_runs.h"
#include "cli/output.h"
#include "cli/stage.h"
#include "doc/doc.h"
#include "doc/interpolate.h"
#include "doc/scalar.h"
#include "report/compare_runs.h"
#include "resolve/field_part.h"

#include "base/banned.h"

/* The run that is repeated. */
struct original {
    char id[256];
    struct jr_record_origin origin;
    const char *spec; /* the path of its resolved.yaml, which was read */
};

/* A rehearsal of several nodes keeps them: they are no machines of then. */
static bool is_machine_field(const char *key, bool local)
{
    return jr_part_moves(key) &&
           !(local && (strcmp(key, "nodes") == 0 ||
                       strcmp(key, "local_world_size") == 0));
}

/* What the resolver found, and an address of then by which process groups find
 * each other, is MISSING again. */
static void forget_machine(struct jr_strv *sets, struct jr_arena *arena,
                           const struct jr_node *root, bool local)
{
    const struct jr_node *method = jr_doc_get(root, "init_method");
    for (size_t i = 0; i < root->count; i++) {
        const char *key = root->pairs[i].key->text;
        if (is_machine_field(key, local))
            jr_strv_push(sets, arena, jr_arena_printf(arena, "%s=null", key));
    }
    if (method != NULL && method->kind == JR_NODE_SCALAR &&
        strncmp(method->text, "tcp://", 6) == 0)
        jr_strv_push(sets, arena, jr_arena_strdup(arena, "init_method=null"));
}

static void forget_placement(struct jr_strv *sets, struct jr_arena *arena,
                             const struct original *original)
{
    struct jr_doc doc = JR_DOC_INIT;
    struct jr_diags diags = JR_DIAGS_INIT;
    const char *text = original->origin.spec;
    if (jr_doc_load(&doc, original->spec, text, strlen(text), &diags) == 0 &&
        doc.root->kind == JR_NODE_MAPPING)
        forget_machine(sets, arena, doc.root, original->origin.local);
    jr_diags_release(&diags);
    jr_doc_release(&doc);
}

/* The new run goes beside the old one, wherever that is by now. */
static void keep_folder(struct jr_strv *sets, struct jr_arena *arena,
                        const char *log_dir)
{
    JR_BUF_CLEANUP struct jr_buf path = JR_BUF_INIT, text = JR_BUF_INIT;
    jr_interpolation_escape(&path, log_dir, strlen(log_dir));
    jr_buf_str(&text, "log_dir=");
    jr_quote_double(&text, path.data, path.len);
    arena->failed |= path.failed;
    jr_strv_push(sets, arena, jr_buf_keep(&text, arena));
}

static int run_original(const struct original *original, struct jr_arena *arena,
                        struct jr_cli *cli)
{
    struct jr_session_options options = jr_stage_options(cli);
    const struct jr_spec_source source = {.name = original->spec,
                                          .folder = original->origin.run_dir,
                                          .text = original->origin.spec,
                                          .len = strlen(original->origin.spec)};
    struct jr_session *session = NULL;
    struct jr_strv sets = {0};
    struct jr_error err = {0};
    if (!cli->exact)
        forget_placement(&sets, arena, original);
    keep_folder(&sets, arena, original->origin.log_dir);
    if (arena->failed)
        return jr_cli_say(cli, JR_STATUS_LAUNCH, "out of memory");
    options.sets = sets.items;
    options.root = NULL;
    options.args = NULL;
    options.local = cli->local || original->origin.local;
    options.rerun_of = original->id;
    int status = jr_stage_open(&session, cli, &options);
    if (status == 0)
        status = jr_stage_told(session, cli,
                               jr_session_load(session, &source, &err), &err);
    if (status == 0)
        status = jr_stage_run(session, cli);
    jr_session_close(session);
    return status;
}

/* What another user wrote is a program of that user's, to be run as us. */
static int refuse_untrusted_rerun(const struct jr_cli *cli,
                                  const struct original *original)
{
    JR_BUF_CLEANUP struct jr_buf why = JR_BUF_INIT;
    jr_trust_explain(&why, &original->origin.trust);
    return jr_cli_say(cli, JR_STATUS_LAUNCH,
                      "run %s %s: rerun would execute its commands as you; "
                      "read %s, then type: jobrun rerun %s --trust",
                      original->id, why.failed ? "is not trusted" : why.data,
                      original->spec, original->id);
}

static int find_original(struct original *ret, struct jr_arena *arena,
                         const struct jr_cli *cli)
{
    struct jr_error err = {0};
    int status = jr_cli_find_run(cli, ret->id);
    if (status != 0)
        return status;
    if (jr_record_origin(&ret->origin, arena, jr_cli_log_dir(cli), ret->id,
                         &err) != 0)
        return jr_cli_say(cli, JR_STATUS_LAUNCH, "%s", err.text);
    ret->spec = jr_arena_printf(arena, "%s/resolved.yaml", ret->origin.run_dir);
    if (ret->spec == NULL || ret->origin.spec == NULL)
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "run '%s' has no resolved.yaml: it never started",
                          ret->id);
    if (!jr_trust_is_ours(&ret->origin.trust) && !cli->trust)
        return refuse_untrusted_rerun(cli, ret);
    return 0;
}

int jr_cmd_rerun(struct jr_cli *cli)
{
    struct jr_arena arena = JR_ARENA_INIT;
    struct original original = {0};
    if (cli->rest != NULL)
        return jr_cli_say(
            cli, JR_STATUS_USAGE,
            "rerun takes no arguments: a run is repeated with its own");
    int status = find_original(&original, &arena, cli);
    if (status == 0)
        status = run_original(&original, &arena, cli);
    jr_arena_release(&arena);
    return status;
}
