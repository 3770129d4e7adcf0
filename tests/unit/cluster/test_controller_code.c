/* The code of a run on its way to the nodes that want it. */
#include "cluster/internal.h"

#include <errno.h>

#include "base/hash.h"
#include "fake_controller.h"

enum { CODE = 100000 }; /* bytes of it: several messages */

static const struct jr_transport each = {.program = "reader", .each = true};

/* A controller whose nodes have a link each. */
struct bench {
    struct jr_link links[FAKE_NODES];
    int sent[FAKE_NODES];      /* where what is sent to each can be read */
    struct jr_buf code;        /* what is in the archive */
    int error;                 /* of opening it; 0 */
    unsigned opened;           /* how often it was */
    struct jr_buf rest, bytes; /* of a node: the line in hand, and its code */
    bool whole;                /* the last message says that there is no more */
};

static int open_code(void *data, struct jr_code_archive *ret, struct jr_error *err)
{
    struct bench *bench = data;
    bench->opened++;
    if (bench->error != 0) {
        errno = bench->error;
        return jr_error_sys(err, JR_STATUS_LAUNCH, "code.tar");
    }
    *ret = (struct jr_code_archive){.fd = openat(fake.scratch.fd, "code.tar", O_RDONLY | O_CLOEXEC),
                                    .top = "/home/ann/digits",
                                    .name = "/scratch/digits"};
    CU_ASSERT_TRUE_FATAL(ret->fd >= 0);
    return 0;
}

static void begin(struct bench *bench)
{
    *bench = (struct bench){.error = 0};
    fake_start();
    struct jr_controller *controller = &fake.controller;
    for (int i = 0; i < CODE; i++)
        jr_buf_char(&bench->code, (char)(i * 7 % 251 + 1));
    scratch_write(&fake.scratch, "code.tar", bench->code.data);
    controller->transport = &each;
    controller->links = bench->links;
    controller->links_count = FAKE_NODES;
    controller->options.open_code = open_code;
    controller->options.data = bench;
    for (uint32_t i = 0; i < FAKE_NODES; i++) {
        int pair[2];
        CU_ASSERT_EQUAL_FATAL(pipe2(pair, O_NONBLOCK | O_CLOEXEC), 0);
        jr_link_init(&bench->links[i], controller, i);
        bench->links[i].in.fd = pair[1];
        bench->sent[i] = pair[0];
    }
}

static void end(struct bench *bench)
{
    jr_controller_code_close(&fake.controller);
    CU_ASSERT_EQUAL(fake.controller.code.fd, -1);
    for (uint32_t i = 0; i < FAKE_NODES; i++) {
        CU_ASSERT_PTR_NULL(bench->links[i].feed);
        jr_link_close(&bench->links[i]);
        (void)close(bench->sent[i]);
    }
    jr_buf_release(&bench->code);
    jr_buf_release(&bench->rest);
    jr_buf_release(&bench->bytes);
    fake_end();
}

/* A message for a node, if it is of the code. */
static void take_line(struct bench *bench, const char *line, size_t len)
{
    json_auto_t *object = jr_json_parse(line, len, NULL);
    struct jr_message message;
    CU_ASSERT_TRUE_FATAL(jr_message_of_controller(&message, object));
    if (message.type == JR_TO_NODES_CODE) {
        CU_ASSERT_FALSE(bench->whole);
        JR_ASSERT_TEXT(message.folder, "/home/ann/digits");
        JR_ASSERT_TEXT(message.name, "/scratch/digits");
        CU_ASSERT_EQUAL(message.bytes == NULL, message.on);
        if (message.bytes != NULL)
            CU_ASSERT_TRUE(jr_base64_take(&bench->bytes, message.bytes, strlen(message.bytes)));
        bench->whole = message.on;
    }
}

/* What was sent to a node since the last time. */
static void take_lines(struct bench *bench, uint32_t node)
{
    static char bytes[4096];
    ssize_t len;
    while ((len = read(bench->sent[node], bytes, sizeof bytes)) > 0)
        jr_buf_add(&bench->rest, bytes, (size_t)len);
    size_t at = 0;
    for (const char *end; bench->rest.len > at && (end = memchr(bench->rest.data + at, '\n',
                                                                bench->rest.len - at)) != NULL;) {
        take_line(bench, bench->rest.data + at, (size_t)(end - bench->rest.data) - at);
        at = (size_t)(end + 1 - bench->rest.data);
    }
    struct jr_buf rest = JR_BUF_INIT;
    if (bench->rest.len > at)
        jr_buf_add(&rest, bench->rest.data + at, bench->rest.len - at);
    jr_buf_release(&bench->rest);
    bench->rest = rest;
}

#define BENCH(name)                                                                                \
    struct bench name RELEASE(end);                                                                \
    begin(&name)

/* Where there is none, the run ends, by the reason that is known. */
TEST(a_run_without_it_is_refused)
{
    static const struct {
        int error;
        bool none, shared; /* nobody makes it; nodes have no link of their own */
        const char *text;
    } vectors[] = {{ENOSPC, false, false, "node 1 (n1): code.tar: No space left on device"},
                   {0, true, false, "node 1 (n1): it wants a copy of the code, and there is none"},
                   {0, false, true, "node 1 (n1): it wants a copy of the code, and there is none"}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        BENCH(bench);
        bench.error = vectors[i].error;
        if (vectors[i].none)
            fake.controller.options.open_code = NULL;
        if (vectors[i].shared)
            fake.controller.transport = &jr_srun_transport;
        jr_controller_send_code(&fake.controller, 1);
        CU_ASSERT_EQUAL(fake.run.result, -1);
        JR_ASSERT_TEXT(fake.err.text, vectors[i].text);
        CU_ASSERT_EQUAL(fake.err.status, JR_STATUS_LAUNCH);
        CU_ASSERT_PTR_NULL(bench.links[1].feed);
    }
}

/* What can be opened and not read. */
TEST(a_run_ends_where_it_cannot_be_read)
{
    BENCH(bench);
    CU_ASSERT_EQUAL(unlinkat(fake.scratch.fd, "code.tar", 0), 0);
    CU_ASSERT_EQUAL(mkdirat(fake.scratch.fd, "code.tar", 0700), 0);
    jr_controller_send_code(&fake.controller, 2);
    CU_ASSERT_EQUAL(fake.run.result, 0);
    (void)jr_loop_turn(&fake.controller.loop, true);
    CU_ASSERT_EQUAL(fake.run.result, -1);
    JR_ASSERT_TEXT(fake.err.text, "node 2 (n2): the code of the run could not be read here");
    take_lines(&bench, 2);
    CU_ASSERT_EQUAL(bench.bytes.len, 0);
    CU_ASSERT_FALSE(bench.whole);
}

/* A node that wants it while all are let go of. */
TEST(nobody_gets_it_at_the_end)
{
    BENCH(bench);
    fake.controller.run = NULL;
    fake.controller.leaves = true;
    jr_controller_send_code(&fake.controller, 1);
    CU_ASSERT_PTR_NULL(bench.links[1].feed);
    CU_ASSERT_PTR_NULL(fake.controller.code_sent);
    CU_ASSERT_TRUE(fake.controller.code.fd < 0);
    CU_ASSERT_FALSE(fake.controller.refused);
}
