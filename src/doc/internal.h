/* What the files of this folder share: from a text in memory to a tree, and finding the scalar that
 * a path names. */
#ifndef JR_DOC_INTERNAL_H
#define JR_DOC_INTERNAL_H

#include <yaml.h>

#include "doc/doc.h"
#include "doc/merge.h"

/* Set doc->root from `text`: that of doc->source, or one of as many code points in its place.
 * Findings go to `diags`; the root stays NULL when there is nothing to walk. */
void jr_compose(struct jr_doc *doc, const char *text, size_t len, struct jr_diags *diags);

/* Report the error at which the parser, reading `source`, has stopped. */
void jr_syntax_report(struct jr_diags *diags, const yaml_parser_t *parser,
                      const struct jr_source *source);

/* Finding the scalar that a path in ${...} names: for this folder alone. */

/* Where one looks: lookups in large mappings are remembered. */
struct jr_locator {
    struct jr_arena *arena;
    const struct jr_shapes *shapes;
    struct jr_node *root;
    void *indexes; /* of tsearch */
};

enum jr_located {
    JR_LOCATED,
    JR_LOCATED_NO_PATH,  /* malformed */
    JR_LOCATED_UNKNOWN,  /* no such name: `near` has those that there are */
    JR_LOCATED_UNSTATED, /* a field that is not stated */
    JR_LOCATED_OWN       /* the user's own, which is never read */
};

struct jr_location {
    struct jr_node *node;       /* when located */
    struct jr_shape shape;      /* of it */
    const struct jr_node *near; /* a mapping; NULL: none */
    const char *name;           /* that it has not; in the arena */
    size_t name_at;             /* where that is in the path */
};

/* Look for the scalar that `path` names, and say in *ret where it is or how far the path leads. */
enum jr_located jr_locate(struct jr_locator *locator, const char *path, struct jr_location *ret);

/* Free what lookups have remembered. */
void jr_locator_release(struct jr_locator *locator);

#endif
