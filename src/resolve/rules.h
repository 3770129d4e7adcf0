/*
 * The table of rules that fill the resolver's cells (resolver.h). The rules of a topic are in the
 * file of that topic. Private to this folder.
 *
 * A rule fires when the cells that it needs are known and the one that it fills is not. The table
 * is in order of preference. After every firing it is read from the top again, so a default is
 * never used while a derivation is still possible.
 */
#ifndef JR_RULES_H
#define JR_RULES_H

#include "resolve/findings.h"
#include "resolve/resolver.h"

/* What came of trying a rule. */
enum jr_fired { JR_PASSED, JR_FIRED, JR_FAILED };

/* One rule, a row of the table in rules.c. */
struct jr_rule {
    enum jr_field out;
    enum jr_origin origin;
    uint32_t needs;
    /* Fill the blank cell `out`, whose origin and text are the row's until it says better;
     * JR_PASSED leaves the field to later rows. */
    enum jr_fired (*apply)(struct jr_resolver *r, struct jr_field_value *out);
    const char *text;
};

/* Fill all cells that can be filled. */
void jr_rules_run(struct jr_resolver *r);

/* Let findings about the cell that a rule is filling point at it. */
void jr_rules_show(struct jr_resolver *r, enum jr_field field, const struct jr_field_value *out);

#endif
