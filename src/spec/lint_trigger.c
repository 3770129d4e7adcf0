/* The reader of a cause of a restart, which internal.h declares. */
#include <signal.h>
#include <string.h>
#include <strings.h>

#include "base/names.h"
#include "base/num.h"
#include "base/restart_trigger.h"
#include "spec/internal.h"

#include "base/banned.h"

const char *jr_lint_signal_cause(struct jr_lint *lint, int signal)
{
    char name[JR_SIGNAL_NAME];
    jr_signal_name(name, signal);
    return jr_arena_printf(lint->arena, "signal:%s%s", name,
                           signal == SIGKILL ? ", or oom where memory ran out" : "");
}

/* 137, which a shell says of a program that SIGKILL ended, or -9 as Python has it. */
static bool suggest_signal(struct jr_lint *lint, struct jr_diag *diag, const char *text)
{
    int64_t code;
    if (!jr_num_i64(text, &code))
        return false;
    int64_t signal = code < 0 ? -code : code - JR_SHELL_SIGNAL_BASE;
    if (signal < 1 || signal > JR_SHELL_SIGNAL_LAST)
        return false;
    const char *cause = jr_lint_signal_cause(lint, (int)signal);
    if (code < 0)
        jr_diag_help(lint->diags, diag, "a rank that dies by signal %s matches %s", text + 1,
                     cause);
    else
        jr_diag_help(lint->diags, diag,
                     "a rank that is killed matches %s; exit:%s is a code that "
                     "a shell in between, or the program, exits with",
                     cause, text);
    return true;
}

/* A text that begins with none of the words: one of them misspelt, or the argument of one. */
static void suggest_word(struct jr_lint *lint, struct jr_diag *diag,
                         const struct jr_spec_type *type, const struct jr_node *node)
{
    static const char *const heads[] = {"exit:", "signal:"};
    static const char *const any[] = {"all",  "any", "always", "error", "failure", "fail",
                                      "true", "*",   "failed", "crash", "errors",  "on-failure"};
    const char *const *words = jr_did_you_mean_list(lint, type->words);
    struct jr_restart_trigger trigger;
    struct jr_restart_trigger_fault fault;
    size_t len = strcspn(node->text, ":");
    const char *word = jr_arena_strndup(lint->arena, node->text, len);
    bool sure;
    if (word == NULL || node->filled != NULL)
        return;
    for (size_t i = 0; i < sizeof any / sizeof *any; i++) {
        if (strcasecmp(any[i], node->text) != 0)
            continue;
        jr_diag_help(lint->diags, diag, "leave `on` out, and any failure leads to a restart");
        return;
    }
    if (suggest_signal(lint, diag, node->text))
        return;
    const char *near = jr_lint_near_word(word, words, &sure);
    if (near != NULL && node->text[len] == '\0')
        jr_lint_suggest(lint, diag, node, words);
    else if (near != NULL)
        jr_diag_help(lint->diags, diag, "did you mean '%s:...'?", near);
    for (size_t i = 0; near == NULL && i < sizeof heads / sizeof *heads; i++) {
        const char *text = jr_arena_printf(lint->arena, "%s%s", heads[i], node->text);
        if (text != NULL && jr_restart_trigger_parse(&trigger, lint->arena, text, &fault))
            jr_diag_help(lint->diags, diag, "did you mean '%s'?", text);
    }
}

struct jr_node *jr_read_trigger(struct jr_lint *lint, const struct jr_spec_type *type,
                                const struct jr_node *node, const struct jr_node_step *at)
{
    struct jr_restart_trigger trigger;
    struct jr_restart_trigger_fault fault = {0};
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    if (jr_restart_trigger_parse(&trigger, lint->arena, node->text, &fault)) {
        jr_restart_trigger_print(&text, &trigger);
        const char *normal = jr_buf_keep(&text, lint->arena);
        return normal == NULL ? NULL : jr_lint_scalar(lint, node, normal, false);
    }
    if (fault.regex) {
        (void)jr_lint_error(
            lint, JR_CODE_WRONG_REGEX, jr_lint_part(lint, node, fault.from, fault.to), at,
            "'%s' is not a regular expression: %s", jr_lint_path(lint, at), fault.text);
        return NULL;
    }
    struct jr_diag *diag = jr_lint_wrong(lint, type, node, at);
    if (fault.word) {
        suggest_word(lint, diag, type, node);
        return NULL;
    }
    if (fault.to > fault.from)
        diag->span = jr_lint_part(lint, node, fault.from, fault.to);
    jr_diag_help(lint->diags, diag, "%s", fault.text);
    return NULL;
}
