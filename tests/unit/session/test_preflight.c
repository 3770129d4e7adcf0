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
    scratch_start(&scratch);
    make_program("works", "#!/bin/sh\n");
    make_program("binary", "\x7f"
                           "ELF");
    make_program("empty", "");
    make_program("hash", "#");
    make_program("jobrun-step", "");
    scratch_write(&scratch, "file", "");
    scratch_write(&scratch, "done.py", "");
    scratch_write(&scratch, "plain.sh", "#!/bin/sh\n");
    CU_ASSERT_EQUAL(mkdirat(scratch.fd, "folder", 0755), 0);
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
    struct jr_buf text = JR_BUF_INIT, want = JR_BUF_INIT, told = JR_BUF_INIT;
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
    jr_buf_release(&text);
    jr_buf_release(&want);
    jr_buf_release(&told);
}

TEST(finds_nothing_where_all_is_there)
{
    static const char *const bodies[] = {
        "entrypoint: [./works]\n",
        "entrypoint: [@/works]\n",
        "entrypoint: [./binary]\n",
        "entrypoint: [./empty]\n",
        "entrypoint: [./hash]\n",
        "entrypoint: [sh]\n",
        "entrypoint: {shell: no-such-program}\n",
        "entrypoint: {python: {script: done.py, interpreter: ./works}}\n",
        "entrypoint: {python: {script: folder, interpreter: ./works}}\n",
        "entrypoint: [./works]\nworkdir: '%{rank_dir}'\n",
        "entrypoint: [no-such-program]\nworkdir: '%{rank_dir}'\n",
        "entrypoint: [works]\nenv: {PATH: '@'}\n",
        "entrypoint: [../works]\nworkdir: folder\n",
        ("entrypoint: [./works]\nlog_dir: a/b/c\nresults: {file: "
         "'new/%{rank}.json', artifacts: [x, 'new/%{rank}/y', @/z]}\n"),
    };
    struct jr_buf spec = JR_BUF_INIT;
    start();
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        jr_buf_clear(&spec);
        jr_buf_printf(&spec, TWO "%s", bodies[i]);
        check(spec.data, "");
    }
    jr_buf_release(&spec);
    end();
}

#define PROGRAM "error JR0512 5:14 entrypoint.command[0]: "

TEST(tells_why_a_program_cannot_be_executed)
{
    start();
    check(ONE "entrypoint: [./trian]\n",
          PROGRAM "the program './trian' cannot be executed: No such file or directory");
    check(ONE "entrypoint: [trian]\n", PROGRAM "no program 'trian' is in PATH");
    check(ONE "entrypoint: [./folder]\n",
          PROGRAM "the program './folder' cannot be executed: Is a directory");
    check(ONE "entrypoint: [./file/x]\n",
          PROGRAM "the program './file/x' cannot be executed: Not a directory");
    check(ONE "entrypoint: [sh]\nenv: {PATH: /no/such}\n", PROGRAM "no program 'sh' is in PATH");
    end();
}

TEST(says_what_to_type_instead)
{
    start();
    check(ONE "entrypoint: [works]\n",
          PROGRAM "no program 'works' is in PATH; write ./works for the file "
                  "in the working directory");
    check(ONE "entrypoint: [./plain.sh]\n",
          PROGRAM "the program './plain.sh' cannot be executed: Permission "
                  "denied; make it executable: chmod +x ./plain.sh");
    check(ONE "entrypoint: [./done.py]\n",
          PROGRAM "the program './done.py' cannot be executed: Permission denied; put python3 "
                  "before it, or make it executable: chmod +x ./done.py");
    check(ONE "entrypoint: [./file]\n",
          PROGRAM "the program './file' cannot be executed: Permission denied; "
                  "make it executable: chmod +x ./file");
    check(ONE "entrypoint: [./gone.py]\n",
          PROGRAM "the program './gone.py' cannot be executed: No such file or "
                  "directory; did you mean './done.py'?");
    check(ONE "entrypoint: [./evaluate.py]\n",
          PROGRAM "the program './evaluate.py' cannot be executed: No such file or directory");
    end();
}

/* Linux reads 256 bytes of a first line, and two are enough to make one. */
TEST(reads_as_much_of_a_first_line_as_linux)
{
    struct jr_buf line = JR_BUF_INIT, want = JR_BUF_INIT;
    start();
    jr_buf_str(&line, "#!/");
    for (int i = 0; i < 400; i++)
        jr_buf_char(&line, 'x');
    make_program("long", line.data);
    make_program("short", "#!/x");
    make_program("bang", "#!");
    jr_buf_printf(&want,
                  PROGRAM "the program './long' cannot be executed: its first "
                          "line names '%.254s': No such file or directory",
                  line.data + 2);
    check(ONE "entrypoint: [./long]\n", want.data);
    check(ONE "entrypoint: [./short]\n",
          PROGRAM "the program './short' cannot be executed: its first line "
                  "names '/x': No such file or directory");
    check(ONE "entrypoint: [./bang]\n",
          PROGRAM "the program './bang' cannot be executed: its first line "
                  "names '': No such file or directory");
    jr_buf_release(&line);
    jr_buf_release(&want);
    end();
}

TEST(follows_the_first_line_of_a_script)
{
    start();
    make_program("strange", "#! /no/such/shell -x\n");
    make_program("tabbed", "#!\t/no/tab\tx\n");
    make_program("windows", "#!/bin/sh\r\necho x\r\n");
    make_program("short", "#!/x");
    make_program("none", "#!\n");
    make_program("near", "#!./works -e\n");
    make_program("spaced", "#! /bin/sh -e\n");
    check(ONE "entrypoint: [./strange]\n",
          PROGRAM "the program './strange' cannot be executed: its first line "
                  "names '/no/such/shell': No such file or directory");
    check(ONE "entrypoint: [./tabbed]\n",
          PROGRAM "the program './tabbed' cannot be executed: its first line "
                  "names '/no/tab': No such file or directory");
    check(ONE "entrypoint: [./windows]\n",
          PROGRAM "the program './windows' cannot be executed: its first line "
                  "names '/bin/sh\\x0d': No such file or directory; its lines "
                  "end as on Windows: sed -i 's/\\r$//' ./windows");
    check(ONE "entrypoint: [./short]\n",
          PROGRAM "the program './short' cannot be executed: its first line "
                  "names '/x': No such file or directory");
    check(ONE "entrypoint: [./none]\n",
          PROGRAM "the program './none' cannot be executed: its first line "
                  "names '': No such file or directory");
    check(ONE "entrypoint: [./near]\n", "");
    check(ONE "entrypoint: [./spaced]\n", "");
    /* relative to where the rank runs, as execve(2) has it */
    check(ONE "entrypoint: [../near]\nworkdir: folder\n",
          PROGRAM "the program '../near' cannot be executed: its first line "
                  "names './works': No such file or directory");
    end();
}

/* The file in the working directory is no program that PATH was meant to find once `setup` is to
 * make one. */
TEST(warns_where_setup_may_provide_it)
{
    static const char by_setup[] = "`setup` has to provide it";
    struct jr_buf expected = JR_BUF_INIT;
    start();
    jr_buf_printf(&expected,
                  "warning JR0512 5:14 entrypoint.command[0]: the program "
                  "'./trian' cannot be executed: No such file or directory; %s",
                  by_setup);
    check(ONE "entrypoint: [./trian]\nsetup: make trian\n", expected.data);
    jr_buf_clear(&expected);
    jr_buf_printf(&expected,
                  "warning JR0512 5:14 entrypoint.command[0]: no program 'works' is in PATH; %s",
                  by_setup);
    check(ONE "entrypoint: [works]\nsetup: make works\n", expected.data);
    /* setup runs in the working directory itself */
    check(ONE "entrypoint: [./works]\nsetup: mkdir gone\nworkdir: gone\n",
          "error JR0511 7:10 workdir: rank 0 cannot run in '@/gone': No such file or directory");
    /* and the run folder is made before it */
    check(ONE "entrypoint: [./works]\nsetup: mkdir gone\nlog_dir: file/r\n",
          "error JR0514 7:10 log_dir: the run folder '@/file/r/r1' cannot be "
          "made: Not a directory");
    jr_buf_release(&expected);
    end();
}

#define SCRIPT(column, index, name)                                                                \
    "error JR0513 5:" column " entrypoint.command[" index "]: the script '" name                   \
    "' cannot be read: No such file or directory"

TEST(finds_the_script_of_python_in_a_command)
{
    start();
    make_program("python", "");
    make_program("python3", "");
    make_program("python3.12", "");
    make_program("pythonx", "");
    make_program("python3-dbg", "");
    CU_ASSERT_EQUAL(mkdirat(scratch.fd, "python0", 0755), 0);
    make_program("python0/works", "");
    check(ONE "entrypoint: [./python, t.py]\n", SCRIPT("24", "1", "t.py"));
    check(ONE "entrypoint: [./python3, t.py]\n", SCRIPT("25", "1", "t.py"));
    check(ONE "entrypoint: [./python3.12, t.py]\n", SCRIPT("28", "1", "t.py"));
    check(ONE "entrypoint: [./python, -u, t.py]\n", SCRIPT("28", "2", "t.py"));
    check(ONE "entrypoint: [./python, -uB, -OO, t.py]\n", SCRIPT("34", "3", "t.py"));
    check(ONE "entrypoint: [./python, t.py, done.py]\n", SCRIPT("24", "1", "t.py"));
    check(ONE "entrypoint: [./python, ../folder/none/done.py]\n",
          SCRIPT("24", "1", "../folder/none/done.py"));
    check(ONE "entrypoint: [../python, done.py]\nworkdir: folder\n", SCRIPT("25", "1", "done.py"));
    end();
}

TEST(leaves_words_alone_that_are_no_script)
{
    static const char *const commands[] = {
        "[./python, done.py]",   "[./python, folder]",    "[./python, -u, done.py]",
        "[./python, -m, t]",     "[./python, -c, t]",     "[./python, -W, t, done.py]",
        "[./python, -um, t]",    "[./python, '-', t]",    "[./python]",
        "[./python, -u]",        "[./python, '', t]",     "[./pythonx, t.py]",
        "[./python3-dbg, t.py]", "[python0/works, t.py]", "[./works, t.py]",
        "[./python, --, t.py]",
    };
    struct jr_buf spec = JR_BUF_INIT;
    start();
    make_program("python", "");
    make_program("pythonx", "");
    make_program("python3-dbg", "");
    CU_ASSERT_EQUAL(mkdirat(scratch.fd, "python0", 0755), 0);
    make_program("python0/works", "");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        jr_buf_clear(&spec);
        jr_buf_printf(&spec, ONE "entrypoint: %s\n", commands[i]);
        check(spec.data, "");
    }
    /* what a form names, it has already looked for */
    check(ONE "entrypoint: {shell: './python t.py'}\n", "");
    jr_buf_release(&spec);
    end();
}

TEST(looks_for_scripts_and_libraries)
{
    start();
    check(ONE "entrypoint: {python: {script: t.py, interpreter: ./works}}\n",
          "error JR0513 5:31 entrypoint.python.script: the script '@/t.py' "
          "cannot be read: No such file or directory");
    check(ONE "entrypoint: {python: {script: file/t, interpreter: ./works}}\n",
          "error JR0513 5:31 entrypoint.python.script: the script '@/file/t' "
          "cannot be read: Not a directory");
    check(ONE "entrypoint: {python: {script: done.py, interpreter: no-python}}\n",
          "error JR0512 5:53 entrypoint.python.interpreter: no program 'no-python' is in PATH");
    check(ONE "entrypoint: {python: {module: t, interpreter: ./pithon}}\n",
          "error JR0512 5:47 entrypoint.python.interpreter: the program "
          "'@/pithon' cannot be executed: No such file or directory");
    check(ONE "entrypoint: {library: {path: ./t.so, symbol: step}}\n",
          "error JR0513 5:30 entrypoint.library.path: the library '@/t.so' "
          "cannot be read: No such file or directory");
    check(ONE "entrypoint: {library: {path: ./folder, symbol: step}}\n",
          "error JR0513 5:30 entrypoint.library.path: the library '@/folder' "
          "cannot be read: Is a directory");
    check(ONE "entrypoint: {library: {path: ./file, symbol: step}}\n", "");
    check(ONE "entrypoint: {library: {path: ./t.so, symbol: s}}\nsetup: make\n",
          "warning JR0513 5:30 entrypoint.library.path: the library '@/t.so' cannot be read: No "
          "such file or directory; `setup` has to provide it");
    /* the part of jobrun that loads it */
    CU_ASSERT_EQUAL(unlinkat(scratch.fd, "jobrun-step", 0), 0);
    check(ONE "entrypoint: {library: {path: ./file, symbol: step}}\n",
          "error JR0512 5:13 entrypoint: the program '@/jobrun-step' cannot be "
          "executed: No such file or directory");
    end();
}

TEST(tells_of_working_directories)
{
    start();
    check(ONE "entrypoint: [./works]\nworkdir: gone\n",
          "error JR0511 6:10 workdir: rank 0 cannot run in '@/gone': No such file or directory");
    check(ONE "entrypoint: [./works]\nworkdir: file\n",
          "error JR0511 6:10 workdir: rank 0 cannot run in '@/file': Not a directory");
    /* nothing else of the rank is known then */
    check(ONE "entrypoint: [no-such]\nworkdir: gone\n",
          "error JR0511 6:10 workdir: rank 0 cannot run in '@/gone': No such file or directory");
    end();
}

/* One finding for a field, of the first rank that it does not do for. */
TEST(looks_at_every_rank_that_differs)
{
    start();
    CU_ASSERT_EQUAL(mkdirat(scratch.fd, "w0", 0755), 0);
    check("version: 1\nname: t\ndevice: cpu\nworld_size: 4\n"
          "entrypoint: [sh]\nworkdir: 'w%{rank}'\n",
          "error JR0511 6:10 workdir: rank 1 cannot run in '@/w1': No such file or directory");
    check(TWO "entrypoint: ['./%{rank}']\n",
          PROGRAM "the program './0' cannot be executed: No such file or directory");
    make_program("0", "");
    check(TWO "entrypoint: ['./%{rank}']\n",
          PROGRAM "the program './1' cannot be executed: No such file or directory");
    check(TWO "entrypoint: [sh]\nper_rank: {1: {env: {PATH: /no}}}\n",
          PROGRAM "no program 'sh' is in PATH");
    scratch_write(&scratch, "a1", "");
    check(TWO "entrypoint: [sh]\nresults: {artifacts: ['a%{rank}/x']}\n",
          "error JR0514 6:23 results.artifacts[0]: rank 1 cannot write 'a1/x': Not a directory");
    check(TWO "entrypoint: [sh]\nresults: {file: '@/a%{rank}/x'}\n",
          "error JR0514 6:17 results.file: rank 1 cannot write '@/a1/x': Not a directory");
    end();
}

/* A script that is missing for all ranks is missing once. */
TEST(tells_of_a_script_once)
{
    start();
    make_program("python", "");
    check(TWO "entrypoint: [./python, t.py]\nper_rank: {1: {env: {A: 1}}}\n",
          SCRIPT("24", "1", "t.py"));
    end();
}

/* As somebody else, where root tests it, for root may do everything; unless others do not even get
 * to the folder. */
TEST(asks_for_the_rights_that_are_needed)
{
    bool root = geteuid() == 0;
    start();
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
        check(ONE "entrypoint: {library: {path: ./secret.so, symbol: s}}\n"
                  "log_dir: open\n",
              "error JR0513 5:30 entrypoint.library.path: the library "
              "'@/secret.so' cannot be read: Permission denied");
    }
    CU_ASSERT_TRUE(!root || seteuid(0) == 0);
    end();
}

TEST(tells_of_each_folder_that_takes_no_files)
{
    start();
    check(ONE "entrypoint: [./works]\nresults: {artifacts: [ok, file/x, new/y, file/z/deep]}\n",
          "error JR0514 6:27 results.artifacts[1]: rank 0 cannot write 'file/x': Not a directory\n"
          "error JR0514 6:42 results.artifacts[3]: rank 0 cannot write 'file/z/deep': Not a "
          "directory");
    check(TWO "entrypoint: [./works]\nresults: {artifacts: ['file/%{rank}/x', 'file/%{rank}/y']}\n",
          "error JR0514 6:23 results.artifacts[0]: rank 0 cannot write "
          "'file/0/x': Not a directory\n"
          "error JR0514 6:41 results.artifacts[1]: rank 0 cannot write "
          "'file/0/y': Not a directory");
    check(ONE "entrypoint: [./works]\nresults: {file: 'file/%{rank}'}\n",
          "error JR0514 6:17 results.file: rank 0 cannot write '@/file/0': Not a directory");
    check(ONE "entrypoint: [./works]\nsetup: a\nresults: {file: 'file/r'}\n",
          "warning JR0514 7:17 results.file: rank 0 cannot write '@/file/r': "
          "Not a directory; `setup` has to provide it");
    check(ONE "entrypoint: [./works]\nlog_dir: file\n",
          "error JR0514 6:10 log_dir: the run folder '@/file/r1' cannot be made: Not a directory");
    end();
}

/* What lies in the run folder is made by jobrun; beside it, by nobody. */
TEST(leaves_the_run_folder_to_the_run)
{
    start();
    check(ONE "entrypoint: [./works]\nlog_dir: file\nresults: {artifacts: "
              "['%{run_dir}/a', '%{run_dir}-b/c']}\n",
          "error JR0514 7:39 results.artifacts[1]: rank 0 cannot write '@/file/r1-b/c': Not a "
          "directory\n"
          "error JR0514 6:10 log_dir: the run folder '@/file/r1' cannot be made: Not a directory");
    end();
}

TEST(tells_all_that_is_missing_at_once)
{
    start();
    check(ONE "entrypoint: [./trian]\nlog_dir: file\nresults: {file: file/r, "
              "artifacts: [file/a]}\n",
          PROGRAM "the program './trian' cannot be executed: No such file or directory\n"
                  "error JR0514 7:17 results.file: rank 0 cannot write '@/file/r': Not a "
                  "directory\n"
                  "error JR0514 7:37 results.artifacts[0]: rank 0 cannot write 'file/a': Not a "
                  "directory\n"
                  "error JR0514 6:10 log_dir: the run folder '@/file/r1' cannot be made: Not a "
                  "directory");
    end();
}

TEST(shows_the_reference_and_not_the_secret)
{
    start();
    check(ONE "entrypoint: ['./${env:MY_TOKEN}']\n",
          "warning JR0320 5:14 entrypoint.command: every user of the machine can "
          "read the value of 'MY_TOKEN', which is a secret by '*_TOKEN' of "
          "`secrets`; take it from the environment (??? in env), or narrow "
          "secrets if it is not one\n" PROGRAM
          "the program './${env:MY_TOKEN}' cannot be executed: No such file or directory");
    check(ONE "entrypoint: [./works]\nworkdir: '${env:MY_TOKEN}'\n",
          "error JR0511 6:10 workdir: rank 0 cannot run in "
          "'@/${env:MY_TOKEN}': No such file or directory");
    end();
}
