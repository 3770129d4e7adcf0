#include "spec/lint_unknown.h"

#include <string.h>

#include "base/did_you_mean.h"
#include "spec/foreign_names.h"
#include "spec/lint_finding.h"
#include "spec/lint_suggest.h"
#include "spec/lint_unknown_help.h"

#include "base/banned.h"

/* What people call the members of a mapping of the spec, and jobrun calls otherwise. */
struct member {
    const char *group;
    const char *here;
    bool sure;
    const char *names; /* separated by blanks */
};

#define FIELD "results.fields.*"

static const struct member members[] = {
    {"backends", "data", true, "dp data_parallel"},
    {"backends", "default", true, "all global world"},
    {"backends", "model", true, "mp tensor tp model_parallel"},
    {"backends", "pipeline", true, "pp pipe pipeline_parallel"},
    {"code", "mode", false, "copy freeze frozen record snapshot track"},
    {"console", "collapse", true, "dedup fold"},
    {"console", "hide", true, "exclude"},
    {"console", "prefix", false, "format label tag"},
    {"console", "show", true, "include"},
    {"console", "show", false, "filter grep match only"},
    {"console", "timestamps", true, "timestamp"},
    {"engine", "kubernetes", true, "k8s kube"},
    {"engine.kubernetes", "claim", false, "pvc volume volumes"},
    {"engine.kubernetes", "claim", true, "persistent_volume_claim claim_name"},
    {"engine.kubernetes", "cpu", true, "cpus cores limits.cpu requests.cpu"},
    {"engine.kubernetes", "device_resource", true, "gpu_resource resource_name"},
    {"engine.kubernetes", "image", true, "container container_image img"},
    {"engine.kubernetes", "memory", true, "mem ram limits.memory requests.memory"},
    {"engine.kubernetes", "mount", true, "mount_path"},
    {"engine.kubernetes", "namespace", true, "name_space ns"},
    {"engine.kubernetes", "priority_class", true, "priority priority_class_name"},
    {"engine.kubernetes", "pull_secret", true, "image_pull_secret image_pull_secrets pull_secrets"},
    {"engine.kubernetes", "secret", false, "env_from secret_name secrets"},
    {"engine.kubernetes", "service_account", true, "sa service_account_name"},
    {"engine.kubernetes", "shm", true, "shm_size"},
    {"engine", "mpi", false, "mpich mpiexec mpirun openmpi"},
    {"engine", "slurm", true, "sbatch"},
    {"engine", "ssh", false, "pdsh remote"},
    {"engine.ssh", "collect", false, "download fetch gather pull"},
    {"engine.ssh", "copy", false, "bootstrap deploy install push upload"},
    {"engine.ssh", "env", false, "env_forward environment pass_env send_env"},
    {"engine.ssh", "options", true, "args flags opts ssh_options"},
    {"engine.ssh", "program", true, "executable jobrun path"},
    {"entrypoint", "args", true, "arguments"},
    {"entrypoint", "command", false, "exec executable program run"},
    {"entrypoint", "kwargs", true, "keywords"},
    {"entrypoint", "library", false, "lib so"},
    {"entrypoint", "shell", true, "bash sh"},
    {"entrypoint.library", "path", true, "file lib library so"},
    {"entrypoint.library", "symbol", true, "entry func function name"},
    {"entrypoint.python", "function", true, "callable fn func"},
    {"entrypoint.python", "interpreter", true, "executable python"},
    {"entrypoint.python", "module", true, "mod package"},
    {"entrypoint.python", "script", true, "file filename path program"},
    {"limits", "as", false, "address_space mem memory ram rss vmem"},
    {"limits", "core", false, "core_dump core_dumps core_size"},
    {"limits", "memlock", true, "locked_memory max_locked_memory"},
    {"limits", "nofile", true, "fds files max_files nofiles open_files"},
    {"limits", "nproc", false, "max_processes processes procs threads"},
    {"limits", "stack", true, "stack_size"},
    {"on_hang", "command", false, "cmd exec run"},
    {"on_hang", "signal", true, "sig"},
    {"on_hang", "wait", false, "delay timeout"},
    {"parallelism", "data", false, "ddp fsdp replicas shards"},
    {"parallelism", "model", true, "mp tensor"},
    {"parallelism", "pipeline", true, "pipe stages"},
    {"per_rank.*", "args", true, "arguments"},
    {"per_rank.*", "env", true, "environment"},
    {"progress", "from", true, "source stream"},
    {"progress", "of", true, "last_step max_steps steps total total_steps"},
    {"progress", "pattern", true, "regex regexp"},
    {"restart", "backoff", false, "delay interval pause sleep wait"},
    {"restart", "max", true, "max_restarts max_retries restarts retries"},
    {"restart", "max", false, "attempts count limit times"},
    {"restart", "never", false, "except unless"},
    {"restart", "on", false, "causes if triggers when"},
    {"restart", "window", false, "period within"},
    {"results", "artifacts", false, "checkpoints files"},
    {"results", "distinct", true, "different unique"},
    {"results", "equal", true, "identical same"},
    {"results", "fields", false, "columns metrics schema values"},
    {"results", "file", false, "filename json output path"},
    {"results", "from", true, "source stream"},
    {"results", "limit", true, "max_size size"},
    {"results", "pattern", true, "regex regexp"},
    {"results", "required", false, "ranks"},
    {FIELD, "enum", false, "allowed choices one_of options values"},
    {FIELD, "max", true, "le lte maximum"},
    {FIELD, "max", false, "lt upper"},
    {FIELD, "min", true, "ge gte minimum"},
    {FIELD, "min", false, "gt lower"},
    {FIELD, "pattern", true, "regex regexp"},
    {FIELD, "type", false, "dtype kind"},
    {"sweep", "axes", true, "grid matrix parameters params search_space space"},
    {"sweep", "best", false, "goal metric objective"},
    {"sweep", "parallel", true, "concurrency jobs max_parallel n_jobs"},
    {"sweep", "samples", false, "count iterations n_trials num_samples trials"},
    {"timeouts", "progress", false, "step"},
    {"timeouts", "run", false, "job limit max total wall walltime"},
    {"timeouts", "silence", false, "hang idle no_output output stall"},
    {"timeouts", "start", false, "init launch startup"},
    {"timeouts", "stop_grace", false, "grace kill shutdown stop term"},
};

/* Whether one of the names is this one. */
static bool is_listed(const char *names, const char *name)
{
    char word[32];
    for (size_t len; *names != '\0'; names += len + (names[len] == ' ')) {
        len = strcspn(names, " ");
        if (len >= sizeof word)
            continue;
        memcpy(word, names, len);
        word[len] = '\0';
        if (jr_field_is_same_name(word, name))
            return true;
    }
    return false;
}

const char *jr_member_meant(const char *group, const char *name, bool *ret_sure)
{
    *ret_sure = false;
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        if (strcmp(members[i].group, group) != 0 || !is_listed(members[i].names, name))
            continue;
        *ret_sure = members[i].sure;
        return members[i].here;
    }
    return NULL;
}

/* With more keys than this, no similar fields are looked for, because each key is compared with all
 * fields, and no place in the text, which is read again for each. No fix is then certain. */
enum { MOST_KEYS = 64 };

const char *const *jr_lint_keys(struct jr_lint *lint, const struct jr_spec_field *fields)
{
    static const char *const none[] = {NULL};
    size_t count = 0, kept = 0;
    while (fields[count].key != NULL)
        count++;
    const char **keys = jr_arena_array(lint->arena, count + 1, sizeof *keys);
    if (keys == NULL)
        return none;
    for (size_t i = 0; i < count; i++)
        if (fields[i].since != NULL)
            keys[kept++] = fields[i].key;
    return keys;
}

/* What a fix is looked for with. */
struct search {
    const struct jr_unknown *unknown;
    const char *const *keys; /* that may be suggested */
    const char *group;       /* the path of the mapping; "" for the spec */
};

/* Whether the top of the spec has a field for this path, FIELD or FIELD.MEMBER.
 */
static bool is_top_field(const char *path)
{
    const char *dot = strchr(path, '.');
    return (dot == NULL || strchr(dot + 1, '.') == NULL) && jr_field_find(path) != NULL;
}

/* Whether a key of a mapping within the spec is what others call one of its members. */
static bool is_member(const struct jr_unknown *unknown, const char *key)
{
    bool sure;
    return unknown->at->up != NULL &&
           jr_member_meant(jr_lint_group(unknown->fields), key, &sure) != NULL;
}

/* The only field of the mapping that a key can be which is no name of another launcher, or NULL. */
static const char *find_near_field(const struct search *search, const char *key)
{
    bool sure;
    const char *name = jr_lint_same_name(key, search->keys);
    if (name != NULL)
        return name;
    if (search->group[0] == '\0' && strchr(key, '.') != NULL)
        return is_top_field(key) ? key : NULL;
    name = jr_member_meant(jr_lint_group(search->unknown->fields), key, &sure);
    if (name != NULL)
        return sure ? name : NULL;
    return jr_did_you_mean_near(key, search->keys) ? jr_did_you_mean(key, search->keys) : NULL;
}

/* The only field that a key can be, or NULL: of the mapping, and at the top of the spec of one of
 * its mappings too, as FIELD.MEMBER. */
static const char *find_meant_field(const struct search *search, const char *key)
{
    size_t len = strlen(search->group);
    const char *path = jr_field_foreign(key);
    if (path == NULL || is_member(search->unknown, key))
        return find_near_field(search, key);
    if (!jr_field_foreign_is_same(key))
        return NULL;
    if (len == 0)
        return is_top_field(path) ? path : NULL;
    if (strncmp(path, search->group, len) != 0 || path[len] != '.')
        return NULL;
    path += len + 1;
    return jr_field_get(search->unknown->fields, path) == NULL ? NULL : path;
}

/* What another key of this text is, or may be meant to be; or NULL. */
static const char *find_other_field(const struct search *search, const struct jr_node *other)
{
    if (other == search->unknown->key || other->span.source != search->unknown->key->span.source)
        return NULL;
    return jr_field_get(search->unknown->fields, other->text) != NULL
               ? other->text
               : find_meant_field(search, other->text);
}

/* Whether another key of this text is that field too, or may be meant so. */
static bool has_rival_key(const struct search *search, const char *name)
{
    const struct jr_node *mapping = search->unknown->mapping;
    if (mapping->count > MOST_KEYS)
        return true;
    for (size_t i = 0; i < mapping->count; i++) {
        const char *field = find_other_field(search, mapping->pairs[i].key);
        if (field != NULL && strcmp(field, name) == 0)
            return true;
    }
    return false;
}

/* Whether the text puts the value of a key in somewhere, by its name. */
static bool is_key_referred_to(struct jr_lint *lint, const struct jr_node *key)
{
    const char *mark = jr_arena_printf(lint->arena, "${%s", key->text);
    const char *text = key->span.source->text;
    return mark == NULL || text == NULL || strstr(text, mark) != NULL;
}

static void fix_sure_name(struct jr_lint *lint, struct jr_diag *diag,
                          const struct jr_unknown *unknown, const char *const *keys)
{
    const struct jr_node_step *up = unknown->at->up;
    const struct search search = {unknown, keys, up == NULL ? "" : jr_lint_path(lint, up)};
    const char *name = find_meant_field(&search, unknown->key->text);
    if (name != NULL && strchr(name, '.') == NULL && !has_rival_key(&search, name) &&
        !is_key_referred_to(lint, unknown->key))
        jr_lint_fix_text(lint, diag, unknown->key, name);
}

/* Whether a mapping may be of names to files; else it is one for anchors. */
static bool has_file_names(const struct jr_node *mapping)
{
    const struct jr_node *first = mapping->count > 0 ? mapping->pairs[0].value : NULL;
    return first != NULL && first->kind == JR_NODE_SCALAR &&
           (strstr(first->text, ".yaml") != NULL || strstr(first->text, ".yml") != NULL);
}

/* Whether a value is of the kind that the field wants, where a word of habit may have any. */
static bool takes_kind(const char *field, const struct jr_node *value)
{
    if (strcmp(field, "vars") == 0)
        return value != NULL && value->kind == JR_NODE_MAPPING;
    if (strcmp(field, "description") == 0)
        return value != NULL && value->kind == JR_NODE_SCALAR;
    if (strcmp(field, "extends") == 0)
        return value == NULL || value->kind != JR_NODE_MAPPING || has_file_names(value);
    return true;
}

/* The field that another launcher's word is, here: `cmd` within the entrypoint is the command, and
 * a number of GPUs is how many ranks a node has. */
static const char *foreign_name(struct jr_lint *lint, const struct jr_unknown *unknown)
{
    const struct jr_node_step *up = unknown->at->up;
    const char *foreign = jr_field_foreign(unknown->key->text);
    if (foreign == NULL || is_member(unknown, unknown->key->text))
        return NULL;
    const struct jr_node *value = jr_unknown_value(unknown);
    if (up != NULL && strcmp(foreign, jr_lint_path(lint, up)) == 0) {
        const struct jr_spec_field *field = jr_field_find(foreign);
        return field->type->shorthand != NULL ? field->type->shorthand : foreign;
    }
    if (!takes_kind(foreign, value))
        return NULL;
    bool count = strcmp(foreign, "devices") == 0 && value != NULL &&
                 value->kind == JR_NODE_SCALAR && jr_scalar_type(value) == JR_SCALAR_INT;
    return count ? "local_world_size" : foreign;
}

/* What a key is to be called, as a help: the name that it has here. */
static void help_with_name(struct jr_lint *lint, struct jr_diag *diag,
                           const struct jr_unknown *unknown, const char *path)
{
    const struct jr_node *value = jr_unknown_value(unknown);
    const struct jr_source *source = unknown->key->span.source;
    bool top = unknown->at->up == NULL;
    bool written = value != NULL && value->kind == JR_NODE_SCALAR && value->plain &&
                   jr_lint_is_bare(jr_lint_source(value));
    const char *text = written ? jr_lint_said(lint, value) : "...";
    const char *meant = written && value->filled == NULL
                            ? jr_field_foreign_value(lint->arena, unknown->key->text, text)
                            : NULL;
    if (meant != NULL)
        text = meant;
    if (top && written && source != NULL && source->option)
        jr_diag_help(lint->diags, diag, "jobrun calls it '%s': --set %s=%s", path, path, text);
    else if (top && (strchr(path, '.') != NULL || meant != NULL))
        jr_diag_help(lint->diags, diag, "jobrun calls it '%s': %s", path,
                     jr_lint_nested(lint, path, text));
    else
        jr_diag_help(lint->diags, diag, "jobrun calls it '%s'%s", path,
                     top || strchr(path, '.') != NULL || jr_field_find(path) == NULL
                         ? ""
                         : ", at the top of the spec");
}

void jr_lint_unknown(struct jr_lint *lint, const struct jr_unknown *unknown)
{
    const struct jr_node *key = unknown->key;
    const char *path = jr_lint_path(lint, unknown->at);
    const char *foreign = foreign_name(lint, unknown);
    bool top = unknown->at->up == NULL;
    const char *needless = jr_field_needless(key->text, top);
    const struct jr_node *value = jr_unknown_value(unknown);
    const char *otherwise = top && value != NULL && value->kind != JR_NODE_SCALAR
                                ? jr_field_otherwise(key->text)
                                : NULL;
    struct jr_diag *diag;
    if (foreign != NULL || needless != NULL || otherwise != NULL)
        diag = jr_lint_error(lint, JR_CODE_FOREIGN_FIELD, key->span, unknown->at,
                             "'%s' is a field of another launcher", path);
    else
        diag = jr_lint_error(lint, JR_CODE_UNKNOWN_FIELD, key->span, unknown->at,
                             "unknown field '%s'", path);
    if (diag == &lint->diags->scratch)
        return;
    if (needless != NULL) {
        jr_diag_help(lint->diags, diag, "leave it out: %s", needless);
        return;
    }
    if (otherwise != NULL) {
        jr_diag_help(lint->diags, diag, "%s", otherwise);
        return;
    }
    const char *const *keys = jr_lint_keys(lint, unknown->fields);
    if (foreign != NULL)
        help_with_name(lint, diag, unknown, foreign);
    else if (!jr_lint_unknown_help(lint, diag, unknown, keys))
        return;
    fix_sure_name(lint, diag, unknown, keys);
}
