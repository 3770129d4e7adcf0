/* What a cell has left on a host that does not see the folder of its sweep:
 * sent from one folder, and gathered in another. */
#include "session/sweep/internal.h"

#include <errno.h>

#include "base/io.h"
#include "scratch.h"
#include "session/internal.h"

/* Lines of a log, each of 11 bytes, and the first that is sent of them. */
enum { NODE = 1, LINES = 10000, FIRST_LINE = LINES - JR_LEFT_LOG_MOST / 11 };

/* What the disk was told to have, and how that went; in place of the C library's. */
static struct {
    unsigned count;
    int error;
} disk;

int fdatasync(int fd)
{
    (void)fd;
    disk.count++;
    errno = disk.error;
    return disk.error == 0 ? 0 : -1;
}

/* Both sides: the folder HOST/0007 there, and that of the sweep's cells. */
struct sides {
    struct scratch host, cells;
    struct jr_arena arena;
    struct jr_session session;
    struct jr_spec_file *file;
    struct jr_sweep_run run;
    struct jr_cell_process process;
    struct jr_cell_state state;
    struct jr_cell_files files;
    char *hosts[2];
    struct jr_buf sent, said;
};

static void hear_note(void *data, const char *line)
{
    struct sides *sides = data;
    jr_buf_printf(&sides->said, "%s\n", line);
}

static void start_collecting(struct sides *sides, const char *collect)
{
    char spec[256];
    int len = snprintf(spec, sizeof spec,
                       "version: 1\nentrypoint: ['true']\nhosts: [gpu01, gpu02]\nengine: {ssh: "
                       "{options: [-J, gate], collect: [%s]}}\n",
                       collect);
    static char first[] = "gpu01", second[] = "gpu02";
    *sides = (struct sides){.hosts = {first, second}};
    scratch_start(&sides->host);
    scratch_start(&sides->cells);
    CU_ASSERT_EQUAL(
        jr_spec_load_text(&sides->file, "t", "/", spec, (size_t)len, &sides->session.diags), 0);
    sides->session.cell_files = &sides->file;
    sides->session.options.note = hear_note;
    sides->session.options.data = sides;
    sides->state = (struct jr_cell_state){.number = 7};
    sides->process = (struct jr_cell_process){.on_node = true, .grant = {.node = NODE}};
    sides->run = (struct jr_sweep_run){
        .session = &sides->session,
        .cells_fd = sides->cells.fd,
        .cells_dir = sides->cells.dir,
        .dir = {.dir_mode = 0700, .file_mode = 0600},
        .nodes = {.hosts = sides->hosts},
        .states = &sides->state,
        .running = &sides->process,
        .running_count = 1,
    };
    jr_cell_files_init(&sides->files, &sides->run, NODE);
}

static void start_sides(struct sides *sides)
{
    start_collecting(sides, "results");
}

static void end_sides(struct sides *sides)
{
    jr_cell_files_drop(&sides->files);
    jr_spec_free(sides->file);
    jr_diags_release(&sides->session.diags);
    jr_buf_release(&sides->sent);
    jr_buf_release(&sides->said);
    jr_arena_release(&sides->arena);
    scratch_end(&sides->host);
    scratch_end(&sides->cells);
}

/* A run on the host, with what its rank has planted beside. */
static void make_cell(struct sides *sides)
{
    static const char *const folders[] = {"0007", "0007/attempt_0", "0007/attempt_0/0",
                                          "0007/attempt_0/0/out"};
    const struct scratch *host = &sides->host;
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        CU_ASSERT_EQUAL(mkdirat(host->fd, folders[i], 0700), 0);
    for (int i = 0; i < LINES; i++)
        jr_buf_printf(&text, "line %05d\n", i);
    scratch_write(host, "0007/run.json", "{}");
    scratch_write(host, "0007/results.json", "{\"status\": \"succeeded\"}");
    scratch_write(host, "0007/attempt_0/setup.log", "");
    scratch_write(host, "0007/attempt_0/0/stdout.log", text.data);
    scratch_write(host, "0007/attempt_0/0/stderr.log", "why\n");
    scratch_write(host, "0007/attempt_0/0/result.json", "{}");
    scratch_write(host, "0007/attempt_0/0/out/r.json", "[1]");
    scratch_write(host, "0007/attempt_0/0/checkpoint", "stays there");
    scratch_write(host, "0007/attempt_0/0/stdout.log.left", "{}");
    scratch_write(host, "secret", "not the cell's");
    CU_ASSERT_EQUAL(symlinkat("../secret", host->fd, "0007/metrics.jsonl"), 0);
    CU_ASSERT_EQUAL(mkfifoat(host->fd, "0007/events.jsonl", 0600), 0);
    CU_ASSERT_EQUAL(symlinkat("..", host->fd, "0007/attempt_1"), 0);
    const char *plan = jr_arena_printf(
        &sides->arena,
        "{\"ranks\": [{\"env\": {\"JOBRUN_RESULT_FILE\": \"%s/0007/attempt_0/0/out/r.json\"}}, "
        "{\"env\": {\"JOBRUN_RESULT_FILE\": \"%s/0007/attempt_0/0/result.json\"}}, {\"env\": "
        "{\"JOBRUN_RESULT_FILE\": \"%s/secret\"}}]}",
        host->dir, host->dir, host->dir);
    scratch_write(host, "0007/plan.json", plan);
}

static void send_cell(struct sides *sides, const char *collect)
{
    struct jr_error err = {0};
    int fd = openat(sides->host.fd, "sent", O_RDWR | O_CREAT | O_TRUNC, 0600);
    CU_ASSERT_EQUAL(jr_cell_send(sides->host.dir, 7, collect, fd, &err), 0);
    (void)lseek(fd, 0, SEEK_SET);
    CU_ASSERT_EQUAL(jr_io_read_fd(&sides->sent, fd, SIZE_MAX / 2, &err), 0);
    (void)close(fd);
}

/* So many bytes at a time, and then the cell is over. */
static void take_all(struct sides *sides, size_t piece)
{
    for (size_t at = 0; at < sides->sent.len; at += piece) {
        size_t left = sides->sent.len - at;
        jr_cell_files_take(&sides->files, sides->sent.data + at, left < piece ? left : piece);
    }
    jr_cell_files_end(&sides->files, &sides->process);
}

static bool has_none(const struct sides *sides, const char *path)
{
    return faccessat(sides->cells.fd, path, F_OK, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT;
}

static void has_file(const struct sides *sides, const char *path, const char *expected)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    CU_ASSERT_EQUAL(jr_io_read_file(&text, sides->cells.fd, path, 1 << 20, NULL), 0);
    JR_ASSERT_TEXT(text.data == NULL ? "" : text.data, expected);
}

#define SIDES(name)                                                                                \
    struct sides name RELEASE(end_sides);                                                          \
    start_sides(&name)

/* The disk has a cell's records before they have their place, or at least those of all cells but
 * the last second's. */
TEST(is_on_the_disk_first)
{
    static const int errors[] = {0, EINVAL, ENOSPC};
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        bool full = errors[i] == ENOSPC;
        SIDES(sides);
        make_cell(&sides);
        send_cell(&sides, "results");
        disk.count = 0;
        disk.error = errors[i];
        take_all(&sides, 1 << 20);
        CU_ASSERT_EQUAL(disk.count, full ? 1 : 2);
        CU_ASSERT_EQUAL(sides.process.full, full);
        CU_ASSERT_EQUAL(has_none(&sides, "0007"), full);
        CU_ASSERT_TRUE(has_none(&sides, ".0007"));
        CU_ASSERT_EQUAL(renameat(sides.cells.fd, "0007", sides.cells.fd, "x"), full ? -1 : 0);
        sides.run.nodes.synced_ns += full ? 0 : UINT64_C(3600000000000);
        take_all(&sides, 1 << 20);
        CU_ASSERT_EQUAL(disk.count, 2);
    }
    disk.error = 0;
}

/* Wherever its bytes end, it is no cell; the next one is none the worse. */
TEST(half_a_cell_is_none)
{
    SIDES(sides);
    make_cell(&sides);
    send_cell(&sides, "results");
    size_t all = sides.sent.len;
    for (size_t len = 1; len < all; len += all / 7) {
        sides.sent.len = len;
        take_all(&sides, 4096);
        CU_ASSERT_TRUE(has_none(&sides, "0007"));
        CU_ASSERT_TRUE(has_none(&sides, ".0007"));
    }
    sides.sent.len = all;
    CU_ASSERT_EQUAL(mkdirat(sides.cells.fd, ".0007", 0700), 0);
    scratch_write(&sides.cells, ".0007/results.json", "of a jobrun before");
    take_all(&sides, 4096);
    has_file(&sides, "0007/results.json", "{\"status\": \"succeeded\"}");
}

#define FILE_AT(path)                                                                              \
    "{\"cell\":7,\"file\":\"" path "\",\"size\":1,\"first\":true,"                                 \
    "\"cut\":0,\"path\":\"/x\"}\nx"
#define WHOLE "{\"cell\":7,\"whole\":true,\"size\":0}\n"

TEST(what_is_no_record)
{
    static const char *const streams[] = {
        "nothing\n",
        "{\"cell\":7,\"file\":\"run.json\",\"size\":-1,\"first\":true}\n" WHOLE,
        "{\"cell\":8,\"whole\":true,\"size\":0}\n",
        "{\"cell\":7,\"size\":1,\"first\":true}\nx" WHOLE,
        FILE_AT("/etc/x") WHOLE,
        FILE_AT("../x") WHOLE,
        FILE_AT("a/../../x") WHOLE,
        FILE_AT("..") WHOLE,
        FILE_AT("a/") WHOLE,
        FILE_AT("stdout.log.left") WHOLE,
        FILE_AT("run.json") FILE_AT("run.json") WHOLE,
        FILE_AT("run.json") WHOLE FILE_AT("results.json"),
        FILE_AT("run.json") "{\"cell\":8,\"whole\":true,\"size\":0}\n",
    };
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) {
        SIDES(sides);
        jr_buf_str(&sides.sent, streams[i]);
        take_all(&sides, 3);
        CU_ASSERT_TRUE(has_none(&sides, "0007"));
        CU_ASSERT_TRUE(has_none(&sides, ".0007"));
        CU_ASSERT_TRUE(has_none(&sides, "x"));
        CU_ASSERT_PTR_NOT_NULL_FATAL(sides.said.data);
        CU_ASSERT_PTR_NOT_NULL(
            strstr(sides.said.data, "cell 7: what it has left on gpu02 could not be written to "));
    }
}

/* What a host was to send, and a byte more. */
TEST(more_than_is_collected)
{
    static const struct {
        const char *path;
        size_t most;
    } vectors[] = {{"attempt_0/0/stdout.log", JR_LEFT_LOG_MOST},
                   {"attempt_0/setup.log", JR_LEFT_LOG_MOST},
                   {"attempt_0/0/stderr.log", JR_LEFT_LOG_MOST}};
    for (size_t i = 0; i < 2 * sizeof vectors / sizeof *vectors; i++) {
        size_t most = vectors[i / 2].most + i % 2;
        SIDES(sides);
        jr_buf_printf(&sides.sent,
                      "{\"cell\":7,\"file\":\"%s\",\"size\":%zu,"
                      "\"first\":true,\"cut\":0,\"path\":\"/x\"}\n%0*d" WHOLE,
                      vectors[i / 2].path, most, (int)most, 0);
        take_all(&sides, 4096);
        CU_ASSERT_EQUAL(has_none(&sides, "0007"), i % 2 == 1);
        CU_ASSERT_TRUE(has_none(&sides, ".0007"));
        JR_ASSERT_TEXT(sides.said.data == NULL ? "" : sides.said.data,
                       i % 2 == 0 ? ""
                                  : "cell 7: what it has left on gpu02 is not taken: it sends "
                                    "more of a file than it was to (engine.ssh.collect)\n");
    }
}

/* A cell whose records are torn is none, and the next one is none the worse. */
TEST(the_next_cell_after_torn_records)
{
    SIDES(sides);
    make_cell(&sides);
    jr_buf_str(&sides.sent, FILE_AT("run.json") "garbage\n" WHOLE);
    take_all(&sides, 4096);
    CU_ASSERT_TRUE(has_none(&sides, "0007"));
    jr_buf_clear(&sides.sent);
    jr_buf_clear(&sides.said);
    send_cell(&sides, "results");
    take_all(&sides, 4096);
    has_file(&sides, "0007/results.json", "{\"status\": \"succeeded\"}");
    JR_ASSERT_TEXT(sides.said.data, "");
}

/* What stands there is not replaced. */
TEST(a_place_that_is_taken)
{
    SIDES(sides);
    make_cell(&sides);
    CU_ASSERT_EQUAL(mkdirat(sides.cells.fd, "0007", 0700), 0);
    scratch_write(&sides.cells, "0007/results.json", "another's");
    send_cell(&sides, "results");
    take_all(&sides, 4096);
    has_file(&sides, "0007/results.json", "another's");
    CU_ASSERT_TRUE(has_none(&sides, ".0007"));
    CU_ASSERT_PTR_NOT_NULL(sides.said.data);
}
