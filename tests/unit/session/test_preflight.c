/* What a launch will miss on this machine: the exact finding, at the field that has to be mended,
 * once, and nothing where all is there. */
#include "session/preflight.h"

#include "base/buf.h"
#include "scratch.h"

#define ONE "version: 1\nname: t\ndevice: cpu\nworld_size: 1\n"
#define TWO "version: 1\nname: t\ndevice: cpu\nworld_size: 2\n"

static struct scratch scratch;
static char path_variable[] = "PATH=/usr/bin:/bin";
static char token_variable[] = "MY_TOKEN=sesame-sesame";
static char *const environment[] = {path_variable, token_variable, NULL};

static void make_program(const char *name, const char *text)
{
    scratch_write(&scratch, name, text);
    CU_ASSERT_EQUAL(fchmodat(scratch.fd, name, 0755, 0), 0);
}

/* What all cases find in their folder. */
static void start(void)
{
    static const char *const programs[][2] = {{"works", "#!/bin/sh\n"},
                                              {"binary", "\x7f"
                                                         "ELF"},
                                              {"empty", ""},
                                              {"hash", "#"},
                                              {"jobrun-step", ""},
                                              {"short", "#!/x"},
                                              {"bang", "#!"},
                                              {"none", "#!\n"},
                                              {"strange", "#! /no/such/shell -x\n"},
                                              {"tabbed", "#!\t/no/tab\tx\n"},
                                              {"windows", "#!/bin/sh\r\necho x\r\n"},
                                              {"near", "#!./works -e\n"},
                                              {"spaced", "#! /bin/sh -e\n"},
                                              {"python", ""},
                                              {"python3", ""},
                                              {"python3.12", ""},
                                              {"pythonx", ""},
                                              {"python3-dbg", ""},
                                              {"python0/works", ""},
                                              {"r/0", ""}};
    static const char *const folders[] = {"folder", "python0", "w0", "r"};
    static const char *const files[] = {"file", "done.py", "a1"};
    scratch_start(&scratch);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        CU_ASSERT_EQUAL(mkdirat(scratch.fd, folders[i], 0755), 0);
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        make_program(programs[i][0], programs[i][1]);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        scratch_write(&scratch, files[i], "");
    scratch_write(&scratch, "plain.sh", "#!/bin/sh\n");
}

static void end(void)
{
    scratch_end(&scratch);
}

/* Findings as "error JR0512 4:14 entrypoint: message; help", one a line. */
static void tell(struct jr_buf *out, const struct jr_session *session)
{
    size_t count;
    const struct jr_diag *diags = jr_session_diags(session, &count);
    for (size_t i = 0; i < count; i++)
        jr_buf_printf(out, "%s%s %s %u:%u %s: %s%s%s", i == 0 ? "" : "\n",
                      diags[i].severity == JR_SEVERITY_ERROR ? "error" : "warning", diags[i].code,
                      diags[i].span.line, diags[i].span.column, diags[i].path, diags[i].message,
                      diags[i].help == NULL ? "" : "; ",
                      diags[i].help == NULL ? "" : diags[i].help);
}

/* Look at a spec, in both of which @ stands for the folder. */
static void check(const char *spec, const char *expected)
{
    struct jr_buf JR_BUF_CLEANUP text = JR_BUF_INIT, want = JR_BUF_INIT, told = JR_BUF_INIT;
    const struct jr_session_options options = {
        .dry_run = true, .run_id = "r1", .envp = environment, .support = scratch.dir};
    struct jr_error err = {0};
    struct jr_session *session = jr_session_open(&options);
    CU_ASSERT_PTR_NOT_NULL_FATAL(session);
    jr_buf_replaced(&text, spec, "@", scratch.dir);
    jr_buf_replaced(&want, expected, "@", scratch.dir);
    const struct jr_spec_source source = {
        .name = "t.yaml", .folder = scratch.dir, .text = text.data, .len = text.len};
    CU_ASSERT_EQUAL(jr_session_load(session, &source, &err), JR_STATUS_OK);
    CU_ASSERT_EQUAL(jr_session_facts(session, "1x0,4c", &err), JR_STATUS_OK);
    CU_ASSERT_EQUAL(jr_session_make_plan(session, &err), JR_STATUS_OK);
    if (err.text[0] != '\0')
        printf("\n  %s: %s\n", spec, err.text);
    enum jr_status status = jr_session_preflight(session);
    tell(&told, session);
    const char *found = told.data == NULL ? "" : told.data;
    const char *wanted = want.data == NULL ? "" : want.data;
    if (strcmp(found, wanted) != 0)
        printf("\n  of %s", spec);
    JR_ASSERT_TEXT(found, wanted);
    CU_ASSERT_EQUAL(status,
                    strstr(expected, "error ") == NULL ? JR_STATUS_OK : JR_STATUS_UNRESOLVED);
    CU_ASSERT_NOT_EQUAL(faccessat(scratch.fd, "runs", F_OK, 0), 0);
    jr_session_close(session);
}

#define NONE             "No such file or directory"
#define NO_FOLDER        "Not a directory"
#define AT(what, place)  what " 5:" place ": "
#define PROGRAM          AT("error JR0512", "14 entrypoint.command[0]")
#define EXEC(name)       PROGRAM "the program '" name "' cannot be executed: "
#define LINE(name, of)   EXEC(name) "its first line names '" of "': " NONE
#define NO_PROGRAM(name) PROGRAM "no program '" name "' is in PATH"
#define SCRIPT(column, index, name)                                                                \
    AT("error JR0513", column " entrypoint.command[" index "]")                                    \
    "the script '" name "' cannot be read: " NONE
#define RUNS_IN(rank, folder)                                                                      \
    "error JR0511 6:10 workdir: rank " rank " cannot run in '@/" folder "': "
#define RUN_FOLDER(line, folder)                                                                   \
    "error JR0514 " line ":10 log_dir: the run folder '@/" folder "' cannot be made: "
#define WRITES(place, rank, name)                                                                  \
    "error JR0514 " place ": rank " rank " cannot write '" name "': " NO_FOLDER
#define SETUP          "; `setup` has to provide it"
#define PYTHON(words)  "entrypoint: {python: {" words "}}\n"
#define LIBRARY(words) "entrypoint: {library: {path: " words "}}\n"
#define WORKS          "entrypoint: [./works]\n"

/* What is found for one rank, of the spec that has its entrypoint on line 5. */
static const char *const ones[][2] = {
    /* why a program cannot be executed, and what to type instead */
    {"entrypoint: [./trian]\n", EXEC("./trian") NONE},
    {"entrypoint: [trian]\n", NO_PROGRAM("trian")},
    {"entrypoint: [./folder]\n", EXEC("./folder") "Is a directory"},
    {"entrypoint: [./file/x]\n", EXEC("./file/x") NO_FOLDER},
    {"entrypoint: [sh]\nenv: {PATH: /no/such}\n", NO_PROGRAM("sh")},
    {"entrypoint: [works]\n",
     NO_PROGRAM("works") "; write ./works for the file in the working directory"},
    {"entrypoint: [./plain.sh]\n",
     EXEC("./plain.sh") "Permission denied; make it executable: chmod +x ./plain.sh"},
    {"entrypoint: [./done.py]\n", EXEC("./done.py") "Permission denied; put python3 before it, or "
                                                    "make it executable: chmod +x ./done.py"},
    {"entrypoint: [./file]\n",
     EXEC("./file") "Permission denied; make it executable: chmod +x ./file"},
    {"entrypoint: [./gone.py]\n", EXEC("./gone.py") NONE "; did you mean './done.py'?"},
    {"entrypoint: [./evaluate.py]\n", EXEC("./evaluate.py") NONE},
    /* the first line of a script, from where the rank runs, as execve(2) has it */
    {"entrypoint: [./short]\n", LINE("./short", "/x")},
    {"entrypoint: [./bang]\n", LINE("./bang", "")},
    {"entrypoint: [./none]\n", LINE("./none", "")},
    {"entrypoint: [./strange]\n", LINE("./strange", "/no/such/shell")},
    {"entrypoint: [./tabbed]\n", LINE("./tabbed", "/no/tab")},
    {"entrypoint: [./windows]\n",
     LINE("./windows",
          "/bin/sh\\x0d") "; its lines end as on Windows: sed -i 's/\\r$//' ./windows"},
    {"entrypoint: [./near]\n", ""},
    {"entrypoint: [./spaced]\n", ""},
    {"entrypoint: [../near]\nworkdir: folder\n", LINE("../near", "./works")},
    /* what `setup` may provide: it runs in the working directory, behind the run folder */
    {"entrypoint: [./trian]\nsetup: make trian\n",
     AT("warning JR0512",
        "14 entrypoint.command[0]") "the program './trian' cannot be executed: " NONE SETUP},
    {"entrypoint: [works]\nsetup: make works\n",
     AT("warning JR0512", "14 entrypoint.command[0]") "no program 'works' is in PATH" SETUP},
    {WORKS "workdir: gone\nsetup: mkdir gone\n", RUNS_IN("0", "gone") NONE},
    {WORKS "setup: mkdir gone\nlog_dir: file/r\n", RUN_FOLDER("7", "file/r/r1") NO_FOLDER},
    {WORKS "setup: a\nresults: {file: 'file/r'}\n",
     "warning JR0514 7:17 results.file: rank 0 cannot write '@/file/r': " NO_FOLDER SETUP},
    {LIBRARY("./t.so, symbol: s") "setup: make\n",
     AT("warning JR0513",
        "30 entrypoint.library.path") "the library '@/t.so' cannot be read: " NONE SETUP},
    /* the script of python in a command */
    {"entrypoint: [./python, t.py]\n", SCRIPT("24", "1", "t.py")},
    {"entrypoint: [./python3, t.py]\n", SCRIPT("25", "1", "t.py")},
    {"entrypoint: [./python3.12, t.py]\n", SCRIPT("28", "1", "t.py")},
    {"entrypoint: [./python, -u, t.py]\n", SCRIPT("28", "2", "t.py")},
    {"entrypoint: [./python, -uB, -OO, t.py]\n", SCRIPT("34", "3", "t.py")},
    {"entrypoint: [./python, t.py, done.py]\n", SCRIPT("24", "1", "t.py")},
    {"entrypoint: [./python, ../folder/none/done.py]\n",
     SCRIPT("24", "1", "../folder/none/done.py")},
    {"entrypoint: [../python, done.py]\nworkdir: folder\n", SCRIPT("25", "1", "done.py")},
    /* scripts and libraries */
    {PYTHON("script: t.py, interpreter: ./works"),
     AT("error JR0513", "31 entrypoint.python.script") "the script '@/t.py' cannot be read: " NONE},
    {PYTHON("script: file/t, interpreter: ./works"),
     AT("error JR0513",
        "31 entrypoint.python.script") "the script '@/file/t' cannot be read: " NO_FOLDER},
    {PYTHON("script: done.py, interpreter: no-python"),
     AT("error JR0512", "53 entrypoint.python.interpreter") "no program 'no-python' is in PATH"},
    {PYTHON("module: t, interpreter: ./no-such"),
     AT("error JR0512",
        "47 entrypoint.python.interpreter") "the program '@/no-such' cannot be executed: " NONE},
    {LIBRARY("./t.so, symbol: step"),
     AT("error JR0513", "30 entrypoint.library.path") "the library '@/t.so' cannot be read: " NONE},
    {LIBRARY("./folder, symbol: step"),
     AT("error JR0513",
        "30 entrypoint.library.path") "the library '@/folder' cannot be read: Is a directory"},
    {LIBRARY("./file, symbol: step"), ""},
    /* working directories: nothing else of the rank is known without one */
    {WORKS "workdir: gone\n", RUNS_IN("0", "gone") NONE},
    {WORKS "workdir: file\n", RUNS_IN("0", "file") NO_FOLDER},
    {"entrypoint: [no-such]\nworkdir: gone\n", RUNS_IN("0", "gone") NONE},
    /* folders that take no files; what lies in the run folder is made by jobrun, beside it by
     * nobody */
    {WORKS "results: {artifacts: [ok, file/x, new/y, file/z/deep]}\n",
     WRITES("6:27 results.artifacts[1]", "0", "file/x") "\n" WRITES("6:42 results.artifacts[3]",
                                                                    "0", "file/z/deep")},
    {WORKS "results: {file: 'file/%{rank}'}\n", WRITES("6:17 results.file", "0", "@/file/0")},
    {WORKS "log_dir: file\n", RUN_FOLDER("6", "file/r1") NO_FOLDER},
    {WORKS "log_dir: file\nresults: {artifacts: ['%{run_dir}/a', '%{run_dir}-b/c']}\n",
     WRITES("7:39 results.artifacts[1]", "0", "@/file/r1-b/c") "\n" RUN_FOLDER("6", "file/r1")
         NO_FOLDER},
    /* all that is missing at once */
    {"entrypoint: [./trian]\nlog_dir: file\nresults: {file: file/r, artifacts: [file/a]}\n",
     EXEC("./trian") NONE "\n" WRITES("7:17 results.file", "0", "@/file/r") "\n" WRITES(
         "7:37 results.artifacts[0]", "0", "file/a") "\n" RUN_FOLDER("6", "file/r1") NO_FOLDER},
    /* the reference, and not the secret */
    {"entrypoint: ['./${env:MY_TOKEN}']\n",
     "warning JR0320 5:14 entrypoint.command: every user of the machine can read the value of "
     "'MY_TOKEN', which is a secret by '*_TOKEN' of `secrets`; take it from the environment (??? "
     "in env), or narrow secrets if it is not one\n" EXEC("./${env:MY_TOKEN}") NONE},
    {WORKS "workdir: '${env:MY_TOKEN}'\n", RUNS_IN("0", "${env:MY_TOKEN}") NONE}};

/* For two ranks: one finding for a field, of the first rank that it does not do for. */
static const char *const twos[][2] = {
    {"entrypoint: ['./%{rank}']\n", EXEC("./0") NONE},
    {"entrypoint: ['./r/%{rank}']\n", EXEC("./r/1") NONE},
    {"entrypoint: [sh]\nworkdir: 'w%{rank}'\n", RUNS_IN("1", "w1") NONE},
    {"entrypoint: [sh]\nper_rank: {1: {env: {PATH: /no}}}\n", NO_PROGRAM("sh")},
    {"entrypoint: [sh]\nresults: {artifacts: ['a%{rank}/x']}\n",
     WRITES("6:23 results.artifacts[0]", "1", "a1/x")},
    {"entrypoint: [sh]\nresults: {file: '@/a%{rank}/x'}\n",
     WRITES("6:17 results.file", "1", "@/a1/x")},
    {"entrypoint: [./python, t.py]\nper_rank: {1: {env: {A: 1}}}\n", SCRIPT("24", "1", "t.py")},
    {WORKS "results: {artifacts: ['file/%{rank}/x', 'file/%{rank}/y']}\n",
     WRITES("6:23 results.artifacts[0]", "0", "file/0/x") "\n" WRITES("6:41 results.artifacts[1]",
                                                                      "0", "file/0/y")},
    /* all is there */
    {WORKS, ""},
    {"entrypoint: [@/works]\n", ""},
    {"entrypoint: [./binary]\n", ""},
    {"entrypoint: [./empty]\n", ""},
    {"entrypoint: [./hash]\n", ""},
    {"entrypoint: [sh]\n", ""},
    {"entrypoint: {shell: no-such-program}\n", ""},
    {PYTHON("script: done.py, interpreter: ./works"), ""},
    {PYTHON("script: folder, interpreter: ./works"), ""},
    {WORKS "workdir: '%{rank_dir}'\n", ""},
    {"entrypoint: [no-such-program]\nworkdir: '%{rank_dir}'\n", ""},
    {"entrypoint: [works]\nenv: {PATH: '@'}\n", ""},
    {"entrypoint: [../works]\nworkdir: folder\n", ""},
    {WORKS "log_dir: a/b/c\nresults: {file: 'new/%{rank}.json', artifacts: [x, 'new/%{rank}/y', "
           "@/z]}\n",
     ""},
    /* words that are no script; what a form names, it has already looked for */
    {"entrypoint: {shell: './python t.py'}\n", ""},
    {"entrypoint: [./python, done.py]\n", ""},
    {"entrypoint: [./python, folder]\n", ""},
    {"entrypoint: [./python, -u, done.py]\n", ""},
    {"entrypoint: [./python, -m, t]\n", ""},
    {"entrypoint: [./python, -c, t]\n", ""},
    {"entrypoint: [./python, -W, t, done.py]\n", ""},
    {"entrypoint: [./python, -um, t]\n", ""},
    {"entrypoint: [./python, '-', t]\n", ""},
    {"entrypoint: [./python]\n", ""},
    {"entrypoint: [./python, -u]\n", ""},
    {"entrypoint: [./python, '', t]\n", ""},
    {"entrypoint: [./pythonx, t.py]\n", ""},
    {"entrypoint: [./python3-dbg, t.py]\n", ""},
    {"entrypoint: [python0/works, t.py]\n", ""},
    {"entrypoint: [./works, t.py]\n", ""},
    {"entrypoint: [./python, --, t.py]\n", ""}};

static void check_body(const char *head, const char *body, const char *expected)
{
    struct jr_buf spec JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_printf(&spec, "%s%s", head, body);
    check(spec.data, expected);
}

TEST_WITH(start, end, finds_what_is_not_there)
{
    for (size_t i = 0; i < sizeof ones / sizeof *ones; i++)
        check_body(ONE, ones[i][0], ones[i][1]);
    for (size_t i = 0; i < sizeof twos / sizeof *twos; i++)
        check_body(TWO, twos[i][0], twos[i][1]);
    /* the part of jobrun that loads a library */
    CU_ASSERT_EQUAL(unlinkat(scratch.fd, "jobrun-step", 0), 0);
    check(ONE LIBRARY("./file, symbol: step"),
          AT("error JR0512",
             "13 entrypoint") "the program '@/jobrun-step' cannot be executed: " NONE);
}

/* Linux reads 256 bytes of a first line. */
TEST_WITH(start, end, reads_as_much_of_a_first_line_as_linux)
{
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT, want JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_printf(&line, "#!/%0*d", 400, 0);
    make_program("long", line.data);
    jr_buf_printf(&want, LINE("./long", "%.254s"), line.data + 2);
    check(ONE "entrypoint: [./long]\n", want.data);
}

/* As somebody else, where root tests it, for root may do everything; unless others do not even get
 * to the folder. */
TEST_WITH(start, end, asks_for_the_rights_that_are_needed)
{
    bool root = geteuid() == 0;
    CU_ASSERT_EQUAL(chmod(scratch.dir, 0755), 0);
    CU_ASSERT_EQUAL(mkdirat(scratch.fd, "closed", 0555), 0);
    CU_ASSERT_EQUAL(mkdirat(scratch.fd, "shut", 0600), 0);
    CU_ASSERT_EQUAL(mkdirat(scratch.fd, "open", 0777), 0);
    CU_ASSERT_EQUAL(fchmodat(scratch.fd, "open", 0777, 0), 0);
    scratch_write(&scratch, "secret.so", "");
    CU_ASSERT_EQUAL(fchmodat(scratch.fd, "secret.so", 0200, 0), 0);
    if ((!root || seteuid(65534) == 0) && faccessat(AT_FDCWD, scratch.dir, X_OK, AT_EACCESS) == 0) {
        check(ONE "entrypoint: [../works]\nworkdir: closed\nlog_dir: open\n"
                  "results: {artifacts: [x, ../open/x]}\n",
              "error JR0514 8:23 results.artifacts[0]: rank 0 cannot write 'x': Permission denied");
        check(ONE "entrypoint: [./works]\nlog_dir: closed\n",
              "error JR0514 6:10 log_dir: the run folder '@/closed/r1' cannot "
              "be made: Permission denied");
        check(ONE "entrypoint: [./works]\nworkdir: shut\nlog_dir: open\n",
              "error JR0511 6:10 workdir: rank 0 cannot run in '@/shut': Permission denied");
        check(ONE "entrypoint: {library: {path: ./secret.so, symbol: s}}\nlog_dir: open\n",
              "error JR0513 5:30 entrypoint.library.path: the library "
              "'@/secret.so' cannot be read: Permission denied");
    }
    CU_ASSERT_TRUE(!root || seteuid(0) == 0);
}
