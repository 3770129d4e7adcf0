#include "spec/load.h"

#include <errno.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/utf8.h"
#include "spec/assemble.h"
#include "spec/check.h"
#include "spec/cyaml_bind.h"
#include "spec/defaults.h"
#include "spec/spec_file.h"

#include "base/banned.h"

static struct jr_spec_file *new_file(struct jr_diags *diags)
{
    struct jr_spec_file *file = calloc(1, sizeof *file);
    if (file == NULL)
        (void)jr_diags_error(diags, JR_CODE_INTERNAL, (struct jr_span){0}, NULL,
                             "out of memory");
    return file;
}

void jr_spec_free(struct jr_spec_file *file)
{
    if (file == NULL)
        return;
    jr_bind_free(file->spec);
    jr_doc_release(&file->doc);
    free(file);
}

/* Whether the spec says that it is only a base for others. */
static bool is_template(const struct jr_node *root)
{
    const struct jr_node *flag = NULL;
    if (root->kind == JR_NODE_MAPPING)
        flag = jr_doc_get(root, "template");
    return flag != NULL && flag->kind == JR_NODE_SCALAR &&
           jr_scalar_type(flag) == JR_SCALAR_BOOL && flag->text[0] != 'f' &&
           flag->text[0] != 'F';
}

static void refuse_template(struct jr_lint *lint, const struct jr_node *root)
{
    const struct jr_node_step at = {.key = "template"};
    struct jr_diag *diag =
        jr_lint_error(lint, JR_CODE_SPEC_IS_TEMPLATE,
                      jr_doc_pair(root, "template")->key->span, &at,
                      "this is a template: it is only a base for others");
    jr_diag_help(lint->diags, diag, "run a spec that extends it");
}

int jr_spec_bind(struct jr_spec_file *file, struct jr_diags *diags)
{
    struct jr_lint lint = {
        .arena = &file->doc.arena,
        .diags = diags,
        .folder = file->folder,
        .here = file->here,
    };
    int ret = 0;
    if (!file->base && file->spec == NULL)
        ret = jr_bind_spec(&file->spec, &lint, file->tree, file->stem);
    jr_lint_release(&lint);
    return ret;
}

/* Everything after the tree is complete: lint and check. `errors` is how many
 * there were before it was read. */
static int lint_and_check(struct jr_spec_file *file, struct jr_lint *lint,
                          const char *name, size_t errors)
{
    struct jr_diags *diags = lint->diags;
    const struct jr_node *root = file->doc.root;
    lint->base = is_template(root);
    if (lint->base && !lint->validate)
        refuse_template(lint, root);
    file->tree = jr_lint_spec(lint, root);
    if (file->tree != NULL)
        jr_check_spec(lint, root, file->tree);
    file->base = lint->base;
    file->stem = jr_spec_stem(lint->arena, name);
    file->folder = lint->folder;
    file->here = jr_arena_strdup(lint->arena, lint->here);
    if (lint->arena->failed)
        (void)jr_diags_error(diags, JR_CODE_INTERNAL, root->span, NULL,
                             "out of memory");
    if (lint->arena->failed || file->tree == NULL || diags->errors > errors)
        return -1;
    return 0;
}

/* Everything after the document is loaded. */
static int read_spec_doc(struct jr_spec_file *file,
                         const struct jr_assembly *assembly,
                         struct jr_diags *diags, size_t errors)
{
    const struct jr_spec_options *options = assembly->options;
    struct jr_lint lint = {
        .arena = &file->doc.arena,
        .diags = diags,
        .folder = assembly->file.folder,
        .here = assembly->here,
        .validate = options->validate,
        .strict = options->strict,
        .composed = options->sets != NULL ||
                    (file->doc.root->kind == JR_NODE_MAPPING &&
                     jr_doc_pair(file->doc.root, "extends") != NULL),
    };
    int ret = -1;
    if (jr_assemble(&file->doc, assembly, diags) == 0)
        ret = lint_and_check(file, &lint, assembly->file.name, errors);
    jr_lint_release(&lint);
    return ret != 0 || options->unbound ? ret : jr_spec_bind(file, diags);
}

char *jr_spec_folder(const char *path)
{
    JR_FREE char *here = getcwd(NULL, 0);
    JR_FREE char *copy = NULL;
    if (here == NULL)
        return NULL;
    if (path == NULL || strcmp(path, "-") == 0)
        return jr_io_absolute(here, ".");
    copy = strdup(path);
    return copy == NULL ? NULL : jr_io_absolute(here, dirname(copy));
}

static int refuse_no_folder(struct jr_diags *diags)
{
    (void)jr_diags_error(
        diags, JR_CODE_INTERNAL, (struct jr_span){0}, NULL, "%s",
        errno == ENOMEM ? "out of memory"
                        : "the current folder cannot be determined");
    return -1;
}

/* What becomes part of a spec can only be what a spec can say: anything else
 * would come out of it as another name. */
static int check_text(struct jr_diags *diags, const char *what,
                      const char *text)
{
    if (jr_utf8_is_text(text))
        return 0;
    (void)jr_diags_error(diags, JR_CODE_NOT_UTF8, (struct jr_span){0}, NULL,
                         "%s is not UTF-8, which a spec must be: %s", what,
                         text);
    return -1;
}

static int load_path(struct jr_spec_file *file,
                     const struct jr_spec_source *source,
                     struct jr_assembly *assembly, struct jr_diags *diags)
{
    JR_FREE char *folder = jr_spec_folder(source->path);
    if (folder == NULL)
        return refuse_no_folder(diags);
    JR_FREE char *real = realpath(source->path, NULL);
    bool is_stdin = strcmp(source->path, "-") == 0;
    size_t errors = diags->errors;
    if (check_text(diags, "the spec's folder", folder) != 0)
        return -1;
    if (jr_doc_load_file(&file->doc, source->path, diags) != 0)
        return -1;
    struct jr_arena *arena = &file->doc.arena;
    assembly->file = (struct jr_file){
        .id = is_stdin ? NULL : jr_arena_strdup(arena, real),
        .name = file->doc.source->name,
        .folder = jr_arena_strdup(arena, folder),
    };
    return read_spec_doc(file, assembly, diags, errors);
}

static int load_text(struct jr_spec_file *file,
                     const struct jr_spec_source *source,
                     struct jr_assembly *assembly, struct jr_diags *diags)
{
    size_t errors = diags->errors;
    if (jr_doc_load(&file->doc, source->name, source->text, source->len,
                    diags) != 0)
        return -1;
    assembly->file = (struct jr_file){
        .name = file->doc.source->name,
        .folder = jr_arena_strdup(&file->doc.arena, source->folder),
    };
    if (source->argv != NULL)
        jr_spec_place_command(&file->doc, source->argv, assembly->file.folder);
    return read_spec_doc(file, assembly, diags, errors);
}

static int load_command(struct jr_spec_file *file,
                        const struct jr_spec_source *source,
                        struct jr_assembly *assembly, struct jr_diags *diags)
{
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_buf text = JR_BUF_INIT;
    int status = -1;
    for (char *const *word = source->argv; *word != NULL; word++)
        if (check_text(diags, "an argument", *word) != 0)
            return -1;
    jr_spec_write_command(&text, &arena, source->ranks, source->argv);
    const struct jr_spec_source implied = {.name = "command line",
                                           .folder = assembly->here,
                                           .text = text.data,
                                           .len = text.len,
                                           .argv = source->argv};
    if (text.data != NULL && !text.failed)
        status = load_text(file, &implied, assembly, diags);
    jr_buf_release(&text);
    jr_arena_release(&arena);
    return status;
}

int jr_spec_load(struct jr_spec_file **ret, const struct jr_spec_source *source,
                 const struct jr_spec_options *options, struct jr_diags *diags)
{
    bool is_text = source->path == NULL && source->argv == NULL;
    JR_FREE char *here =
        is_text ? strdup(source->folder) : jr_spec_folder(NULL);
    struct jr_assembly assembly = {.options = options, .here = here};
    *ret = NULL;
    if (here == NULL)
        return refuse_no_folder(diags);
    if (check_text(diags, "the current folder", here) != 0)
        return -1;
    struct jr_spec_file *file = *ret = new_file(diags);
    if (file == NULL)
        return -1;
    if (source->path != NULL)
        return load_path(file, source, &assembly, diags);
    return source->argv != NULL ? load_command(file, source, &assembly, diags)
                                : load_text(file, source, &assembly, diags);
}

int jr_spec_load_text(struct jr_spec_file **ret, const char *name,
                      const char *folder, const char *text, size_t len,
                      struct jr_diags *diags)
{
    const struct jr_spec_source source = {
        .name = name, .folder = folder, .text = text, .len = len};
    return jr_spec_load(ret, &source, &(struct jr_spec_options){0}, diags);
}
