#include "cli/placeholders.h"

#include <string.h>

#include "base/near_file.h"
#include "diag/diag.h"
#include "session/specs/starter_specs.h"

#include "base/banned.h"

#define WORDS(name, ...)                                                       \
    static const struct jr_value_word name[] = {__VA_ARGS__{0}};
#define PLAIN(word)                  {word, NULL},
#define KIND_ROW(word, help)         {#word, help},
#define FORMAT_ROW(name, word, help) {#word, help},

WORDS(diag_formats, JR_DIAG_FORMATS(FORMAT_ROW))
WORDS(doctor_formats, PLAIN("text") PLAIN("yaml"))
WORDS(formats, PLAIN("text") PLAIN("json"))
WORDS(diff_formats, PLAIN("text") PLAIN("json") PLAIN("markdown"))
WORDS(report_formats, PLAIN("text") PLAIN("html"))
WORDS(when, PLAIN("auto") PLAIN("always") PLAIN("never"))
WORDS(engines, PLAIN("slurm") PLAIN("kubernetes") PLAIN("mpi"))
WORDS(shells, PLAIN("bash") PLAIN("zsh") PLAIN("fish"))
WORDS(kinds, JR_STARTERS(KIND_ROW))

static const struct jr_value values[] = {
    {"FORMAT", "validate", JR_VALUE_WORD, diag_formats},
    {"FORMAT", "doctor", JR_VALUE_WORD, doctor_formats},
    {"FORMAT", "diff", JR_VALUE_WORD, diff_formats},
    {"FORMAT", "report", JR_VALUE_WORD, report_formats},
    {"FORMAT", NULL, JR_VALUE_WORD, formats},
    {"KIND", NULL, JR_VALUE_WORD, kinds},
    {"WHEN", NULL, JR_VALUE_WORD, when},
    {"ENGINE", NULL, JR_VALUE_WORD, engines},
    {"SHELL", NULL, JR_VALUE_WORD, shells},
    {"SPEC", NULL, JR_VALUE_SPEC, NULL},
    {"PATH", NULL, JR_VALUE_SPEC | JR_VALUE_FOLDER, NULL},
    {"PROFILE", NULL, JR_VALUE_FILE, NULL},
    {"FILE", NULL, JR_VALUE_FILE, NULL},
    {"DIR", NULL, JR_VALUE_FOLDER, NULL},
    {"RUN", NULL, JR_VALUE_RUN, NULL},
    {"A", "diff", JR_VALUE_SPEC | JR_VALUE_RUN, NULL},
    {"B", "diff", JR_VALUE_SPEC | JR_VALUE_RUN, NULL},
    {"VERB", NULL, JR_VALUE_VERB, NULL},
    {"CODE", NULL, JR_VALUE_CODE, NULL},
    {"FIELD", NULL, JR_VALUE_FIELD, NULL},
    {"PATH=VALUE", NULL, JR_VALUE_SETTING, NULL},
};

const struct jr_value *jr_value_find(const char *name, const char *verb)
{
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (strcmp(values[i].name, name) == 0 &&
            (values[i].verb == NULL || strcmp(values[i].verb, verb) == 0))
            return &values[i];
    return NULL;
}

const char *jr_value_near(const char *name, const char *word)
{
    enum { MOST = 16 };
    const struct jr_value *value = jr_value_find(name, "");
    const char *words[MOST + 1] = {NULL};
    for (size_t i = 0; i < MOST && value->words[i].word != NULL; i++)
        words[i] = value->words[i].word;
    return jr_did_you_mean(word, words);
}

void jr_value_words(struct jr_buf *out, const char *name, const char *verb)
{
    const struct jr_value *value = jr_value_find(name, verb);
    const struct jr_value_word *row = value != NULL ? value->words : NULL;
    if (row != NULL && row->help != NULL)
        jr_buf_str(out, ": see below");
    else if (row != NULL)
        jr_buf_printf(out, ": %s", row->word);
    while (row != NULL && row->help == NULL && (++row)->word != NULL)
        jr_buf_printf(out, ", %s", row->word);
}

bool jr_synopsis_next(struct jr_synopsis *walk,
                      char ret_name[static JR_VALUE_NAME])
{
    static const char capitals[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_=";
    const char *at = walk->at;
    while (*at != '\0' && strchr(capitals, *at) == NULL) {
        if (*at == '-')
            at += strcspn(at, "]");
        if (*at == ' ')
            walk->position++;
        at += *at != '\0';
    }
    size_t len = strspn(at, capitals);
    size_t kept = len < JR_VALUE_NAME ? len : JR_VALUE_NAME - 1;
    memcpy(ret_name, at, kept);
    ret_name[kept] = '\0';
    at += len;
    walk->many = strncmp(at + (*at == ']'), "...", 3) == 0;
    walk->at = at;
    return len > 0;
}
