/*
 * RANKS:STREAMS items, separated by ';', as `redirects` of a spec, both as a string and as a
 * mapping: the two agree, and every local rank gets the sinks that its item states.
 */
#include "fuzz.h"

#include "doc/doc.h"
#include "plan/internal.h"
#include "resolve/job.h"
#include "spec/load.h"

enum { RANKS = 64, MOST_ITEMS = 256 };

struct item {
    const char *ranks, *streams;
};

/* Items as the input has them, cut in place. False when one has no colon, or two have the same
 * ranks, which no mapping can hold. */
static bool cut(char *text, struct item *ret, size_t *ret_count)
{
    size_t count = 0;
    for (char *rest = text; rest != NULL && count < MOST_ITEMS; count++) {
        char *item = strsep(&rest, ";");
        ret[count].ranks = strsep(&item, ":");
        ret[count].streams = item;
        for (size_t i = 0; item != NULL && i < count; i++)
            if (strcmp(ret[i].ranks, ret[count].ranks) == 0)
                return false;
        if (item == NULL)
            return false;
    }
    *ret_count = count;
    return true;
}

static struct jr_node *as_string(struct jr_arena *arena, const struct item *items, size_t count)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    for (size_t i = 0; i < count; i++) {
        if (strchr(items[i].ranks, ',') != NULL || strchr(items[i].streams, ',') != NULL)
            return NULL;
        jr_buf_printf(&text, "%s%s:%s", i == 0 ? "" : ",", items[i].ranks, items[i].streams);
    }
    return jr_node_scalar(arena, jr_arena_strdup(arena, text.data), false);
}

static struct jr_node *as_mapping(struct jr_arena *arena, const struct item *items, size_t count)
{
    struct jr_node *mapping = jr_node_mapping(arena);
    for (size_t i = 0; i < count; i++)
        jr_node_set(arena, mapping, items[i].ranks, jr_node_scalar(arena, items[i].streams, false));
    return mapping;
}

/* A spec with these redirects, or NULL when it is refused. */
static struct jr_spec_file *load(struct jr_arena *arena, struct jr_node *redirects)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    struct jr_diags diags = JR_DIAGS_INIT;
    struct jr_spec_file *file = NULL;
    struct jr_node *spec = jr_node_mapping(arena);
    struct jr_node *entry = jr_node_sequence(arena);
    jr_node_append(arena, entry, jr_node_scalar(arena, "./train", false));
    jr_node_set(arena, spec, "version", jr_node_scalar(arena, "1", true));
    jr_node_set(arena, spec, "entrypoint", entry);
    jr_node_set(arena, spec, "redirects", redirects);
    jr_doc_emit(&text, spec);
    int got = jr_spec_load_text(&file, "f", "/", text.data, text.len, &diags);
    require((got == 0) == (diags.errors == 0));
    jr_diags_release(&diags);
    if (got == 0)
        return file;
    jr_spec_free(file);
    return NULL;
}

/* Bits of enum jr_streams. */
static unsigned streams_of(const struct item *items, size_t count, uint32_t rank)
{
    static const char *const values[] = {"none", "out", "err", "all"};
    for (size_t i = 0; i < count; i++) {
        if (!fuzz_names(items[i].ranks, rank))
            continue;
        for (unsigned value = 0; value < 4; value++)
            if (strcmp(items[i].streams, values[value]) == 0)
                return value;
        return (unsigned)(items[i].streams[0] - '0');
    }
    return 0;
}

static void check_sinks(struct jr_arena *arena, const struct jr_spec *spec,
                        const struct item *items, size_t count)
{
    const struct jr_job job = {
        .redirects = spec->redirects, .redirects_count = spec->redirects_count, .tee_stated = true};
    struct jr_error err = {0};
    struct jr_sinks *sinks = jr_sinks_build(arena, &job, RANKS, &err);
    require(sinks != NULL);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        unsigned streams = streams_of(items, count, rank);
        require((sinks[rank].out == JR_SINK_FILE) == ((streams & 1) != 0));
        require((sinks[rank].err == JR_SINK_FILE) == ((streams & 2) != 0));
    }
}

static void check(struct jr_arena *arena, const struct item *items, size_t count)
{
    struct jr_node *string = as_string(arena, items, count);
    struct jr_spec_file *mapped = load(arena, as_mapping(arena, items, count));
    struct jr_spec_file *written = string == NULL ? NULL : load(arena, string);
    require(string == NULL || (mapped == NULL) == (written == NULL));
    if (mapped != NULL)
        check_sinks(arena, jr_spec_get(mapped), items, count);
    if (written != NULL)
        check_sinks(arena, jr_spec_get(written), items, count);
    jr_spec_free(mapped);
    jr_spec_free(written);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text;
    struct jr_arena arena = JR_ARENA_INIT;
    struct item items[MOST_ITEMS];
    size_t count;
    fuzz_split(&text, 1, '\0', data, size);
    struct jr_node *whole = jr_node_scalar(&arena, jr_arena_strdup(&arena, text), false);
    jr_spec_free(load(&arena, whole));
    if (cut(text, items, &count))
        check(&arena, items, count);
    jr_arena_release(&arena);
    fuzz_free(&text, 1);
    return 0;
}
