#include "base/draft_file.h"

#include <errno.h>

#include "scratch.h"

/* What is written to a draft; NULL: its writer fails. */
static int fill(void *data, int fd)
{
    const char *text = data == NULL ? "half" : data;
    CU_ASSERT_EQUAL(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    errno = ENOSPC;
    return data == NULL ? -1 : 0;
}

static int fill_with(struct jr_draft_file *draft, const char *text, struct jr_error *err)
{
    struct jr_io_source source = {.fill = fill, .data = (void *)text};
    return jr_draft_file_fill(draft, &source, err);
}

static long size_of(const struct scratch *scratch, const char *name)
{
    struct stat st;
    return fstatat(scratch->fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0 ? -1 : (long)st.st_size;
}

TEST(failures_are_told)
{
    struct jr_error err = {0};
    struct jr_draft_file draft = JR_DRAFT_FILE_INIT;
    CU_ASSERT_EQUAL(jr_draft_file_reserve(-1, "out.json", 1, 0600, &err), -1);
    JR_ASSERT_TEXT(err.text, "cannot create out.json: Bad file descriptor");
    CU_ASSERT_EQUAL(jr_draft_file_open(&draft, -1, "out.json", 0600, &err), -1);
    CU_ASSERT_EQUAL(draft.fd, -1);
    JR_ASSERT_TEXT(err.text, "cannot create out.json: Bad file descriptor");
    SCRATCH(scratch);
    scratch_write(&scratch, "out.json", "old");
    CU_ASSERT_EQUAL(jr_draft_file_open(&draft, scratch.fd, "out.json", 0600, &err), 0);
    CU_ASSERT_EQUAL(fill_with(&draft, NULL, &err), -1);
    JR_ASSERT_TEXT(err.text, "cannot write out.json: No space left on device");
    jr_draft_file_close(&draft);
    scratch_check(&scratch, "out.json", "old");
}

TEST(it_takes_its_place_when_it_is_published)
{
    struct jr_error err = {0};
    struct jr_draft_file draft = JR_DRAFT_FILE_INIT;
    struct stat st = {0};
    SCRATCH(scratch);
    scratch_write(&scratch, "out.json", "old");
    CU_ASSERT_EQUAL(jr_draft_file_open(&draft, scratch.fd, "out.json", 0640, &err), 0);
    CU_ASSERT_EQUAL(fill_with(&draft, "new", &err), 0);
    CU_ASSERT_EQUAL(jr_draft_file_settle(&draft, true, &err), 0);
    scratch_check(&scratch, "out.json", "old");
    scratch_check(&scratch, ".out.json", "new");
    CU_ASSERT_EQUAL(jr_draft_file_publish(&draft, &err), 0);
    scratch_check(&scratch, "out.json", "new");
    scratch_check(&scratch, ".out.json", "-");
    CU_ASSERT_EQUAL(fstatat(scratch.fd, "out.json", &st, 0), 0);
    CU_ASSERT_EQUAL(st.st_mode & 07777, 0640);
    CU_ASSERT_EQUAL(jr_draft_file_publish(&draft, &err), -1);
    JR_ASSERT_TEXT(err.text, "cannot write out.json: No such file or directory");
    jr_draft_file_close(&draft);
    CU_ASSERT_EQUAL(draft.fd, -1);
}

/* What was reserved, or filled in before, leaves nothing behind its end. */
TEST(it_ends_where_it_was_last_filled)
{
    struct jr_error err = {0};
    struct jr_draft_file draft = JR_DRAFT_FILE_INIT;
    SCRATCH(scratch);
    CU_ASSERT_EQUAL(jr_draft_file_reserve(scratch.fd, "out.json", 5000, 0600, &err), 0);
    CU_ASSERT_EQUAL(size_of(&scratch, "out.json"), -1);
    CU_ASSERT_EQUAL(jr_draft_file_open(&draft, scratch.fd, "out.json", 0600, &err), 0);
    CU_ASSERT_EQUAL(fill_with(&draft, "a longer text", &err), 0);
    CU_ASSERT_EQUAL(draft.end, 13);
    CU_ASSERT_EQUAL(fill_with(&draft, "short", &err), 0);
    CU_ASSERT_EQUAL(draft.end, 5);
    CU_ASSERT_EQUAL(size_of(&scratch, ".out.json"), 8192);
    CU_ASSERT_EQUAL(jr_draft_file_settle(&draft, false, &err), 0);
    scratch_check(&scratch, ".out.json", "short");
    jr_draft_file_close(&draft);
}

TEST(few_bytes_are_reserved_in_whole_pieces)
{
    static const struct {
        uint64_t bytes;
        long size;
    } vectors[] = {{0, 0},         {1, 4096},      {4096, 4096},  {4097, 8192},
                   {65536, 65536}, {65537, 65537}, {70000, 70000}};
    JR_EACH(row, vectors) {
        SCRATCH(scratch);
        CU_ASSERT_EQUAL(jr_draft_file_reserve(scratch.fd, "f", row->bytes, 0600, NULL), 0);
        CU_ASSERT_EQUAL(size_of(&scratch, ".f"), row->size);
    }
}

/* A link, another name of a file, a pipe or a folder in the place of the draft: it is removed, and
 * what it led to stays as it was. A reservation keeps away from it, too. */
TEST(what_was_planted_is_replaced)
{
    for (int i = 0; i < 5; i++) {
        struct jr_error err = {0};
        struct jr_draft_file draft = JR_DRAFT_FILE_INIT;
        SCRATCH(scratch);
        int at = scratch.fd, failed = 0;
        scratch_write(&scratch, "victim", "precious");
        if (i < 2)
            failed = symlinkat("victim", at, ".out.json");
        else if (i == 2)
            failed = linkat(at, "victim", at, ".out.json", 0);
        else if (i == 3)
            failed = mkfifoat(at, ".out.json", 0600);
        else
            failed = mkdirat(at, ".out.json", 0700) + mkdirat(at, ".out.json/in", 0700) +
                     mkdirat(at, "out.json", 0700);
        CU_ASSERT_EQUAL(failed, 0);
        if (i == 0) {
            CU_ASSERT_EQUAL(jr_draft_file_reserve(at, "out.json", 100, 0600, NULL), 0);
            CU_ASSERT_EQUAL(size_of(&scratch, ".out.json"), 4096);
        }
        CU_ASSERT_EQUAL(jr_draft_file_open(&draft, at, "out.json", 0600, &err), 0);
        CU_ASSERT_EQUAL(fill_with(&draft, "new", &err), 0);
        CU_ASSERT_EQUAL(jr_draft_file_settle(&draft, false, &err), 0);
        CU_ASSERT_EQUAL(jr_draft_file_publish(&draft, &err), 0);
        jr_draft_file_close(&draft);
        scratch_check(&scratch, "victim", "precious");
        scratch_check(&scratch, "out.json", "new");
    }
}
