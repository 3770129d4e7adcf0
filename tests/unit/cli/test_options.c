/* Command lines: what each word of one is taken for, and what is refused. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "cli/cli.h"
#include "cli/options.h"

#include "unit.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

enum { MOST_WORDS = 10 };

/* Parse words behind "jobrun". What is said goes to `said`, without the name of the program and the
 * line's end. The words live as long as `cli`. */
static int parse(struct jr_cli *cli, char said[static 512], const char *const *words)
{
    char *argv[MOST_WORDS + 2] = {jr_arena_strdup(&cli->arena, "jobrun")};
    int argc = 1, before = dup(STDERR_FILENO), file = memfd_create("said", 0);
    CU_ASSERT_TRUE_FATAL(before >= 0 && file >= 0);
    for (; words[argc - 1] != NULL; argc++)
        argv[argc] = jr_arena_strdup(&cli->arena, words[argc - 1]);
    char **kept = jr_arena_array(&cli->arena, LENGTH(argv), sizeof *kept);
    CU_ASSERT_PTR_NOT_NULL_FATAL(kept);
    (void)memcpy(kept, argv, sizeof argv);
    static char *no_env[] = {NULL};
    (void)dup2(file, STDERR_FILENO);
    int status = jr_cli_parse(cli, argc, kept, no_env);
    (void)dup2(before, STDERR_FILENO);
    ssize_t len = pread(file, said, 511, 0);
    said[len > 0 ? len - 1 : 0] = '\0';
    (void)close(before);
    (void)close(file);
    return status;
}

TEST(describes_an_option_to_each_verb)
{
    static const struct {
        const char *option, *verb, *text; /* of all of them: verb NULL */
    } rows[] = {
        {"code", "show", "print where the frozen copy of the code is"},
        {"code", "rerun", "run the code of then"},
        {"wait", "rerun",
         "wait in a queue until the devices are free (--wait=30m: at most so long)"},
        {"set", "run",
         "set a field to another value: -s parallelism.data=4; -s +vars.x=1 adds one"},
        {"fix", "validate", "write unambiguous fixes to the files; for -, to standard output"},
        {"keep", "prune", "keep the newest N runs (default: 50; 0 with --older or --code)"},
        {"color", "run", "when to use colour"},
        {"output", NULL,
         "new, report: write to FILE, which must not exist yet; schema: write "
         "to FILE, where an earlier schema is replaced"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
        const struct jr_option *option = jr_option_by_name(rows[i].option, strlen(rows[i].option));
        CU_ASSERT_PTR_NOT_NULL_FATAL(option);
        jr_option_describe(&text, option, rows[i].verb);
        JR_ASSERT_TEXT(text.data, rows[i].text);
    }
}

/* No verb is told an option by nothing. */
TEST(describes_every_option)
{
    for (const struct jr_option *row = jr_options; row->name != NULL; row++)
        for (const struct jr_verb *verb = jr_verbs; verb->name; verb++) {
            struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
            jr_option_describe(&text, row, verb->name);
            CU_ASSERT_TRUE(!jr_option_allowed(row, verb->name) || text.len > 0);
        }
}

TEST(refuses_what_it_does_not_understand)
{
    static const struct {
        const char *words[MOST_WORDS], *said;
    } rows[] = {
        {{"--node-rnk", "x.yaml"}, "unknown option '--node-rnk'; did you mean '--node-rank'?"},
        {{"--zzz", "x.yaml"}, "unknown option '--zzz'; see jobrun --help"},
        {{"plan", "-k", "a.yaml"}, "unknown option '-k'; see jobrun plan --help"},
        /* a letter among others is told by itself */
        {{"plan", "-kq", "a.yaml"}, "unknown option '-k'; see jobrun plan --help"},
        {{"-kq", "a.yaml"}, "unknown option '-k'; see jobrun --help"},
        {{"validate", "a.yaml", "-qk"}, "unknown option '-k'; see jobrun validate --help"},
        {{"validate", "--none=3", "a"}, "unknown option '--none=3'; see jobrun validate --help"},
        /* the beginning of several names */
        {{"--r", "a"}, "unknown option '--r'; see jobrun --help"},
        {{"validate", "--strict=3", "a.yaml"},
         "--strict takes no value, such as '3'; type --strict"},
        {{"validate", "--stri=yes", "a.yaml"},
         "--strict takes no value, such as 'yes'; type --strict"},
        {{"validate", "--strict=false", "a.yaml"},
         "--strict takes no value, such as 'false'; leave it out"},
        {{"run", "--help=x"}, "--help takes no value, such as 'x'; type --help"},
        {{"plan", "-s"}, "-s wants a value: -s PATH=VALUE"},
        {{"plan", "a.yaml", "--set"}, "--set wants a value: --set PATH=VALUE"},
        {{"plan", "-s", "lr"}, "--set wants PATH=VALUE, not 'lr'; for example: -s lr=VALUE"},
        {{"-n", "two", "--", "a"}, "-n wants a whole number, not 'two'; for example: -n 4"},
        {{"-n", "-1", "--", "a"}, "-n wants a whole number, not '-1'; for example: -n 4"},
        {{"logs", "--tail", "4294967296"},
         "--tail wants a number of at most 4294967295, not 4294967296"},
        {{"--color", "red", "a.yaml"}, "--color wants auto, always or never, not 'red'"},
        /* options of other verbs */
        {{"validate", "--local", "a.yaml"},
         "'validate' has no option --local (run, plan, resolve, rerun have "
         "it); see jobrun validate --help"},
        {{"a.yaml", "--explain"},
         "'run' has no option --explain (resolve has it); see jobrun run "
         "--help\n        or, if it is the job's: jobrun a.yaml -- --explain"},
        {{"--explain", "a.yaml"},
         "'run' has no option --explain (resolve has it); see jobrun run --help"},
        {{"show", "--tail=1"}, "'show' has no option --tail (logs has it); see jobrun show --help"},
        {{"runs", "-n", "2"},
         "'runs' has no option '-n'; the newest runs come first: jobrun runs | head"},
        {{"--help", "a.yaml", "--all", "--env"},
         "'help' has no option --env (plan has it); see jobrun help --help"},
        /* `--` was forgotten */
        {{"-n", "4", "python3", "train.py"},
         "a command stands behind `--`:\n        jobrun -n 4 -- python3 train.py"},
        {{"plan", "-n4", "./a b", "--lr", "$x", "-h", "--", "it's"},
         "a command stands behind `--`:\n        jobrun plan -n4 -- './a b' "
         "--lr '$x' -h -- 'it'\\''s'"},
        {{"-n", "1", "a\nb"}, "a command stands behind `--`:\n        jobrun -n 1 -- 'a\\x0ab'"},
        {{"a.yaml", "--epochs", "3"},
         "unknown option '--epochs'; arguments of the job stand behind "
         "`--`:\n        jobrun a.yaml -- --epochs 3"},
        {{"run", "a.yaml", "--local", "-qz", "--", "3"},
         "unknown option '-z'; arguments of the job stand behind `--`:\n     "
         "   jobrun run a.yaml --local -- -qz 3"},
        {{"a.yaml", "--locale", "C"},
         "unknown option '--locale'; did you mean '--local'?\n        or, if "
         "it is the job's: jobrun a.yaml -- --locale C"},
        {{"validate", "a.yaml", "--epochs"},
         "unknown option '--epochs'; see jobrun validate --help"},
        {{"train.py", "--epochs", "3"},
         "'train.py' is a Python script, not a spec; to start 2 ranks of it, "
         "type:\n        jobrun -n 2 -- python3 train.py --epochs 3"},
        {{"cat", "x"},
         "'cat' is a program, not a spec; to start 2 ranks of it, type:\n    "
         "    jobrun -n 2 -- cat x"},
        /* verbs without a word */
        {{"doctor", "x"}, "doctor takes no argument: what is 'x'?"},
        {{"prune", "--", "x"}, "prune takes no argument: what is 'x'?"},
        {{"runs", "x"}, "runs takes no argument: what is 'x'? (jobrun show x)"},
        /* words that are neither verb nor file */
        {{"validat", "a.yaml"},
         "'validat' is neither a verb nor a file; did you mean 'jobrun validate'?"},
        {{"stpo"}, "'stpo' is neither a verb nor a file; did you mean 'jobrun stop'?"},
        {{"xylophone"}, "'xylophone' is neither a verb nor a file; see jobrun --help"},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct jr_cli cli = {0};
        char said[512], expected[512];
        CU_ASSERT_EQUAL(parse(&cli, said, rows[i].words), JR_STATUS_USAGE);
        (void)snprintf(expected, sizeof expected, "jobrun: %s", rows[i].said);
        JR_ASSERT_TEXT(said, expected);
        jr_arena_release(&cli.arena);
    }
}

/* The verb, the words and those behind "--": "plan [a] [b] -- [c]". */
TEST(tells_verbs_from_specs)
{
    static const struct {
        const char *words[MOST_WORDS], *expected;
    } rows[] = {
        {{NULL}, "run"},
        {{"run"}, "run!"},
        {{"a.yaml"}, "run [a.yaml]"},
        {{"run", "a.yaml"}, "run! [a.yaml]"},
        {{"./plan"}, "run [./plan]"},
        {{"-"}, "run [-]"},
        {{"HEAD:a"}, "run [HEAD:a]"},
        {{"no-such"}, "run [no-such]"},
        {{"plan", "run"}, "plan! [run]"},
        {{"diff", "a", "b"}, "diff! [a] [b]"},
        {{"--local", "plan", "a.yaml"}, "plan! [a.yaml]"},
        {{"plan", "a.yaml", "--local", "b"}, "plan! [a.yaml] [b]"},
        {{"a.yaml", "--", "--local", "--"}, "run [a.yaml] -- [--local] [--]"},
        {{"a.yaml", "--"}, "run [a.yaml] --"},
        {{"--", "plan"}, "run -- [plan]"},
        {{"-n", "2", "--", "plan", "x"}, "run -- [plan] [x]"},
        {{"-n", "2", "a.yml"}, "run [a.yml]"},
        {{"-n", "2", "plan", "-"}, "plan! [-]"},
        {{"show", "--", "latest"}, "show! [latest]"},
        {{"validate", "a", "--", "-b", "--"}, "validate! [a] [-b] [--]"},
        {{"completion", "zsh", "--", "run"}, "completion! [zsh] -- [run]"},
        {{"rerun", "--", "x"}, "rerun! -- [x]"},
        {{"help", "run"}, "help! [run]"},
        {{"nonsense", "--help"}, "help [nonsense]"},
        {{"-h"}, "help"},
        {{"--help", "--all"}, "help"},
        {{"-v"}, "run"},
        {{"nonsense", "-V"}, "run [nonsense]"},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct jr_cli cli = {0};
        struct jr_buf got JR_BUF_CLEANUP = JR_BUF_INIT;
        char said[512];
        CU_ASSERT_EQUAL(parse(&cli, said, rows[i].words), 0);
        JR_ASSERT_TEXT(said, "");
        jr_buf_printf(&got, "%s%s", cli.verb->name, cli.verb_stated ? "!" : "");
        for (int k = 0; k < cli.words_count; k++)
            jr_buf_printf(&got, " [%s]", cli.words[k]);
        jr_buf_str(&got, cli.rest != NULL ? " --" : "");
        for (char **word = cli.rest; word != NULL && *word != NULL; word++)
            jr_buf_printf(&got, " [%s]", *word);
        JR_ASSERT_TEXT(got.data, rows[i].expected);
        jr_arena_release(&cli.arena);
    }
}

TEST(keeps_values)
{
    static const char *const words[] = {"-sa=1",      "--set", "b=x=y", "--node-ra",
                                        "4294967295", "-n=3",  NULL};
    static const char *const good[] = {"plan",       "-sa=1", "--set", "b=x=y",  "--node-ra",
                                       "4294967295", "-n3",   "--env", "--json", NULL};
    struct jr_cli cli = {0};
    char said[512];
    CU_ASSERT_EQUAL(parse(&cli, said, words), JR_STATUS_USAGE);
    JR_ASSERT_TEXT(said, "jobrun: -n wants a number, not '=3'; type -n 3");
    jr_arena_release(&cli.arena);
    cli = (struct jr_cli){0};
    CU_ASSERT_EQUAL(parse(&cli, said, good), 0);
    CU_ASSERT_EQUAL_FATAL(cli.sets.count, 2);
    JR_ASSERT_TEXT(cli.sets.items[0], "a=1");
    JR_ASSERT_TEXT(cli.sets.items[1], "b=x=y");
    CU_ASSERT_PTR_NULL(cli.sets.items[2]);
    CU_ASSERT_PTR_EQUAL(cli.node_rank, &cli.node_rank_value);
    CU_ASSERT_EQUAL(cli.node_rank_value, 4294967295u);
    CU_ASSERT_PTR_EQUAL(cli.count, &cli.count_value);
    CU_ASSERT_EQUAL(cli.count_value, 3);
    CU_ASSERT_TRUE(cli.env);
    CU_ASSERT_TRUE(cli.json);
    CU_ASSERT_FALSE(cli.local);
    CU_ASSERT_FALSE(cli.help);
    CU_ASSERT_PTR_NULL(cli.debug_rank);
    CU_ASSERT_PTR_NULL(cli.format);
    CU_ASSERT_PTR_NULL(cli.rest);
    jr_arena_release(&cli.arena);
}

/* The last of several texts and numbers counts. */
TEST(lets_later_options_count)
{
    static const char *const words[] = {"rerun",      "--debug=1", "--debug", "0",
                                        "--run-id=a", "--run-id",  "b",       NULL};
    struct jr_cli cli = {0};
    char said[512];
    CU_ASSERT_EQUAL(parse(&cli, said, words), 0);
    CU_ASSERT_PTR_NOT_NULL(cli.debug_rank);
    CU_ASSERT_EQUAL(cli.debug_rank_value, 0);
    JR_ASSERT_TEXT(cli.run_id, "b");
    jr_arena_release(&cli.arena);
}

/* --color before the environment, and that before what the output is. */
TEST(decides_on_colour)
{
    static const struct {
        const char *option, *none, *force;
        bool expected;
    } rows[] = {
        {NULL, NULL, NULL, false},   {"auto", NULL, NULL, false}, {"always", NULL, NULL, true},
        {"never", NULL, "1", false}, {"always", "1", NULL, true}, {NULL, NULL, "1", true},
        {NULL, NULL, "0", false},    {NULL, NULL, "", false},     {NULL, "1", "1", false},
        {NULL, "", "1", true},       {"auto", "1", "1", false},   {"auto", NULL, "yes", true},
    };
    int out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO);
    int none = open("/dev/null", O_WRONLY);
    (void)fflush(stdout);
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct jr_cli cli = {.color = rows[i].option};
        (void)(rows[i].none == NULL ? unsetenv("NO_COLOR") : setenv("NO_COLOR", rows[i].none, 1));
        (void)(rows[i].force == NULL ? unsetenv("CLICOLOR_FORCE")
                                     : setenv("CLICOLOR_FORCE", rows[i].force, 1));
        (void)dup2(none, STDOUT_FILENO);
        (void)dup2(none, STDERR_FILENO);
        int status = jr_cli_color(&cli);
        (void)dup2(out, STDOUT_FILENO);
        (void)dup2(err, STDERR_FILENO);
        CU_ASSERT_EQUAL(status, 0);
        CU_ASSERT_EQUAL(cli.color_out, rows[i].expected);
        CU_ASSERT_EQUAL(cli.color_err, rows[i].expected);
        CU_ASSERT_FALSE(cli.moves_cursor);
    }
    (void)close(out);
    (void)close(err);
    (void)close(none);
}

TEST(knows_the_options_of_a_verb)
{
    static const struct jr_option none = {.verbs = "run rerun"};
    static const struct jr_option all = {.verbs = NULL};
    CU_ASSERT_TRUE(jr_option_allowed(&none, "run"));
    CU_ASSERT_TRUE(jr_option_allowed(&none, "rerun"));
    CU_ASSERT_FALSE(jr_option_allowed(&none, "runs"));
    CU_ASSERT_FALSE(jr_option_allowed(&none, "re"));
    CU_ASSERT_FALSE(jr_option_allowed(&none, ""));
    CU_ASSERT_TRUE(jr_option_allowed(&all, "anything"));
}

/* Rows are told apart by getopt, and each names verbs that there are. */
TEST(has_rows_that_can_be_reached)
{
    size_t count = 0;
    for (; jr_options[count].name != NULL; count++) {
        const struct jr_option *row = &jr_options[count];
        for (size_t i = 0; i < count; i++) {
            CU_ASSERT_STRING_NOT_EQUAL(row->name, jr_options[i].name);
            CU_ASSERT_TRUE(row->letter == 0 || row->letter != jr_options[i].letter);
        }
        CU_ASSERT_EQUAL(row->arg == NULL,
                        row->kind == JR_OPTION_FLAG || row->kind == JR_OPTION_MAYBE);
        char verbs[256], *rest = verbs;
        (void)snprintf(verbs, sizeof verbs, "%s", row->verbs == NULL ? "run" : row->verbs);
        for (char *verb; (verb = strsep(&rest, " ")) != NULL;)
            CU_ASSERT_PTR_NOT_NULL(jr_verb_find(verb));
    }
    CU_ASSERT_TRUE(count < 64); /* one bit for each that was seen */
}

/* Synopses, and what may stand for their words. */

/* "SPEC0 ARG1+": each word, its position, and whether it may be repeated. */
TEST(walks_synopses)
{
    static const char *const rows[][2] = {
        {"", ""},
        {"-x", ""},
        {"[-- ARG...]", ""},
        {"[-s FIELD=VALUE]... [-- ARG...]", ""},
        {"SPEC", "SPEC0 "},
        {"[RUN]", "RUN0 "},
        {"PATH...", "PATH0+ "},
        {"[PATH]...", "PATH0+ "},
        {"[PATH...]", "PATH0+ "},
        {"A B", "A0 B1 "},
        {"A [B_C]", "A0 B_C1 "},
        {"CODE|FIELD", "CODE0 FIELD0 "},
        {"[SPEC] [-- ARG...]", "SPEC0 "},
        {"ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFGHIJ", "ABCDEFGHIJKLMNOPQRSTUVWXYZABCDE0 "},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct jr_synopsis walk = {.at = rows[i][0]};
        struct jr_buf out = JR_BUF_INIT;
        char name[JR_VALUE_NAME];
        jr_buf_str(&out, "");
        while (jr_synopsis_next(&walk, name))
            jr_buf_printf(&out, "%s%u%s ", name, walk.position, walk.many ? "+" : "");
        JR_ASSERT_TEXT(out.data, rows[i][1]);
        jr_buf_release(&out);
    }
}

TEST(finds_values_by_verb)
{
    CU_ASSERT_PTR_NULL(jr_value_find("NONSENSE", "run"));
    CU_ASSERT_PTR_NULL(jr_value_find("A", "run"));
    CU_ASSERT_PTR_NOT_NULL(jr_value_find("A", "diff"));
    const struct jr_value *one = jr_value_find("FORMAT", "doctor");
    const struct jr_value *other = jr_value_find("FORMAT", "plan");
    CU_ASSERT_PTR_NOT_NULL_FATAL(one);
    CU_ASSERT_PTR_NOT_NULL_FATAL(other);
    CU_ASSERT_PTR_NOT_EQUAL(one, other);
    JR_ASSERT_TEXT(one->words[1].word, "yaml");
    JR_ASSERT_TEXT(other->words[1].word, "json");
}

TEST(lists_words)
{
    static const char *const rows[][3] = {
        {"NONSENSE", "run", ""},
        {"SPEC", "run", ""},
        {"FORMAT", "doctor", ": text, yaml, json"},
        {"FORMAT", "validate", ": see below"},
        {"WHEN", "", ": auto, always, never"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct jr_buf out = JR_BUF_INIT;
        jr_buf_str(&out, "");
        jr_value_words(&out, rows[i][0], rows[i][1]);
        JR_ASSERT_TEXT(out.data, rows[i][2]);
        jr_buf_release(&out);
    }
}
