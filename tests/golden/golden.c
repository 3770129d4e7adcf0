/*
 * Shows what reading a spec comes to, for the golden folders:
 *
 *   golden check [OPTION...] FILE      the findings, as a terminal shows them
 *   golden normal [OPTION...] FILE     the spec in normal form
 *   golden command N CMD...            that of the spec that -n N -- CMD
 * implies golden schema                      the JSON Schema
 *
 *   -s PATH=VALUE    --set              -e NAME=VALUE    in the environment
 *   -r DIR           --root             -a GLOB          --allow-env
 *   -v               as validate reads it                -S   and --strict
 *   -w PATH=A,B      --sweep
 *
 * Of a sweep the findings are those of its cells up to the first that has some.
 *
 * Exit status: 0 without an error, 3 with one, 2 for wrong usage.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "doc/doc.h"
#include "spec/load.h"
#include "spec/jsonschema.h"
#include "sweep/swept_spec.h"

enum { MOST = 32 }; /* of an option that may be repeated */

struct words {
    char *items[MOST + 1];
    size_t count;
};

static int show(struct jr_buf *out, int status)
{
    bool good = !out->failed && (out->len == 0 || fwrite(out->data, out->len, 1, stdout) == 1);
    jr_buf_release(out);
    return good && fflush(stdout) == 0 ? status : 1;
}

/* The findings, or the normal form when there is no error. */
static int tell(struct jr_spec_file *file, struct jr_diags *diags, bool normal)
{
    struct jr_buf out = JR_BUF_INIT;
    int status = diags->errors > 0 ? 3 : 0;
    jr_diags_sort(diags);
    jr_diags_render(&out, diags, JR_DIAG_HUMAN, false);
    if (normal && status == 0)
        jr_spec_emit(&out, file);
    jr_diags_release(diags);
    jr_spec_free(file);
    return show(&out, status);
}

/* The cells of a sweep, whose file is taken over. */
static int tell_cells(struct jr_spec_file *file, const struct jr_swept_words *words,
                      struct jr_diags *diags)
{
    struct jr_swept_spec swept;
    struct jr_spec_file *cell = NULL;
    struct jr_shared_files files;
    struct jr_buf out = JR_BUF_INIT;
    jr_shared_files_init(&files);
    int failed = jr_swept_spec_open(&swept, file, words, diags);
    for (size_t i = 0; failed == 0 && i < swept.cells.count; i++) {
        jr_spec_free(cell);
        failed = jr_swept_spec_load(&cell, &swept, i, diags) != 0 ||
                 jr_shared_files_add(&files, cell, i, diags) != 0;
    }
    int status = diags->errors > 0 ? 3 : 0;
    jr_diags_sort(diags);
    jr_diags_render(&out, diags, JR_DIAG_HUMAN, false);
    jr_diags_release(diags);
    jr_spec_free(cell);
    jr_shared_files_release(&files);
    jr_swept_spec_close(&swept);
    return show(&out, status);
}

static void add(struct words *words, char *word)
{
    if (words->count < MOST)
        words->items[words->count++] = word;
}

static int read_file(int argc, char **argv, bool normal)
{
    struct words sets = {0}, environ_ = {0}, allowed = {0}, sweeps = {0};
    struct jr_spec_options options = {.environ = environ_.items, .sweeps = true};
    struct jr_diags diags = JR_DIAGS_INIT;
    struct jr_spec_file *file = NULL;
    int option;
    while ((option = getopt(argc, argv, "s:e:r:a:w:vS")) != -1) {
        if (option == 's')
            add(&sets, optarg);
        else if (option == 'e')
            add(&environ_, optarg);
        else if (option == 'a')
            add(&allowed, optarg);
        else if (option == 'w')
            add(&sweeps, optarg);
        else if (option == 'r')
            options.root = optarg;
        else if (option == 'S')
            options.strict = true;
        else if (option != 'v')
            return 2;
        options.validate |= option == 'v' || option == 'S';
    }
    if (optind + 1 != argc)
        return 2;
    options.sets = sets.count > 0 ? sets.items : NULL;
    if (options.validate)
        options.allow_env = allowed.items;
    const struct jr_spec_source source = {.path = argv[optind]};
    options.swept = sweeps.count > 0;
    const struct jr_swept_words words = {&source, &options, sweeps.items};
    if (jr_spec_load(&file, &source, &options, &diags) == 0 && jr_spec_sweeps(file))
        return tell_cells(file, &words, &diags);
    return tell(file, &diags, normal);
}

static int read_command(int argc, char **argv)
{
    struct jr_diags diags = JR_DIAGS_INIT;
    struct jr_spec_file *file = NULL;
    if (argc < 3)
        return 2;
    const struct jr_spec_options options = {0};
    const struct jr_spec_source source = {.argv = argv + 2,
                                          .ranks = (uint32_t)strtoul(argv[1], NULL, 10)};
    (void)jr_spec_load(&file, &source, &options, &diags);
    return tell(file, &diags, true);
}

int main(int argc, char **argv)
{
    struct jr_buf out = JR_BUF_INIT;
    const char *verb = argc > 1 ? argv[1] : "";
    if (strcmp(verb, "schema") == 0) {
        jr_spec_schema(&out);
        return show(&out, 0);
    }
    if (strcmp(verb, "command") == 0)
        return read_command(argc - 1, argv + 1);
    if (strcmp(verb, "check") == 0 || strcmp(verb, "normal") == 0)
        return read_file(argc - 1, argv + 1, strcmp(verb, "normal") == 0);
    return 2;
}
