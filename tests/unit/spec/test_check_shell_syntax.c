/* What only a shell would replace, where none reads it: what is warned of, at which columns, with
 * which way out, and what is left alone. */
#include "case.h"

/* Findings as "3:7-12 path: message; help", one a line. */
static void tell(struct jr_buf *out, const struct jr_diags *diags)
{
    for (size_t i = 0; i < diags->count; i++) {
        const struct jr_diag *diag = &diags->items[i];
        CU_ASSERT_TRUE(jr_diag_is(diag, JR_CODE_SHELL_SYNTAX));
        CU_ASSERT_EQUAL(diag->severity, JR_SEVERITY_WARNING);
        jr_buf_printf(out, "%s%u:%u-%u %s: %s; %s", i == 0 ? "" : "\n", diag->span.line,
                      diag->span.column, diag->span.end_column, diag->path, diag->message,
                      diag->help == NULL ? "no help" : diag->help);
    }
}

static void check_told(const char *text, const char *expected)
{
    struct jr_buf told JR_BUF_CLEANUP = JR_BUF_INIT;
    SPEC_CASE(c, text);
    tell(&told, &c.diags);
    const char *got = told.data == NULL ? "" : told.data;
    if (strcmp(got, expected) != 0)
        printf("\n  in: %s\n", text);
    JR_ASSERT_TEXT(got, expected);
    CU_ASSERT_PTR_NOT_NULL(case_spec(&c)); /* a warning, and no more */
}

/* Words of a command after ./t, on line 2 from column 19 on. */
static void check_words(const char *words, const char *expected)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_printf(&text, "version: 1\nentrypoint: [./t, %s]\n", words);
    check_told(text.data, expected);
}

/* What a body has, on line 3. */
static void check_body(const char *body, const char *expected)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_printf(&text, HEAD "%s\n", body);
    check_told(text.data, expected);
}

#define ARGUMENT(from, to) "2:" from "-" to " entrypoint.command[1]: "
#define NOT_REPLACED       " is not replaced: no shell reads it; "
/* The whole of a value that has no quotes. */
#define QUOTED(value)         "write \"" value "\" for jobrun's own variable, or use `shell:`"
#define QUOTED_VARIABLE(name) QUOTED("${env:" name "}")
#define OWN_VARIABLE(name)    "write ${env:" name "} for jobrun's own variable, or use `shell:`"

TEST(warns_of_variables_in_arguments)
{
    check_words("$LR", ARGUMENT("19", "22") "'$LR'" NOT_REPLACED QUOTED_VARIABLE("LR"));
    check_words("--lr=$LR", ARGUMENT("24", "27") "'$LR'" NOT_REPLACED QUOTED("--lr=${env:LR}"));
    check_words("$A_9/b", ARGUMENT("19", "23") "'$A_9'" NOT_REPLACED QUOTED("${env:A_9}/b"));
    check_words("a$b, $c", "2:24-26 entrypoint.command[2]: '$c'" NOT_REPLACED QUOTED_VARIABLE("c"));
    check_words("x$y:$z", ARGUMENT("23", "25") "'$z'" NOT_REPLACED QUOTED("x$y:${env:z}"));
    check_words("'/a/$b'", ARGUMENT("23", "25") "'$b'" NOT_REPLACED OWN_VARIABLE("b"));
}

TEST(warns_of_one_thing_in_a_word)
{
    check_words("$A:$B", ARGUMENT("19", "21") "'$A'" NOT_REPLACED QUOTED("${env:A}:$B"));
    check_words("\"~/$A\"", ARGUMENT("22", "24") "'$A'" NOT_REPLACED OWN_VARIABLE("A"));
}

TEST(warns_of_commands_in_arguments)
{
    check_words("$(date)", ARGUMENT("19", "26") "'$(date)'" NOT_REPLACED "use `shell:`");
    check_words("\"n=$(nproc)x\"", ARGUMENT("22", "30") "'$(nproc)'" NOT_REPLACED "use `shell:`");
    check_words("\"$(open\"", "");
}

/* The variables that jobrun sets have templates; those that are files or several values have no one
 * place that they could stand in. */
TEST(offers_the_template_of_a_rank_variable)
{
    check_words("$RANK",
                ARGUMENT("19", "24") "'$RANK'" NOT_REPLACED "write \"%{rank}\", or use `shell:`");
    check_words("$JOBRUN_RUN_DIR", ARGUMENT("19", "34") "'$JOBRUN_RUN_DIR'" NOT_REPLACED
                                                        "write \"%{run_dir}\", or use `shell:`");
    check_words("$GROUP_WORLD_SIZE", ARGUMENT("19", "36") "'$GROUP_WORLD_SIZE'" NOT_REPLACED
                                                          "write \"%{nodes}\", or use `shell:`");
    check_words("$INIT_METHOD",
                ARGUMENT("19", "31") "'$INIT_METHOD'" NOT_REPLACED QUOTED_VARIABLE("INIT_METHOD"));
    check_words("$JOBRUN_RESULT_FILE",
                ARGUMENT("19", "38") "'$JOBRUN_RESULT_FILE'" NOT_REPLACED QUOTED_VARIABLE(
                    "JOBRUN_RESULT_FILE"));
    check_words("$MODEL_PARALLEL_RANK",
                ARGUMENT("19", "39") "'$MODEL_PARALLEL_RANK'" NOT_REPLACED QUOTED_VARIABLE(
                    "MODEL_PARALLEL_RANK"));
}

/* A variable that the spec sets is had from there. */
TEST(offers_what_env_sets)
{
    check_told("version: 1\nentrypoint: [./t, $LR]\nenv: {LR: 1}\n",
               ARGUMENT("19", "22") "'$LR'" NOT_REPLACED "write \"${env.LR}\" for the value of "
                                    "`env`, or use `shell:`");
    check_told("version: 1\nentrypoint: [./t, $LR]\nenv: {LR: null}\n",
               ARGUMENT("19", "22") "'$LR'" NOT_REPLACED QUOTED_VARIABLE("LR"));
    check_told("version: 1\nentrypoint: [./t, $LR]\nenv: {L: 1}\n",
               ARGUMENT("19", "22") "'$LR'" NOT_REPLACED QUOTED_VARIABLE("LR"));
    check_body("env: {A: 1, B: $A}",
               "3:16-18 env.B: '$A'" NOT_REPLACED "write \"${env.A}\" for the value of `env`");
    /* of itself: what it is outside */
    check_body("env: {PATH: \"/b:$PATH\"}", "3:17-22 env.PATH: '$PATH'" NOT_REPLACED
                                            "write ${env:PATH} for jobrun's own variable");
}

TEST(leaves_dollars_that_begin_no_variable)
{
    check_words("$, $$, $1, a$B, \"$ A\", \"5$\", $-, \"a-$B\"", "");
    check_words("$ORIGIN/lib, \"$LIB\", $PLATFORM", "");
    check_words("$LIBS", ARGUMENT("19", "24") "'$LIBS'" NOT_REPLACED QUOTED_VARIABLE("LIBS"));
}

#define HOME " is not your home folder: no shell reads it; write "

TEST(warns_of_home_folders)
{
    check_words("~", ARGUMENT("19", "20") "'~'" HOME "\"${env:HOME}\"");
    check_words("~/data", ARGUMENT("19", "25") "'~/data'" HOME "\"${env:HOME}/data\"");
    check_words("--in=~/data", ARGUMENT("24", "30") "'~/data'" HOME "\"--in=${env:HOME}/data\"");
    check_words("\"/a:~/b:/c\"", ARGUMENT("23", "26") "'~/b'" HOME "${env:HOME}/b");
    check_words("\"~/a,~/b\"", ARGUMENT("20", "23") "'~/a'" HOME "${env:HOME}/a");
    check_words("a~/b, \"=~\", ~user, \"a~\", \"/x/~/y\", \"/~/y\", \"--x=~\"", "");
    check_body("env: {A: ~/d}", "3:10-13 env.A: '~/d'" HOME "\"${env:HOME}/d\"");
}

#define OPERATOR " is an argument of the program: no shell reads it; use `shell:`"
#define KEEPS    "; `redirects` keeps output in files"

TEST(warns_of_operators)
{
    static const char *const joins[] = {"&&", "||", "|", ";", "&", "<"};
    struct jr_buf JR_BUF_CLEANUP word = JR_BUF_INIT, told = JR_BUF_INIT;
    for (size_t i = 0; i < sizeof joins / sizeof *joins; i++) {
        size_t end = 20 + strlen(joins[i]);
        jr_buf_clear(&word);
        jr_buf_clear(&told);
        jr_buf_printf(&word, "\"%s\"", joins[i]);
        jr_buf_printf(&told, "2:20-%zu entrypoint.command[1]: '%s'" OPERATOR, end, joins[i]);
        check_words(word.data, told.data);
    }
    EACH_PART(part, ">|>>|2>|2>>|&>|>&|>&2|1>&2|2>&1|>log|>l|>>log|2>err|1>out|&>all|>/dev/null") {
        size_t end = 20 + strlen(part);
        jr_buf_clear(&word);
        jr_buf_clear(&told);
        jr_buf_printf(&word, "\"%s\"", part);
        jr_buf_printf(&told, "2:20-%zu entrypoint.command[1]: '%s'" OPERATOR KEEPS, end, part);
        check_words(word.data, told.data);
    }
}

/* Comparisons, tags and arrows are arguments like others. */
TEST(leaves_what_only_looks_like_operators)
{
    check_words("\">=1.2\", \"<pad>\", \"3>log\", \"12>log\", \"a>b\"", "");
    check_words("\"->\", \"a|b\", \"a;b\", \"&&&\", \">a<b\", \">f(x)\"", "");
    check_words("\">a|b\", \"=>\", \"22>x\", \"\", \"1\", \"2\"", "");
}

#define FILES                                                                                      \
    " does not stand for files: no shell reads it; use `shell:`, or let the "                      \
    "program look for them"

TEST(warns_of_globs)
{
    check_words("\"*.csv\"", ARGUMENT("20", "25") "'*.csv'" FILES);
    check_words("data/part-*.csv", ARGUMENT("19", "34") "'data/part-*.csv'" FILES);
    check_words("data/*", ARGUMENT("19", "25") "'data/*'" FILES);
    check_words("'%{rank}/*.pt'", ARGUMENT("20", "32") "'%{rank}/*.pt'" FILES);
    check_words("\"*\", \"a*\", \"**\", \"*.*\", data/a*, \"2*3\"", "");
    check_words("\"a.*\", \"^*.csv\", \"--f=*.csv\", \"-*.c\", \"*./a\"", "");
    check_words("\"(a)*.b\", \"*.\", \"data*/x\", \"*.c*\"", "");
}

/* A program with a language of its own, and text that is announced as such. */
TEST(leaves_text_for_the_program_alone)
{
    EACH_PART(part,
              "[awk, $A]|[/usr/bin/perl, $A]|[xargs, '&&']|[sed, $p]|[sh, -c, 'a && $B']|"
              "[bash, -lc, $B]|[bash, -euxc, $B]|[python3, -c, $B]|[./t, -e, $B]|"
              "[./t, --eval, $B]|[./t, --include, '*.csv']|[./t, --exclude-from, ~/x]|"
              "[./t, --pattern, $B]|[./t, -glob, '*.csv']|"
              "[./t, --regex, $B, --match, $C, --ignore, $D]|[./t, \"a $B\"]|[./t, \"$A\\n\"]|"
              "[./t, 'a\\$B']") {
        struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
        jr_buf_printf(&text, "version: 1\nentrypoint: %s\n", part);
        check_told(text.data, "");
    }
}

/* Only the word right behind it, and only where it is an option. */
TEST(looks_again_behind_announced_text)
{
    check_words("-c, $A, $B",
                "2:27-29 entrypoint.command[3]: '$B'" NOT_REPLACED QUOTED_VARIABLE("B"));
    check_words("include, $B",
                "2:28-30 entrypoint.command[2]: '$B'" NOT_REPLACED QUOTED_VARIABLE("B"));
    check_words("-cx, $B", "2:24-26 entrypoint.command[2]: '$B'" NOT_REPLACED QUOTED_VARIABLE("B"));
    check_told("version: 1\nentrypoint: [awking, $A]\n",
               "2:22-24 entrypoint.command[1]: '$A'" NOT_REPLACED QUOTED_VARIABLE("A"));
    check_told("version: 1\nentrypoint: [awk/t, $A]\n",
               "2:21-23 entrypoint.command[1]: '$A'" NOT_REPLACED QUOTED_VARIABLE("A"));
}

TEST(looks_at_arguments_wherever_they_stand)
{
    check_told("version: 1\nentrypoint: {python: {script: /t.py}, args: [$A]}\n",
               "2:46-48 entrypoint.args[0]: '$A'" NOT_REPLACED QUOTED_VARIABLE("A"));
    check_told("version: 1\nentrypoint: {python: {script: /t.py}}\n"
               "per_rank: {1: {args: [x, $A]}, 2: {env: {B: $A}}}\n",
               "3:26-28 per_rank.1.args[1]: '$A'" NOT_REPLACED QUOTED_VARIABLE(
                   "A") "\n3:45-47 per_rank.2.env.B: '$A'" NOT_REPLACED
                        "write \"${env:A}\" for jobrun's own variable");
    /* the arguments of a function are values, and a shell reads its own */
    check_told("version: 1\nentrypoint: {python: {function: \"m:f\"}, args: [$A]}\n", "");
    check_told("version: 1\nentrypoint: {shell: 'echo $A > ~/x && true'}\n", "");
}

/* A list of entries is looked at to its end. */
TEST(looks_at_each_entry_of_per_rank)
{
    check_body("per_rank: {0: {args: [a]}, 1: {args: [$A]}, 2: {args: [~]}}",
               "3:39-41 per_rank.1.args[0]: '$A'" NOT_REPLACED QUOTED_VARIABLE(
                   "A") "\n3:56-57 per_rank.2.args[0]: '~'" HOME "\"${env:HOME}\"");
}

/* The caller's shell has read a command line before jobrun did. */
TEST(leaves_command_lines_alone)
{
    static char program[] = "./t", dollar[] = "$A", both[] = "&&";
    static char *const argv[] = {program, dollar, both, NULL};
    static char set[] = "entrypoint.args=[$B]";
    static char *const sets[] = {set, NULL};
    const struct jr_spec_source source = {.folder = "/jobs", .argv = argv, .ranks = 1};
    const struct jr_spec_options options = {0}, changed = {.sets = sets};
    struct jr_diags diags RELEASE(jr_diags_release) = JR_DIAGS_INIT;
    struct jr_spec_file *file = NULL;
    CU_ASSERT_EQUAL(jr_spec_load(&file, &source, &options, &diags), 0);
    CU_ASSERT_EQUAL(diags.count, 0);
    jr_spec_free(file);
    /* but not what is set besides */
    CU_ASSERT_EQUAL(jr_spec_load(&file, &source, &changed, &diags), 0);
    CU_ASSERT_EQUAL_FATAL(diags.count, 1);
    JR_ASSERT_TEXT(diags.items[0].path, "entrypoint.args[0]");
    jr_spec_free(file);
}

TEST(looks_at_variables)
{
    check_body("env: {A: \"x:$B\"}",
               "3:13-15 env.A: '$B'" NOT_REPLACED "write ${env:B} for jobrun's own variable");
    check_body("env: {A: $(date)}", "3:10-17 env.A: '$(date)'"
                                    " is not replaced: no shell reads it; no help");
    check_body("env: {A: $RANK}", "3:10-15 env.A: '$RANK'" NOT_REPLACED "write \"%{rank}\"");
    /* operators and stars are values like others there */
    check_body("env: {C: '&&', D: '*.csv', E: '>log'}", "");
    check_body("env: {C: $A}\nsecrets: [C]", "");
    check_body("env: {C: $A}\nsecrets: [D]",
               "3:10-12 env.C: '$A'" NOT_REPLACED "write \"${env:A}\" for jobrun's own variable");
}

TEST(looks_at_paths)
{
    check_body("workdir: $HOME/w", "3:10-15 workdir: '$HOME'" NOT_REPLACED
                                   "write ${env:HOME} for jobrun's own variable");
    check_body("log_dir: /l/$USER", "3:13-18 log_dir: '$USER'" NOT_REPLACED
                                    "write ${env:USER} for jobrun's own variable");
    check_told("version: 1\nentrypoint: {python: {script: $S/t.py}}\n",
               "2:31-33 entrypoint.python.script: '$S'" NOT_REPLACED
               "write \"${env:S}/t.py\" for jobrun's own variable");
    check_body("workdir: /w", "");
}
