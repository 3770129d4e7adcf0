#include "spec/check_spares.h"

#include <inttypes.h>

#include "base/banned.h"

/* How many of the hosts are no spares is for the spec to say. */
static void require_nodes(const struct jr_check *check, const struct jr_stated *spares)
{
    const struct jr_node *hosts = jr_doc_get(check->tree, "hosts");
    bool told = hosts != NULL && hosts->count > spares->value && spares->node->filled == NULL;
    if (jr_check_number(check, "nodes").node != NULL || jr_check_is_open(check, "nodes"))
        return;
    struct jr_diag *diag = jr_check_clash(check, JR_CODE_SPARES_CONFLICT, spares->node, NULL,
                                          "'spare_nodes' is stated without 'nodes'");
    if (told)
        jr_diag_help(check->lint->diags, diag, "state how many the job is for: nodes: %" PRIu64,
                     hosts->count - spares->value);
    else
        jr_diag_help(check->lint->diags, diag, "state how many the job is for, without the spares");
}

/* Kubernetes places a pod anew itself. An engine of which nothing is stated but defaults, as in a
 * resolved spec, is none. */
static void check_spares_engine(const struct jr_check *check, const struct jr_stated *spares)
{
    const struct jr_node *image = jr_doc_find(check->tree, "engine.kubernetes.image");
    if (image == NULL || jr_doc_find(check->tree, "engine.slurm") != NULL ||
        jr_doc_find(check->tree, "engine.ssh") != NULL)
        return;
    struct jr_diag *diag =
        jr_check_clash(check, JR_CODE_SPARES_CONFLICT, spares->node, image,
                       "'spare_nodes' is for Slurm and ssh, and 'engine' is kubernetes");
    jr_diag_help(check->lint->diags, diag, "leave it out, or state engine.slurm or engine.ssh");
}

/* A spare comes with the next attempt. */
static void warn_of_idle_spares(const struct jr_check *check, const struct jr_stated *spares)
{
    struct jr_stated max = jr_check_number(check, "restart.max");
    if (max.value > 0 || jr_check_is_open(check, "restart.max") ||
        jr_check_is_open(check, "restart"))
        return;
    struct jr_diag *diag =
        jr_diags_warning(check->lint->diags, JR_CODE_SPARES_IDLE, spares->node->span, "spare_nodes",
                         "no spare takes the place of a node that is lost in the run, because "
                         "'restart' allows no other attempt");
    jr_diag_help(check->lint->diags, diag, "add " JR_SETTING("restart.max", "3"));
}

void jr_check_spares(const struct jr_check *check)
{
    const struct jr_stated spares = jr_check_number(check, "spare_nodes");
    if (spares.node == NULL || spares.value == 0)
        return;
    require_nodes(check, &spares);
    check_spares_engine(check, &spares);
    warn_of_idle_spares(check, &spares);
}
