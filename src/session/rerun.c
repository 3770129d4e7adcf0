#include "session/rerun.h"

#include <string.h>

#include "base/cleanup.h"
#include "doc/doc.h"
#include "doc/interpolate.h"
#include "record/record_folder.h"
#include "report/compare_runs.h"
#include "resolve/fingerprint.h"
#include "session/internal.h"

#include "base/banned.h"

/* What the resolver found, and an address of then by which process groups find each other, is
 * MISSING again. A rehearsal of several nodes keeps them: they are no machines of then. Hosts that
 * were reached by ssh were stated, and are kept with all that reaches them. */
static void forget_placement(struct jr_rerun *rerun, const struct jr_record_origin *origin)
{
    const struct jr_spec_source *source = &rerun->source;
    struct jr_arena *arena = &rerun->arena;
    struct jr_strv *sets = &rerun->sets;
    struct jr_doc doc = JR_DOC_INIT;
    struct jr_diags diags = JR_DIAGS_INIT;
    bool loaded = jr_doc_load(&doc, source->name, source->text, source->len, &diags) == 0 &&
                  doc.root->kind == JR_NODE_MAPPING;
    const struct jr_node *method = loaded ? jr_doc_get(doc.root, "init_method") : NULL;
    bool ssh = loaded && jr_doc_find(doc.root, "engine.ssh") != NULL;
    for (size_t i = 0; loaded && i < doc.root->count; i++) {
        const char *key = doc.root->pairs[i].key->text;
        bool any = origin->any_devices && strcmp(key, "devices") == 0;
        bool reaches = strcmp(key, "hosts") == 0 || strcmp(key, "engine") == 0;
        bool sizes = strcmp(key, "nodes") == 0 || strcmp(key, "local_world_size") == 0;
        if (jr_part_moves(key) && !(ssh && reaches) && !(origin->local && sizes))
            jr_strv_push(sets, arena, jr_arena_printf(arena, "%s=%s", key, any ? "any" : "null"));
    }
    if (method != NULL && method->kind == JR_NODE_SCALAR && strncmp(method->text, "tcp://", 6) == 0)
        jr_strv_push(sets, arena, jr_arena_strdup(arena, "init_method=null"));
    jr_diags_release(&diags);
    jr_doc_release(&doc);
}

void jr_rerun_keep_values(struct jr_session *session, const struct jr_rerun *rerun)
{
    session->values = json_incref(rerun->values);
}

int jr_rerun_prepare(struct jr_rerun *ret, const char *log_dir, const char *id,
                     const struct jr_rerun_options *options, struct jr_error *err)
{
    struct jr_record_origin origin;
    struct jr_error why = {0};
    *ret = (struct jr_rerun){0};
    if (jr_record_origin(&origin, &ret->arena, log_dir, id, &why) != 0)
        return jr_error_set(err, JR_STATUS_LAUNCH, "%s", why.text);
    const char *spec = jr_arena_printf(&ret->arena, "%s/resolved.yaml", origin.run_dir);
    if (spec == NULL || origin.spec == NULL)
        return jr_error_set(err, JR_STATUS_USAGE, "run '%s' has no resolved.yaml: it never started",
                            id);
    if (!jr_trust_is_ours(&origin.trust) && !options->trust) {
        /* What another user wrote is a program of that user's, to be run as us. */
        JR_BUF_CLEANUP struct jr_buf foreign = JR_BUF_INIT, typed = JR_BUF_INIT;
        jr_trust_explain(&foreign, &origin.trust);
        jr_record_words(&typed, log_dir, id);
        return jr_error_set(err, JR_STATUS_LAUNCH,
                            "run %s %s: rerun would execute its commands as you; "
                            "read %s, then type: jobrun rerun %s --trust",
                            id, foreign.failed ? "is not trusted" : foreign.data, spec,
                            typed.failed ? id : typed.data);
    }
    /* What the record of the run says of its spec. */
    JR_CLOSE int fd = jr_record_folder_open(log_dir, id, NULL);
    json_t *run = fd < 0 ? NULL : jr_record_folder_json(fd, "run.json", NULL);
    ret->values = json_object();
    if (json_is_object(json_object_get(run, "vars")))
        jr_json_share(ret->values, run, "vars");
    json_decref(run);
    bool known = origin.spec_folder != NULL && origin.spec_folder[0] == '/';
    ret->source = (struct jr_spec_source){.name = spec,
                                          .folder = known ? origin.spec_folder : origin.run_dir,
                                          .text = origin.spec,
                                          .len = strlen(origin.spec)};
    ret->local = options->local || origin.local;
    if (!options->exact)
        forget_placement(ret, &origin);
    /* The new run goes beside the old one, wherever that is by now. */
    const char *beside = options->log_dir != NULL ? options->log_dir : origin.log_dir;
    JR_BUF_CLEANUP struct jr_buf path = JR_BUF_INIT, text = JR_BUF_INIT;
    jr_interpolation_escape(&path, beside, strlen(beside));
    jr_buf_str(&text, "log_dir=");
    jr_quote_double(&text, path.data, path.len);
    ret->arena.failed |= path.failed;
    jr_strv_push(&ret->sets, &ret->arena, jr_buf_keep(&text, &ret->arena));
    if (options->code) {
        ret->code_of = origin.run_dir;
        jr_strv_push(&ret->sets, &ret->arena, jr_arena_strdup(&ret->arena, "code.mode=freeze"));
    }
    return ret->arena.failed ? jr_error_set(err, JR_STATUS_LAUNCH, "out of memory") : 0;
}

void jr_rerun_release(struct jr_rerun *rerun)
{
    json_decref(rerun->values);
    jr_arena_release(&rerun->arena);
}
