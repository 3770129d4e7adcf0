#include "cli/foreign_lines.h"

#include <string.h>
#include <unistd.h>

#include "base/did_you_mean.h"
#include "base/shell_words.h"
#include "cli/cli.h"
#include "cli/foreign_options.h"
#include "cli/mistakes.h"
#include "cli/output.h"
#include "cli/verbs.h"
#include "session/support.h"

#include "base/banned.h"

/* Whether what is typed for a verb of others ends in one that takes no word. */
static bool takes_no_word(const char *here)
{
    const struct jr_verb *verb = jr_verb_find(here);
    return verb != NULL && verb->words[0] == '\0';
}

static bool is_word_of_compose(const char *word)
{
    return strcmp(word, "-f") == 0 || strcmp(word, "-d") == 0;
}

/* Append the one spec that is here, or SPEC. */
static void add_only_spec(struct jr_buf *line)
{
    JR_BUF_CLEANUP struct jr_buf only = JR_BUF_INIT;
    bool found = jr_near_file_only(&only, ".");
    jr_buf_char(line, ' ');
    if (found && !only.failed)
        jr_shell_quote(line, only.data);
    else
        jr_buf_str(line, "SPEC");
}

/* Append the words of the line, quoted; `here` instead of `word`, as it is. */
static void add_words(struct jr_buf *out, const struct jr_cli *cli, const char *word,
                      const char *here)
{
    JR_BUF_CLEANUP struct jr_buf line = JR_BUF_INIT;
    for (char *const *at = cli->argv + 1; *at != NULL; at++) {
        if (strcmp(here, "run") == 0 && is_word_of_compose(*at))
            continue; /* apply -f FILE, up -d */
        if (line.len > 0)
            jr_buf_char(&line, ' ');
        if (*at != word) {
            jr_shell_quote(&line, *at);
            continue;
        }
        jr_buf_str(&line, here);
        if (takes_no_word(here))
            break;
    }
    if (strcmp(here, "run") == 0 && cli->words_count == 1)
        add_only_spec(&line);
    out->failed |= line.failed;
    if (!line.failed)
        jr_buf_escaped(out, line.data, line.len);
}

int jr_foreign_verb_line(const struct jr_cli *cli, const char *word, const char *here)
{
    struct jr_buf out = JR_BUF_INIT;
    jr_buf_printf(&out,
                  "jobrun: '%s' is not a verb of jobrun; type:\n"
                  "        jobrun ",
                  word);
    add_words(&out, cli, word, here);
    if (jr_support_has_program(word, cli->environ)) {
        jr_buf_str(&out, "\n        or, for 2 ranks of the program: jobrun -n 2 -- ");
        add_words(&out, cli, NULL, "");
    }
    jr_buf_char(&out, '\n');
    int status = out.failed ? JR_STATUS_LAUNCH : JR_STATUS_USAGE;
    jr_cli_err(cli, &out);
    return status;
}

int jr_foreign_launcher_line(const struct jr_cli *cli)
{
    JR_BUF_CLEANUP struct jr_buf line = JR_BUF_INIT;
    struct jr_buf out = JR_BUF_INIT;
    const char *word = cli->words[0];
    if (word == NULL || word != cli->argv[1] || !jr_foreign_launcher(word) ||
        access(word, F_OK) == 0)
        return 0;
    jr_buf_printf(&out,
                  "jobrun: '%s' is another launcher; for a spec that "
                  "says the same, type:\n        jobrun new --from ",
                  word);
    add_words(&line, cli, NULL, "");
    if (!line.failed)
        jr_shell_quote(&out, line.data);
    jr_buf_char(&out, '\n');
    int status = out.failed || line.failed ? JR_STATUS_LAUNCH : JR_STATUS_USAGE;
    jr_cli_err(cli, &out);
    return status;
}
