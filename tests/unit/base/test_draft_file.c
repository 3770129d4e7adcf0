#include "base/draft_file.h"

#include <errno.h>

#include "scratch.h"

/* What is written to a draft, and how its writer ends. */
struct content {
    const char *text;
    int result;
};

static int fill(void *data, int fd)
{
    const struct content *content = data;
    size_t len = strlen(content->text);
    CU_ASSERT_EQUAL(write(fd, content->text, len), (ssize_t)len);
    if (content->result != 0)
        errno = ENOSPC;
    return content->result;
}

static int fill_with(struct jr_draft_file *draft, const char *text, struct jr_error *err)
{
    struct content content = {text, 0};
    struct jr_io_source source = {.fill = fill, .data = &content};
    return jr_draft_file_fill(draft, &source, err);
}

/* The bytes of a file: "-" where there is none. */
static void check_file(const struct scratch *scratch, const char *name, const char *expected)
{
    char text[256] = "-";
    int fd = openat(scratch->fd, name, O_RDONLY | O_NOFOLLOW);
    if (fd >= 0) {
        ssize_t got = read(fd, text, sizeof text - 1);
        text[got < 0 ? 0 : got] = '\0';
        (void)close(fd);
    }
    JR_ASSERT_TEXT(text, expected);
}

static long size_of(const struct scratch *scratch, const char *name)
{
    struct stat st;
    if (fstatat(scratch->fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return -1;
    return (long)st.st_size;
}

static void a_folder_that_is_gone_is_told(void)
{
    struct jr_error err = {0};
    struct jr_draft_file draft = JR_DRAFT_FILE_INIT;
    CU_ASSERT_EQUAL(jr_draft_file_reserve(-1, "out.json", 1, 0600, &err), -1);
    JR_ASSERT_TEXT(err.text, "cannot create out.json: Bad file descriptor");
    CU_ASSERT_EQUAL(jr_draft_file_open(&draft, -1, "out.json", 0600, &err), -1);
    CU_ASSERT_EQUAL(draft.fd, -1);
    JR_ASSERT_TEXT(err.text, "cannot create out.json: Bad file descriptor");
}

static void a_writer_that_fails_is_told(void)
{
    struct scratch scratch;
    struct jr_error err = {0};
    struct jr_draft_file draft = JR_DRAFT_FILE_INIT;
    struct content content = {"half", -1};
    struct jr_io_source source = {.fill = fill, .data = &content};
    scratch_start(&scratch);
    scratch_write(&scratch, "out.json", "old");
    CU_ASSERT_EQUAL(jr_draft_file_open(&draft, scratch.fd, "out.json", 0600, &err), 0);
    CU_ASSERT_EQUAL(jr_draft_file_fill(&draft, &source, &err), -1);
    JR_ASSERT_TEXT(err.text, "cannot write out.json: No space left on device");
    jr_draft_file_close(&draft);
    check_file(&scratch, "out.json", "old");
    scratch_end(&scratch);
}

static void it_takes_its_place_when_it_is_published(void)
{
    struct scratch scratch;
    struct jr_error err = {0};
    struct jr_draft_file draft = JR_DRAFT_FILE_INIT;
    struct stat st = {0};
    scratch_start(&scratch);
    scratch_write(&scratch, "out.json", "old");
    CU_ASSERT_EQUAL(jr_draft_file_open(&draft, scratch.fd, "out.json", 0640, &err), 0);
    CU_ASSERT_EQUAL(fill_with(&draft, "new", &err), 0);
    CU_ASSERT_EQUAL(jr_draft_file_settle(&draft, true, &err), 0);
    check_file(&scratch, "out.json", "old");
    check_file(&scratch, ".out.json", "new");
    CU_ASSERT_EQUAL(jr_draft_file_publish(&draft, &err), 0);
    check_file(&scratch, "out.json", "new");
    check_file(&scratch, ".out.json", "-");
    CU_ASSERT_EQUAL(fstatat(scratch.fd, "out.json", &st, 0), 0);
    CU_ASSERT_EQUAL(st.st_mode & 07777, 0640);
    CU_ASSERT_EQUAL(jr_draft_file_publish(&draft, &err), -1);
    JR_ASSERT_TEXT(err.text, "cannot write out.json: No such file or directory");
    jr_draft_file_close(&draft);
    CU_ASSERT_EQUAL(draft.fd, -1);
    scratch_end(&scratch);
}

/* What was reserved, or filled in before, leaves nothing behind its end. */
static void it_ends_where_it_was_last_filled(void)
{
    struct scratch scratch;
    struct jr_error err = {0};
    struct jr_draft_file draft = JR_DRAFT_FILE_INIT;
    scratch_start(&scratch);
    CU_ASSERT_EQUAL(jr_draft_file_reserve(scratch.fd, "out.json", 0, 0600, &err), 0);
    CU_ASSERT_EQUAL(size_of(&scratch, ".out.json"), 0);
    CU_ASSERT_EQUAL(jr_draft_file_reserve(scratch.fd, "out.json", 5000, 0600, &err), 0);
    CU_ASSERT_EQUAL(size_of(&scratch, ".out.json"), 8192);
    CU_ASSERT_EQUAL(size_of(&scratch, "out.json"), -1);
    CU_ASSERT_EQUAL(jr_draft_file_open(&draft, scratch.fd, "out.json", 0600, &err), 0);
    CU_ASSERT_EQUAL(fill_with(&draft, "a longer text", &err), 0);
    CU_ASSERT_EQUAL(draft.end, 13);
    CU_ASSERT_EQUAL(fill_with(&draft, "short", &err), 0);
    CU_ASSERT_EQUAL(draft.end, 5);
    CU_ASSERT_EQUAL(size_of(&scratch, ".out.json"), 8192);
    CU_ASSERT_EQUAL(jr_draft_file_settle(&draft, false, &err), 0);
    check_file(&scratch, ".out.json", "short");
    jr_draft_file_close(&draft);
    scratch_end(&scratch);
}

static void few_bytes_are_reserved_in_whole_pieces(void)
{
    static const struct {
        uint64_t bytes;
        long size;
    } vectors[] = {{0, 0},         {1, 4096},      {4096, 4096},  {4097, 8192},
                   {65536, 65536}, {65537, 65537}, {70000, 70000}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct scratch scratch;
        scratch_start(&scratch);
        CU_ASSERT_EQUAL(jr_draft_file_reserve(scratch.fd, "f", vectors[i].bytes, 0600, NULL), 0);
        CU_ASSERT_EQUAL(size_of(&scratch, ".f"), vectors[i].size);
        scratch_end(&scratch);
    }
}

/* A reservation keeps away from what stands there already. */
static void a_reservation_overwrites_nothing(void)
{
    struct scratch scratch;
    scratch_start(&scratch);
    scratch_write(&scratch, "victim", "precious");
    CU_ASSERT_EQUAL(symlinkat("victim", scratch.fd, ".out.json"), 0);
    CU_ASSERT_EQUAL(jr_draft_file_reserve(scratch.fd, "out.json", 100, 0600, NULL), 0);
    check_file(&scratch, "victim", "precious");
    CU_ASSERT_EQUAL(size_of(&scratch, ".out.json"), 4096);
    scratch_end(&scratch);
}

static void put_link(const struct scratch *scratch)
{
    CU_ASSERT_EQUAL(symlinkat("victim", scratch->fd, ".out.json"), 0);
}

static void put_name(const struct scratch *scratch)
{
    CU_ASSERT_EQUAL(linkat(scratch->fd, "victim", scratch->fd, ".out.json", 0), 0);
}

static void put_pipe(const struct scratch *scratch)
{
    CU_ASSERT_EQUAL(mkfifoat(scratch->fd, ".out.json", 0600), 0);
}

static void put_folder(const struct scratch *scratch)
{
    CU_ASSERT_EQUAL(mkdirat(scratch->fd, ".out.json", 0700), 0);
    CU_ASSERT_EQUAL(mkdirat(scratch->fd, ".out.json/in", 0700), 0);
    CU_ASSERT_EQUAL(mkdirat(scratch->fd, "out.json", 0700), 0);
}

/* A link, another name of a file, a pipe or a folder in the place of the draft:
 * it is removed, and what it led to stays as it was. */
static void what_was_planted_is_replaced(void)
{
    static void (*const plants[])(const struct scratch *) = {put_link, put_name, put_pipe,
                                                             put_folder};
    for (size_t i = 0; i < sizeof plants / sizeof *plants; i++) {
        struct scratch scratch;
        struct jr_error err = {0};
        struct jr_draft_file draft = JR_DRAFT_FILE_INIT;
        scratch_start(&scratch);
        scratch_write(&scratch, "victim", "precious");
        plants[i](&scratch);
        CU_ASSERT_EQUAL(jr_draft_file_open(&draft, scratch.fd, "out.json", 0600, &err), 0);
        CU_ASSERT_EQUAL(fill_with(&draft, "new", &err), 0);
        CU_ASSERT_EQUAL(jr_draft_file_settle(&draft, false, &err), 0);
        CU_ASSERT_EQUAL(jr_draft_file_publish(&draft, &err), 0);
        jr_draft_file_close(&draft);
        check_file(&scratch, "victim", "precious");
        check_file(&scratch, "out.json", "new");
        scratch_end(&scratch);
    }
}

JR_UNIT_MAIN("draft_file", CASE(a_folder_that_is_gone_is_told), CASE(a_writer_that_fails_is_told),
             CASE(it_takes_its_place_when_it_is_published), CASE(it_ends_where_it_was_last_filled),
             CASE(few_bytes_are_reserved_in_whole_pieces), CASE(a_reservation_overwrites_nothing),
             CASE(what_was_planted_is_replaced))
