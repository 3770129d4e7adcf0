/* What is copied, and what the script for a host does with it: a shell here runs it in a home
 * folder of the test's own. The program is a script, too. */
#include "cluster/transport.h"

#include <sys/wait.h>

#include <jobrun/engine.h>

#include "base/io.h"
#include "generated/version.h"
#include "scratch.h"

#define RUNS                                                                                       \
    "#!/bin/sh\n[ \"$1\" = version ] && echo 'jobrun " JR_VERSION "' && exit\n"                    \
    "echo \"agent $0 $* in $PWD umask $(umask)\"\n"

static struct scratch scratch;
static struct jr_copy copy;

static void put(const char *path, const char *text, mode_t mode)
{
    scratch_write(&scratch, path, text);
    CU_ASSERT_EQUAL(fchmodat(scratch.fd, path, mode, 0), 0);
}

static void read_copy(const char *program)
{
    char path[128], support[128];
    struct jr_error err = {0};
    scratch_start(&scratch);
    put("program", program, 0700);
    for (size_t i = 0; i < 4; i++)
        (void)mkdirat(scratch.fd,
                      ((const char *const[]){"lib", "lib/python", "home", "lib/__pycache__"})[i],
                      0700);
    put("lib/step", "step\n", 0700);
    put("lib/python/it's.py", "import this\n", 0644);
    put("lib/__pycache__/x.pyc", "no\n", 0644);
    put("lib/.hidden", "no\n", 0644);
    (void)snprintf(path, sizeof path, "%s/program", scratch.dir);
    (void)snprintf(support, sizeof support, "%s/lib", scratch.dir);
    CU_ASSERT_EQUAL_FATAL(jr_copy_read(&copy, path, support, &err), 0);
}

static void release(void)
{
    jr_copy_release(&copy);
    scratch_end(&scratch);
}

/* Run the script with `before` as the first words of the shell, and what it is sent in the file
 * "bytes", from its byte `from` on; its end and what it printed are in *ret. */
static int run_script(struct jr_buf *ret, const char *before, size_t len)
{
    struct jr_buf line = JR_BUF_INIT;
    struct jr_arena arena = JR_ARENA_INIT;
    const struct jr_ssh ssh = {0};
    const struct jr_ssh_start start = {
        .ssh = &ssh,
        .program = jr_arena_printf(&arena, "%s/none", scratch.dir),
        .node = 3,
        .copy = &copy,
    };
    const char *command = jr_ssh_command(&arena, &start);
    CU_ASSERT_PTR_NULL(strchr(command, '\n'));
    jr_buf_printf(&line,
                  "cd '%s' && HOME=$PWD/home PATH=$PWD/path:/bin:/usr/bin && export HOME PATH && "
                  "umask 022 && d=%s-%s && %s head -c %zu bytes | (%s) 2>&1",
                  scratch.dir, JR_VERSION, copy.hash, before, len, command);
    CU_ASSERT_EQUAL(jr_io_replace(scratch.fd, "bytes", copy.bytes.data, copy.bytes.len, 0600, NULL),
                    0);
    FILE *pipe = popen(line.data, "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(pipe);
    char bytes[2048];
    size_t got = fread(bytes, 1, sizeof bytes, pipe);
    jr_buf_add(ret, bytes, got);
    jr_buf_str(ret, "");
    int status = pclose(pipe);
    jr_arena_release(&arena);
    jr_buf_release(&line);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The same, which ends with `code` and prints `part`, and not `other`. */
static void check_script(const char *before, int code, const char *part, const char *other)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    CU_ASSERT_EQUAL(run_script(&out, before, copy.bytes.len), code);
    const char *text = out.len > 0 ? out.data : "";
    if (strstr(text, part) == NULL || (other && strstr(text, other) != NULL))
        printf("\n    got '%s'\n", text);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, part));
    CU_ASSERT_TRUE(other == NULL || strstr(text, other) == NULL);
}

static bool exists(const char *format)
{
    char path[256];
    (void)snprintf(path, sizeof path, "home/.cache/jobrun/%s-%s%s", JR_VERSION, copy.hash, format);
    return faccessat(scratch.fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Nothing lies there but the copy, if it is `made`. */
static void check_folder(bool made)
{
    char line[256];
    (void)snprintf(line, sizeof line,
                   "test \"$(ls -A '%s/home/.cache/jobrun' 2>/dev/null)\" = '%s%s%s'", scratch.dir,
                   made ? JR_VERSION : "", made ? "-" : "", made ? copy.hash : "");
    CU_ASSERT_EQUAL(system(line), 0);
}

#define PLACED "{\"n\":3,\"t\":\"placed\"}"
#define WANT   "{\"n\":3,\"t\":\"want\"}"

TEST(lists_what_is_copied)
{
    read_copy(RUNS);
    CU_ASSERT_EQUAL_FATAL(copy.count, 3);
    JR_ASSERT_TEXT(copy.files[0].path, "jobrun");
    JR_ASSERT_TEXT(copy.files[1].path, "support/python/it's.py");
    JR_ASSERT_TEXT(copy.files[2].path, "support/step");
    CU_ASSERT_TRUE(copy.files[0].executable && copy.files[2].executable);
    CU_ASSERT_FALSE(copy.files[1].executable);
    CU_ASSERT_EQUAL(copy.bytes.len, copy.files[0].len + copy.files[1].len + copy.files[2].len);
    CU_ASSERT_EQUAL(strlen(copy.hash), 16);
    struct jr_copy other;
    struct jr_error err = {0};
    CU_ASSERT_EQUAL(jr_copy_read(&other, "/no/where", NULL, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "/no/where cannot be copied"));
    jr_copy_release(&other);
    release();
}

TEST(takes_one_that_is_there)
{
    read_copy(RUNS);
    (void)mkdirat(scratch.fd, "path", 0700);
    put("path/jobrun", RUNS, 0700);
    check_script("", 0, PLACED "\nagent ", WANT);
    CU_ASSERT_NOT_EQUAL(faccessat(scratch.fd, "home/.cache", F_OK, 0), 0);
    put("path/jobrun", "#!/bin/sh\necho jobrun 0.0.1\n", 0700);
    check_script("", 0, WANT "\n\n" PLACED, NULL);
    release();
}

TEST(refuses_a_folder_that_is_not_its_own)
{
    static const struct {
        const char *before, *why;
    } vectors[] = {
        {"ln -s ../../other home/.cache/jobrun;", ".cache/jobrun is a link"},
        {"ln -s none home/.cache/jobrun;", ".cache/jobrun is a link"},
        {"mkdir -m 755 home/.cache/jobrun;", "others may use "},
        {"mkdir -m 700 home/.cache/jobrun; mkdir -m 770 home/.cache/jobrun/$d;", "others may use "},
        {"mkdir -m 700 home/.cache/jobrun; ln -s $PWD/other home/.cache/jobrun/$d;", " is a link"},
        {": >home/.cache/jobrun;", "cannot copy jobrun: no room: mkdir: "},
        {"HOME=;", "there is no home folder"}};
    char before[512];
    read_copy(RUNS);
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        (void)snprintf(before, sizeof before, "rm -rf home; mkdir -p home/.cache other; %s",
                       vectors[i].before);
        check_script(before, 127, vectors[i].why, WANT);
        CU_ASSERT_FALSE(exists("/jobrun"));
    }
    release();
}

/* However much of it arrives, no half of it is left. */
TEST(leaves_nothing_half_written)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    read_copy(RUNS);
    for (size_t len = 0; len < copy.bytes.len; len += 41) {
        jr_buf_clear(&out);
        CU_ASSERT_EQUAL(run_script(&out, "", len), 1);
        CU_ASSERT_PTR_NULL(strstr(out.data, "placed"));
        check_folder(false);
    }
    copy.bytes.data[5] ^= 1;
    check_script("", 127, "what arrived is not what was sent", PLACED);
    check_folder(false);
    copy.bytes.data[5] ^= 1;
    /* Of one that was killed; and a file system that takes no more. */
    check_script("mkdir -p -m 700 home/.cache home/.cache/jobrun && "
                 "mkdir home/.cache/jobrun/.new.$(uname -n).99999999; ",
                 0, PLACED, NULL);
    check_folder(true);
    check_script("rm -r home/.cache/jobrun/*; ulimit -f 0; ", 127,
                 "cannot copy jobrun: no room: ", PLACED);
    check_folder(false);
    release();
}

TEST(says_that_it_does_not_run_there)
{
    read_copy("#!/bin/sh\necho 'libyaml-0.so.2: no such file' >&2; exit 127\n");
    check_script("", 127, "cannot run the copy of jobrun: libyaml-0.so.2: no such file", PLACED);
    release();
}

/* Eight at once, and one copy. */
TEST(comes_to_one_copy)
{
    read_copy(RUNS);
    pid_t pids[8];
    for (int i = 0; i < 8; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            struct jr_buf out = JR_BUF_INIT;
            int code = run_script(&out, "", copy.bytes.len);
            _exit(code == 0 && strstr(out.data, PLACED "\nagent ") ? 0 : 1);
        }
    }
    for (int i = 0; i < 8; i++) {
        int status;
        CU_ASSERT_EQUAL(waitpid(pids[i], &status, 0), pids[i]);
        CU_ASSERT_EQUAL(status, 0);
    }
    check_folder(true);
    release();
}
