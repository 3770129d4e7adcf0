#include "doc/parent_choice.h"

#include <string.h>

#include "base/near_file.h"
#include "doc/node_path.h"

#include "base/banned.h"

void jr_parent_choices_add(struct jr_parent_choices *choices,
                           struct jr_arena *arena,
                           const struct jr_parent_choice *choice)
{
    struct jr_parent_choice *slot =
        jr_arena_push(arena, &choices->items, &choices->count, sizeof *slot);
    if (slot != NULL)
        *slot = *choice;
}

struct jr_node *jr_parent_choices_path(const struct jr_parent_choices *choices,
                                       const char *name)
{
    for (size_t i = choices->count; i > 0; i--)
        if (strcmp(choices->items[i - 1].name, name) == 0)
            return choices->items[i - 1].path;
    return NULL;
}

const struct jr_file *jr_parent_choices_from(
    const struct jr_parent_choices *choices, const struct jr_node *path,
    const struct jr_file *own, struct jr_file *here)
{
    size_t i = 0;
    while (i < choices->count && choices->items[i].path != path)
        i++;
    if (i == choices->count)
        return own;
    *here = (struct jr_file){.name = "", .folder = choices->here};
    return choices->items[i].from != NULL ? choices->items[i].from : here;
}

void jr_parent_choices_note(struct jr_parent_choices *choices,
                            struct jr_arena *arena, const char *name)
{
    for (size_t i = 0; i < choices->count; i++)
        choices->items[i].taken |= strcmp(choices->items[i].name, name) == 0;
    for (size_t i = 0; i < choices->names.count; i++)
        if (strcmp(choices->names.items[i], name) == 0)
            return;
    jr_strv_push(&choices->names, arena, (char *)name);
}

/* "base, model and optimizer", of a list that is not empty. */
static const char *list_names(struct jr_arena *arena,
                              const struct jr_strv *names)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    for (size_t i = 0; i < names->count; i++)
        jr_buf_printf(&out, "%s%s",
                      i == 0                 ? ""
                      : i + 1 < names->count ? ", "
                                             : " and ",
                      names->items[i]);
    const char *list = jr_buf_keep(&out, arena);
    return list == NULL ? "" : list;
}

/* Refuse a choice for a name that no file has. */
static void refuse_choice(const struct jr_parent_choices *choices,
                          const struct jr_parent_choice *choice,
                          struct jr_arena *arena, struct jr_diags *diags)
{
    struct jr_buf path JR_BUF_CLEANUP = JR_BUF_INIT;
    const struct jr_strv *names = &choices->names;
    const char *near = NULL;
    jr_buf_str(&path, "extends.");
    jr_point_text(&path, choice->name, strlen(choice->name));
    const char *shown = path.failed ? "extends" : path.data;
    struct jr_diag *diag =
        jr_diags_error(diags, JR_CODE_UNDECLARED_ENTRY, choice->at, shown,
                       "'%s' is not declared in the spec", shown);
    if (names->count > 0)
        near = jr_did_you_mean(choice->name, (const char *const *)names->items);
    if (near != NULL)
        jr_diag_help(diags, diag, "did you mean 'extends.%s'?", near);
    else if (names->count > 0)
        jr_diag_help(diags, diag, "the named parents are %s",
                     list_names(arena, names));
    else
        jr_diag_help(diags, diag,
                     "no parent has a name; a spec names them by a mapping: "
                     "extends: {base: PATH}");
}

bool jr_parent_choices_check(const struct jr_parent_choices *choices,
                             struct jr_arena *arena, struct jr_diags *diags)
{
    bool good = true;
    for (size_t i = 0; i < choices->count; i++) {
        if (choices->items[i].taken)
            continue;
        refuse_choice(choices, &choices->items[i], arena, diags);
        good = false;
    }
    return good;
}
