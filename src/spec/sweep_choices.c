#include "spec/sweep_choices.h"

#include <string.h>

#include "base/did_you_mean.h"

#include "base/banned.h"

static void refuse_no_axis(struct jr_sweep_reading *reading, const struct jr_axis_field *field)
{
    enum { MOST = 256 };
    const char *names[MOST + 1];
    size_t count = 0;
    const struct jr_sweep_axes *axes = reading->axes;
    for (size_t i = 0; i < axes->count; i++)
        for (size_t j = 0; j < axes->axes[i].fields_count && count < MOST; j++)
            names[count++] = axes->axes[i].fields[j].path;
    names[count] = NULL;
    const char *near = jr_did_you_mean(field->path, names);
    struct jr_diag *diag =
        jr_sweep_refuse(reading, JR_CODE_WRONG_CELLS, field->key->span, NULL,
                        "'%s' is not an axis: only combinations of axes are excluded", field->path);
    if (near != NULL)
        jr_diag_help(reading->diags, diag, "did you mean '%s'?", near);
}

/* One pair of an entry. */
static void read_choice_pair(struct jr_sweep_reading *reading, struct jr_sweep_choice *choice,
                             const struct jr_pair *pair, bool exclude)
{
    size_t values = choice->count, other;
    struct jr_axis_field *field =
        jr_arena_push(reading->arena, &choice->fields, &choice->count, sizeof *field);
    struct jr_node **value = jr_arena_push(reading->arena, &choice->values, &values, sizeof *value);
    if (field == NULL || value == NULL)
        return;
    *field = (struct jr_axis_field){.path = pair->key->text, .key = pair->key};
    *value = pair->value;
    if (!exclude)
        (void)jr_sweep_check_field(reading, field);
    else if (jr_sweep_axes_find(reading->axes, field->path, &other) == NULL)
        refuse_no_axis(reading, field);
}

/* An entry without a field would be about all cells, or about none. */
static void refuse_empty_choice(struct jr_sweep_reading *reading, const struct jr_node *node)
{
    struct jr_diag *diag = jr_sweep_refuse(reading, JR_CODE_WRONG_CELLS, node->span, NULL,
                                           "this entry says nothing of any field");
    jr_diag_help(reading->diags, diag, "state values: {vars.lr: 0.1}");
}

static void read_choice(struct jr_sweep_reading *reading, struct jr_sweep_choice *choice,
                        const struct jr_node *node, bool exclude)
{
    choice->node = node;
    for (size_t j = 0; j < node->count; j++)
        read_choice_pair(reading, choice, &node->pairs[j], exclude);
    if (node->count == 0)
        refuse_empty_choice(reading, node);
}

static void read_choice_list(struct jr_sweep_reading *reading, const struct jr_node *list,
                             bool exclude)
{
    struct jr_sweep_axes *axes = reading->axes;
    for (size_t i = 0; list != NULL && i < list->count; i++) {
        struct jr_sweep_choice *choice = exclude
                                             ? jr_arena_push(reading->arena, &axes->excludes,
                                                             &axes->excludes_count, sizeof *choice)
                                             : jr_arena_push(reading->arena, &axes->includes,
                                                             &axes->includes_count, sizeof *choice);
        if (choice == NULL)
            return;
        read_choice(reading, choice, list->items[i], exclude);
    }
}

void jr_sweep_read_choices(struct jr_sweep_reading *reading, const struct jr_node *sweep)
{
    read_choice_list(reading, jr_doc_get(sweep, "exclude"), true);
    read_choice_list(reading, jr_doc_get(sweep, "include"), false);
}
