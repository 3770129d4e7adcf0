#include "store/run_folder.h"
#include "descriptors.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"

static void make(char *folder)
{
    (void)stpcpy(folder, "/tmp/jobrun-rundir-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
}

static void discard(const char *folder)
{
    char command[128];
    (void)snprintf(command, sizeof command, "rm -rf %s", folder);
    CU_ASSERT_EQUAL(system(command), 0);
}

static mode_t mode_of(const char *folder, const char *name)
{
    char path[256];
    struct stat st;
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return lstat(path, &st) == 0 ? st.st_mode : 0;
}

static void names_runs(void)
{
    char a[128], b[128];
    jr_run_folder_id(a, "train");
    CU_ASSERT_EQUAL(strlen(a), strlen("20261121-063012-train-3f9c"));
    CU_ASSERT_EQUAL(a[8], '-');
    CU_ASSERT_EQUAL(memcmp(a + 15, "-train-", 7), 0);
    char name[201];
    memset(name, 'n', 200);
    name[200] = '\0';
    jr_run_folder_id(b, name);
    CU_ASSERT_TRUE(strlen(b) < 127);
}

static void knows_an_id(void)
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
static void refuses_a_log_dir_that_cannot_be(void)
{
    char folder[64], loop[96];
    make(folder);
    (void)snprintf(loop, sizeof loop, "%s/loop", folder);
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
        struct jr_run_folder dir = JR_RUN_FOLDER_INIT;
        CU_ASSERT_EQUAL(
            jr_run_folder_create(&dir, vectors[i].path, "x", true, JR_LOG_PRIVATE, &err), -1);
        CU_ASSERT_EQUAL(err.status, JR_STATUS_LAUNCH);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, vectors[i].part));
        CU_ASSERT_TRUE(dir.fd < 0 && dir.log_fd < 0);
        CU_ASSERT_EQUAL(
            jr_run_folder_create(&dir, vectors[i].path, "x", true, JR_LOG_PRIVATE, NULL), -1);
    }
    discard(folder);
}

static void refuses(void)
{
    static const char *const ids[] = {"",     ".",   "..", "a/b",    "/x",
                                      ".git", "a b", "\n", "latest", "\xc3\xa4"};
    char folder[64], path[96];
    struct jr_error err;
    struct jr_run_folder dir = JR_RUN_FOLDER_INIT;
    make(folder);
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        err = (struct jr_error){0};
        CU_ASSERT_EQUAL(jr_run_folder_create(&dir, folder, ids[i], true, JR_LOG_PRIVATE, &err), -1);
        CU_ASSERT_EQUAL(err.status, JR_STATUS_USAGE);
        CU_ASSERT_EQUAL(dir.fd, -1);
    }
    (void)snprintf(path, sizeof path, "%s/file", folder);
    (void)close(open(path, O_CREAT | O_WRONLY, 0600));
    CU_ASSERT_EQUAL(jr_run_folder_create(&dir, path, "x", true, JR_LOG_PRIVATE, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "is a file, not a folder"));
    (void)snprintf(path, sizeof path, "%s/file/below", folder);
    CU_ASSERT_EQUAL(jr_run_folder_create(&dir, path, "x", true, JR_LOG_PRIVATE, &err), -1);
    CU_ASSERT_EQUAL(err.status, JR_STATUS_LAUNCH);
    (void)chmod(folder, 0777);
    CU_ASSERT_EQUAL(jr_run_folder_create(&dir, folder, "x", true, JR_LOG_PRIVATE, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "writable by everybody"));
    (void)chmod(folder, 01777);
    CU_ASSERT_EQUAL(jr_run_folder_create(&dir, folder, "x", true, JR_LOG_PRIVATE, &err), 0);
    jr_run_folder_close(&dir);
    discard(folder);
}

static void refuses_another_owner(void)
{
    struct jr_error err;
    struct jr_run_folder dir = JR_RUN_FOLDER_INIT;
    char folder[64];
    make(folder);
    if (geteuid() == 0)
        CU_ASSERT_EQUAL(chown(folder, 65534, 65534), 0);
    const char *foreign = geteuid() == 0 ? folder : "/usr";
    CU_ASSERT_EQUAL(jr_run_folder_create(&dir, foreign, "x", true, JR_LOG_PRIVATE, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "belongs to user"));
    discard(folder);
}

static void makes_folders_by_mode(void)
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
        char folder[64], path[96];
        struct jr_run_folder dir = JR_RUN_FOLDER_INIT;
        struct jr_buf bytes = JR_BUF_INIT;
        make(folder);
        (void)snprintf(path, sizeof path, "%s/a/runs", folder);
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
        discard(folder);
    }
}

static void never_takes_another_runs_folder(void)
{
    char folder[64];
    struct jr_error err;
    struct jr_run_folder a = JR_RUN_FOLDER_INIT, b = JR_RUN_FOLDER_INIT;
    make(folder);
    CU_ASSERT_EQUAL(jr_run_folder_create(&a, folder, "r-0000", false, JR_LOG_PRIVATE, &err), 0);
    CU_ASSERT_EQUAL(jr_run_folder_create(&b, folder, "r-0000", true, JR_LOG_PRIVATE, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "exists already"));
    CU_ASSERT_EQUAL(jr_run_folder_create(&b, folder, "r-0000", false, JR_LOG_PRIVATE, &err), 0);
    CU_ASSERT_EQUAL(strncmp(b.id, "r-", 2), 0);
    CU_ASSERT_EQUAL(strlen(b.id), 6);
    CU_ASSERT_EQUAL(strspn(b.id + 2, "0123456789abcdef"), 4);
    CU_ASSERT_NOT_EQUAL(strcmp(a.id, b.id), 0);
    JR_ASSERT_TEXT(b.path, b.id);
    CU_ASSERT_TRUE(S_ISDIR(mode_of(folder, b.id)));
    /* What has no suffix keeps its name. */
    CU_ASSERT_EQUAL(mkdirat(a.log_fd, "abcd", 0700), 0);
    struct jr_run_folder c = JR_RUN_FOLDER_INIT;
    CU_ASSERT_EQUAL(jr_run_folder_create(&c, folder, "abcd", false, JR_LOG_PRIVATE, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "a run 'abcd' exists already"));
    /* A folder that was there already is not ours to hide from git. */
    CU_ASSERT_EQUAL(mode_of(folder, ".gitignore"), 0);
    jr_run_folder_close(&a);
    jr_run_folder_close(&b);
    discard(folder);
}

static int part(struct jr_run_folder *ret, const char *folder, uint32_t node, struct jr_error *err)
{
    return jr_run_folder_create_part(ret, folder, "r", node, JR_LOG_PRIVATE, err);
}

static void gives_each_node_a_part(void)
{
    char folder[64];
    struct jr_error err;
    struct jr_run_folder a = JR_RUN_FOLDER_INIT, b = JR_RUN_FOLDER_INIT;
    struct jr_run_folder c = JR_RUN_FOLDER_INIT;
    make(folder);
    CU_ASSERT_EQUAL(part(&a, folder, 7, &err), 0);
    CU_ASSERT_EQUAL(part(&b, folder, 0, &err), 0);
    JR_ASSERT_TEXT(a.path, "r/node_7");
    JR_ASSERT_TEXT(b.id, "r");
    CU_ASSERT_EQUAL(part(&c, folder, 7, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "node 7 of the run 'r' has already"));
    CU_ASSERT_EQUAL(jr_run_folder_create(&c, folder, "r", true, JR_LOG_PRIVATE, &err), -1);
    /* What another node has is not removed. */
    jr_run_folder_discard(&a);
    CU_ASSERT_EQUAL(mode_of(folder, "r/node_7"), 0);
    CU_ASSERT_TRUE(S_ISDIR(mode_of(folder, "r/node_0")));
    CU_ASSERT_EQUAL(part(&c, folder, 7, &err), 0);
    jr_run_folder_discard(&b);
    jr_run_folder_discard(&c);
    CU_ASSERT_EQUAL(mode_of(folder, "r"), 0);
    jr_run_folder_close(&a);
    jr_run_folder_close(&b);
    jr_run_folder_close(&c);
    discard(folder);
}

static void has_no_part_in_what_is_one_jobruns(void)
{
    char folder[64];
    struct jr_error err;
    struct jr_run_folder a = JR_RUN_FOLDER_INIT, b = JR_RUN_FOLDER_INIT;
    struct jr_buf bytes = JR_BUF_INIT;
    make(folder);
    jr_buf_str(&bytes, "{}");
    CU_ASSERT_EQUAL(jr_run_folder_create(&a, folder, "r", true, JR_LOG_PRIVATE, &err), 0);
    CU_ASSERT_EQUAL(jr_run_folder_write(&a, "run.json", &bytes, &err), 0);
    CU_ASSERT_EQUAL(part(&b, folder, 1, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "not a run of several nodes"));
    jr_run_folder_discard(&a);
    CU_ASSERT_EQUAL(symlinkat(".", a.log_fd, "r"), 0);
    CU_ASSERT_EQUAL(part(&b, folder, 1, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "/r: Not a directory"));
    jr_buf_release(&bytes);
    jr_run_folder_close(&a);
    discard(folder);
}

/* Others could have put into it what they like, unless that is meant. */
static void has_no_part_where_everybody_writes(void)
{
    char folder[64];
    struct jr_error err;
    struct jr_run_folder a = JR_RUN_FOLDER_INIT;
    make(folder);
    int log_dir = open(folder, O_RDONLY | O_DIRECTORY);
    CU_ASSERT_EQUAL(mkdirat(log_dir, "r", 0700), 0);
    CU_ASSERT_EQUAL(fchmodat(log_dir, "r", 0777, 0), 0);
    errno = EAGAIN; /* as the caller may have left it */
    CU_ASSERT_EQUAL(part(&a, folder, 1, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "not a run of several nodes"));
    mode_t before = umask(0);
    CU_ASSERT_EQUAL(jr_run_folder_create_part(&a, folder, "r", 1, JR_LOG_UMASK, &err), 0);
    (void)umask(before);
    jr_run_folder_close(&a);
    CU_ASSERT_EQUAL(fchmodat(log_dir, "r", 0770, 0), 0);
    CU_ASSERT_EQUAL(part(&a, folder, 2, &err), 0);
    jr_run_folder_close(&a);
    if (geteuid() == 0) {
        CU_ASSERT_EQUAL(fchownat(log_dir, "r", 65534, 65534, 0), 0);
        CU_ASSERT_EQUAL(part(&a, folder, 3, &err), -1);
    }
    (void)close(log_dir);
    discard(folder);
}

/* The folder that another node has made is as if this one had. */
static void joins_by_id_and_mode(void)
{
    char folder[64];
    struct jr_error err;
    struct jr_run_folder a = JR_RUN_FOLDER_INIT, b = JR_RUN_FOLDER_INIT;
    struct jr_buf bytes JR_BUF_CLEANUP = JR_BUF_INIT;
    make(folder);
    mode_t before = umask(077);
    CU_ASSERT_EQUAL(jr_run_folder_create(&a, folder, "a.run", true, JR_LOG_PRIVATE, &err), 0);
    CU_ASSERT_EQUAL(jr_run_folder_join(&b, folder, "a.run", JR_LOG_GROUP, &err), 0);
    JR_ASSERT_TEXT(b.id, "a.run");
    JR_ASSERT_TEXT(b.path, "a.run");
    CU_ASSERT_EQUAL(fcntl(b.fd, F_GETFD), FD_CLOEXEC);
    CU_ASSERT_EQUAL(fcntl(b.log_fd, F_GETFD), FD_CLOEXEC);
    jr_buf_str(&bytes, "x");
    CU_ASSERT_EQUAL(jr_run_folder_write(&b, "x", &bytes, &err), 0);
    CU_ASSERT_EQUAL(umask(before), 077);
    CU_ASSERT_EQUAL(mode_of(folder, "a.run/x") & 07777, 0640);
    jr_run_folder_close(&a);
    jr_run_folder_close(&b);
    discard(folder);
}

/* Where nothing can be made at all, by the reason that the system gives. */
static void says_what_could_not_be_made(void)
{
    struct jr_error err;
    struct jr_run_folder dir = JR_RUN_FOLDER_INIT;
    if (geteuid() == 0) { /* whose /proc is */
        CU_ASSERT_EQUAL(part(&dir, "/proc", 1, &err), -1);
        JR_ASSERT_TEXT(err.text, "/proc/r: No such file or directory");
        CU_ASSERT_EQUAL(jr_run_folder_create(&dir, "/proc", "r", true, JR_LOG_PRIVATE, &err), -1);
        JR_ASSERT_TEXT(err.text, "/proc/r: No such file or directory");
    }
}

/* The folder of the run is ours, and shut: the reason is told, for root as for whom it shuts
 * out. */
static void says_why_there_is_no_part(void)
{
    char folder[64];
    struct jr_error err = {0};
    struct jr_run_folder a = JR_RUN_FOLDER_INIT;
    const uid_t other = 65534;
    int before = open(".", O_PATH | O_CLOEXEC);
    make(folder);
    CU_ASSERT_EQUAL_FATAL(chdir(folder), 0);
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
    discard(folder);
}

static void joins_no_run_of_another_user(void)
{
    char folder[64];
    struct jr_error err;
    struct jr_run_folder a = JR_RUN_FOLDER_INIT, b = JR_RUN_FOLDER_INIT;
    if (geteuid() != 0)
        return;
    make(folder);
    CU_ASSERT_EQUAL(jr_run_folder_create(&a, folder, "r", true, JR_LOG_PRIVATE, &err), 0);
    CU_ASSERT_EQUAL(fchown(a.fd, 65534, 65534), 0);
    CU_ASSERT_EQUAL(jr_run_folder_join(&b, folder, "r", JR_LOG_PRIVATE, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "belongs to another user"));
    jr_run_folder_close(&a);
    discard(folder);
}

static void joins_no_run_that_is_none(void)
{
    static const char *const ids[] = {"", ".", "..", "latest", "a/b", "absent"};
    char folder[64];
    make(folder);
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        struct jr_error err = {0};
        struct jr_run_folder dir = JR_RUN_FOLDER_INIT;
        CU_ASSERT_EQUAL(jr_run_folder_join(&dir, folder, ids[i], JR_LOG_PRIVATE, &err), -1);
        CU_ASSERT_EQUAL(err.status, JR_STATUS_LAUNCH);
        CU_ASSERT_TRUE(dir.fd < 0 && dir.log_fd < 0);
    }
    discard(folder);
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
static void goes_on_in_its_folder(void)
{
    char folder[64];
    struct jr_error err;
    struct jr_run_folder a = JR_RUN_FOLDER_INIT, b;
    struct jr_buf bytes JR_BUF_CLEANUP = JR_BUF_INIT;
    make(folder);
    mode_t before = umask(027);
    CU_ASSERT_EQUAL(jr_run_folder_create(&a, folder, "r.1", true, JR_LOG_PRIVATE, &err), 0);
    CU_ASSERT_FALSE(a.kept);
    CU_ASSERT_EQUAL(go_on(&b, folder, "r.1", JR_LOG_UMASK, &err), 0);
    CU_ASSERT_EQUAL(umask(before), 027);
    JR_ASSERT_TEXT(b.id, "r.1");
    JR_ASSERT_TEXT(b.path, "r.1");
    CU_ASSERT_TRUE(b.kept);
    CU_ASSERT_EQUAL(b.dir_mode, 0750);
    CU_ASSERT_EQUAL(b.file_mode, 0640);
    CU_ASSERT_EQUAL(fcntl(b.fd, F_GETFD), FD_CLOEXEC);
    CU_ASSERT_EQUAL(fcntl(b.log_fd, F_GETFD), FD_CLOEXEC);
    jr_buf_str(&bytes, "x");
    CU_ASSERT_EQUAL(jr_run_folder_write(&b, "results.json", &bytes, &err), 0);
    jr_run_folder_discard(&b);
    CU_ASSERT_TRUE(S_ISREG(mode_of(folder, "r.1/results.json")));
    CU_ASSERT_EQUAL(jr_run_folder_latest(&b, &err), 0);
    jr_run_folder_close(&a);
    jr_run_folder_close(&b);
    discard(folder);
}

/* Where there is no such run, that is no error: it begins. */
static void a_run_that_is_not_there_begins(void)
{
    char folder[64], absent[96];
    struct jr_error err;
    struct jr_run_folder dir;
    make(folder);
    (void)snprintf(absent, sizeof absent, "%s/absent/runs", folder);
    CU_ASSERT_EQUAL(go_on(&dir, folder, "r", JR_LOG_PRIVATE, &err), 1);
    CU_ASSERT_TRUE(dir.fd < 0 && dir.log_fd < 0);
    CU_ASSERT_EQUAL(go_on(&dir, absent, "r", JR_LOG_PRIVATE, &err), 1);
    JR_ASSERT_TEXT(err.text, "");
    CU_ASSERT_EQUAL(mode_of(folder, "absent"), 0);
    discard(folder);
}

/* What stands there and is not ours alone is not gone on with. */
static void goes_on_with_nothing_else(void)
{
    char folder[64], file[96];
    struct jr_error err;
    struct jr_run_folder dir;
    make(folder);
    (void)snprintf(file, sizeof file, "%s/file", folder);
    int log_fd = open(folder, O_RDONLY | O_DIRECTORY);
    (void)close(openat(log_fd, "file", O_CREAT | O_WRONLY, 0600));
    CU_ASSERT_EQUAL(symlinkat(".", log_fd, "link"), 0);
    CU_ASSERT_EQUAL(mkdirat(log_fd, "open", 0700), 0);
    CU_ASSERT_EQUAL(fchmodat(log_fd, "open", 0707, 0), 0);
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
        {folder, "", JR_LOG_PRIVATE, 0, -1, "a run id is"},
        {folder, "../x", JR_LOG_PRIVATE, 0, -1, "'../x' is not one"},
        {folder, "latest", JR_LOG_PRIVATE, 0, -1, "the newest run"},
        {file, "r", JR_LOG_PRIVATE, 0, -1, "is a file, not a folder"},
        {folder, "file", JR_LOG_PRIVATE, 0, -1, "/file: Not a directory"},
        {folder, "link", JR_LOG_PRIVATE, 0, -1, "/link: Not a directory"},
        {folder, "open", JR_LOG_PRIVATE, 0, -1, "/open is writable by every"},
        {folder, "open", JR_LOG_UMASK, 002, -1, "/open is writable by every"},
        {folder, "open", JR_LOG_UMASK, 0, 0, ""},
        {folder, "theirs", JR_LOG_PRIVATE, 0, geteuid() == 0 ? -1 : 0,
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
    discard(folder);
}

/* Whatever was made, refused, joined or discarded. */
static void leaves_no_descriptor_open(void)
{
    char folder[64];
    struct jr_error err;
    unsigned before = count_descriptors();
    struct jr_run_folder a = JR_RUN_FOLDER_INIT, b = JR_RUN_FOLDER_INIT, c = JR_RUN_FOLDER_INIT;
    make(folder);
    CU_ASSERT_EQUAL(jr_run_folder_create(&a, folder, "a", true, JR_LOG_PRIVATE, &err), 0);
    CU_ASSERT_EQUAL(jr_run_folder_create(&b, folder, "a", true, JR_LOG_PRIVATE, &err), -1);
    CU_ASSERT_EQUAL(jr_run_folder_create_part(&b, folder, "b", 1, JR_LOG_PRIVATE, &err), 0);
    CU_ASSERT_EQUAL(jr_run_folder_create_part(&c, folder, "b", 1, JR_LOG_PRIVATE, &err), -1);
    CU_ASSERT_EQUAL(jr_run_folder_join(&c, folder, "a", JR_LOG_PRIVATE, &err), 0);
    struct jr_run_folder none = JR_RUN_FOLDER_INIT;
    CU_ASSERT_EQUAL(jr_run_folder_join(&none, folder, "absent", JR_LOG_PRIVATE, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "absent is not there"));
    jr_run_folder_discard(&b);
    CU_ASSERT_EQUAL(mode_of(folder, "b"), 0); /* and the whole of it is gone */
    jr_run_folder_discard(&b);
    jr_run_folder_close(&a);
    jr_run_folder_close(&b);
    jr_run_folder_close(&c);
    CU_ASSERT_EQUAL(count_descriptors(), before);
    discard(folder);
}

static void points_to_the_latest(void)
{
    char folder[64], path[96], target[64] = "";
    struct jr_error err;
    struct jr_run_folder a = JR_RUN_FOLDER_INIT, b = JR_RUN_FOLDER_INIT;
    make(folder);
    (void)jr_run_folder_create(&a, folder, "a", true, JR_LOG_PRIVATE, &err);
    (void)jr_run_folder_create(&b, folder, "b", true, JR_LOG_PRIVATE, &err);
    CU_ASSERT_EQUAL(jr_run_folder_latest(&a, &err), 0);
    CU_ASSERT_EQUAL(jr_run_folder_latest(&b, &err), 0);
    (void)snprintf(path, sizeof path, "%s/latest", folder);
    CU_ASSERT_EQUAL(readlink(path, target, sizeof target - 1), 1);
    JR_ASSERT_TEXT(target, "b");
    (void)unlink(path);
    (void)close(open(path, O_CREAT | O_WRONLY, 0600));
    CU_ASSERT_EQUAL(jr_run_folder_latest(&a, &err), -1);
    CU_ASSERT_TRUE(S_ISREG(mode_of(folder, "latest")));
    jr_run_folder_close(&a);
    jr_run_folder_close(&b);
    discard(folder);
}

static void writes_no_file_of_a_failed_buffer(void)
{
    struct jr_error err;
    struct jr_run_folder dir = JR_RUN_FOLDER_INIT;
    struct jr_buf bytes = {.failed = true};
    CU_ASSERT_EQUAL(jr_run_folder_write(&dir, "x", &bytes, &err), -1);
}

JR_UNIT_MAIN("rundir", CASE(names_runs), CASE(knows_an_id), CASE(refuses),
             CASE(refuses_a_log_dir_that_cannot_be), CASE(refuses_another_owner),
             CASE(makes_folders_by_mode), CASE(never_takes_another_runs_folder),
             CASE(gives_each_node_a_part), CASE(has_no_part_in_what_is_one_jobruns),
             CASE(has_no_part_where_everybody_writes), CASE(joins_by_id_and_mode),
             CASE(says_what_could_not_be_made), CASE(says_why_there_is_no_part),
             CASE(goes_on_in_its_folder), CASE(a_run_that_is_not_there_begins),
             CASE(goes_on_with_nothing_else), CASE(joins_no_run_that_is_none),
             CASE(leaves_no_descriptor_open), CASE(joins_no_run_of_another_user),
             CASE(points_to_the_latest), CASE(writes_no_file_of_a_failed_buffer))
