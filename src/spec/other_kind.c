#include "spec/other_kind.h"

#include <string.h>

#include "base/banned.h"

#define SHAPE "begin a spec with: jobrun new -o NAME.jobrun.yaml"

/* A file has all of the keys at its top, and no entrypoint. The first row that fits is the one. */
struct kind {
    const char *keys; /* separated by blanks; "KEY:" wants a mapping there, and
                         "KEY[" a list */
    const char *what, *help;
};

static const struct kind kinds[] = {
    {"apiVersion kind", "a manifest of Kubernetes",
     "jobrun makes one of a spec: jobrun render SPEC --engine kubernetes"},
    {"services:", "a file of Docker Compose",
     "a spec has one command, which each rank runs: entrypoint: [python3, "
     "train.py]; " SHAPE},
    {"on jobs:", "a workflow of GitHub Actions",
     "let it check specs: run: jobrun validate --format github ."},
    {"stages[", "a pipeline of GitLab",
     "let it check specs: script: [jobrun validate --format gitlab .]"},
    {"stages:", "a pipeline of DVC", "a stage of it may run a spec: cmd: jobrun train.jobrun.yaml"},
    {"compute_environment distributed_type", "a configuration of accelerate",
     "translate the command instead: jobrun new --from 'accelerate launch "
     "--num_processes 8 train.py'"},
    {"zero_optimization:", "a configuration of DeepSpeed",
     "give it to the program: entrypoint: [python3, train.py, --deepspeed_config, FILE]"},
    {"train_batch_size", "a configuration of DeepSpeed",
     "give it to the program: entrypoint: [python3, train.py, --deepspeed_config, FILE]"},
    {"train_micro_batch_size_per_gpu", "a configuration of DeepSpeed",
     "give it to the program: entrypoint: [python3, train.py, --deepspeed_config, FILE]"},
    {"method parameters:", "a sweep of Weights & Biases",
     "write sweep: {axes: {vars.NAME: [1, 2]}}"},
    {"dependencies[ channels", "an environment of conda",
     "activate it in a spec: setup: conda activate NAME"},
    {"repos[", "a configuration of pre-commit",
     "let it check specs by a hook whose entry is: jobrun validate"},
    {"resources: run", "a task of SkyPilot",
     "what it runs is `shell` here: entrypoint: {shell: ...}; " SHAPE},
    {"run_id ranks[", "the record of what a run delivered", "print them: jobrun show RUN"},
    {"run_id boot_id", "the record of a run",
     "its spec is resolved.yaml beside it: jobrun rerun RUN"},
    {"format_version mesh ranks[", "the plan of a run",
     "its spec is resolved.yaml beside it: jobrun rerun RUN"},
    {"format_version hostname cpus", "the profile of a machine",
     "give it to a verb: jobrun plan SPEC --on FILE"},
    {"format_version", "a file that jobrun wrote about a run",
     "the spec of a run is resolved.yaml in its folder: jobrun rerun RUN"},
    {"$schema properties:", "a JSON Schema",
     "a spec names it: # yaml-language-server: $schema=FILE"},
    {"defaults[", "a configuration of Hydra",
     "its values are `vars` in a spec, and its list `extends`; " SHAPE},
};

/* Whether the mapping has the key that the first `len` bytes of a word name. */
static bool has_kind_key(const struct jr_node *root, const char *word, size_t len)
{
    enum jr_node_kind kind = JR_NODE_SCALAR;
    size_t name = len;
    if (len > 0 && word[len - 1] == ':')
        kind = JR_NODE_MAPPING;
    else if (len > 0 && word[len - 1] == '[')
        kind = JR_NODE_SEQUENCE;
    name -= kind != JR_NODE_SCALAR;
    for (size_t i = 0; i < root->count; i++) {
        const struct jr_node *key = root->pairs[i].key;
        if (key->len == name && memcmp(key->text, word, name) == 0)
            return kind == JR_NODE_SCALAR || root->pairs[i].value->kind == kind;
    }
    return false;
}

static bool is_of_kind(const struct jr_node *root, const struct kind *row)
{
    const char *at = row->keys;
    for (size_t len; *at != '\0'; at += len + (at[len] == ' ')) {
        len = strcspn(at, " ");
        if (!has_kind_key(root, at, len))
            return false;
    }
    return true;
}

/* What a spec alone has, so that it is one, with a key too many. */
static bool is_spec(const struct jr_node *root)
{
    static const char *const own[] = {"entrypoint", "extends", "template"};
    size_t i = 0, count = sizeof own / sizeof *own;
    while (i < count && jr_doc_get(root, own[i]) == NULL)
        i++;
    return i < count;
}

bool jr_other_kind_report(struct jr_diags *diags, const struct jr_node *root)
{
    size_t i = 0, count = sizeof kinds / sizeof *kinds;
    if (root->kind != JR_NODE_MAPPING || root->count == 0 || is_spec(root))
        return false;
    while (i < count && !is_of_kind(root, &kinds[i]))
        i++;
    if (i == count)
        return false;
    struct jr_diag *diag = jr_diags_error(diags, JR_CODE_OTHER_KIND, root->pairs[0].key->span, NULL,
                                          "this is %s, not a spec", kinds[i].what);
    jr_diag_help(diags, diag, "%s", kinds[i].help);
    return true;
}
