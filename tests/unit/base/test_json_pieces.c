/* JSON that is too large for a tree. */
#include "base/json.h"

#include <errno.h>
#include <string.h>

#include "unit.h"

enum { ITEMS = 20000 };

/* "before", many items with commas between them, and "after"; # is the number of an item. */
static void make_text(struct jr_buf *text, const char *before, const char *item, const char *after)
{
    jr_buf_str(text, before);
    for (int i = 0; i < ITEMS; i++) {
        jr_buf_str(text, i == 0 ? "" : " ,\n");
        for (const char *at = item; *at != '\0'; at++)
            if (*at == '#')
                jr_buf_u64(text, (uint64_t)i);
            else
                jr_buf_char(text, *at);
    }
    jr_buf_str(text, after);
    CU_ASSERT_TRUE(text->len > JR_JSON_PIECE);
}

static enum jr_json_kept keep_named(const void *data, const char *key)
{
    (void)data;
    return strcmp(key, "whole") == 0  ? JR_JSON_KEPT_WHOLE
           : strcmp(key, "head") == 0 ? JR_JSON_KEPT_HEAD
                                      : JR_JSON_KEPT_NOT;
}

static const struct jr_json_keep keep = {keep_named, NULL};

/* What is printed is the same value, and the tree is no more than its head. */
TEST(reads_what_jansson_reads)
{
    static const char *const texts[][3] = {
        {"[", "{}", "]"},
        {" [ ", "#", " ] "},
        {"[", "1.5e3", "]"},
        {"[", "\"a,]}\\\"\\\\\"", "]"},
        {"[", "[{\"a\": [#]}]", "]"},
        {"{", "\"#\": null", "}"},
        {"{\"a\": {\"b\" : [", "true", "]}, \"whole\": [1]}"},
        {"{\"x\": [", "0", "], \"head\": \"later\"}"},
        {"[[[[", "-1", "]]], [], {}, \"\"]"},
        {"[\"", "long #", "\"]"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT, out = JR_BUF_INIT;
        struct jr_error err = {0};
        /* A text of the last is one string with breaks, which are escaped. */
        make_text(&text, texts[i][0], texts[i][1], texts[i][2]);
        for (size_t at = 0; i == 9 && at < text.len; at++)
            text.data[at] = text.data[at] == '\n' ? ' ' : text.data[at];
        json_t *expected = jr_json_parse(text.data, text.len, &err);
        CU_ASSERT_PTR_NOT_NULL_FATAL(expected);
        json_t *head = jr_json_pieces(&out, text.data, text.len, &keep, &err);
        CU_ASSERT_PTR_NOT_NULL_FATAL(head);
        json_t *now = jr_json_parse(out.data, out.len, &err);
        CU_ASSERT_TRUE(json_equal(now, expected));
        CU_ASSERT_PTR_NULL(strchr(out.data, '\n'));
        CU_ASSERT_EQUAL(json_typeof(head), json_typeof(expected));
        if (i < 9)
            CU_ASSERT_FALSE(json_equal(head, expected));
        if (i == 7)
            JR_ASSERT_TEXT(jr_json_get_str(head, "head"), "later");
        json_decref(expected);
        json_decref(head);
        json_decref(now);
    }
}

TEST(keeps_what_is_asked_for)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT, out = JR_BUF_INIT;
    struct jr_error err = {0};
    make_text(&text, "{\"first\": [", "#", "], \"whole\": [");
    make_text(&text, "", "#", "], \"head\": [");
    make_text(&text, "", "#", "], \"none\": 1}");
    json_t *head = jr_json_pieces(&out, text.data, text.len, &keep, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(head);
    CU_ASSERT_TRUE(json_array_size(json_object_get(head, "first")) < ITEMS);
    CU_ASSERT_EQUAL(json_array_size(json_object_get(head, "whole")), ITEMS);
    CU_ASSERT_TRUE(json_array_size(json_object_get(head, "head")) > 0);
    CU_ASSERT_TRUE(json_array_size(json_object_get(head, "head")) < ITEMS);
    CU_ASSERT_PTR_NULL(json_object_get(head, "none"));
    json_decref(head);
}

/* What jansson does not take, nor is taken here, wherever it is. */
TEST(refuses_what_jansson_refuses)
{
    static const char *const texts[][3] = {
        {"[", "1", ",]"},
        {"[,", "1", "]"},
        {"[", "1", ",,1]"},
        {"[", "1", ""},
        {"[", "1", "}"},
        {"[", "1", "]]"},
        {"[", "1", "] x"},
        {"[", "1 1", "]"},
        {"[", "{]", "]"},
        {"{", "\"a\": 1", "}"},
        {"{", "\"#\": 1", ",}"},
        {"{", "\"#\": 1", ", \"7\": 2}"},
        {"{", "\"#\": 1", ", \"\\u0037\": [1]}"},
        {"{", "\"#\": 1", ", x: 2}"},
        {"{", "\"#\": 1", ", \"x\" 2}"},
        {"{", "\"#\": 1", ", \"x\": }"},
        {"{", "\"#\": 1", ", \"x"},
        {"{\"a\": [", "1", "], \"a\": 2}"},
        {"{\"a\\u0000b\": [", "1", "]}"},
        {"[", "\"\xff\"", "]"},
        {"[", "nul", "]"},
        {"[", "99999999999999999999", "]"},
        {"[\"", "x", ""},
        {"[[", "1", "]"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT, out = JR_BUF_INIT;
        struct jr_error err = {0}, mine = {0};
        make_text(&text, texts[i][0], texts[i][1], texts[i][2]);
        CU_ASSERT_PTR_NULL(jr_json_parse(text.data, text.len, &err));
        json_t *head = jr_json_pieces(&out, text.data, text.len, &keep, &mine);
        if (head != NULL)
            printf("taken: %zu\n", i);
        CU_ASSERT_PTR_NULL(head);
        CU_ASSERT_PTR_NOT_NULL(strstr(mine.text, "line "));
        CU_ASSERT_EQUAL(mine.sys, err.sys);
        json_decref(head);
    }
}

/* As deep as jansson goes, and not into the stack's end. */
TEST(refuses_what_is_too_deep)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT, out = JR_BUF_INIT;
    struct jr_error err = {0};
    for (int i = 0; i < 3000000; i++)
        jr_buf_char(&text, '[');
    CU_ASSERT_PTR_NULL(jr_json_pieces(&out, text.data, text.len, NULL, &err));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "depth"));
}

/* A text of one piece is a tree. */
TEST(reads_small_ones_whole)
{
    static const char *const texts[] = {"[]", "{\"a\": [1, {}]}", "1", " \"x\" ", "null"};
    JR_EACH(row, texts) {
        JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
        json_t *expected = jr_json_parse(*row, strlen(*row), NULL);
        json_t *head = jr_json_pieces(&out, *row, strlen(*row), NULL, NULL);
        CU_ASSERT_TRUE(json_equal(head, expected));
        json_decref(head);
        json_decref(expected);
    }
    JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
    CU_ASSERT_PTR_NULL(jr_json_pieces(&out, "", 0, NULL, NULL));
    CU_ASSERT_PTR_NULL(jr_json_pieces(&out, "[", 1, NULL, NULL));
}
