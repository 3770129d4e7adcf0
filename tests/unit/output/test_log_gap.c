/* The line in a log file that takes the place of what is left out. */

#include "base/buf.h"
#include "scratch.h"
#include "output/log_gap.h"

#define MARKER    "[jobrun: log_limit: 123 bytes left out here]\n"
#define MARKER_AT (sizeof MARKER - 1)

static void keeps_half_but_no_more_than_a_mebibyte(void)
{
    static const struct {
        uint64_t limit, head;
    } vectors[] = {
        {0, 0},
        {65536, 32768},
        {65537, 32768},
        {(2U << 20) - 2, (1U << 20) - 1},
        {2U << 20, 1U << 20},
        {3U << 20, 1U << 20},
        {UINT64_C(1) << 40, 1U << 20},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++)
        CU_ASSERT_EQUAL(jr_log_gap_head(vectors[i].limit), vectors[i].head);
}

static void writes_the_line(void)
{
    JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
    jr_buf_str(&out, "a\n");
    jr_log_gap_print(&out, 123);
    JR_ASSERT_TEXT(out.data, "a\n" MARKER);
}

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
static void finds_no_other_line(void)
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
    struct scratch scratch;
    scratch_start(&scratch);
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
    scratch_end(&scratch);
}

static void finds_the_line(void)
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
    struct scratch scratch;
    scratch_start(&scratch);
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        struct jr_log_gap gap = {0};
        int fd = open_text(&scratch, vectors[i].text);
        CU_ASSERT_TRUE(jr_log_gap_find(fd, &gap));
        CU_ASSERT_EQUAL(gap.at, vectors[i].at);
        CU_ASSERT_EQUAL(gap.dropped, vectors[i].dropped);
        const char *line = vectors[i].text + gap.at;
        CU_ASSERT_EQUAL(gap.len, (uint64_t)(strchr(line, '\n') + 1 - line));
        (void)close(fd);
    }
    scratch_end(&scratch);
}

/* It is looked for where it can be, and no farther. */
static void looks_only_at_the_beginning(void)
{
    static char text[(1 << 20) + 8192];
    struct scratch scratch;
    struct jr_log_gap gap;
    scratch_start(&scratch);
    for (size_t at = 1 << 20; at <= (1 << 20) + 4096; at += 2048) {
        memset(text, 'x', sizeof text - 1);
        text[at - 1] = '\n';
        memcpy(text + at, MARKER, MARKER_AT);
        int fd = open_text(&scratch, text);
        CU_ASSERT_EQUAL(jr_log_gap_find(fd, &gap), at < (1 << 20) + 4096);
        (void)close(fd);
    }
    scratch_end(&scratch);
}

/* Where bytes of the stream end in a file whose beginning has `head` bytes and ends with a newline,
 * or was given one. */
static void finds_the_place(void)
{
    enum { LIMIT = 65536, HALF = LIMIT / 2 };
    static const struct {
        uint64_t head;
        bool newline;
    } files[] = {{HALF, true}, {HALF, false}, {HALF - 10, true}};
    struct scratch scratch;
    scratch_start(&scratch);
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
    scratch_end(&scratch);
}

JR_UNIT_MAIN("log_gap", CASE(finds_no_other_line), CASE(finds_the_line),
             CASE(looks_only_at_the_beginning), CASE(finds_the_place), CASE(writes_the_line),
             CASE(keeps_half_but_no_more_than_a_mebibyte))
