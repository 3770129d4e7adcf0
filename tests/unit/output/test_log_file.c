#include "output/log_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/io.h"
#include "scratch.h"

#define NAME "stdout.log"

struct fixture {
    struct scratch scratch;
    struct jr_logfiles all;
    uint64_t limit;
    struct jr_buf sent; /* all that was written */
};

static void begin(struct fixture *fixture, uint64_t limit, unsigned most)
{
    *fixture = (struct fixture){.limit = limit};
    scratch_start(&fixture->scratch);
    fixture->all = (struct jr_logfiles){.dir_fd = fixture->scratch.fd, .mode = 0600, .most = most};
}

static void open_file(struct fixture *fixture, struct jr_log_file *file, const char *name)
{
    jr_log_file_begin(file, &fixture->all, name, fixture->limit);
}

/* Where a descriptor of this process leads, by its name in /proc/self/fd. */
static void read_descriptor(int fds, const char *name, char ret[PATH_MAX])
{
    ssize_t len = readlinkat(fds, name, ret, PATH_MAX - 1);
    ret[len < 0 ? 0 : len] = '\0';
}

/* How many are open that lead to a file of the folder, or one that it had: the process may have
 * opened others meanwhile, which are not the logs'. */
static unsigned count_open(const struct fixture *fixture)
{
    char number[16], folder[PATH_MAX], path[PATH_MAX];
    unsigned count = 0;
    DIR *fds = opendir("/proc/self/fd");
    CU_ASSERT_PTR_NOT_NULL_FATAL(fds);
    (void)snprintf(number, sizeof number, "%d", fixture->all.dir_fd);
    read_descriptor(dirfd(fds), number, folder);
    size_t len = strlen(folder);
    CU_ASSERT_TRUE_FATAL(len > 1);
    for (struct dirent *entry; (entry = readdir(fds)) != NULL;) {
        read_descriptor(dirfd(fds), entry->d_name, path);
        count += strncmp(path, folder, len) == 0 && path[len] == '/';
    }
    (void)closedir(fds);
    return count;
}

static void end(struct fixture *fixture)
{
    CU_ASSERT_TRUE(fixture->all.open == 0 && count_open(fixture) == 0);
    CU_ASSERT_EQUAL(faccessat(fixture->scratch.fd, NAME ".next", F_OK, 0), -1);
    jr_buf_release(&fixture->sent);
    scratch_end(&fixture->scratch);
}

/* For the rest of the block. */
#define FIXTURE(name, ...)                                                                         \
    struct fixture name RELEASE(end);                                                              \
    begin(&name, __VA_ARGS__)

static void send_bytes(struct fixture *fixture, struct jr_log_file *file, const char *bytes,
                       size_t len)
{
    CU_ASSERT_EQUAL_FATAL(jr_log_file_write(file, bytes, len), 0);
    jr_buf_add(&fixture->sent, bytes, len);
}

/* The file is the stream, or its beginning, what is left out, and its end. Returns what it says
 * that is left out. */
static uint64_t check_file(const struct fixture *fixture, bool lines)
{
    struct jr_buf held = JR_BUF_INIT;
    const struct jr_buf *sent = &fixture->sent;
    uint64_t dropped = 0;
    CU_ASSERT_EQUAL_FATAL(jr_io_read_file(&held, fixture->all.dir_fd, NAME, 1U << 30, NULL), 0);
    CU_ASSERT_TRUE(held.len <= fixture->limit);
    char *mark = held.len == 0 ? NULL : strstr(held.data, "[jobrun: log_");
    if (mark == NULL) {
        CU_ASSERT_TRUE(held.len == sent->len && memcmp(held.data, sent->data, sent->len) == 0);
        jr_buf_release(&held);
        return 0;
    }
    CU_ASSERT_TRUE(sscanf(mark, "[jobrun: log_limit: %" SCNu64, &dropped) == 1 && mark[-1] == '\n');
    struct jr_log_gap gap;
    int fd = openat(fixture->all.dir_fd, NAME, O_RDONLY | O_CLOEXEC);
    CU_ASSERT_TRUE(jr_log_gap_find(fd, &gap));
    CU_ASSERT_TRUE(gap.at == (uint64_t)(mark - held.data) && gap.dropped == dropped);
    CU_ASSERT_EQUAL(mark[gap.len - 1], '\n');
    size_t head = (size_t)(mark - held.data) - !lines;
    const char *tail = strchr(mark, '\n') + 1;
    size_t tail_len = (size_t)(held.data + held.len - tail);
    CU_ASSERT_EQUAL_FATAL(head + dropped + tail_len, sent->len);
    CU_ASSERT_EQUAL(memcmp(held.data, sent->data, head), 0);
    CU_ASSERT_EQUAL(memcmp(tail, sent->data + head + dropped, tail_len), 0);
    const uint64_t place = jr_log_gap_place(fd, fixture->limit, sent->len);
    CU_ASSERT_EQUAL(place, held.len);
    CU_ASSERT_EQUAL(jr_log_gap_place(fd, fixture->limit, sent->len - 1), held.len - 1);
    CU_ASSERT_EQUAL(jr_log_gap_place(fd, fixture->limit, head), head);
    CU_ASSERT_EQUAL(jr_log_gap_place(fd, fixture->limit, head + 1), gap.at);
    CU_ASSERT_EQUAL(jr_log_gap_place(fd, fixture->limit, head + dropped), gap.at);
    CU_ASSERT_EQUAL(jr_log_gap_place(fd, 0, sent->len), sent->len);
    (void)close(fd);
    if (lines)
        CU_ASSERT_EQUAL(sent->data[head + dropped - 1], '\n');
    CU_ASSERT_TRUE(head + 4096 >= fixture->limit / 2 || head + 4096 >= JR_LOG_HEAD);
    CU_ASSERT_TRUE(tail_len >= fixture->limit / 8);
    jr_buf_release(&held);
    return dropped;
}

TEST(keeps_beginning_and_end)
{
    static const struct {
        uint64_t limit;
        size_t chunk, total, line;
    } vectors[] = {
        {JR_LOG_LIMIT_LEAST, 100, 300000, 100},   {JR_LOG_LIMIT_LEAST, 65536, 1000000, 81},
        {JR_LOG_LIMIT_LEAST, 300000, 1000000, 7}, {JR_LOG_LIMIT_LEAST, 5000, 1000000, 0},
        {JR_LOG_LIMIT_LEAST, 300000, 900000, 0},  {JR_LOG_LIMIT_LEAST, 1, 70000, 10},
        {JR_LOG_LIMIT_LEAST, 65536, 60000, 10},   {JR_LOG_LIMIT_LEAST, 65536, 65536, 10},
        {JR_LOG_LIMIT_LEAST, 65537, 65537, 10},   {100000, 3333, 500000, 4000},
        {4U << 20, 262144, 20000000, 100},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        struct jr_log_file file;
        size_t line = vectors[i].line, chunk = vectors[i].chunk;
        char *bytes = malloc(chunk);
        FIXTURE(fixture, vectors[i].limit, 4);
        open_file(&fixture, &file, NAME);
        for (size_t at = 0; at < vectors[i].total;) {
            for (size_t n = 0; n < chunk; n++, at++)
                bytes[n] = line != 0 && at % line == line - 1 ? '\n' : (char)('a' + at / 977 % 26);
            send_bytes(&fixture, &file, bytes, chunk);
            if (chunk > 1000 || at % 1000 == 0)
                CU_ASSERT_EQUAL(check_file(&fixture, line != 0), jr_log_file_dropped(&file));
        }
        CU_ASSERT_EQUAL(jr_log_file_dropped(&file) > 0, fixture.sent.len > vectors[i].limit);
        jr_log_file_end(&file);
        (void)check_file(&fixture, line != 0);
        free(bytes);
    }
}

/* More files than descriptors, with and without a limit. */
TEST(borrows_descriptors)
{
    static const uint64_t limits[] = {0, JR_LOG_LIMIT_LEAST};
    static char bytes[1000];
    memset(bytes, 'x', sizeof bytes - 1);
    bytes[sizeof bytes - 1] = '\n';
    for (int i = 0; i < 2; i++) {
        struct jr_log_file files[7];
        char names[7][8];
        struct stat st;
        FIXTURE(fixture, limits[i], 3);
        for (int n = 0; n < 7; n++) {
            (void)snprintf(names[n], sizeof names[n], "%d", n);
            open_file(&fixture, &files[n], names[n]);
            CU_ASSERT_TRUE(count_open(&fixture) <= 3);
        }
        for (int turn = 0; turn < 700; turn++) {
            struct jr_log_file *file = &files[turn * 3 % 7];
            CU_ASSERT_EQUAL(jr_log_file_write(file, bytes, sizeof bytes), 0);
            CU_ASSERT_TRUE(count_open(&fixture) <= 3 && count_open(&fixture) == fixture.all.open);
        }
        for (int n = 0; n < 7; n++) {
            uint64_t dropped = jr_log_file_dropped(&files[n]);
            jr_log_file_end(&files[n]);
            CU_ASSERT_EQUAL(fstatat(fixture.all.dir_fd, names[n], &st, 0), 0);
            CU_ASSERT_EQUAL(dropped > 0, limits[i] != 0);
            CU_ASSERT_EQUAL((uint64_t)st.st_size >= 100000, dropped == 0);
        }
    }
}

/* What is put in a file's place is not written to, nor waited for. */
TEST(follows_no_trap)
{
    struct jr_log_file a, b;
    FIXTURE(fixture, 0, 1);
    for (int trap = 0; trap < 2; trap++) {
        open_file(&fixture, &a, "a");
        open_file(&fixture, &b, "b");
        CU_ASSERT_EQUAL(jr_log_file_write(&a, "x", 1), 0);
        (void)unlinkat(fixture.all.dir_fd, "a", 0);
        CU_ASSERT_EQUAL(trap == 0 ? mkfifoat(fixture.all.dir_fd, "a", 0600)
                                  : symlinkat("b", fixture.all.dir_fd, "a"),
                        0);
        CU_ASSERT_EQUAL(jr_log_file_write(&b, "x", 1), 0); /* closes a */
        CU_ASSERT_EQUAL(jr_log_file_write(&a, "x", 1), -1);
        CU_ASSERT_EQUAL(errno, trap == 0 ? ENXIO : ELOOP);
        jr_log_file_end(&a);
        jr_log_file_end(&a);
        jr_log_file_end(&b);
        (void)unlinkat(fixture.all.dir_fd, "a", 0);
        (void)unlinkat(fixture.all.dir_fd, "b", 0);
    }
}

/* A file is there once there is something in it, or it is asked for. Two streams that go to one
 * file make it once, and what a rank has put into it before stays. */
TEST(makes_a_file_when_there_is_something_to_write)
{
    struct jr_log_file file, same;
    struct stat st;
    FIXTURE(fixture, 0, 4);
    int dir = fixture.all.dir_fd;
    open_file(&fixture, &file, NAME);
    open_file(&fixture, &same, NAME);
    CU_ASSERT_EQUAL(faccessat(dir, NAME, F_OK, 0), -1);
    CU_ASSERT_EQUAL(fixture.all.open, 0);
    CU_ASSERT_EQUAL(jr_log_file_write(&file, "x", 1), 0);
    CU_ASSERT_EQUAL(fstatat(dir, NAME, &st, 0), 0);
    CU_ASSERT_EQUAL(st.st_size, 1);
    CU_ASSERT_EQUAL(st.st_mode & 0777, 0600);
    jr_log_file_make(&same);
    CU_ASSERT_EQUAL(jr_log_file_write(&same, "y", 1), 0);
    CU_ASSERT_EQUAL(fstatat(dir, NAME, &st, 0), 0);
    CU_ASSERT_EQUAL(st.st_size, 2);
    jr_log_file_end(&file);
    jr_log_file_end(&same);
    (void)unlinkat(dir, NAME, 0);
    open_file(&fixture, &file, NAME);
    jr_log_file_end(&file);
    CU_ASSERT_EQUAL(faccessat(dir, NAME, F_OK, 0), -1);
    open_file(&fixture, &file, NAME);
    jr_log_file_make(&file);
    CU_ASSERT_EQUAL(fstatat(dir, NAME, &st, 0), 0);
    CU_ASSERT_EQUAL(st.st_size, 0);
    jr_log_file_end(&file);
}

/* What stands in the place of a file before that is made: a plain file of ours is added to; one
 * that has another name, too, a link, or no file is refused, by the first write. */
TEST(refuses_what_stands_in_its_place)
{
    struct jr_log_file file;
    struct stat st;
    FIXTURE(fixture, 0, 4);
    int dir = fixture.all.dir_fd;
    (void)close(openat(dir, "other", O_WRONLY | O_CREAT, 0600));
    CU_ASSERT_EQUAL_FATAL(linkat(dir, "other", dir, "hard", 0), 0);
    CU_ASSERT_EQUAL_FATAL(symlinkat("gone", dir, "soft"), 0);
    CU_ASSERT_EQUAL_FATAL(mkfifoat(dir, "fifo", 0600), 0);
    const struct {
        const char *name;
        int error;
    } traps[] = {{"hard", EEXIST}, {"soft", ELOOP}, {"fifo", ENXIO}};
    for (size_t i = 0; i < sizeof traps / sizeof *traps; i++) {
        open_file(&fixture, &file, traps[i].name);
        jr_log_file_make(&file);
        CU_ASSERT_EQUAL(jr_log_file_write(&file, "x", 1), -1);
        CU_ASSERT_EQUAL(errno, traps[i].error);
        jr_log_file_end(&file);
        (void)unlinkat(dir, traps[i].name, 0);
    }
    CU_ASSERT_EQUAL(fstatat(dir, "other", &st, 0), 0);
    CU_ASSERT_EQUAL(st.st_size, 0);
    CU_ASSERT_EQUAL(faccessat(dir, "gone", F_OK, 0), -1);
}

/* Who saves a run by hard links while it goes on does not end its logs. */
TEST(goes_on_where_it_has_another_name)
{
    struct jr_log_file a, b;
    struct stat st;
    FIXTURE(fixture, 0, 1);
    int dir = fixture.all.dir_fd;
    open_file(&fixture, &a, "a");
    open_file(&fixture, &b, "b");
    CU_ASSERT_EQUAL(jr_log_file_write(&a, "x", 1), 0);
    CU_ASSERT_EQUAL(linkat(dir, "a", dir, "saved", 0), 0);
    CU_ASSERT_EQUAL(jr_log_file_write(&b, "x", 1), 0); /* closes a */
    CU_ASSERT_EQUAL(jr_log_file_write(&a, "y", 1), 0);
    CU_ASSERT_EQUAL(fstatat(dir, "a", &st, 0), 0);
    CU_ASSERT_EQUAL(st.st_size, 2);
    jr_log_file_end(&a);
    jr_log_file_end(&b);
}

/* A rank may move its folder away and leave a link in its place. */
TEST(follows_no_link_when_it_opens_again)
{
    struct jr_log_file a = JR_LOG_FILE_NONE, b = JR_LOG_FILE_NONE;
    FIXTURE(fixture, 0, 1);
    int dir = fixture.all.dir_fd;
    (void)mkdirat(dir, "a", 0700);
    (void)mkdirat(dir, "outside", 0700);
    open_file(&fixture, &a, "a/log");
    open_file(&fixture, &b, "b");
    CU_ASSERT_EQUAL(renameat(dir, "a", dir, "moved"), 0);
    CU_ASSERT_EQUAL(symlinkat("outside", dir, "a"), 0);
    CU_ASSERT_EQUAL(jr_log_file_write(&b, "x", 1), 0);
    CU_ASSERT_EQUAL(jr_log_file_write(&a, "x", 1), -1);
    jr_log_file_end(&a);
    jr_log_file_end(&b);
    CU_ASSERT_EQUAL(unlinkat(dir, "outside", AT_REMOVEDIR), 0); /* nothing is in it */
}

/* Whatever is left out by now, each byte is found, or told to be missing. */
static void check_read(const struct fixture *fixture, const struct jr_log_file *file, uint64_t at)
{
    char bytes[512];
    const struct jr_log_file_span span = jr_log_file_span(file);
    CU_ASSERT_EQUAL(span.total, fixture->sent.len);
    uint64_t gap = jr_log_file_gap(&span, at);
    if (gap > 0) {
        CU_ASSERT_EQUAL(at + gap, span.cut);
        return;
    }
    ssize_t len = jr_log_file_read(&fixture->all, NAME, &span, at, bytes, sizeof bytes);
    CU_ASSERT_TRUE_FATAL(len >= 0);
    CU_ASSERT_TRUE(len > 0 || at == span.total);
    bool before = span.cut != 0 && at < span.head;
    uint64_t left = (before ? span.head : span.total) - at;
    CU_ASSERT_EQUAL((uint64_t)len, left < sizeof bytes ? left : sizeof bytes);
    CU_ASSERT_EQUAL(memcmp(bytes, fixture->sent.data + at, (size_t)len), 0);
}

TEST(finds_what_it_has_kept)
{
    struct jr_log_file file;
    char line[3000];
    unsigned seed = 1;
    FIXTURE(fixture, JR_LOG_LIMIT_LEAST, 4);
    open_file(&fixture, &file, NAME);
    for (int i = 0; i < 1000; i++) {
        size_t len = (size_t)(rand_r(&seed) % (i % 100 == 0 ? 3000 : 200)) + 1;
        memset(line, 'a' + i % 26, len);
        line[len - 1] = i % 7 == 0 ? 'x' : '\n';
        send_bytes(&fixture, &file, line, len);
        for (int j = 0; j < 20; j++)
            check_read(&fixture, &file, (uint64_t)rand_r(&seed) % (fixture.sent.len + 1));
    }
    CU_ASSERT_TRUE(jr_log_file_dropped(&file) > 0);
    jr_log_file_end(&file);
}

/* Write lines until that fails; returns errno then. */
static int fail(struct jr_log_file *file)
{
    static char line[1000];
    memset(line, 'y', sizeof line - 1);
    line[sizeof line - 1] = '\n';
    for (int i = 0; i < 1000; i++)
        if (jr_log_file_write(file, line, sizeof line) != 0)
            return errno;
    return 0;
}

/* A rank that empties its own log, or puts something where FILE.next is to be. */
TEST(tells_what_it_cannot_cut)
{
    struct jr_log_file file;
    static char line[1000];
    memset(line, 'z', sizeof line - 1);
    line[sizeof line - 1] = '\n';
    FIXTURE(fixture, JR_LOG_LIMIT_LEAST, 4);
    int dir = fixture.all.dir_fd;

    open_file(&fixture, &file, NAME);
    CU_ASSERT_EQUAL(mkdirat(dir, NAME ".next", 0700), 0);
    CU_ASSERT_TRUE(fail(&file) == EEXIST && jr_log_file_dropped(&file) == 0);
    jr_log_file_end(&file);
    CU_ASSERT_EQUAL(unlinkat(dir, NAME ".next", AT_REMOVEDIR), 0);
    (void)unlinkat(dir, NAME, 0);

    open_file(&fixture, &file, NAME); /* emptied before its head is known */
    for (int i = 0; i < 35; i++)
        CU_ASSERT_EQUAL(jr_log_file_write(&file, line, sizeof line), 0);
    CU_ASSERT_TRUE(ftruncate(file.fd, 0) == 0 && fail(&file) == EIO);
    jr_log_file_end(&file);
    (void)unlinkat(dir, NAME, 0);

    open_file(&fixture, &file, NAME); /* and after that */
    while (file.cut == 0 || file.next_cut != 0)
        CU_ASSERT_EQUAL(jr_log_file_write(&file, line, sizeof line), 0);
    CU_ASSERT_TRUE(ftruncate(file.fd, 100) == 0 && fail(&file) == EIO);
    jr_log_file_end(&file);
    (void)unlinkat(dir, NAME, 0);
    (void)unlinkat(dir, NAME ".next", 0);

    open_file(&fixture, &file, NAME); /* or takes FILE.next away */
    while (file.next_cut == 0)
        CU_ASSERT_EQUAL(jr_log_file_write(&file, line, sizeof line), 0);
    CU_ASSERT_EQUAL(unlinkat(dir, NAME ".next", 0), 0);
    CU_ASSERT_TRUE(fail(&file) == ENOENT && jr_log_file_dropped(&file) == 0);
    jr_log_file_end(&file);
}

/* There is no name for FILE.next: by one byte, and by more. */
TEST(tells_of_a_path_that_is_too_long)
{
    static const size_t lengths[] = {PATH_MAX - 5, PATH_MAX - 3};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        struct jr_log_file file;
        char path[PATH_MAX] = "";
        size_t dots = lengths[i] - 3;
        for (size_t at = 0; at < dots; at += 2)
            memcpy(path + at, "./", 3);
        memcpy(path + dots, "log", 4);
        CU_ASSERT_EQUAL(strlen(path), lengths[i]);
        FIXTURE(fixture, JR_LOG_LIMIT_LEAST, 4);
        open_file(&fixture, &file, path);
        CU_ASSERT_EQUAL(fail(&file), ENAMETOOLONG);
        jr_log_file_end(&file);
        CU_ASSERT_EQUAL(faccessat(fixture.all.dir_fd, "log", F_OK, 0), 0);
    }
}

/* What a runner that was killed has left. */
TEST(tidies_up)
{
    struct jr_log_file file;
    FIXTURE(fixture, 0, 4);
    int dir = fixture.all.dir_fd;
    open_file(&fixture, &file, NAME);
    CU_ASSERT_EQUAL(jr_log_file_write(&file, "x", 1), 0);
    (void)close(openat(dir, NAME ".next", O_WRONLY | O_CREAT, 0600));
    jr_log_file_tidy(dir, NAME);
    CU_ASSERT_EQUAL(faccessat(dir, NAME, F_OK, 0), 0);
    CU_ASSERT_EQUAL(faccessat(dir, NAME ".next", F_OK, 0), -1);
    jr_log_file_end(&file);
}

#define MARKER    "[jobrun: log_limit: 123 bytes left out here]\n"
#define MARKER_AT (sizeof MARKER - 1)

/* A file of the folder for reading. */
static int open_text(const struct scratch *scratch, const char *text)
{
    scratch_write(scratch, "log", text);
    return openat(scratch->fd, "log", O_RDONLY | O_CLOEXEC);
}

static bool is_nothing(const struct jr_log_gap *gap)
{
    return gap->at == 0 && gap->len == 0 && gap->dropped == 0;
}

/* What a rank printed that looks nearly like it is the rank's. */
TEST(finds_no_other_line)
{
    static const char *const texts[] = {
        "",
        "x",
        "\n",
        "a\nb\n",
        "a " MARKER,
        " " MARKER,
        "[jobrun: log_limit: 123 bytes left out here]",
        "[jobrun: log_limit:  bytes left out here]\n",
        "[jobrun: log_limit: bytes left out here]\n",
        "[jobrun: log_limit: 123 bytes left out there]\n",
        "[jobrun: log_limit: 123bytes left out here]\n",
        "[jobrun: log_limit:_123 bytes left out here]\n",
        "[jobrun: log_limit: 123 bytes left out here]x\n",
        "[jobrun: log_limit: 123",
        "[jobrun: log_limit: ",
        "[jobrun: console: 123 bytes left out here]\n",
    };
    SCRATCH(scratch);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct jr_log_gap gap = {1, 2, 3};
        int fd = open_text(&scratch, texts[i]);
        CU_ASSERT_FALSE(jr_log_gap_find(fd, &gap));
        CU_ASSERT_TRUE(is_nothing(&gap));
        CU_ASSERT_EQUAL(jr_log_gap_place(fd, 65536, 7), 7);
        (void)close(fd);
    }
    struct jr_log_gap gap = {1, 2, 3};
    CU_ASSERT_FALSE(jr_log_gap_find(-1, &gap));
    CU_ASSERT_TRUE(is_nothing(&gap));
}

TEST(finds_the_line)
{
    static const struct {
        const char *text;
        uint64_t at, dropped;
    } vectors[] = {
        {MARKER, 0, 123},
        {MARKER "tail", 0, 123},
        {"\n" MARKER, 1, 123},
        {"a\nb\n" MARKER "c\n", 4, 123},
        {"a\n" MARKER "[jobrun: log_limit: 456 bytes left out here]\n", 2, 123},
        {"[jobrun: log_limit: x]\n[jobrun: log_limit: 7 bytes left out here]\n", 23, 7},
        {"[jobrun: log_limit: 18446744073709551614 bytes left out here]\n", 0, UINT64_MAX - 1},
    };
    SCRATCH(scratch);
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        struct jr_log_gap gap = {0};
        int fd = open_text(&scratch, vectors[i].text);
        CU_ASSERT_TRUE(jr_log_gap_find(fd, &gap));
        CU_ASSERT_TRUE(gap.at == vectors[i].at && gap.dropped == vectors[i].dropped);
        const char *line = vectors[i].text + gap.at;
        CU_ASSERT_EQUAL(gap.len, (uint64_t)(strchr(line, '\n') + 1 - line));
        (void)close(fd);
    }
}

/* It is looked for where it can be, and no farther. */
TEST(looks_only_at_the_beginning)
{
    static char text[(1 << 20) + 8192];
    struct jr_log_gap gap;
    SCRATCH(scratch);
    for (size_t at = 1 << 20; at <= (1 << 20) + 4096; at += 2048) {
        memset(text, 'x', sizeof text - 1);
        text[at - 1] = '\n';
        memcpy(text + at, MARKER, MARKER_AT);
        int fd = open_text(&scratch, text);
        CU_ASSERT_EQUAL(jr_log_gap_find(fd, &gap), at < (1 << 20) + 4096);
        (void)close(fd);
    }
}

/* Where bytes of the stream end in a file whose beginning has `head` bytes and ends with a newline,
 * or was given one. */
TEST(finds_the_place)
{
    enum { LIMIT = 65536, HALF = LIMIT / 2 };
    static const struct {
        uint64_t head;
        bool newline;
    } files[] = {{HALF, true}, {HALF, false}, {HALF - 10, true}};
    SCRATCH(scratch);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        static char text[LIMIT];
        uint64_t head = files[i].head, at = head + !files[i].newline;
        memset(text, 'x', at);
        text[at - 1] = '\n';
        memcpy(text + at, MARKER "tail\n", MARKER_AT + 6);
        int fd = open_text(&scratch, text);
        const struct {
            uint64_t bytes, place;
        } vectors[] = {
            {0, 0},
            {1, 1},
            {head - 1, head - 1},
            {head, head},
            {head + 1, at},
            {head + 122, at},
            {head + 123, at},
            {head + 124, at + MARKER_AT + 1},
            {head + 128, at + MARKER_AT + 5},
        };
        for (size_t n = 0; n < sizeof vectors / sizeof vectors[0]; n++) {
            CU_ASSERT_EQUAL(jr_log_gap_place(fd, LIMIT, vectors[n].bytes), vectors[n].place);
            CU_ASSERT_EQUAL(jr_log_gap_place(fd, 0, vectors[n].bytes), vectors[n].bytes);
        }
        (void)close(fd);
    }
}
