#include "cli/mistaken_values.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/did_you_mean.h"
#include "base/num.h"
#include "base/shell_words.h"
#include "cli/cli.h"
#include "cli/mistakes.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/verbs.h"
#include "session/support.h"

#include "base/banned.h"

#define DIGITS "0123456789"

/* An option as it is mostly typed: -n, --tail. */
static void add_name(struct jr_buf *out, const struct jr_option *option)
{
    if (option->letter != '\0')
        jr_buf_printf(out, "-%c", option->letter);
    else
        jr_buf_printf(out, "--%s", option->name);
}

int jr_mistake_number(const struct jr_cli *cli, const struct jr_option *option, const char *value)
{
    JR_BUF_CLEANUP struct jr_buf name = JR_BUF_INIT;
    add_name(&name, option);
    const char *shown = name.failed ? option->name : name.data;
    if (value[0] == '=' && value[1] != '\0' && value[1 + strspn(value + 1, DIGITS)] == '\0')
        return jr_cli_say(cli, JR_STATUS_USAGE, "%s wants a number, not '%s'; type %s %s", shown,
                          value, shown, value + 1);
    if (value[0] != '\0' && value[strspn(value, DIGITS)] == '\0')
        return jr_cli_say(cli, JR_STATUS_USAGE, "%s wants a number of at most %" PRIu32 ", not %s",
                          shown, UINT32_MAX, value);
    if (option->letter == 'n' && jr_mistake_is_spec_name(value))
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "-n wants the number of ranks, not '%s'; a spec "
                          "states it itself: jobrun %s",
                          value, value);
    return jr_cli_say(cli, JR_STATUS_USAGE, "%s wants a whole number, not '%s'; for example: %s 4",
                      shown, value, shown);
}

int jr_mistake_no_value(const struct jr_cli *cli, const struct jr_option *option, const char *word)
{
    JR_BUF_CLEANUP struct jr_buf words = JR_BUF_INIT;
    if (option != NULL && option->verbs == NULL)
        jr_value_words(&words, option->arg, "");
    if (option == NULL || words.failed)
        return jr_cli_say(cli, JR_STATUS_USAGE, "%s wants a value", word);
    if (words.len > 0)
        return jr_cli_say(cli, JR_STATUS_USAGE, "%s wants a value%s", word, words.data);
    return jr_cli_say(cli, JR_STATUS_USAGE, "%s wants a value: %s %s", word, word, option->arg);
}

/* What --set was given without '=', in words that can be typed: "lr: 0.1" and "~lr" of Hydra. */
static bool set_path(struct jr_buf *out, const char *value, const char *next)
{
    size_t len = strcspn(value, ":= ");
    if (next != NULL && *next == '=')
        next++; /* world_size =4 */
    if (value[0] == '~') {
        jr_buf_printf(out, "%s=null", value + 1);
    } else if (len > 0 && (value[len] == ':' || value[len] == ' ') && value[len + 1] != '\0') {
        const char *rest = value + len + 1;
        jr_buf_add(out, value, len);
        jr_buf_printf(out, "=%s", rest + strspn(rest, ": "));
    } else if (next != NULL && next[0] != '-' && !jr_mistake_is_spec_name(next)) {
        jr_buf_printf(out, "%s=%s", value, next);
    }
    return out->len > 0 && !out->failed;
}

/* The word of the line that follows another one; NULL: none. */
static const char *word_behind(const struct jr_cli *cli, const char *word)
{
    char *const *at = cli->argv;
    while (*at != NULL && *at != word)
        at++;
    return *at == NULL ? NULL : at[1];
}

int jr_mistake_set(const struct jr_cli *cli, const char *value, const char *next)
{
    JR_BUF_CLEANUP struct jr_buf path = JR_BUF_INIT;
    JR_BUF_CLEANUP struct jr_buf quoted = JR_BUF_INIT;
    if (jr_mistake_is_spec_name(value))
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "-s wants PATH=VALUE before the spec '%s'; for example: -s vars.lr=0.1",
                          value);
    if (next != NULL && strcmp(next, "=") == 0)
        next = word_behind(cli, next); /* world_size = 4 */
    if (set_path(&path, value, next))
        jr_shell_quote(&quoted, path.data);
    if (quoted.len > 0 && !quoted.failed)
        return jr_cli_say(cli, JR_STATUS_USAGE, "--set wants PATH=VALUE, not '%s'; type -s %s",
                          value, quoted.data);
    return jr_cli_say(cli, JR_STATUS_USAGE,
                      "--set wants PATH=VALUE, not '%s'; for example: -s %s=VALUE", value,
                      value[0] == '\0' ? "vars.lr" : value);
}

int jr_mistake_only_spec(const struct jr_cli *cli)
{
    JR_BUF_CLEANUP struct jr_buf only = JR_BUF_INIT, line = JR_BUF_INIT;
    if (cli->rest != NULL || cli->words_count > 0 || !jr_near_file_only(&only, "."))
        return 0;
    for (char *const *at = cli->argv + 1; *at != NULL; at++) {
        jr_shell_quote(&line, *at);
        jr_buf_char(&line, ' ');
    }
    jr_shell_quote(&line, only.data);
    return jr_cli_say(cli, JR_STATUS_USAGE,
                      "no spec is given; for the one that is here, type: jobrun %s",
                      line.failed ? "" : line.data);
}

int jr_mistake_no_spec(const struct jr_cli *cli)
{
    const char *verb = cli->verb_stated ? cli->verb->name : "";
    const char *blank = cli->verb_stated ? " " : "";
    if (cli->count != NULL)
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "-n wants a command behind `--`: jobrun %s%s-n %u -- ./program", verb,
                          blank, cli->count_value);
    int status = jr_mistake_only_spec(cli);
    if (status != 0)
        return status;
    return jr_cli_say(cli, JR_STATUS_USAGE,
                      "no spec is given: jobrun %s%sSPEC, or jobrun %s%s-n N "
                      "-- CMD (see jobrun --help)",
                      verb, blank, verb, blank);
}

/* A time in words, "30 days", as jobrun writes it. */
static bool near_time(struct jr_buf *out, const char *value)
{
    static const struct {
        const char *unit;
        unsigned times;
        char here;
    } units[] = {{"s", 1, 's'}, {"m", 1, 'm'}, {"h", 1, 'h'}, {"d", 1, 'd'}, {"w", 7, 'd'}};
    uint32_t number;
    char digits[12] = "";
    size_t len = strspn(value, DIGITS), i = 0;
    const char *unit = value + len + strspn(value + len, " ");
    while (i < sizeof units / sizeof *units &&
           (*unit == '\0' || tolower((unsigned char)*unit) != *units[i].unit))
        i++;
    if (len == 0 || len >= sizeof digits || i == sizeof units / sizeof *units ||
        strncasecmp(unit, "mo", 2) == 0 || strncasecmp(unit, "ms", 2) == 0)
        return false;
    memcpy(digits, value, len);
    if (!jr_num_u32(digits, &number))
        return false;
    jr_buf_printf(out, "%" PRIu64 "%c", (uint64_t)number * units[i].times, units[i].here);
    return !out->failed;
}

/* -1, inf: no limit, which an option has that is left out or has no value. */
static bool is_endless(const char *value)
{
    static const char *const words[] = {"-1",        "inf",     "infinite", "infinity",
                                        "unlimited", "forever", "never",    "none"};
    size_t i = 0, count = sizeof words / sizeof *words;
    while (i < count && strcasecmp(words[i], value) != 0)
        i++;
    return i < count;
}

int jr_mistake_time(const struct jr_cli *cli, const char *name, const char *value,
                    const char *example)
{
    JR_BUF_CLEANUP struct jr_buf near = JR_BUF_INIT;
    if (is_endless(value) && strcmp(name, "wait") == 0)
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "--wait wants a time, not '%s'; type --wait alone for no limit", value);
    if (is_endless(value) && strcmp(name, "timeout") == 0)
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "--timeout wants a time, not '%s'; leave it out for no limit", value);
    if (near_time(&near, value))
        return jr_cli_say(cli, JR_STATUS_USAGE, "--%s wants a time, not '%s'; type --%s %s", name,
                          value, name, near.data);
    return jr_cli_say(cli, JR_STATUS_USAGE, "--%s wants a time with its unit, such as %s, not '%s'",
                      name, example, value);
}

int jr_mistake_flag_value(const struct jr_cli *cli, const struct jr_option *option,
                          const char *value)
{
    static const char *const no[] = {"no", "false", "off", "0", "never", "n"};
    bool off = false;
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        off = off || strcmp(value, no[i]) == 0;
    return jr_cli_say(cli, JR_STATUS_USAGE, "--%s takes no value, such as '%s'; %s%s", option->name,
                      value, off ? "leave it out" : "type --", off ? "" : option->name);
}

/* The words of a command that were typed in quotes, as they are typed. */
static bool unquote_command(struct jr_buf *out, const char *word)
{
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_shell_words words;
    bool plain =
        jr_shell_split(&words, &arena, word, NULL) == 0 && words.count > 1 && words.tail == NULL;
    for (size_t i = 0; plain && i < words.count; i++)
        plain = !words.items[i].expands && !words.items[i].globs;
    if (plain) {
        jr_buf_str(out, word);
    } else {
        jr_buf_str(out, "sh -c ");
        jr_shell_quote(out, word);
    }
    jr_arena_release(&arena);
    return !out->failed;
}

int jr_mistake_quotes(const struct jr_cli *cli)
{
    const char *word = cli->rest == NULL ? NULL : cli->rest[0];
    JR_BUF_CLEANUP struct jr_buf command = JR_BUF_INIT, line = JR_BUF_INIT;
    struct jr_buf out = JR_BUF_INIT;
    if (word == NULL || strchr(word, ' ') == NULL || access(word, F_OK) == 0 ||
        jr_support_has_program(word, cli->environ) || !unquote_command(&command, word))
        return 0;
    for (char *const *at = cli->argv + 1; *at != NULL; at++) {
        jr_buf_char(&line, ' ');
        if (*at == word)
            jr_buf_str(&line, command.data);
        else
            jr_shell_quote(&line, *at);
    }
    jr_buf_printf(&out, "jobrun: '%s' is one word, and no program; type:\n        jobrun", word);
    if (!line.failed)
        jr_buf_escaped(&out, line.data, line.len);
    jr_buf_char(&out, '\n');
    jr_cli_err(cli, &out);
    return JR_STATUS_LAUNCH;
}

int jr_mistake_version(const struct jr_cli *cli)
{
    const char *spec = cli->words[0];
    for (int i = 0; i < cli->words_count; i++)
        if (jr_mistake_is_spec_name(cli->words[i]))
            spec = cli->words[i];
    return jr_cli_say(cli, JR_STATUS_USAGE,
                      "-v prints the version, and nothing else: the run folder "
                      "has what there is to know; leave it out: jobrun %s%s%s",
                      cli->verb_stated ? cli->verb->name : "", cli->verb_stated ? " " : "", spec);
}
