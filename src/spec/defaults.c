#include "spec/defaults.h"

#include <string.h>

#include "doc/doc.h"
#include "doc/place.h"
#include "spec/load.h"

#include "base/banned.h"

/* Replace the characters that a name may not contain. */
static void sanitise_name(char *name)
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
    sanitise_name(stem);
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

/* A source for the command line; NULL if memory runs out. */
static struct jr_source *new_implied_source(struct jr_doc *doc,
                                            const char *name, const char *text,
                                            const char *folder)
{
    struct jr_source *source = jr_arena_alloc(&doc->arena, sizeof *source);
    if (source == NULL || text == NULL)
        return NULL;
    *source = (struct jr_source){.name = name,
                                 .text = text,
                                 .len = strlen(text),
                                 .folder = folder,
                                 .option = true};
    return source;
}

/* Whether a word is shown in quotes: otherwise it would be taken for several,
 * or for none. */
static bool needs_word_quotes(const char *word)
{
    return *word == '\0' || strpbrk(word, " \t\n'\"") != NULL;
}

/* The words with blanks between them. A node says how it is shown, so that what
 * is wrong in a template can be pointed at. */
static char *write_words(struct jr_arena *arena, const struct jr_node *words,
                         char *const *argv)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    for (size_t i = 0; i < words->count; i++) {
        bool quoted = needs_word_quotes(argv[i]);
        const char *quote = quoted ? "'" : "";
        if (quoted || strstr(argv[i], "%{") != NULL)
            words->items[i]->plain = !quoted;
        jr_buf_printf(&text, "%s%s%s%s", i == 0 ? "" : " ", quote, argv[i],
                      quote);
    }
    return jr_buf_keep(&text, arena);
}

static void place_words(struct jr_node *words, char *const *argv,
                        const struct jr_source *source)
{
    struct jr_place place = {0}, first = {0};
    for (size_t i = 0; i < words->count; i++) {
        struct jr_place start = place;
        size_t size = strlen(argv[i]) + (needs_word_quotes(argv[i]) ? 2 : 0);
        jr_place_to_byte(&place, source, place.byte + size);
        words->items[i]->span = jr_place_span(source, start, place);
        words->span = jr_place_span(source, first, place);
        jr_place_to_byte(&place, source, place.byte + 1);
    }
}

void jr_spec_place_command(struct jr_doc *doc, char *const *argv,
                           const char *folder)
{
    const struct jr_span nowhere = {.source = doc->source};
    struct jr_node *words = jr_doc_get(doc->root, "entrypoint");
    struct jr_node *count = jr_doc_get(doc->root, "world_size");
    const struct jr_source *source;
    doc->root->span = nowhere;
    for (size_t i = 0; i < doc->root->count; i++) {
        doc->root->pairs[i].key->span = nowhere;
        doc->root->pairs[i].value->span = nowhere;
    }
    const char *text = write_words(&doc->arena, words, argv);
    source = new_implied_source(doc, "command", text, folder);
    if (source != NULL)
        place_words(words, argv, source);
    source = count == NULL ? NULL
                           : new_implied_source(doc, "-n", count->text, folder);
    if (source == NULL)
        return;
    struct jr_place start = {0}, end = {0};
    jr_place_to_byte(&end, source, source->len);
    count->span = jr_place_span(source, start, end);
}
