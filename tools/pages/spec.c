#include <ctype.h>
#include <string.h>

#include <jobrun/contract.h>
#include <jobrun/template.h>

#include "pages.h"
#include "spec/manual.h"

#include "base/banned.h"

static const char intro[] =
    "A spec says what the ranks of a job run, on which hardware, and which "
    "result each must deliver. Missing values are filled in from the hardware "
    "and the scheduler. `jobrun explain FIELD` prints the section of this page "
    "about a field.";

static const char sample[] = "version: 1\n"
                             "name: digits\n"
                             "entrypoint: [./train, --epochs, 5]\n"
                             "\n"
                             "world_size: auto      # from the hardware\n"
                             "parallelism: {model: 1, pipeline: 1, data: auto}\n"
                             "backends: gloo\n"
                             "\n"
                             "results:\n"
                             "  fields:\n"
                             "    accuracy: {type: number, min: 0.9}\n"
                             "    weights_sha: {type: string}\n"
                             "  equal: [weights_sha]";

static const char reading[] =
    "A spec is one YAML document in UTF-8, at most 1 MiB. Scalars are those of "
    "YAML 1.2, strictly: yes, no, on, off, 4x, 010 and 1_000 are neither "
    "booleans nor integers, and a quoted scalar is a string. Where a field "
    "takes a string, as for arguments and variables, an unquoted scalar is "
    "taken as written. Duplicate and unknown keys are errors. Keys that "
    "begin with x-, and `$schema`, are your own: jobrun keeps and ignores them."
    "\n\n"
    "A field that can be resolved is MISSING when it is absent, null, `auto` "
    "or "
    "`?"
    "??`: jobrun fills it in, and `jobrun resolve --explain` shows with what "
    "and why. On other fields `?"
    "??` means that the value must come from "
    "outside, by `--set` or from the environment. Within brackets and braces, "
    "write `auto`, or quote the question marks."
    "\n\n"
    "Durations are written 500ms, 30s, 10m, 2h, 1d or 1h30m; sets of ranks "
    "0-3,8,10-14/2, all or none.";

static const char templates[] =
    "In arguments, shell text, values of variables, working folders, and paths "
    "of results and artifacts, these are replaced by the rank's own values. "
    "`%%{` is a literal `%{`.";

static const char variables[] =
    "jobrun sets these variables for every rank. `env` in the spec cannot set "
    "them.";

static const char tasks[] =
    "What the scheduler or launcher around jobrun said of its own tasks would "
    "be wrong for ranks. Where such a variable is set, ranks get it with "
    "their own value, or not at all. Where SLURM_NTASKS is set, so are the "
    "variables of Slurm that say which of them the rank is. `env` can set them "
    "otherwise. What describes the allocation (SLURM_JOB_ID, "
    "SLURM_JOB_NODELIST, SLURM_JOB_NUM_NODES, SLURM_CPUS_ON_NODE, "
    "PBS_NODEFILE, LSB_HOSTS, NSLOTS) is passed on as it is.";

/* A fact of a field as an item; a default is typed. */
static void fact(void *context, const char *label, const char *text)
{
    JR_BUF_CLEANUP struct jr_buf value = JR_BUF_INIT;
    const char *mark = strcmp(label, "default") == 0 ? "`" : "";
    jr_buf_printf(&value, "%s%s%s", mark, text, mark);
    page_item(context, label, value.failed ? text : value.data);
}

static void typed_item(struct page *page, const char *before, const char *term, const char *after,
                       const char *text)
{
    JR_BUF_CLEANUP struct jr_buf typed = JR_BUF_INIT;
    jr_buf_printf(&typed, "`%s%s%s`", before, term, after);
    page_item(page, typed.failed ? term : typed.data, text);
}

static void words(struct page *page, const struct jr_spec_word *row)
{
    for (; row != NULL && row->word != NULL; row++)
        typed_item(page, "", row->word, "", row->help);
}

static void field(struct page *page, const struct jr_spec_field *row)
{
    const struct jr_field_note *note = jr_field_note(row);
    JR_BUF_CLEANUP struct jr_buf path = JR_BUF_INIT;
    JR_BUF_CLEANUP struct jr_buf help = JR_BUF_INIT;
    jr_field_path(&path, row);
    jr_buf_printf(&help, "%c%s.", toupper((unsigned char)row->help[0]), row->help + 1);
    page_heading(page, 3, path.failed ? "" : path.data);
    page_text(page, help.failed ? "" : help.data);
    if (note != NULL)
        page_text(page, note->text);
    jr_field_facts(row, fact, page);
    page_list_end(page);
    words(page, jr_field_words(row->type));
    page_list_end(page);
    if (note != NULL)
        page_code(page, "yaml", note->example);
}

/* Fields, each followed by those of the mapping that it is. */
static void fields(struct page *page, const struct jr_spec_field *row)
{
    for (; row->key != NULL; row++) {
        const struct jr_field_section *section = jr_field_section_at(row);
        if (section != NULL) {
            page_heading(page, 1, section->title);
            page_text(page, section->text);
        }
        field(page, row);
        if (jr_field_below(row->type) != NULL)
            fields(page, jr_field_below(row->type));
    }
}

/* What the value of a variable is: that of the template's word. */
static const char *template_help(const char *template)
{
#define ROW(name, word, help) {"%{" word "}", help},
    static const struct {
        const char *template, *help;
    } rows[] = {JR_TEMPLATE_NAMES(ROW) JR_TEMPLATE_INTERNALS(ROW)};
#undef ROW
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].template, template) == 0)
            return rows[i].help;
    return template;
}

static const char *task_help(const char *template)
{
    return template == NULL ? "not passed on" : template_help(template);
}

static void rank_values(struct page *page)
{
    page_heading(page, 1, "Per-rank templates");
    page_text(page, templates);
#define ITEM(name, word, help) typed_item(page, "%{", word, "}", help);
    JR_TEMPLATE_NAMES(ITEM)
#undef ITEM
    page_list_end(page);
    page_heading(page, 1, "Variables of the ranks");
    page_text(page, variables);
#define ITEM(name, template, field) typed_item(page, "", name, "", template_help(template));
    JR_CONTRACT_VARIABLES(ITEM)
    page_list_end(page);
    page_text(page, "`env_profiles: [torch]`, the default, adds:");
    JR_CONTRACT_TORCH(ITEM)
#undef ITEM
    page_list_end(page);
    page_text(page, tasks);
#define ITEM(name, template, with) typed_item(page, "", name, "", task_help(template));
    JR_CONTRACT_TASKS(ITEM)
#undef ITEM
    page_list_end(page);
}

void page_of_spec(struct page *page)
{
    page_begin(page, "jobrun.yaml", "5", "the spec of a distributed job");
    page_heading(page, 1, "Description");
    page_text(page, intro);
    page_code(page, "yaml", sample);
    page_heading(page, 1, "How a spec is read");
    page_text(page, reading);
    fields(page, jr_field_root()->fields);
    rank_values(page);
    page_heading(page, 1, "See also");
    page_text(page, page->form == PAGE_ROFF ? "`jobrun`(1)"
                                            : "`man jobrun`, the diagnostics "
                                              "in diagnostics.md");
}
