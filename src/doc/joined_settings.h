/*
 * Several settings in one option, vars.lr=1,vars.b=2, as other programs take them. YAML reads the
 * whole as one text, so nothing else would notice it.
 */
#ifndef JR_JOINED_SETTINGS_H
#define JR_JOINED_SETTINGS_H

#include "doc/merge.h"

/* The settings of one document, and the option that is read. */
struct jr_joined_settings {
    struct jr_arena *arena;
    const struct jr_shapes *shapes;
    const struct jr_node *root; /* the document's; NULL: it is empty */
    const char *name;           /* of the option: "--set" */
    const char *path;           /* that it sets */
    bool adds;                  /* there is a plus before the path */
};

/* Whether `text` begins with PATH=, where the path is one that could be set beside that of the
 * option: a field, or an entry that is there. The length of the path; 0: it does not. */
size_t jr_joined_settings_name(const struct jr_joined_settings *settings, const char *text);

/* Append `--set PATH=VALUE`, as it is typed into a shell, of the first `len` bytes of `text`, after
 * a blank where there is something already. An entry beside that of the option gets the path of
 * their mapping. */
void jr_joined_settings_add(struct jr_buf *out, const struct jr_joined_settings *settings,
                            const char *text, size_t len);

/* Refuse an option whose value, a scalar without quotes, goes on with other settings. Returns
 * whether it does. */
bool jr_joined_settings_refuse(const struct jr_joined_settings *settings,
                               const struct jr_node *value, struct jr_diags *diags);

#endif
