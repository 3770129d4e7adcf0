/*
 * A spec, two parents that it may build on (a.yaml, b.yaml), and lines of PATH=VALUE as --set,
 * separated by a byte 0x1e: either there are findings, or a spec that is written as one without any
 * of that, and for the same values. A secret of the environment stands in nothing that is written.
 */
#include "fuzz.h"

#include "doc/doc.h"
#include "doc/source_reader.h"
#include "spec/load.h"

enum { PARTS = 4, MOST_SETS = 8 };

#define SECRET "s3cr3t-9f"

struct loaded {
    struct jr_diags diags;
    struct jr_spec_file *file;
    struct jr_buf normal;
};

static int read_part(const struct jr_reader *reader, struct jr_reading *reading,
                     struct jr_error *err)
{
    static const char *const names[] = {"a.yaml", "b.yaml"};
    char *const *parts = reader->context;
    for (size_t i = 0; i < 2; i++) {
        if (strcmp(reading->path, names[i]) != 0)
            continue;
        reading->file = (struct jr_file){names[i], names[i], "/fuzz"};
        jr_buf_str(&reading->text, parts[i + 1]);
        jr_buf_reserve(&reading->text, 0);
        return 0;
    }
    return jr_error_set(err, JR_STATUS_INVALID, "there is no such part");
}

/* The lines of a text, cut in place. */
static void cut(char *text, char **ret)
{
    size_t count = 0;
    for (char *rest = text; rest != NULL && count < MOST_SETS;) {
        char *line = strsep(&rest, "\n");
        if (*line != '\0')
            ret[count++] = line;
    }
    ret[count] = NULL;
}

static struct loaded load(const char *text, const struct jr_spec_options *options)
{
    const struct jr_spec_source source = {
        .name = "f.yaml", .folder = "/fuzz", .text = text, .len = strlen(text)};
    struct loaded loaded = {0};
    int got = jr_spec_load(&loaded.file, &source, options, &loaded.diags);
    require((got == 0) == (loaded.diags.errors == 0));
    for (size_t i = 0; i < loaded.diags.count; i++)
        require(strcmp(loaded.diags.items[i].code, "JR0100") != 0);
    if (got == 0)
        jr_spec_emit(&loaded.normal, loaded.file);
    return loaded;
}

static void unload(struct loaded *loaded)
{
    jr_buf_release(&loaded->normal);
    jr_diags_release(&loaded->diags);
    jr_spec_free(loaded->file);
}

static void check_hidden(const struct loaded *loaded)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    jr_diags_render(&text, &loaded->diags, JR_DIAG_HUMAN, false);
    jr_diags_render(&text, &loaded->diags, JR_DIAG_SARIF, false);
    jr_buf_add(&text, loaded->normal.data, loaded->normal.len);
    require(text.len == 0 || strstr(text.data, SECRET) == NULL);
}

/* Alone, with no more than the environment. Where validating left something open, that is what the
 * normal form refers to, and not a spec alone. */
static void check_again(const struct loaded *first, const struct jr_spec_options *options)
{
    const struct jr_spec_options alone = {.environ = options->environ};
    if (first->normal.len > JR_DOC_MAX_BYTES)
        return;
    struct loaded again = load(first->normal.data, &alone);
    require(again.diags.errors == 0);
    require(strcmp(again.normal.data, first->normal.data) == 0);
    unload(&again);
}

/* Whether a secret may be written: when it is none by the spec's own word, or stands there
 * literally. */
static bool is_open(char *const *parts)
{
    for (size_t i = 0; i < PARTS; i++)
        if (strstr(parts[i], "secrets") != NULL || strstr(parts[i], SECRET) != NULL)
            return true;
    return false;
}

static void check(char *const *parts, const struct jr_spec_options *options, bool hidden)
{
    struct loaded loaded = load(parts[0], options);
    if (hidden)
        check_hidden(&loaded);
    if (loaded.diags.errors == 0 && !options->validate)
        check_again(&loaded, options);
    unload(&loaded);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char *const environment[] = {(char *)"NAME=value", (char *)"N=8",
                                        (char *)"A_TOKEN=" SECRET, (char *)"EMPTY=", NULL};
    char *parts[PARTS], *sets[MOST_SETS + 1];
    fuzz_split(parts, PARTS, '\x1e', data, size);
    bool hidden = !is_open(parts);
    cut(parts[PARTS - 1], sets);
    const struct jr_reader reader = {read_part, parts};
    struct jr_spec_options options = {
        .sets = sets, .root = "/fuzz", .reader = &reader, .environ = environment};
    check(parts, &options, hidden);
    options.validate = true;
    check(parts, &options, hidden);
    fuzz_free(parts, PARTS);
    return 0;
}
