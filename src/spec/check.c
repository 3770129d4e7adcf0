#include "spec/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <jobrun/contract.h>
#include <jobrun/types.h>

#include "base/num.h"

#include "base/banned.h"

struct jr_stated jr_check_number(const struct jr_check *check, const char *path)
{
    struct jr_stated stated = {0};
    const struct jr_node *node = jr_doc_find(check->tree, path);
    if (node != NULL && node->kind == JR_NODE_SCALAR &&
        jr_num_u64(node->text, &stated.value))
        stated.node = node;
    return stated;
}

const char *jr_check_text(const struct jr_check *check, const char *path)
{
    const struct jr_node *node = jr_doc_find(check->tree, path);
    bool scalar = node != NULL && node->kind == JR_NODE_SCALAR;
    return scalar ? node->text : NULL;
}

const struct jr_node *jr_check_raw(const struct jr_check *check,
                                   const char *path)
{
    const struct jr_node *node = jr_doc_find(check->root, path);
    bool removed = node != NULL && jr_lint_is_removed(check->lint, node);
    return removed ? NULL : node;
}

/* Findings beyond it are not kept (see diag.c), and so need no path. */
enum { MOST_PLACED = 1000 };

/* A complaint on its way to the node that it is about, so as to know the path
 * of it. */
struct finding {
    struct jr_lint *lint;
    enum jr_diag_code code;
    const struct jr_node *at;
    const char *text;
    struct jr_diag *diag;
};

static bool find_node_path(struct finding *finding, const struct jr_node *node,
                           const struct jr_node_step *up);

static bool find_in_node(struct finding *finding, const struct jr_node *node,
                         const struct jr_node_step *at)
{
    if (node != finding->at)
        return find_node_path(finding, node, at);
    finding->diag = jr_lint_error(finding->lint, finding->code, node->span, at,
                                  "%s", finding->text);
    return true;
}

static bool find_node_path(struct finding *finding, const struct jr_node *node,
                           const struct jr_node_step *up)
{
    for (size_t i = 0; node->kind != JR_NODE_SCALAR && i < node->count; i++) {
        bool list = node->kind == JR_NODE_SEQUENCE;
        const struct jr_node_step at = {
            .up = up,
            .key = list ? NULL : node->pairs[i].key->text,
            .index = i,
        };
        if (list ? find_in_node(finding, node->items[i], &at)
                 : find_in_node(finding, node->pairs[i].key, &at) ||
                       find_in_node(finding, node->pairs[i].value, &at))
            return true;
    }
    return false;
}

struct jr_diag *jr_check_clash(const struct jr_check *check,
                               enum jr_diag_code code, const struct jr_node *at,
                               const struct jr_node *other, const char *format,
                               ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    struct jr_diags *diags = check->lint->diags;
    struct finding finding = {check->lint, code, at, text, &diags->scratch};
    bool kept = diags->errors <= MOST_PLACED;
    if (!kept || (!find_node_path(&finding, check->tree, NULL) &&
                  !find_node_path(&finding, check->root, NULL)))
        finding.diag =
            jr_lint_error(check->lint, code, at->span, NULL, "%s", text);
    struct jr_diag *diag = finding.diag;
    if (other != NULL && other->span.line != 0)
        jr_diag_relate(diags, diag, other->span, "stated here");
    else
        jr_lint_relate_origin(check->lint, diag, at);
    return diag;
}

struct variable {
    const char *name;
    size_t len;
    const char *field;
};

static void refuse_variables(const struct jr_check *check,
                             const struct jr_pair *pair,
                             const struct variable *table, size_t count)
{
    struct jr_diags *diags = check->lint->diags;
    const struct jr_node *key = pair->key;
    for (size_t i = 0; i < count; i++) {
        if (table[i].len != key->len ||
            memcmp(table[i].name, key->text, key->len) != 0)
            continue;
        struct jr_diag *diag = jr_check_clash(
            check, JR_CODE_RESERVED_VARIABLE, key, NULL,
            "jobrun sets %s for each rank itself", table[i].name);
        if (table[i].field[0] != '\0')
            jr_diag_help(diags, diag, "the field for it is '%s'",
                         table[i].field);
    }
}

/* The variables of a profile. */
struct profile {
    const char *name; /* "" is what all ranks get */
    const struct variable *variables;
    size_t count;
};

#define VARIABLE(name, value, field)  {name, sizeof name - 1, field},
#define ON_DEVICE(name, value, kinds) {name, sizeof name - 1, "device"},
#define PROFILE(name, table)                                                   \
    {                                                                          \
        name, table, sizeof table / sizeof *table                              \
    }
static const struct variable always[] = {JR_CONTRACT_VARIABLES(VARIABLE)};
static const struct variable torch[] = {JR_CONTRACT_TORCH(VARIABLE)};
static const struct variable paddle[] = {
    JR_CONTRACT_PADDLE(VARIABLE) JR_CONTRACT_PADDLE_DEVICES(ON_DEVICE)};
static const struct variable megengine[] = {JR_CONTRACT_MEGENGINE(VARIABLE)};
static const struct variable mpi[] = {JR_CONTRACT_MPI(VARIABLE)};
static const struct profile profiles[] = {
    PROFILE("", always), PROFILE("torch", torch), PROFILE("paddle", paddle),
    PROFILE("megengine", megengine), PROFILE("mpi", mpi)};

/* Whether a profile counts: profiles that are not known are none. */
static bool is_profile_chosen(const struct jr_check *check, const char *name)
{
    const struct jr_node *chosen = jr_doc_get(check->tree, "env_profiles");
    if (name[0] == '\0')
        return true;
    for (size_t i = 0; chosen != NULL && i < chosen->count; i++)
        if (strcmp(chosen->items[i]->text, name) == 0)
            return true;
    return chosen == NULL && strcmp(name, "torch") == 0 &&
           jr_check_raw(check, "env_profiles") == NULL;
}

static void check_profile_variables(const struct jr_check *check,
                                    const struct jr_node *env)
{
    for (size_t i = 0; env != NULL && i < env->count; i++)
        for (size_t j = 0; j < sizeof profiles / sizeof *profiles; j++)
            if (is_profile_chosen(check, profiles[j].name))
                refuse_variables(check, &env->pairs[i], profiles[j].variables,
                                 profiles[j].count);
}

static void check_env(const struct jr_check *check)
{
    const struct jr_node *entries = jr_doc_get(check->tree, "per_rank");
    check_profile_variables(check, jr_doc_get(check->tree, "env"));
    for (size_t i = 0; entries != NULL && i < entries->count; i++)
        check_profile_variables(check,
                                jr_doc_get(entries->pairs[i].value, "env"));
}

void jr_check_spec(struct jr_lint *lint, const struct jr_node *root,
                   const struct jr_node *tree)
{
    static jr_check_rule *const rules[] = {
        jr_check_forms,   jr_check_calls,       jr_check_start,
        jr_check_sizes,   jr_check_places,      jr_check_devices,
        check_env,        jr_check_ranks,       jr_check_source,
        jr_check_fields,  jr_check_comparisons, jr_check_capture,
        jr_check_shared,  jr_check_restart,     jr_check_silence,
        jr_check_secrets,
    };
    const struct jr_check check = {.lint = lint, .root = root, .tree = tree};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        rules[i](&check);
}
