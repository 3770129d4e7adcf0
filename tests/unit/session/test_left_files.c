/* What ranks have left on a host that has a run folder of its own: sent from one folder, and put
 * into another. */
#include "session/internal.h"

#include <errno.h>

#include "base/io.h"
#include "fake_run.h"
#include "scratch.h"
#include "session/left_files.h"

/* Both sides: a run of two ranks, which are those of node 1, and the folder of their controller. */
struct sides {
    struct fake fake;
    struct scratch scratch;
    struct jr_session node, controller;
    struct jr_ssh ssh;
    char *hosts[2];
    struct jr_buf sent;
};

static void start_sides(struct sides *sides)
{
    static char first[] = "gpu01", second[] = "gpu02";
    struct fake *fake = &sides->fake;
    *sides = (struct sides){.hosts = {first, second}, .sent = JR_BUF_INIT};
    fake_start(fake, 2);
    scratch_start(&sides->scratch);
    fake->plan.nodes = 2;
    fake->plan.hosts = sides->hosts;
    fake->policy.engine.ssh = &sides->ssh;
    fake->policy.results.stated = true;
    for (uint32_t i = 0; i < 2; i++)
        fake->ranks[i].node_rank = 1;
    sides->node =
        (struct jr_session){.plan = fake->plan, .dir = {.fd = fake->fd, .file_mode = 0600}};
    sides->controller =
        (struct jr_session){.plan = fake->plan,
                            .dir = {.fd = sides->scratch.fd, .dir_mode = 0700, .file_mode = 0600},
                            .outcome = fake->outcome};
    CU_ASSERT_EQUAL(jr_left_files_begin(&sides->controller, NULL), 0);
}

static void end_sides(struct sides *sides)
{
    jr_left_files_release(&sides->controller);
    jr_buf_release(&sides->sent);
    scratch_end(&sides->scratch);
    fake_end(&sides->fake);
}

/* What the node sends. */
static void send_all(struct sides *sides)
{
    struct jr_error err = {0};
    const char *path = jr_arena_printf(&sides->fake.arena, "%s/sent", sides->scratch.dir);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    const struct jr_left left = {.run_fd = sides->node.dir.fd, .apart = true};
    CU_ASSERT_EQUAL(jr_judgement_make(&sides->node.report, &sides->node.plan, &sides->fake.outcome,
                                      &left, &err),
                    0);
    CU_ASSERT_EQUAL(jr_left_send(&sides->node, fd, &err), 0);
    jr_judgement_release(&sides->node.report);
    (void)lseek(fd, 0, SEEK_SET);
    CU_ASSERT_EQUAL(jr_io_read_fd(&sides->sent, fd, SIZE_MAX / 2, &err), 0);
    (void)close(fd);
}

/* So many bytes at a time. */
static void take_all(struct sides *sides, size_t piece)
{
    for (size_t at = 0; at < sides->sent.len; at += piece) {
        size_t left = sides->sent.len - at;
        jr_left_files_take(&sides->controller, 1, sides->sent.data + at,
                           left < piece ? left : piece);
    }
    jr_left_files_finish(&sides->controller);
}

static void has_file(const struct sides *sides, const char *path, const char *expected)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    CU_ASSERT_EQUAL(jr_io_read_file(&text, sides->scratch.fd, path, 1 << 20, NULL), 0);
    JR_ASSERT_TEXT(text.data == NULL ? "" : text.data, expected);
}

static bool has_none(const struct sides *sides, const char *path)
{
    return faccessat(sides->scratch.fd, path, F_OK, 0) != 0 && errno == ENOENT;
}

#define SIDES(name)                                                                                \
    struct sides name RELEASE(end_sides);                                                          \
    start_sides(&name)

/* A line that is longer than all that comes back. */
TEST(a_line_without_an_end)
{
    SIDES(sides);
    char *line = malloc(100001);
    CU_ASSERT_PTR_NOT_NULL_FATAL(line);
    memset(line, 'x', 100000);
    line[100000] = '\0';
    fake_write_rank(&sides.fake, 0, "stdout.log", line);
    send_all(&sides);
    take_all(&sides, 1 << 20);
    struct stat st;
    CU_ASSERT_EQUAL(fstatat(sides.scratch.fd, "attempt_0/0/stdout.log", &st, 0), 0);
    CU_ASSERT_TRUE(st.st_size > 64 << 10 && st.st_size < (64 << 10) + 300);
    free(line);
}

/* A file that is there already is another's, and is not written to. */
TEST(a_file_that_cannot_be_written)
{
    SIDES(sides);
    fake_write_rank(&sides.fake, 0, "stdout.log", "out\n");
    fake_write_rank(&sides.fake, 1, "stdout.log", "out\n");
    (void)mkdirat(sides.scratch.fd, "attempt_0", 0700);
    (void)mkdirat(sides.scratch.fd, "attempt_0/0", 0700);
    (void)mkdirat(sides.scratch.fd, "elsewhere", 0700);
    scratch_write(&sides.scratch, "attempt_0/0/stdout.log", "another's");
    (void)symlinkat("../elsewhere", sides.scratch.fd, "attempt_0/1");
    send_all(&sides);
    take_all(&sides, 3);
    has_file(&sides, "attempt_0/0/stdout.log", "another's");
    CU_ASSERT_TRUE(has_none(&sides, "elsewhere/stdout.log"));
    CU_ASSERT_EQUAL(sides.fake.ends[0].log_errno, EEXIST);
    CU_ASSERT_NOT_EQUAL(sides.fake.ends[1].log_errno, 0);
}

/* Nothing but records of the node's own ranks; the logs of the others are as they were, and those
 * of the node are told to be not whole. */
TEST(what_is_no_record)
{
    EACH_PART(part, "nothing\n|{\"rank\":0,\"what\":\"stdout\",\"size\":-1,\"first\":true}\n|{"
                    "\"rank\":2,\"what\":\"stdout\",\"size\":1,\"first\":true}\nx|{\"rank\":-1,"
                    "\"what\":\"stdout\",\"size\":1,\"first\":true}\nx|{\"rank\":0,\"what\":\"../"
                    "x\",\"size\":1,\"first\":true}\nx|{\"rank\":0,\"size\":1,\"first\":true}\nx|{"
                    "\"rank\":0,\"what\":\"stdout\",\"size\":1}\nx|{\"rank\":0,\"what\":"
                    "\"delivery\",\"size\":99999999999}\n") {
        SIDES(sides);
        jr_buf_str(&sides.sent, part);
        take_all(&sides, 5);
        CU_ASSERT_EQUAL(sides.fake.ends[0].log_errno, EPROTO);
        CU_ASSERT_TRUE(has_none(&sides, "attempt_0"));
    }
}

/* No host sends more than it was to, and the log is told to be not whole. */
TEST(more_than_was_to_come)
{
    for (int more = 0; more < 2; more++) {
        int most = (int)JR_LEFT_LOG_MOST + more;
        SIDES(sides);
        jr_buf_printf(&sides.sent,
                      "{\"rank\":1,\"what\":\"stdout\",\"size\":%d,\"first\":true}\n%0*d", most,
                      most, 0);
        take_all(&sides, 4096);
        CU_ASSERT_EQUAL(sides.fake.ends[1].log_errno, more ? EFBIG : 0);
        CU_ASSERT_EQUAL(sides.fake.ends[0].log_errno, 0);
    }
}

/* A node speaks of its own ranks alone. */
TEST(ranks_of_another_node)
{
    SIDES(sides);
    sides.fake.ranks[0].node_rank = 0;
    jr_buf_str(&sides.sent, "{\"rank\":0,\"what\":\"stdout\",\"size\":1,\"first\":true}\nx");
    take_all(&sides, 1 << 20);
    CU_ASSERT_TRUE(has_none(&sides, "attempt_0"));
    CU_ASSERT_EQUAL(sides.fake.ends[0].log_errno, 0);
    CU_ASSERT_EQUAL(sides.fake.ends[1].log_errno, EPROTO);
    jr_left_files_take(&sides.controller, 2, "x", 1); /* there is no such */
}
