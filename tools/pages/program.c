#include <jobrun/error.h>

#include "cli/cli.h"
#include "cli/options.h"
#include "pages.h"

#include "base/banned.h"

static const char description[] =
    "jobrun reads the spec of a distributed job, fills in missing values from "
    "the hardware and the scheduler, launches the ranks, and succeeds only if "
    "every rank delivers its result. `jobrun.yaml`(5) describes the fields of "
    "a spec."
    "\n\n"
    "If the first argument is not a verb, it is a spec, and jobrun runs it. As "
    "a spec, `-` means standard input. `--` ends the options.";

struct entry {
    const char *name, *text;
};

static const struct entry environment[] = {
    {"NO_COLOR", "if set and not empty, jobrun uses no colour"},
    {"CLICOLOR_FORCE", "if set and neither empty nor 0, jobrun uses colour even without a "
                       "terminal"},
    {"TERM", "if it is `dumb`, jobrun uses no colour"},
    {"TORCH_DISTRIBUTED_BACKEND", "the backend, if the spec states none"},
    {"OMP_NUM_THREADS", "the threads per rank, if the spec states none"},
    {"CUDA_VISIBLE_DEVICES", "the devices that may be used; likewise its counterparts of other "
                             "vendors"},
};

static const struct entry files[] = {
    {"spec.yaml", "the spec as it was read"},
    {"resolved.yaml", "the spec as it was run"},
    {"explain.json", "where each of its values came from, and why"},
    {"plan.json", "what jobrun planned to start"},
    {"events.jsonl", "the events of the run, one per line"},
    {"run.json", "the record: host, versions, git commit, times, outcome"},
    {"code.patch", "the changes to the code that were not committed"},
    {"results.json", "the root cause, and for each rank how it ended and its "
                     "result"},
    {"attempt_0/RANK/", "the logs and the result of a rank"},
};

static void option(struct page *page, const struct jr_option *row, const char *verb)
{
    JR_BUF_CLEANUP struct jr_buf term = JR_BUF_INIT;
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    if (row->letter != 0)
        jr_buf_printf(&term, "`-%c`, ", row->letter);
    jr_buf_printf(&term, "`--%s`%s%s", row->name, row->arg != NULL ? " " : "",
                  row->arg != NULL ? row->arg : "");
    jr_option_describe(&text, row, verb);
    if (row->arg != NULL)
        jr_value_words(&text, row->arg, verb);
    if (!term.failed && !text.failed)
        page_item(page, term.data, text.data);
}

static void words(struct page *page, const char *name, const char *verb)
{
    const struct jr_value *value = jr_value_find(name, verb);
    const struct jr_value_word *row = value != NULL ? value->words : NULL;
    if (row == NULL || row->help == NULL)
        return;
    JR_BUF_CLEANUP struct jr_buf head = JR_BUF_INIT;
    jr_buf_printf(&head, "%s is one of:", name);
    page_text(page, head.failed ? "" : head.data);
    for (; row->word != NULL; row++)
        page_item(page, row->word, row->help);
    page_list_end(page);
}

/* The options that are a verb's own, then the words that it takes. */
static void verb_options(struct page *page, const struct jr_verb *verb)
{
    struct jr_synopsis walk = {.at = verb->words};
    char name[JR_VALUE_NAME];
    for (const struct jr_option *row = jr_options; row->name != NULL; row++)
        if (row->verbs != NULL && jr_option_allowed(row, verb->name))
            option(page, row, verb->name);
    page_list_end(page);
    while (jr_synopsis_next(&walk, name))
        words(page, name, verb->name);
    for (const struct jr_option *row = jr_options; row->name != NULL; row++)
        if (row->arg != NULL && jr_option_allowed(row, verb->name))
            words(page, row->arg, verb->name);
}

static void verbs(struct page *page)
{
    page_heading(page, 1, "Verbs");
    for (const struct jr_verb *verb = jr_verbs; verb->name != NULL; verb++) {
        const struct jr_usage *usage = jr_usage_find(verb->name);
        JR_BUF_CLEANUP struct jr_buf head = JR_BUF_INIT;
        if (usage == NULL)
            continue;
        jr_buf_printf(&head, "jobrun %s [OPTION...]%s%s", verb->name,
                      verb->words[0] != '\0' ? " " : "", verb->words);
        page_heading(page, 2, head.failed ? "" : head.data);
        page_text(page, usage->text);
        verb_options(page, verb);
        page_code(page, "sh", usage->example);
    }
}

static void statuses(struct page *page)
{
    page_heading(page, 1, "Exit status");
#define STATUS(name, code, word, help) page_item(page, #code, help);
    JR_STATUSES(STATUS)
#undef STATUS
    page_item(page, "128+N", "jobrun was stopped by signal N");
    page_list_end(page);
}

void page_of_program(struct page *page)
{
    page_begin(page, "jobrun", "1", "run distributed jobs from a spec");
    page_heading(page, 1, "Synopsis");
    page_code(page, "sh",
              "jobrun [run] [OPTION...] SPEC [-- ARG...]\n"
              "jobrun [run] [OPTION...] -n N -- CMD...\n"
              "jobrun VERB [OPTION...] ...");
    page_heading(page, 1, "Description");
    page_text(page, description);
    verbs(page);
    page_heading(page, 1, "Options of every verb");
    for (const struct jr_option *row = jr_options; row->name != NULL; row++)
        if (row->verbs == NULL)
            option(page, row, "");
    page_list_end(page);
    statuses(page);
    page_heading(page, 1, "Environment");
    for (size_t i = 0; i < sizeof environment / sizeof *environment; i++)
        page_item(page, environment[i].name, environment[i].text);
    page_list_end(page);
    page_heading(page, 1, "Files");
    page_text(page, "Each run has a folder in the log folder, which is `runs` "
                    "unless the spec sets `log_dir`. `latest` is a link to the "
                    "newest run. A run folder has:");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        page_item(page, files[i].name, files[i].text);
    page_list_end(page);
    page_heading(page, 1, "See also");
    page_text(page, "`jobrun.yaml`(5), `srun`(1), `mpirun`(1)");
}
