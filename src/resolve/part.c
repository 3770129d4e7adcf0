#include "part.h"

#include <string.h>

#include "banned.h"

static const struct jr_part_row rows[] = {
    {"nodes", JR_PART_PLACEMENT, true},
    {"node_rank", JR_PART_PLACEMENT, true},
    {"rank_start", JR_PART_PLACEMENT, true},
    {"local_world_size", JR_PART_PLACEMENT, true},
    {"hosts", JR_PART_PLACEMENT, true},
    {"master_addr", JR_PART_PLACEMENT, true},
    {"master_port", JR_PART_PLACEMENT, true},
    {"devices", JR_PART_PLACEMENT, true},
    {"bind", JR_PART_PLACEMENT, true},
    {"threads", JR_PART_PLACEMENT, true},
    {"init_method", JR_PART_PLACEMENT, false},
    {"oversubscribe", JR_PART_PLACEMENT, false},
    {"engine", JR_PART_PLACEMENT, false},
    {"name", JR_PART_LABEL, false},
    {"description", JR_PART_LABEL, false},
    {"labels", JR_PART_LABEL, false},
    {"log_dir", JR_PART_RECORD, false},
    {"log_mode", JR_PART_RECORD, false},
    {"log_limit", JR_PART_RECORD, false},
    {"$schema", JR_PART_SOURCE, false},
    {"extends", JR_PART_SOURCE, false},
    {"template", JR_PART_SOURCE, false},
    {"vars", JR_PART_SOURCE, false},
    {"targets", JR_PART_SOURCE, false},
};

const struct jr_part_row *jr_part_rows(size_t *ret_count)
{
    *ret_count = sizeof rows / sizeof rows[0];
    return rows;
}

enum jr_part jr_part_of(const char *path)
{
    size_t len = strcspn(path, ".[");
    if (strncmp(path, "x-", 2) == 0)
        return JR_PART_LABEL;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strlen(rows[i].key) == len && memcmp(path, rows[i].key, len) == 0)
            return rows[i].part;
    return JR_PART_EXPERIMENT;
}

const char *jr_part_word(enum jr_part part)
{
#define WORD(name, word) word,
    static const char *const words[] = {JR_PARTS(WORD)};
#undef WORD
    return words[part];
}
