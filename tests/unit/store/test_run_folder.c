#include "store/run_folder.h"
#include "descriptors.h"
#include "scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"

static mode_t mode_of(const char *folder, const char *name)
{
    char path[256];
    struct stat st;
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return lstat(path, &st) == 0 ? st.st_mode : 0;
}

/* One that is closed with its block. */
#define FOLDER(name) struct jr_run_folder name RELEASE(jr_run_folder_close) = JR_RUN_FOLDER_INIT

TEST(names_runs)
{
    char a[128], b[128];
    jr_run_folder_id(a, "train");
    CU_ASSERT_TRUE(strlen(a) == strlen("20261121-063012-train-3f9c") && a[8] == '-');
    CU_ASSERT_EQUAL(memcmp(a + 15, "-train-", 7), 0);
    char name[201];
    memset(name, 'n', 200);
    name[200] = '\0';
    jr_run_folder_id(b, name);
    CU_ASSERT_TRUE(strlen(b) < 127);
}

TEST(knows_an_id)
{
    static const struct {
        const char *id;
        bool good;
    } vectors[] = {{"", false},     {".", false},   {".a", false},  {"latest", false},
                   {"a/b", false},  {"a b", false}, {"a\n", false}, {"\xc3\xa4", false},
                   {"a", true},     {"-", true},    {"_.-", true},  {"latest2", true},
                   {"AZaz09", true}};
    char id[130];
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        CU_ASSERT_EQUAL(jr_run_folder_is_id(vectors[i].id), vectors[i].good);
    memset(id, 'n', sizeof id);
    id[128] = '\0';
    CU_ASSERT_FALSE(jr_run_folder_is_id(id));
    id[127] = '\0';
    CU_ASSERT_TRUE(jr_run_folder_is_id(id));
}

/* LOG_DIRs that cannot be had, with the reason. */
TEST(refuses_a_log_dir_that_cannot_be)
{
    char loop[96];
    SCRATCH(scratch);
    (void)snprintf(loop, sizeof loop, "%s/loop", scratch.dir);
    CU_ASSERT_EQUAL(symlink("loop", loop), 0);
    const struct {
        const char *path, *part;
    } vectors[] = {
        {loop, "Too many levels of symbolic links"},
        {"/proc/no-such-folder/x", "log_dir"},
        {"/dev/null/x", "/dev/null/x"},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_error err = {0};
        FOLDER(dir);
        CU_ASSERT_EQUAL(
            jr_run_folder_create(&dir, vectors[i].path, "x", true, JR_LOG_PRIVATE, &err), -1);
        CU_ASSERT_TRUE(err.status == JR_STATUS_LAUNCH && strstr(err.text, vectors[i].part) != NULL);
        CU_ASSERT_TRUE(dir.fd < 0 && dir.log_fd < 0);
        CU_ASSERT_EQUAL(
            jr_run_folder_create(&dir, vectors[i].path, "x", true, JR_LOG_PRIVATE, NULL), -1);
    }
}

TEST(refuses)
{
    static const char *const ids[] = {"",     ".",   "..", "a/b",    "/x",
                                      ".git", "a b", "\n", "latest", "\xc3\xa4"};
    char path[96];
    struct jr_error err;
    FOLDER(dir);
    SCRATCH(scratch);
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        err = (struct jr_error){0};
        CU_ASSERT_EQUAL(jr_run_folder_create(&dir, scratch.dir, ids[i], true, JR_LOG_PRIVATE, &err),
                        -1);
        CU_ASSERT_EQUAL(err.status, JR_STATUS_USAGE);
        CU_ASSERT_EQUAL(dir.fd, -1);
    }
    (void)snprintf(path, sizeof path, "%s/file", scratch.dir);
    (void)close(open(path, O_CREAT | O_WRONLY, 0600));
    CU_ASSERT_EQUAL(jr_run_folder_create(&dir, path, "x", true, JR_LOG_PRIVATE, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "is a file, not a folder"));
    (void)snprintf(path, sizeof path, "%s/file/below", scratch.dir);
    CU_ASSERT_EQUAL(jr_run_folder_create(&dir, path, "x", true, JR_LOG_PRIVATE, &err), -1);
    CU_ASSERT_EQUAL(err.status, JR_STATUS_LAUNCH);
    (void)chmod(scratch.dir, 0777);
    CU_ASSERT_EQUAL(jr_run_folder_create(&dir, scratch.dir, "x", true, JR_LOG_PRIVATE, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "writable by everybody"));
    (void)chmod(scratch.dir, 01777);
    CU_ASSERT_EQUAL(jr_run_folder_create(&dir, scratch.dir, "x", true, JR_LOG_PRIVATE, &err), 0);
}

TEST(refuses_another_owner)
{
    struct jr_error err;
    FOLDER(dir);
    SCRATCH(scratch);
    if (geteuid() == 0)
        CU_ASSERT_EQUAL(chown(scratch.dir, 65534, 65534), 0);
    const char *foreign = geteuid() == 0 ? scratch.dir : "/usr";
    CU_ASSERT_EQUAL(jr_run_folder_create(&dir, foreign, "x", true, JR_LOG_PRIVATE, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "belongs to user"));
}

TEST(makes_folders_by_mode)
{
    static const struct {
        enum jr_log_mode mode;
        mode_t umask, dir, file;
    } vectors[] = {{JR_LOG_PRIVATE, 0, 0700, 0600},
                   {JR_LOG_PRIVATE, 0777, 0700, 0600},
                   {JR_LOG_GROUP, 077, 0750, 0640},
                   {JR_LOG_UMASK, 027, 0750, 0640},
                   {JR_LOG_UMASK, 022, 0755, 0644}};
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        char path[96];
        FOLDER(dir);
        struct jr_buf bytes = JR_BUF_INIT;
        SCRATCH(scratch);
        (void)snprintf(path, sizeof path, "%s/a/runs", scratch.dir);
        mode_t before = umask(vectors[i].umask);
        CU_ASSERT_EQUAL(jr_run_folder_create(&dir, path, "run", true, vectors[i].mode, NULL), 0);
        jr_buf_str(&bytes, "{}\n");
        CU_ASSERT_EQUAL(jr_run_folder_write(&dir, "run.json", &bytes, NULL), 0);
        CU_ASSERT_EQUAL(jr_run_folder_latest(&dir, NULL), 0);
        CU_ASSERT_EQUAL(umask(before), vectors[i].umask); /* as it was */
        CU_ASSERT_EQUAL(mode_of(path, ".") & 07777, vectors[i].dir);
        CU_ASSERT_EQUAL(mode_of(path, "run") & 07777, vectors[i].dir);
        CU_ASSERT_EQUAL(mode_of(path, "run/run.json") & 07777, vectors[i].file);
        CU_ASSERT_TRUE(S_ISREG(mode_of(path, ".gitignore")));
        jr_buf_clear(&bytes);
        CU_ASSERT_EQUAL(jr_io_read_file(&bytes, dir.log_fd, ".gitignore", 64, NULL), 0);
        JR_ASSERT_TEXT(bytes.data, "*\n");
        CU_ASSERT_EQUAL(bytes.len, 2);
        CU_ASSERT_TRUE(S_ISLNK(mode_of(path, "latest")));
        jr_buf_release(&bytes);
        jr_run_folder_close(&dir);
    }
}

TEST(never_takes_another_runs_folder)
{
    struct jr_error err;
    FOLDER(a);
    FOLDER(b);
    SCRATCH(scratch);
    CU_ASSERT_EQUAL(jr_run_folder_create(&a, scratch.dir, "r-0000", false, JR_LOG_PRIVATE, &err),
                    0);
    CU_ASSERT_EQUAL(jr_run_folder_create(&b, scratch.dir, "r-0000", true, JR_LOG_PRIVATE, &err),
                    -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "exists already"));
    CU_ASSERT_EQUAL(jr_run_folder_create(&b, scratch.dir, "r-0000", false, JR_LOG_PRIVATE, &err),
                    0);
    CU_ASSERT_TRUE(strncmp(b.id, "r-", 2) == 0 && strlen(b.id) == 6);
    CU_ASSERT_EQUAL(strspn(b.id + 2, "0123456789abcdef"), 4);
    CU_ASSERT_NOT_EQUAL(strcmp(a.id, b.id), 0);
    JR_ASSERT_TEXT(b.path, b.id);
    CU_ASSERT_TRUE(S_ISDIR(mode_of(scratch.dir, b.id)));
    /* What has no suffix keeps its name. */
    CU_ASSERT_EQUAL(mkdirat(a.log_fd, "abcd", 0700), 0);
    FOLDER(c);
    CU_ASSERT_EQUAL(jr_run_folder_create(&c, scratch.dir, "abcd", false, JR_LOG_PRIVATE, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "a run 'abcd' exists already"));
    /* A folder that was there already is not ours to hide from git. */
    CU_ASSERT_EQUAL(mode_of(scratch.dir, ".gitignore"), 0);
}

static int part(struct jr_run_folder *ret, const char *folder, uint32_t node, struct jr_error *err)
{
    return jr_run_folder_create_part(ret, folder, "r", node, JR_LOG_PRIVATE, err);
}

TEST(gives_each_node_a_part)
{
    struct jr_error err;
    FOLDER(a);
    FOLDER(b);
    FOLDER(c);
    SCRATCH(scratch);
    CU_ASSERT_EQUAL(part(&a, scratch.dir, 7, &err), 0);
    CU_ASSERT_EQUAL(part(&b, scratch.dir, 0, &err), 0);
    JR_ASSERT_TEXT(a.path, "r/node_7");
    JR_ASSERT_TEXT(b.id, "r");
    CU_ASSERT_EQUAL(part(&c, scratch.dir, 7, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "node 7 of the run 'r' has already"));
    CU_ASSERT_EQUAL(jr_run_folder_create(&c, scratch.dir, "r", true, JR_LOG_PRIVATE, &err), -1);
    /* What another node has is not removed. */
    jr_run_folder_discard(&a);
    CU_ASSERT_EQUAL(mode_of(scratch.dir, "r/node_7"), 0);
    CU_ASSERT_TRUE(S_ISDIR(mode_of(scratch.dir, "r/node_0")));
    CU_ASSERT_EQUAL(part(&c, scratch.dir, 7, &err), 0);
    jr_run_folder_discard(&b);
    jr_run_folder_discard(&c);
    CU_ASSERT_EQUAL(mode_of(scratch.dir, "r"), 0);
}

TEST(has_no_part_in_what_is_one_jobruns)
{
    struct jr_error err;
    FOLDER(a);
    FOLDER(b);
    struct jr_buf bytes = JR_BUF_INIT;
    SCRATCH(scratch);
    jr_buf_str(&bytes, "{}");
    CU_ASSERT_EQUAL(jr_run_folder_create(&a, scratch.dir, "r", true, JR_LOG_PRIVATE, &err), 0);
    CU_ASSERT_EQUAL(jr_run_folder_write(&a, "run.json", &bytes, &err), 0);
    CU_ASSERT_EQUAL(part(&b, scratch.dir, 1, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "not a run of several nodes"));
    jr_run_folder_discard(&a);
    CU_ASSERT_EQUAL(symlinkat(".", a.log_fd, "r"), 0);
    CU_ASSERT_EQUAL(part(&b, scratch.dir, 1, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "/r: Not a directory"));
    jr_buf_release(&bytes);
}

/* Others could have put into it what they like, unless that is meant. */
TEST(has_no_part_where_everybody_writes)
{
    struct jr_error err;
    FOLDER(a);
    SCRATCH(scratch);
    int log_dir = open(scratch.dir, O_RDONLY | O_DIRECTORY);
    CU_ASSERT_TRUE(mkdirat(log_dir, "r", 0700) == 0 && fchmodat(log_dir, "r", 0777, 0) == 0);
    errno = EAGAIN; /* as the caller may have left it */
    CU_ASSERT_EQUAL(part(&a, scratch.dir, 1, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "not a run of several nodes"));
    mode_t before = umask(0);
    CU_ASSERT_EQUAL(jr_run_folder_create_part(&a, scratch.dir, "r", 1, JR_LOG_UMASK, &err), 0);
    (void)umask(before);
    jr_run_folder_close(&a);
    CU_ASSERT_EQUAL(fchmodat(log_dir, "r", 0770, 0), 0);
    CU_ASSERT_EQUAL(part(&a, scratch.dir, 2, &err), 0);
    jr_run_folder_close(&a);
    if (geteuid() == 0) {
        CU_ASSERT_EQUAL(fchownat(log_dir, "r", 65534, 65534, 0), 0);
        CU_ASSERT_EQUAL(part(&a, scratch.dir, 3, &err), -1);
    }
    (void)close(log_dir);
}

/* The folder that another node has made is as if this one had. */
TEST(joins_by_id_and_mode)
{
    struct jr_error err;
    FOLDER(a);
    FOLDER(b);
    struct jr_buf bytes JR_BUF_CLEANUP = JR_BUF_INIT;
    SCRATCH(scratch);
    mode_t before = umask(077);
    CU_ASSERT_EQUAL(jr_run_folder_create(&a, scratch.dir, "a.run", true, JR_LOG_PRIVATE, &err), 0);
    CU_ASSERT_EQUAL(jr_run_folder_join(&b, scratch.dir, "a.run", JR_LOG_GROUP, &err), 0);
    JR_ASSERT_TEXT(b.id, "a.run");
    JR_ASSERT_TEXT(b.path, "a.run");
    CU_ASSERT_TRUE(fcntl(b.fd, F_GETFD) == FD_CLOEXEC && fcntl(b.log_fd, F_GETFD) == FD_CLOEXEC);
    jr_buf_str(&bytes, "x");
    CU_ASSERT_EQUAL(jr_run_folder_write(&b, "x", &bytes, &err), 0);
    CU_ASSERT_EQUAL(umask(before), 077);
    CU_ASSERT_EQUAL(mode_of(scratch.dir, "a.run/x") & 07777, 0640);
}

/* Where nothing can be made at all, by the reason that the system gives. */
TEST(says_what_could_not_be_made)
{
    struct jr_error err;
    FOLDER(dir);
    if (geteuid() == 0) { /* whose /proc is */
        CU_ASSERT_EQUAL(part(&dir, "/proc", 1, &err), -1);
        JR_ASSERT_TEXT(err.text, "/proc/r: No such file or directory");
        CU_ASSERT_EQUAL(jr_run_folder_create(&dir, "/proc", "r", true, JR_LOG_PRIVATE, &err), -1);
        JR_ASSERT_TEXT(err.text, "/proc/r: No such file or directory");
    }
}

/* The folder of the run is ours, and shut: the reason is told, for root as for whom it shuts
 * out. */
TEST(says_why_there_is_no_part)
{
    struct jr_error err = {0};
    FOLDER(a);
    const uid_t other = 65534;
    int before = open(".", O_PATH | O_CLOEXEC);
    SCRATCH(scratch);
    CU_ASSERT_EQUAL_FATAL(chdir(scratch.dir), 0);
    CU_ASSERT_EQUAL(mkdir("r", 0500), 0);
    bool root = geteuid() == 0;
    if (root)
        CU_ASSERT_TRUE_FATAL(chown("r", other, (gid_t)-1) == 0 &&
                             chown(".", other, (gid_t)-1) == 0 && seteuid(other) == 0);
    int made = part(&a, ".", 1, &err);
    if (root)
        CU_ASSERT_EQUAL_FATAL(seteuid(0), 0);
    CU_ASSERT_EQUAL(made, -1);
    CU_ASSERT_EQUAL(err.status, JR_STATUS_LAUNCH);
    JR_ASSERT_TEXT(err.text, "./r/node_1: Permission denied");
    CU_ASSERT_EQUAL(fchdir(before), 0);
    (void)close(before);
}

TEST(joins_no_run_of_another_user)
{
    struct jr_error err;
    FOLDER(a);
    FOLDER(b);
    if (geteuid() != 0)
        return;
    SCRATCH(scratch);
    CU_ASSERT_EQUAL(jr_run_folder_create(&a, scratch.dir, "r", true, JR_LOG_PRIVATE, &err), 0);
    CU_ASSERT_EQUAL(fchown(a.fd, 65534, 65534), 0);
    CU_ASSERT_EQUAL(jr_run_folder_join(&b, scratch.dir, "r", JR_LOG_PRIVATE, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "belongs to another user"));
}

TEST(joins_no_run_that_is_none)
{
    static const char *const ids[] = {"", ".", "..", "latest", "a/b", "absent"};
    SCRATCH(scratch);
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        struct jr_error err = {0};
        FOLDER(dir);
        CU_ASSERT_EQUAL(jr_run_folder_join(&dir, scratch.dir, ids[i], JR_LOG_PRIVATE, &err), -1);
        CU_ASSERT_EQUAL(err.status, JR_STATUS_LAUNCH);
        CU_ASSERT_TRUE(dir.fd < 0 && dir.log_fd < 0);
    }
}

static int go_on(struct jr_run_folder *ret, const char *log_dir, const char *id,
                 enum jr_log_mode mode, struct jr_error *err)
{
    *err = (struct jr_error){0};
    *ret = (struct jr_run_folder)JR_RUN_FOLDER_INIT;
    return jr_run_folder_continue(ret, log_dir, id, mode, err);
}

/* A run that goes on has the folder that it had, by the mode that the spec has now, and loses
 * nothing of it. */
TEST(goes_on_in_its_folder)
{
    struct jr_error err;
    struct jr_run_folder a = JR_RUN_FOLDER_INIT, b;
    struct jr_buf bytes JR_BUF_CLEANUP = JR_BUF_INIT;
    SCRATCH(scratch);
    mode_t before = umask(027);
    CU_ASSERT_EQUAL(jr_run_folder_create(&a, scratch.dir, "r.1", true, JR_LOG_PRIVATE, &err), 0);
    CU_ASSERT_FALSE(a.kept);
    CU_ASSERT_EQUAL(go_on(&b, scratch.dir, "r.1", JR_LOG_UMASK, &err), 0);
    CU_ASSERT_EQUAL(umask(before), 027);
    JR_ASSERT_TEXT(b.id, "r.1");
    JR_ASSERT_TEXT(b.path, "r.1");
    CU_ASSERT_TRUE(b.kept && b.dir_mode == 0750 && b.file_mode == 0640);
    CU_ASSERT_TRUE(fcntl(b.fd, F_GETFD) == FD_CLOEXEC && fcntl(b.log_fd, F_GETFD) == FD_CLOEXEC);
    jr_buf_str(&bytes, "x");
    CU_ASSERT_EQUAL(jr_run_folder_write(&b, "results.json", &bytes, &err), 0);
    jr_run_folder_discard(&b);
    CU_ASSERT_TRUE(S_ISREG(mode_of(scratch.dir, "r.1/results.json")));
    CU_ASSERT_EQUAL(jr_run_folder_latest(&b, &err), 0);
    jr_run_folder_close(&a);
    jr_run_folder_close(&b);
}

/* Where there is no such run, that is no error: it begins. */
TEST(a_run_that_is_not_there_begins)
{
    char absent[96];
    struct jr_error err;
    struct jr_run_folder dir;
    SCRATCH(scratch);
    (void)snprintf(absent, sizeof absent, "%s/absent/runs", scratch.dir);
    CU_ASSERT_EQUAL(go_on(&dir, scratch.dir, "r", JR_LOG_PRIVATE, &err), 1);
    CU_ASSERT_TRUE(dir.fd < 0 && dir.log_fd < 0);
    CU_ASSERT_EQUAL(go_on(&dir, absent, "r", JR_LOG_PRIVATE, &err), 1);
    JR_ASSERT_TEXT(err.text, "");
    CU_ASSERT_EQUAL(mode_of(scratch.dir, "absent"), 0);
}

/* What stands there and is not ours alone is not gone on with. */
TEST(goes_on_with_nothing_else)
{
    char file[96];
    struct jr_error err;
    struct jr_run_folder dir;
    SCRATCH(scratch);
    (void)snprintf(file, sizeof file, "%s/file", scratch.dir);
    int log_fd = open(scratch.dir, O_RDONLY | O_DIRECTORY);
    (void)close(openat(log_fd, "file", O_CREAT | O_WRONLY, 0600));
    CU_ASSERT_EQUAL(symlinkat(".", log_fd, "link"), 0);
    CU_ASSERT_TRUE(mkdirat(log_fd, "open", 0700) == 0 && fchmodat(log_fd, "open", 0707, 0) == 0);
    CU_ASSERT_EQUAL(mkdirat(log_fd, "theirs", 0700), 0);
    if (geteuid() == 0)
        CU_ASSERT_EQUAL(fchownat(log_fd, "theirs", 65534, 65534, 0), 0);
    const struct {
        const char *log_dir, *id;
        enum jr_log_mode mode;
        mode_t mask;
        int result; /* -1 or 0 */
        const char *part;
    } vectors[] = {
        {scratch.dir, "", JR_LOG_PRIVATE, 0, -1, "a run id is"},
        {scratch.dir, "../x", JR_LOG_PRIVATE, 0, -1, "'../x' is not one"},
        {scratch.dir, "latest", JR_LOG_PRIVATE, 0, -1, "the newest run"},
        {file, "r", JR_LOG_PRIVATE, 0, -1, "is a file, not a folder"},
        {scratch.dir, "file", JR_LOG_PRIVATE, 0, -1, "/file: Not a directory"},
        {scratch.dir, "link", JR_LOG_PRIVATE, 0, -1, "/link: Not a directory"},
        {scratch.dir, "open", JR_LOG_PRIVATE, 0, -1, "/open is writable by every"},
        {scratch.dir, "open", JR_LOG_UMASK, 002, -1, "/open is writable by every"},
        {scratch.dir, "open", JR_LOG_UMASK, 0, 0, ""},
        {scratch.dir, "theirs", JR_LOG_PRIVATE, 0, geteuid() == 0 ? -1 : 0,
         geteuid() == 0 ? "/theirs belongs to user 65534, not to you" : ""},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        mode_t before = umask(vectors[i].mask);
        CU_ASSERT_EQUAL(go_on(&dir, vectors[i].log_dir, vectors[i].id, vectors[i].mode, &err),
                        vectors[i].result);
        (void)umask(before);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, vectors[i].part));
        CU_ASSERT_EQUAL(dir.fd >= 0, vectors[i].result == 0);
        CU_ASSERT_EQUAL(dir.log_fd >= 0, vectors[i].result == 0);
        jr_run_folder_close(&dir);
    }
    (void)close(log_fd);
}

/* Whatever was made, refused, joined or discarded. */
TEST(leaves_no_descriptor_open)
{
    struct jr_error err;
    FOLDER(a);
    FOLDER(b);
    FOLDER(c);
    SCRATCH(scratch);
    unsigned before = count_descriptors();
    CU_ASSERT_EQUAL(jr_run_folder_create(&a, scratch.dir, "a", true, JR_LOG_PRIVATE, &err), 0);
    CU_ASSERT_EQUAL(jr_run_folder_create(&b, scratch.dir, "a", true, JR_LOG_PRIVATE, &err), -1);
    CU_ASSERT_EQUAL(jr_run_folder_create_part(&b, scratch.dir, "b", 1, JR_LOG_PRIVATE, &err), 0);
    CU_ASSERT_EQUAL(jr_run_folder_create_part(&c, scratch.dir, "b", 1, JR_LOG_PRIVATE, &err), -1);
    CU_ASSERT_EQUAL(jr_run_folder_join(&c, scratch.dir, "a", JR_LOG_PRIVATE, &err), 0);
    FOLDER(none);
    CU_ASSERT_EQUAL(jr_run_folder_join(&none, scratch.dir, "absent", JR_LOG_PRIVATE, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "absent is not there"));
    jr_run_folder_discard(&b);
    CU_ASSERT_EQUAL(mode_of(scratch.dir, "b"), 0); /* and the whole of it is gone */
    jr_run_folder_discard(&b);
    jr_run_folder_close(&a);
    jr_run_folder_close(&b);
    jr_run_folder_close(&c);
    CU_ASSERT_EQUAL(count_descriptors(), before);
}

TEST(points_to_the_latest)
{
    char path[96], target[64] = "";
    struct jr_error err;
    FOLDER(a);
    FOLDER(b);
    SCRATCH(scratch);
    (void)jr_run_folder_create(&a, scratch.dir, "a", true, JR_LOG_PRIVATE, &err);
    (void)jr_run_folder_create(&b, scratch.dir, "b", true, JR_LOG_PRIVATE, &err);
    CU_ASSERT_EQUAL(jr_run_folder_latest(&a, &err), 0);
    CU_ASSERT_EQUAL(jr_run_folder_latest(&b, &err), 0);
    (void)snprintf(path, sizeof path, "%s/latest", scratch.dir);
    CU_ASSERT_EQUAL(readlink(path, target, sizeof target - 1), 1);
    JR_ASSERT_TEXT(target, "b");
    (void)unlink(path);
    (void)close(open(path, O_CREAT | O_WRONLY, 0600));
    CU_ASSERT_EQUAL(jr_run_folder_latest(&a, &err), -1);
    CU_ASSERT_TRUE(S_ISREG(mode_of(scratch.dir, "latest")));
}

TEST(writes_no_file_of_a_failed_buffer)
{
    struct jr_error err;
    FOLDER(dir);
    struct jr_buf bytes = {.failed = true};
    CU_ASSERT_EQUAL(jr_run_folder_write(&dir, "x", &bytes, &err), -1);
}

/* Attempts. */

static struct scratch run_scratch;

/* The run "r", as it is made, and as another node joins it. */
static struct jr_run_folder made, joined;

static void start_run(enum jr_log_mode mode)
{
    scratch_start(&run_scratch);
    CU_ASSERT_EQUAL_FATAL(jr_run_folder_create(&made, run_scratch.dir, "r", true, mode, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(jr_run_folder_join(&joined, run_scratch.dir, "r", mode, NULL), 0);
}

ENDING(end_run)
{
    jr_run_folder_close(&made);
    jr_run_folder_close(&joined);
    scratch_end(&run_scratch);
}

/* 0: there is no such thing in the folder of the run. */
static mode_t mode_in(const char *name)
{
    struct stat st;
    int failed = fstatat(made.fd, name, &st, AT_SYMLINK_NOFOLLOW);
    return failed ? 0 : st.st_mode;
}

TEST(makes_attempts_by_mode)
{
    static const struct {
        enum jr_log_mode mode;
        mode_t umask, dir;
    } vectors[] = {{JR_LOG_PRIVATE, 0, 0700},
                   {JR_LOG_PRIVATE, 0777, 0700},
                   {JR_LOG_GROUP, 077, 0750},
                   {JR_LOG_UMASK, 027, 0750}};
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        mode_t before = umask(vectors[i].umask), wanted;
        BEGIN(end_run, start_run(vectors[i].mode));
        CU_ASSERT_EQUAL(jr_attempt_folder_make(&made, 0, NULL), 0);
        CU_ASSERT_EQUAL(jr_attempt_folder_make_part(&joined, 3, 12, NULL), 0);
        CU_ASSERT_EQUAL(jr_attempt_folder_claim(&made, 7, NULL), 0);
        CU_ASSERT_EQUAL(umask(before), vectors[i].umask); /* as it was */
        wanted = S_IFDIR | vectors[i].dir;
        CU_ASSERT_TRUE(mode_in("attempt_0") == wanted && mode_in("node_3") == wanted);
        CU_ASSERT_TRUE(mode_in("node_3/attempt_12") == wanted && mode_in("attempt_7") == wanted);
    }
}

/* A rank of an earlier attempt can have put anything there. */
TEST(takes_no_attempt_that_stands_there)
{
    struct jr_error err;
    BEGIN(end_run, start_run(JR_LOG_PRIVATE));
    CU_ASSERT_EQUAL(jr_attempt_folder_make(&made, 0, &err), 0);
    CU_ASSERT_EQUAL(jr_attempt_folder_make(&made, 0, &err), -1);
    JR_ASSERT_TEXT(err.text,
                   "the run folder already has attempt_0, which this attempt was to write: "
                   "jobrun did not create it, but a rank of an earlier attempt may have");
    CU_ASSERT_EQUAL(symlinkat("/tmp", made.fd, "attempt_1"), 0);
    CU_ASSERT_EQUAL(jr_attempt_folder_make(&made, 1, &err), -1);
    CU_ASSERT_EQUAL(jr_attempt_folder_make_part(&joined, 1, 0, &err), 0);
    CU_ASSERT_EQUAL(jr_attempt_folder_make_part(&joined, 1, 1, &err), 0);
    CU_ASSERT_EQUAL(jr_attempt_folder_make_part(&joined, 1, 1, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "already has node_1/attempt_1,"));
    CU_ASSERT_EQUAL(symlinkat("/tmp", made.fd, "node_2"), 0);
    CU_ASSERT_EQUAL(jr_attempt_folder_make_part(&joined, 2, 0, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "already has node_2, which"));
    CU_ASSERT_EQUAL(access("/tmp/attempt_0", F_OK), -1);
}

TEST(takes_no_node_of_another_user)
{
    struct jr_error err;
    BEGIN(end_run, start_run(JR_LOG_PRIVATE));
    CU_ASSERT_EQUAL(jr_attempt_folder_make_part(&joined, 3, 0, &err), 0);
    if (geteuid() == 0) {
        CU_ASSERT_EQUAL(fchownat(made.fd, "node_3", 65534, 65534, 0), 0);
        CU_ASSERT_EQUAL(jr_attempt_folder_make_part(&joined, 3, 1, &err), -1);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "already has node_3, which"));
        CU_ASSERT_EQUAL(mode_in("node_3/attempt_1"), 0);
    }
}

/* Where nothing can be made at all, by the reason that the system gives. */
TEST(says_which_attempt_could_not_be_made)
{
    struct jr_error err;
    BEGIN(end_run, start_run(JR_LOG_PRIVATE));
    jr_run_folder_discard(&made);
    CU_ASSERT_EQUAL(jr_attempt_folder_make(&made, 0, &err), -1);
    CU_ASSERT_EQUAL(err.status, JR_STATUS_LAUNCH);
    JR_ASSERT_TEXT(err.text, "the run folder's attempt_0: No such file or directory");
    CU_ASSERT_EQUAL(jr_attempt_folder_make_part(&made, 4, 0, &err), -1);
    JR_ASSERT_TEXT(err.text, "the run folder's node_4: No such file or directory");
    CU_ASSERT_EQUAL(jr_attempt_folder_claim(&made, 5, &err), -1);
    JR_ASSERT_TEXT(err.text, "the run folder's attempt_5: No such file or directory");
    CU_ASSERT_EQUAL(made.claimed, 0);
}

/* Of two that want to continue the run, one gets the attempt; it is made with it, and every other
 * attempt is still to be made. */
TEST(one_claims_an_attempt)
{
    BEGIN(end_run, start_run(JR_LOG_PRIVATE));
    CU_ASSERT_EQUAL(jr_attempt_folder_claim(&joined, 3, NULL), 0);
    CU_ASSERT_TRUE(S_ISDIR(mode_in("attempt_3")));
    CU_ASSERT_TRUE(jr_attempt_folder_claim(&made, 3, NULL) == 1 && made.claimed == 0);
    CU_ASSERT_EQUAL(jr_attempt_folder_make(&made, 3, NULL), -1);
    CU_ASSERT_EQUAL(jr_attempt_folder_make(&joined, 3, NULL), 0);
    CU_ASSERT_EQUAL(jr_attempt_folder_make(&joined, 4, NULL), 0);
    CU_ASSERT_TRUE(S_ISDIR(mode_in("attempt_4")));
    CU_ASSERT_EQUAL(jr_attempt_folder_make(&joined, 4, NULL), -1);
    CU_ASSERT_EQUAL(jr_attempt_folder_claim(&made, 0, NULL), 0);
    CU_ASSERT_EQUAL(jr_attempt_folder_make(&made, 0, NULL), 0);
}

TEST(attempts_leave_no_descriptor_open)
{
    BEGIN(end_run, start_run(JR_LOG_PRIVATE));
    unsigned before = count_descriptors();
    CU_ASSERT_EQUAL(jr_attempt_folder_make_part(&joined, 1, 0, NULL), 0);
    CU_ASSERT_EQUAL(jr_attempt_folder_make_part(&joined, 1, 0, NULL), -1);
    CU_ASSERT_EQUAL(count_descriptors(), before);
}

/* Marks: they say which folder it is, and nothing else is one. */

static struct jr_run_folder folder_of(const struct scratch *scratch)
{
    return (struct jr_run_folder){.fd = scratch->fd, .file_mode = 0600};
}

TEST(marks_tell_folders_apart)
{
    struct scratch one, other;
    struct jr_error err = {0};
    char token[JR_TOKEN_SIZE] = "", second[JR_TOKEN_SIZE] = "";
    scratch_start(&one);
    scratch_start(&other);
    const struct jr_run_folder here = folder_of(&one);
    const struct jr_run_folder there = folder_of(&other);
    CU_ASSERT_EQUAL(jr_folder_mark_make(&here, token, &err), 0);
    CU_ASSERT_EQUAL(jr_folder_mark_make(&here, second, &err), 0);
    CU_ASSERT_TRUE(strlen(token) == 32 && strcmp(token, second) != 0);
    CU_ASSERT_TRUE(jr_folder_mark_is(&here, token));
    CU_ASSERT_FALSE(jr_folder_mark_is(&there, token));
    jr_folder_mark_remove(&here, token);
    CU_ASSERT_TRUE(!jr_folder_mark_is(&here, token) && jr_folder_mark_is(&here, second));
    jr_folder_mark_remove(&here, second);
    jr_folder_mark_remove(&here, second);
    CU_ASSERT_EQUAL(rmdir(one.dir), 0); /* nothing is left in it */
    CU_ASSERT_EQUAL(mkdir(one.dir, 0700), 0);
    scratch_end(&one);
    scratch_end(&other);
}

TEST(takes_no_other_word_for_a_mark)
{
    static const char *const words[] = {
        "",
        "0",
        "../../../../etc/passwd",
        "0123456789abcdef0123456789abcde/",
        "0123456789abcdef0123456789abcdef0",
        "0123456789ABCDEF0123456789ABCDEF",
    };
    SCRATCH(scratch);
    const struct jr_run_folder here = folder_of(&scratch);
    scratch_write(&scratch, ".mark-", "");
    scratch_write(&scratch, ".mark-0", "");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        jr_folder_mark_remove(&here, words[i]);
        CU_ASSERT_FALSE(jr_folder_mark_is(&here, words[i]));
    }
    CU_ASSERT_EQUAL(faccessat(scratch.fd, ".mark-", F_OK, 0), 0);
    CU_ASSERT_EQUAL(faccessat(scratch.fd, ".mark-0", F_OK, 0), 0);
}

TEST(says_where_a_mark_cannot_be_made)
{
    struct jr_error err = {0};
    char token[JR_TOKEN_SIZE] = "as it was";
    const struct jr_run_folder none = {.fd = -1, .file_mode = 0600};
    CU_ASSERT_EQUAL(jr_folder_mark_make(&none, token, &err), -1);
    CU_ASSERT_EQUAL(err.status, JR_STATUS_LAUNCH);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "the run folder's .mark-"));
    JR_ASSERT_TEXT(token, "as it was");
}
