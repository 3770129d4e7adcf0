#include "spawn/program.h"
#include "spawn/start.h"
#include "store/outcome.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct vector {
    const char *name, *search, *workdir;
    int error;
    const char *path; /* NULL: whatever */
};

/* A folder with tool (0755), text (0644) and the folder sub. */
static void make_folder(char *folder)
{
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    int at = open(folder, O_RDONLY | O_DIRECTORY);
    int tool = openat(at, "tool", O_CREAT | O_WRONLY, 0755);
    int text = openat(at, "text", O_CREAT | O_WRONLY, 0644);
    (void)fchmod(tool, 0755);
    CU_ASSERT_EQUAL(mkdirat(at, "sub", 0755), 0);
    (void)close(tool);
    (void)close(text);
    (void)close(at);
}

static void remove_folder(const char *folder)
{
    int at = open(folder, O_RDONLY | O_DIRECTORY);
    (void)unlinkat(at, "tool", 0);
    (void)unlinkat(at, "text", 0);
    (void)unlinkat(at, "sub", AT_REMOVEDIR);
    (void)close(at);
    (void)rmdir(folder);
}

TEST(finds_as_a_shell_does)
{
    char folder[] = "/tmp/jobrun-path-XXXXXX";
    char search[128], last[128], found[128], here[128];
    make_folder(folder);
    (void)snprintf(search, sizeof search, "/no/such:%s:/bin", folder);
    (void)snprintf(last, sizeof last, "/no/such:%s", folder);
    (void)snprintf(found, sizeof found, "%s/tool", folder);
    (void)snprintf(here, sizeof here, "%s//tool", folder);
    const struct vector vectors[] = {
        {"", "/bin", NULL, ENOENT, NULL},
        {"tool", "", NULL, ENOENT, NULL},
        {"tool", "/no/such", NULL, ENOENT, NULL},
        {"tool", "/no/such:", "/", ENOENT, NULL},
        {"text", last, NULL, EACCES, NULL},
        {"sub", last, NULL, EISDIR, NULL},
        {"text", search, NULL, EACCES, NULL},
        {"tool", search, NULL, 0, found},
        {"tool", "", folder, 0, here},
        {"tool", ":/bin", folder, 0, here},
        {"tool", "/no/such:", folder, 0, here},
        {"tool", folder + strlen("/tmp/"), "/tmp", 0, found},
        {"sh", NULL, NULL, 0, NULL},
        {"./tool", "/bin", folder, 0, "./tool"},
        {"/no/such/tool", "/bin", NULL, 0, "/no/such/tool"},
    };
    struct jr_program program = {0};
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        const struct vector *vector = &vectors[i];
        CU_ASSERT_EQUAL(jr_program_find(&program, vector->name, vector->search, vector->workdir),
                        vector->error);
        if (vector->path != NULL)
            JR_ASSERT_TEXT(program.path, vector->path);
    }
    remove_folder(folder);
}

TEST(looks_once_for_the_same)
{
    char folder[] = "/tmp/jobrun-path-XXXXXX";
    struct jr_program program = {0};
    make_folder(folder);
    CU_ASSERT_EQUAL(jr_program_find(&program, "tool", folder, NULL), 0);
    remove_folder(folder);
    CU_ASSERT_EQUAL(jr_program_find(&program, "tool", folder, NULL), 0);
    CU_ASSERT_EQUAL(jr_program_find(&program, "tool", folder, "/"), ENOENT);
}

TEST(tells_a_folder_from_a_file)
{
    CU_ASSERT_EQUAL(jr_program_refine_errno("bin", "/usr", EACCES), EISDIR);
    CU_ASSERT_EQUAL(jr_program_refine_errno("/etc/passwd", "/", EACCES), EACCES);
    CU_ASSERT_EQUAL(jr_program_refine_errno("passwd", "/etc", ENOENT), ELIBACC);
    CU_ASSERT_EQUAL(jr_program_refine_errno("sh", "/bin", EACCES), ELIBACC);
    CU_ASSERT_EQUAL(jr_program_refine_errno("sh", "/bin", ENOEXEC), ENOEXEC);
    CU_ASSERT_EQUAL(jr_program_refine_errno("absent", "/etc", ENOENT), ENOENT);
    CU_ASSERT_EQUAL(jr_program_refine_errno("passwd", "/etc", E2BIG), E2BIG);
    CU_ASSERT_EQUAL(jr_program_refine_errno("x", "/no/such", EACCES), EACCES);
}

TEST(says_why)
{
    static const struct {
        enum jr_stage stage;
        int error;
        const char *program, *text;
    } vectors[] = {
        {JR_STAGE_EXEC, ENOENT, "x", "not found in PATH"},
        {JR_STAGE_EXEC, ENOENT, "./x", "No such file or directory"},
        {JR_STAGE_EXEC, EISDIR, "./x", "it is a folder"},
        {JR_STAGE_EXEC, EACCES, "./x", "it is not executable (chmod +x)"},
        {JR_STAGE_EXEC, ENOEXEC, "./x", "it is neither a program nor a script with a #! line"},
        {JR_STAGE_EXEC, ELIBACC, "./x",
         "the interpreter that it names (#! line, or loader) cannot be executed"},
        {JR_STAGE_EXEC, E2BIG, "x", "Argument list too long"},
        {JR_STAGE_EXEC, 99999, "x", "unknown error"},
        {JR_STAGE_WORKDIR, ENOENT, "x", "No such file or directory"},
        {JR_STAGE_WORKDIR, EACCES, "x", "Permission denied"},
        {JR_STAGE_CLONE, EAGAIN, "x",
         "a limit on processes is reached (ulimit -u, the cgroup's pids.max)"},
        {JR_STAGE_CLONE, ENOMEM, "x", "Cannot allocate memory"},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        char *argv[] = {(char *)vectors[i].program, NULL};
        struct jr_plan_rank rank = {.argv = argv};
        struct jr_rank_outcome outcome = {.stage = vectors[i].stage,
                                          .start_errno = vectors[i].error};
        JR_ASSERT_TEXT(jr_start_reason(&rank, &outcome), vectors[i].text);
    }
}
