#include "spec/check_command.h"

#include <ctype.h>
#include <string.h>

#include "base/num.h"
#include "base/shell_words.h"
#include "spec/internal.h"

#include "base/banned.h"

enum { LONGEST = 200 }; /* bytes of a command that is written out */

/* A first word, and what is written instead of a command that begins so. */
struct first_word {
    const char *words; /* separated by blanks */
    const char *message, *help;
};

static const struct first_word shell_words[] = {
    {"cd pushd popd", "is a command of the shell's own, not a program",
     "write `workdir` for the folder, or use `shell:`"},
    {"source .", "is a command of the shell's own, not a program",
     "source the file in `setup`, or use `shell:`"},
    {"export set unset", "is a command of the shell's own, not a program",
     "write variables into `env`, or use `shell:`"},
    {"ulimit", "is a command of the shell's own, not a program",
     "write `limits`, such as limits: {nofile: 65536}, or use `shell:`"},
    {"module", "is a function of the shell, not a program",
     "load modules in `setup`, or use `shell:`"},
    {"alias eval exec trap wait", "is a command of the shell's own, not a program",
     "leave it out, or use `shell:`"},
    {"if for while until case function", "begins a script of the shell", "use `shell:`"},
};

/* Whether one of the words is this one, of `len` bytes. */
static bool is_word_of(const char *words, const char *text, size_t len)
{
    for (size_t size; *words != '\0'; words += size + (words[size] == ' ')) {
        size = strcspn(words, " ");
        if (size == len && memcmp(words, text, len) == 0)
            return true;
    }
    return false;
}

/* Where the words of a command stand. */
struct command {
    const struct jr_check *check;
    const struct jr_node *list; /* of scalars */
};

static struct jr_diag *warn_of_word(const struct command *command, size_t i, enum jr_diag_code code,
                                    const char *reason)
{
    struct jr_lint *lint = command->check->lint;
    const struct jr_node *word = command->list->items[i];
    return jr_diags_warning(lint->diags, code, word->span,
                            jr_arena_printf(lint->arena, "entrypoint.command[%zu]", i), "'%s' %s",
                            jr_lint_said(lint, word), reason);
}

#define LAUNCHERS "torchrun deepspeed horovodrun mpirun mpiexec mpiexec.hydra orterun srun"

/* A program without its folder. */
static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* How many of the words are the launcher: `accelerate launch`, `python -m torch.distributed.run`; 0
 * where they are none. */
static size_t launcher_length(const struct jr_node *list)
{
    const char *first = base_name(list->items[0]->text);
    const char *second = list->count > 1 ? list->items[1]->text : "";
    const char *third = list->count > 2 ? list->items[2]->text : "";
    if (is_word_of(LAUNCHERS, first, strlen(first)))
        return 1;
    if (strcmp(first, "accelerate") == 0 && strcmp(second, "launch") == 0)
        return 2;
    bool module = strncmp(first, "python", 6) == 0 && strcmp(second, "-m") == 0;
    return module && is_word_of("torch.distributed.run torch.distributed.launch "
                                "accelerate.commands.launch paddle.distributed.launch",
                                third, strlen(third))
               ? 3
               : 0;
}

/* Whether a text may hold a secret, which no finding quotes. */
static bool may_be_secret(const char *text)
{
    static const char *const parts[] = {"key", "token", "secret", "pass", "cred"};
    size_t i = 0, count = sizeof parts / sizeof *parts;
    while (i < count && strcasestr(text, parts[i]) == NULL)
        i++;
    return i < count;
}

/* The command as a shell would read it; NULL where it is too long. */
static const char *written_command(const struct command *command)
{
    JR_BUF_CLEANUP struct jr_buf line = JR_BUF_INIT;
    for (size_t i = 0; i < command->list->count; i++) {
        if (i > 0)
            jr_buf_char(&line, ' ');
        jr_shell_quote(&line, command->list->items[i]->text);
    }
    if (line.len > LONGEST || line.failed || strchr(line.data, '\'') != NULL ||
        may_be_secret(line.data))
        return NULL;
    return jr_buf_keep(&line, command->check->lint->arena);
}

static bool has_filled_word(const struct jr_node *list)
{
    size_t i = 0;
    while (i < list->count && list->items[i]->filled == NULL)
        i++;
    return i < list->count;
}

static bool check_launcher(const struct command *command)
{
    struct jr_diags *diags = command->check->lint->diags;
    const struct jr_node *world = jr_doc_get(command->check->tree, "world_size");
    bool alone = world != NULL && strcmp(world->text, "1") == 0;
    size_t count = launcher_length(command->list);
    if (count == 0 || alone)
        return false;
    struct jr_diag *diag = warn_of_word(command, count == 3 ? 2 : 0, JR_CODE_LAUNCHER_NESTED,
                                        "is a launcher, of which each rank would start its own");
    const char *line = has_filled_word(command->list) ? NULL : written_command(command);
    if (line != NULL)
        jr_diag_help(diags, diag, "translate it: jobrun new --from '%s'", line);
    else
        jr_diag_help(diags, diag,
                     "write the program that it starts; for one launcher write world_size: 1");
    return true;
}

static bool is_of_spec(const struct jr_node *node)
{
    return node->span.source == NULL || !node->span.source->option;
}

/* LR=3 */
static bool check_assignment(const struct command *command)
{
    const char *text = command->list->items[0]->text;
    const char *equals = strchr(text, '=');
    size_t len = equals == NULL ? 0 : (size_t)(equals - text);
    if (len == 0 || isdigit((unsigned char)*text) ||
        strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789") != len)
        return false;
    struct jr_diag *diag = warn_of_word(command, 0, JR_CODE_COMMAND_UNLIKELY,
                                        "is a variable for a shell, not a program");
    const char *value = equals + 1;
    bool written = command->list->items[0]->filled == NULL && jr_lint_is_bare(value);
    if (is_of_spec(command->list->items[0]))
        jr_diag_help(command->check->lint->diags, diag, "write it into `env`: env: {%.*s: %s}",
                     (int)len, text, written ? value : "...");
    else
        jr_diag_help(command->check->lint->diags, diag, "type it before `--`: -s env.%.*s=%s",
                     (int)len, text, written ? value : "...");
    return true;
}

/* C:\\train.exe */
static bool check_windows_path(const struct command *command)
{
    const char *text = command->list->items[0]->text;
    if (!isalpha((unsigned char)text[0]) || text[1] != ':' || (text[2] != '\\' && text[2] != '/'))
        return false;
    struct jr_diag *diag = warn_of_word(command, 0, JR_CODE_COMMAND_UNLIKELY,
                                        "is a path of Windows, and ranks run on Linux");
    jr_diag_help(command->check->lint->diags, diag,
                 "write its path there, such as ./train or, under WSL, /mnt/%c/...",
                 tolower((unsigned char)text[0]));
    return true;
}

static bool check_shell_word(const struct command *command)
{
    const char *text = command->list->items[0]->text;
    size_t i = 0, count = sizeof shell_words / sizeof *shell_words;
    while (i < count && !is_word_of(shell_words[i].words, text, strlen(text)))
        i++;
    bool conda = command->list->count > 1 &&
                 is_word_of("conda mamba micromamba", text, strlen(text)) &&
                 strcmp(command->list->items[1]->text, "activate") == 0;
    if (i == count && !conda)
        return false;
    struct jr_diag *diag = warn_of_word(command, 0, JR_CODE_COMMAND_UNLIKELY,
                                        conda ? "activates nothing for the ranks: no shell runs it"
                                              : shell_words[i].message);
    jr_diag_help(command->check->lint->diags, diag, "%s",
                 !is_of_spec(command->list->items[0]) ? "type the whole as a text: -- sh -c TEXT"
                 : conda                              ? "activate the environment in `setup`"
                                                      : shell_words[i].help);
    return true;
}

/* The words of a text, "a, b, c"; NULL where only a shell can tell them apart.
 */
static const char *words_as_list(struct jr_lint *lint, const char *text)
{
    JR_BUF_CLEANUP struct jr_buf list = JR_BUF_INIT;
    if (strpbrk(text, "\"'\\`$|&;<>()\n\t,[]{}#*?!") != NULL || strlen(text) > LONGEST)
        return NULL;
    for (text += strspn(text, " "); *text != '\0'; text += strspn(text, " ")) {
        size_t len = strcspn(text, " ");
        jr_buf_printf(&list, "%s%.*s", list.len == 0 ? "" : ", ", (int)len, text);
        text += len;
    }
    return list.len == 0 ? NULL : jr_buf_keep(&list, lint->arena);
}

/* "--lr 3": an option and a number. */
static bool is_option_with_number(const char *text)
{
    const char *blank = strchr(text, ' ');
    size_t dashes = strspn(text, "-");
    double number;
    return blank != NULL && dashes > 0 && dashes < 3 && isalpha((unsigned char)text[dashes]) &&
           memchr(text, '=', (size_t)(blank - text)) == NULL &&
           jr_num_double(blank + strspn(blank, " "), &number);
}

/* "./train --lr 3", or "python3 train.py": a program and its arguments. */
static bool is_program_with_words(const struct jr_node *list, const char *text)
{
    const char *first = base_name(text);
    size_t len = strcspn(first, " ");
    bool starts = strncmp(first, "python", 6) == 0 ||
                  is_word_of("bash sh perl node ruby Rscript julia java time "
                             "nice numactl torchrun srun mpirun accelerate",
                             first, len);
    return strstr(text, " -") != NULL || (list->count == 1 && starts && first[len] == ' ');
}

/* [bash, -c, python3, train.py]: only the first word is the text. */
static bool check_shell_text(const struct command *command)
{
    const struct jr_node *list = command->list;
    const char *first = base_name(list->items[0]->text);
    if (list->count < 4 || !is_word_of("sh bash dash zsh", first, strlen(first)) ||
        strcmp(list->items[1]->text, "-c") != 0 || !jr_lint_is_bare(list->items[2]->text) ||
        !jr_lint_is_bare(list->items[3]->text + strspn(list->items[3]->text, "-")))
        return false;
    struct jr_diag *diag = warn_of_word(command, 3, JR_CODE_COMMAND_UNLIKELY,
                                        "is no part of the text that the shell runs");
    jr_diag_help(command->check->lint->diags, diag, "leave the shell out: [%s, %s%s]",
                 list->items[2]->text, list->items[3]->text, list->count > 4 ? ", ..." : "");
    return true;
}

static bool is_python(const char *word)
{
    return strncmp(base_name(word), "python", 6) == 0;
}

/* [python3, -m, train.py] */
static void check_module(const struct command *command)
{
    const struct jr_node *list = command->list;
    const char *name = list->count > 2 ? list->items[2]->text : "";
    size_t len = strlen(name);
    if (!is_python(list->items[0]->text) ||
        strcmp(list->count > 1 ? list->items[1]->text : "", "-m") != 0 || len < 4 ||
        strcmp(name + len - 3, ".py") != 0 || !jr_lint_is_bare(name))
        return;
    struct jr_diag *diag = warn_of_word(command, 2, JR_CODE_COMMAND_UNLIKELY,
                                        "is a file, and -m wants the name of a module");
    jr_diag_help(command->check->lint->diags, diag, "leave out -m: [%s, %s]", list->items[0]->text,
                 name);
}

/* "train.py --lr 3" behind python3, or "-m train" */
static bool is_script_with_words(const struct jr_node *list, const char *text)
{
    return is_python(list->items[0]->text) &&
           (strstr(text, ".py ") != NULL || strncmp(text, "-m ", 3) == 0);
}

/* "./train --lr 3" as the program, "--lr 3" as an argument */
static void check_blanks(const struct command *command, size_t i)
{
    struct jr_lint *lint = command->check->lint;
    const struct jr_node *word = command->list->items[i];
    const char *text = jr_lint_source(word);
    bool option = i > 0 && (is_option_with_number(text) ||
                            (i == 1 && is_script_with_words(command->list, text)));
    bool program = i == 0 && is_program_with_words(command->list, text);
    const char *list = option || program ? words_as_list(lint, text) : NULL;
    if (list == NULL || may_be_secret(text) || jr_lint_origin(word)->meant)
        return;
    struct jr_diag *diag = warn_of_word(command, i, JR_CODE_COMMAND_UNLIKELY,
                                        option ? "is one argument, with a blank in it"
                                               : "is the name of one program, with blanks in it");
    jr_diag_help(lint->diags, diag, "write several words: %s%s%s", program ? "[" : "", list,
                 program ? "]" : "");
}

/* {script: train.py --lr 3} */
static void check_script_blanks(const struct jr_check *check)
{
    const struct jr_node *node = jr_check_raw(check, "entrypoint.python.script");
    struct jr_lint *lint = check->lint;
    const char *end = node == NULL || node->kind != JR_NODE_SCALAR || jr_lint_origin(node)->meant
                          ? NULL
                          : strstr(node->text, ".py ");
    const char *list = end == NULL || node->filled != NULL || may_be_secret(node->text)
                           ? NULL
                           : words_as_list(lint, end + 3);
    if (list == NULL)
        return;
    struct jr_diag *diag = jr_diags_warning(
        lint->diags, JR_CODE_COMMAND_UNLIKELY, node->span, "entrypoint.python.script",
        "'%s' is the name of one file, with blanks in it", jr_lint_said(lint, node));
    jr_diag_help(lint->diags, diag,
                 "write arguments beside it: {python: {script: %.*s}, args: [%s]}",
                 (int)(end + 3 - node->text), node->text, list);
}

/* {shell: "mpirun -np 4 ./train"} */
static void check_shell_launcher(const struct jr_check *check)
{
    const struct jr_node *node = jr_check_raw(check, "entrypoint.shell");
    const struct jr_node *world = jr_doc_get(check->tree, "world_size");
    bool alone = world != NULL && strcmp(world->text, "1") == 0;
    if (node == NULL || node->kind != JR_NODE_SCALAR || alone || node->filled != NULL ||
        jr_lint_origin(node)->meant)
        return;
    const char *first = node->text + strspn(node->text, " \n");
    size_t len = strcspn(first, " \n");
    if (!is_word_of(LAUNCHERS, first, len))
        return;
    struct jr_diag *diag = jr_diags_warning(
        check->lint->diags, JR_CODE_LAUNCHER_NESTED, node->span, "entrypoint.shell",
        "'%.*s' is a launcher, of which each rank would start its own", (int)len, first);
    jr_diag_help(check->lint->diags, diag,
                 "write the program that it starts; for one launcher write world_size: 1");
}

void jr_check_command(const struct jr_check *check)
{
    const struct command command = {check, jr_doc_find(check->tree, "entrypoint.command")};
    const struct jr_node *list = command.list;
    check_script_blanks(check);
    check_shell_launcher(check);
    for (size_t i = 0; list != NULL && i < list->count; i++)
        if (list->items[i]->kind != JR_NODE_SCALAR)
            return;
    if (list == NULL || list->count == 0 || check_launcher(&command) ||
        check_assignment(&command) || check_shell_word(&command) || !is_of_spec(list->items[0]) ||
        check_windows_path(&command) || check_shell_text(&command))
        return;
    check_module(&command);
    for (size_t i = 0; i < list->count; i++)
        check_blanks(&command, i);
}
