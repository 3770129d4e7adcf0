#include "implied.h"

#include <string.h>

#include "doc.h"
#include "load.h"

#include "banned.h"

/* Put a stand-in for what no name may hold. */
static void sanitise(char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    for (size_t i = 0; name[i] != '\0'; i++) {
        if (strchr(letters, name[i]) != NULL)
            continue;
        if (i == 0)
            name[i] = 'x';
        else if (strchr("._", name[i]) == NULL)
            name[i] = '-';
    }
}

char *jr_spec_stem(struct jr_arena *arena, const char *path)
{
    static const char *const suffixes[] = {".yaml", ".yml", ".jobrun"};
    enum { LONGEST = 63 };
    const char *slash = strrchr(path, '/');
    char *stem = jr_arena_strdup(arena, slash == NULL ? path : slash + 1);
    size_t len = stem == NULL ? 0 : strlen(stem);
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        size_t suffix = strlen(suffixes[i]);
        if (len > suffix && strcmp(stem + len - suffix, suffixes[i]) == 0)
            stem[len -= suffix] = '\0';
    }
    if (len == 0)
        return jr_arena_strdup(arena, "job");
    if (len > LONGEST)
        stem[LONGEST] = '\0';
    sanitise(stem);
    return stem;
}

void jr_spec_write_command(struct jr_buf *out, struct jr_arena *arena,
                           uint32_t n, char *const *argv)
{
    struct jr_node *root = jr_node_mapping(arena);
    struct jr_node *list = jr_node_sequence(arena);
    jr_node_set(arena, root, "version", jr_node_scalar(arena, "1", true));
    jr_node_set(arena, root, "name",
                jr_node_scalar(arena, jr_spec_stem(arena, argv[0]), false));
    for (; *argv != NULL; argv++)
        jr_node_append(arena, list, jr_node_scalar(arena, *argv, false));
    jr_node_set(arena, root, "entrypoint", list);
    const char *count = jr_arena_printf(arena, "%u", n);
    if (n > 0 && count != NULL)
        jr_node_set(arena, root, "world_size",
                    jr_node_scalar(arena, count, true));
    if (arena->failed)
        return;
    jr_spec_escape(arena, root);
    jr_doc_emit(out, root);
}
