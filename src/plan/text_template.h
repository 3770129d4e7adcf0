/*
 * Per-rank templates: "%{rank}" in arguments, environment values and paths; "%%{" is a literal
 * "%{".
 *
 * A text is compiled once and expanded for every rank. What does not depend on the rank is expanded
 * once and shared: a compiled template knows how far its words reach (its domain) and keeps one
 * string for each value of that. So 4096 ranks in one group share one list of the group's members.
 */
#ifndef JR_TEXT_TEMPLATE_H
#define JR_TEXT_TEMPLATE_H

#include <jobrun/error.h>
#include <jobrun/template.h>
#include <jobrun/types.h>

#include "base/arena.h"

/* What a word depends on. */
enum jr_domain {
    JR_DOMAIN_JOB,
    JR_DOMAIN_NODE,
    JR_DOMAIN_LOCAL,                                  /* the local rank */
    JR_DOMAIN_AT,                                     /* the coordinate, per axis */
    JR_DOMAIN_GROUP = JR_DOMAIN_AT + JR_AXIS_COUNT,   /* the group, per axis */
    JR_DOMAIN_RANK = JR_DOMAIN_GROUP + JR_AXIS_COUNT, /* or several of these */
    JR_DOMAIN_COUNT
};

/* One rank as templates see it: the text of every word (NULL reads as empty), and which value of
 * each domain it has. */
struct jr_scope {
    const char *text[JR_TEMPLATE_COUNT];
    uint32_t index[JR_DOMAIN_COUNT];
    struct jr_arena *lasting; /* for what ranks share; NULL: as the rest */
};

struct jr_piece; /* a literal or a word */

struct jr_compiled_template {
    struct jr_piece *pieces;
    size_t count;
    enum jr_domain domain;
    char **shared; /* by index in the domain; NULL for JR_DOMAIN_RANK, and
                      where there are too many values for that to pay */
    bool json;     /* words are in strings of JSON */
};

/* How many values each domain has, the memory for compiling, whether the words of contract.h's
 * tables are known too, and whether the text is JSON, in whose strings words must be escaped. */
struct jr_template_space {
    struct jr_arena *arena;
    uint32_t size[JR_DOMAIN_COUNT];
    bool internals, json;
};

/* Compile `prefix` (taken as it is; "" for none) followed by the template
 * `text`; both are borrowed. -1 with `err` when a word is unknown or has no
 * closing brace. Memory failure is the arena's. */
int jr_compiled_template_compile(struct jr_compiled_template *ret,
                                 const struct jr_template_space *space, const char *prefix,
                                 const char *text, struct jr_error *err);

/* A template that is `text` itself, whatever it contains. It borrows the text.
 */
void jr_compiled_template_literal(struct jr_compiled_template *ret,
                                  const struct jr_template_space *space, const char *text);

/* The text for one rank, in `arena`; ranks of one domain value get the same pointer. NULL if memory
 * runs out. */
char *jr_compiled_template_expand(const struct jr_compiled_template *template,
                                  struct jr_arena *arena, const struct jr_scope *scope);

/* Whether no two ranks get the same text: all that varies is one %{rank} or %{rank_dir}. */
bool jr_compiled_template_is_distinct(const struct jr_compiled_template *template);

/* A NULL-terminated vector of templates, as for argv. */
struct jr_compiled_templates {
    struct jr_compiled_template *items;
    size_t count;
    char **shared; /* the vector, once expanded, when no item varies */
};

/* Compile `count` templates, borrowed, into `ret`: -1 with `err` at the first that is none. Memory
 * failure is the arena's. */
int jr_compiled_templates_compile(struct jr_compiled_templates *ret,
                                  const struct jr_template_space *space, char *const *texts,
                                  size_t count, struct jr_error *err);

/* Whether some rank gets another vector than rank 0. */
bool jr_compiled_templates_vary(const struct jr_compiled_templates *templates);

/* Expand all for one rank: a NULL-terminated vector in `arena`, or the shared one when no item
 * varies; NULL without memory. */
char **jr_compiled_templates_expand(struct jr_compiled_templates *templates, struct jr_arena *arena,
                                    const struct jr_scope *scope);

#endif
