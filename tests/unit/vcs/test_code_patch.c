/* A difference as it comes in pieces: what is kept of it, and what is left out. */
#include "vcs/internal.h"

#include "unit.h"

static char *globs[] = {(char *)"*_TOKEN"};
static const struct jr_secrets secrets = {globs, 1, NULL};

/* What a reader has made of a difference, handed over in pieces of a size. */
struct reading {
    struct jr_arena arena;
    struct jr_code_patch patch;
    struct jr_buf text;
};

static bool passes_spec(void *data, const char *path)
{
    (void)data;
    return strcmp(path, "spec.yaml") == 0;
}

static void read_all(struct reading *ret, const struct jr_buf *from, size_t size)
{
    *ret = (struct reading){0};
    ret->patch = (struct jr_code_patch){.arena = &ret->arena, .secrets = &secrets};
    struct jr_code_reader reader = {.patch = &ret->patch, .prefix = "sub/", .passes = passes_spec};
    for (size_t at = 0; at < from->len; at += size) {
        size_t left = from->len - at;
        CU_ASSERT_EQUAL(jr_code_reader_take(&reader, from->data + at, left < size ? left : size),
                        0);
    }
    jr_code_reader_end(&reader);
    CU_ASSERT_FALSE(ret->patch.failed);
    jr_code_patch_print(&ret->text, &ret->patch);
}

static void release(struct reading *reading)
{
    jr_code_patch_release(&reading->patch);
    jr_buf_release(&reading->text);
    jr_arena_release(&reading->arena);
}

static void add_record(struct jr_buf *to, char state, const char *path)
{
    jr_buf_printf(to, ":100644 100644 aa bb %c", state);
    jr_buf_char(to, '\0');
    jr_buf_str(to, path);
    jr_buf_char(to, '\0');
}

static void expect_left_out(const struct reading *reading, size_t i, const char *path,
                            const char *why)
{
    CU_ASSERT_TRUE_FATAL(i < reading->patch.left_out_count);
    JR_ASSERT_TEXT(reading->patch.left_out[i].path, path);
    JR_ASSERT_TEXT(jr_left_out_word(reading->patch.left_out[i].why), why);
}

/* However the bytes come in. */
TEST(texts_belong_to_their_paths)
{
    static const size_t sizes[] = {1, 2, 7, 1 << 20};
    struct jr_buf from = JR_BUF_INIT;
    add_record(&from, 'M', "a b");
    add_record(&from, 'T', "link");
    add_record(&from, 'M', "spec.yaml");
    add_record(&from, 'A', "image");
    add_record(&from, 'M', "env.py");
    jr_buf_char(&from, '\0');
    jr_buf_str(&from, "diff --git 1\n+one\ndiff --git 2\n-two\n"
                      "diff --git 3\n+three\ndiff --git 4\n+four\n"
                      "diff --git 5\nBinary files differ\n"
                      "diff --git 6\n+HF_TOKEN=abc\n");
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct reading reading;
        read_all(&reading, &from, sizes[i]);
        JR_ASSERT_TEXT(reading.text.data, "diff --git 1\n+one\ndiff --git 2\n-two\n"
                                          "diff --git 3\n+three\n"
                                          "diff --git 6\n+HF_TOKEN=<redacted>\n");
        CU_ASSERT_TRUE(reading.patch.differs);
        CU_ASSERT_EQUAL(reading.patch.left_out_count, 2);
        expect_left_out(&reading, 0, "sub/image", "binary");
        expect_left_out(&reading, 1, "sub/env.py", "redacted");
        release(&reading);
    }
    jr_buf_release(&from);
}

TEST(what_passes_is_no_difference)
{
    struct jr_buf from = JR_BUF_INIT;
    struct reading reading;
    add_record(&from, 'M', "spec.yaml");
    jr_buf_char(&from, '\0');
    jr_buf_str(&from, "diff --git 1\n+one\n");
    read_all(&reading, &from, 5);
    CU_ASSERT_FALSE(reading.patch.differs);
    CU_ASSERT_EQUAL(reading.text.len, 0);
    release(&reading);
    jr_buf_clear(&from);
    read_all(&reading, &from, 5);
    CU_ASSERT_FALSE(reading.patch.differs);
    release(&reading);
    jr_buf_release(&from);
}

static void add_large(struct jr_buf *to, char letter, size_t bytes)
{
    jr_buf_printf(to, "diff --git %c\n+", letter);
    jr_buf_fill(to, letter, bytes);
    jr_buf_char(to, '\n');
}

/* The order in which they come does not matter. */
TEST(the_largest_are_left_out)
{
    static const char *const orders[] = {"abc", "acb", "bac", "bca", "cab", "cba"};
    for (size_t i = 0; i < 6; i++) {
        struct jr_buf from = JR_BUF_INIT;
        struct reading reading;
        for (size_t j = 0; j < 3; j++)
            add_record(&from, 'M', (char[2]){orders[i][j], '\0'});
        jr_buf_char(&from, '\0');
        for (size_t j = 0; j < 3; j++)
            add_large(&from, orders[i][j], (size_t)(orders[i][j] - 'a' + 2) * 200000);
        read_all(&reading, &from, 60000);
        CU_ASSERT_EQUAL(reading.patch.count, 2);
        CU_ASSERT_TRUE(reading.text.len <= JR_PATCH_MOST);
        CU_ASSERT_EQUAL(reading.patch.left_out_count, 1);
        expect_left_out(&reading, 0, "sub/c", "size");
        release(&reading);
        jr_buf_release(&from);
    }
}

/* A line that goes on for megabytes, and has the head of a file in it. */
TEST(long_lines_forge_no_file)
{
    struct jr_buf from = JR_BUF_INIT;
    struct reading reading;
    add_record(&from, 'M', "a");
    add_record(&from, 'M', "b");
    jr_buf_char(&from, '\0');
    jr_buf_str(&from, "diff --git a\n+");
    for (size_t i = 0; i < 500000; i++)
        jr_buf_str(&from, "diff --git ");
    jr_buf_str(&from, "\ndiff --git b\n+small\n");
    read_all(&reading, &from, 65536);
    JR_ASSERT_TEXT(reading.text.data, "diff --git b\n+small\n");
    CU_ASSERT_EQUAL(reading.patch.left_out_count, 1);
    expect_left_out(&reading, 0, "sub/a", "size");
    release(&reading);
    jr_buf_release(&from);
}
