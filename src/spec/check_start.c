/* How ranks start, and what goes with it. */
#include <string.h>

#include <jobrun/types.h>

#include "spec/check.h"

#include "base/banned.h"

/* There is nothing to fork from if each rank starts a new program. */
static void check_method(const struct jr_check *check,
                         const struct jr_node *method,
                         const struct jr_node *entry)
{
    const struct jr_pair *form = jr_doc_pair(entry, "command");
    form = form != NULL ? form : jr_doc_pair(entry, "shell");
    if (form == NULL)
        return;
    struct jr_diag *diag = jr_check_clash(
        check, JR_CODE_NOTHING_TO_FORK, method, form->key,
        "start_method %s has nothing to fork from: a %s starts a new program",
        jr_lint_said(check->lint, method), form->key->text);
    jr_diag_help(check->lint->diags, diag, "leave it out, or write spawn");
}

/* Somebody has to import what is preloaded. */
static void check_preload(const struct jr_check *check,
                          const struct jr_node *method,
                          const struct jr_node *entry)
{
    const struct jr_pair *preload = jr_doc_pair(check->tree, "preload");
    const struct jr_pair *library =
        entry == NULL ? NULL : jr_doc_pair(entry, "library");
    bool unknown =
        method == NULL && jr_check_raw(check, "start_method") != NULL;
    if (preload == NULL || preload->value->count == 0 || unknown)
        return;
    struct jr_diag *diag = NULL;
    if (method == NULL || strcmp(method->text, "spawn") == 0) {
        diag = jr_check_clash(
            check, JR_CODE_PRELOAD_UNUSED, preload->key, method,
            "spawned ranks have no helper that could preload modules");
        jr_diag_help(check->lint->diags, diag, "start_method: forkserver");
    } else if (library != NULL) {
        (void)jr_check_clash(check, JR_CODE_PRELOAD_UNUSED, preload->key,
                             library->key,
                             "a library has no modules to preload");
    }
}

/* A program of its own says nothing to jobrun before it ends. */
static void check_barrier(const struct jr_check *check,
                          const struct jr_node *entry)
{
    const struct jr_pair *barrier = jr_doc_pair(check->tree, "exit_barrier");
    if (barrier == NULL || entry == NULL ||
        strcmp(barrier->value->text, "true") != 0)
        return;
    const struct jr_pair *form = jr_doc_pair(entry, "command");
    form = form != NULL ? form : jr_doc_pair(entry, "shell");
    if (form != NULL)
        (void)jr_check_clash(
            check, JR_CODE_ENTRYPOINT_CANNOT_USE, barrier->key, form->key,
            "exit_barrier works for Python and libraries only: a %s does not "
            "tell jobrun that it has returned",
            form->key->text);
}

/* Whether a library, or Python itself, reads the variable when it is loaded. */
static bool is_read_early(const char *name)
{
    static const char *const prefixes[] = {"LD_", "OMP_", "PYTHON"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

/* Whether a value differs between ranks: all words may. */
static bool varies_by_rank(const struct jr_node *value)
{
    const char *mark = strstr(value->text, "%{");
    return mark != NULL && (mark == value->text || mark[-1] != '%');
}

static void warn_of_late_variables(const struct jr_check *check,
                                   const struct jr_node *method,
                                   const struct jr_node *env, bool all)
{
    for (size_t i = 0; env != NULL && i < env->count; i++) {
        const struct jr_pair *pair = &env->pairs[i];
        if (!is_read_early(pair->key->text) ||
            (!all && !varies_by_rank(pair->value)))
            continue;
        struct jr_diag *diag = jr_diags_warning(
            check->lint->diags, JR_CODE_VARIABLE_SET_TOO_LATE, pair->key->span,
            NULL,
            "%s differs between ranks, but it is read before the helper forks "
            "them",
            jr_lint_quoted(check->lint, pair->key->text, pair->key->len));
        jr_diag_relate(check->lint->diags, diag, method->span, "forked by");
        jr_diag_help(check->lint->diags, diag,
                     "state it for all ranks, or write start_method: spawn");
    }
}

/* The variables of a launcher are no process manager: MPI_Init finds none. */
static void warn_of_singletons(const struct jr_check *check)
{
    const struct jr_node *profiles = jr_doc_get(check->tree, "env_profiles");
    for (size_t i = 0; profiles != NULL && i < profiles->count; i++) {
        const struct jr_node *profile = profiles->items[i];
        if (strcmp(profile->text, "mpi") != 0)
            continue;
        struct jr_diag *diag = jr_diags_warning(
            check->lint->diags, JR_CODE_MPI_SINGLETONS, profile->span, NULL,
            "the mpi profile sets variables only: a program that calls "
            "MPI_Init runs as a world of one in every rank");
        jr_diag_help(check->lint->diags, diag,
                     "start MPI programs with mpiexec or srun; `jobrun render "
                     "SPEC --engine mpi` prints the command");
    }
}

void jr_check_start(const struct jr_check *check)
{
    const struct jr_node *method = jr_doc_get(check->tree, "start_method");
    const struct jr_node *entry = jr_doc_get(check->tree, "entrypoint");
    const struct jr_node *entries = jr_doc_get(check->tree, "per_rank");
    check_preload(check, method, entry);
    check_barrier(check, entry);
    warn_of_singletons(check);
    if (method == NULL || strcmp(method->text, "spawn") == 0)
        return;
    if (entry != NULL)
        check_method(check, method, entry);
    warn_of_late_variables(check, method, jr_doc_get(check->tree, "env"),
                           false);
    for (size_t i = 0; entries != NULL && i < entries->count; i++)
        warn_of_late_variables(
            check, method, jr_doc_get(entries->pairs[i].value, "env"), true);
}
