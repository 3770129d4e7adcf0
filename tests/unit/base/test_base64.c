#include "base/hash.h"

#include "unit.h"

static void refuses_what_is_none(void)
{
    static const char *const texts[] = {
        "a", "YQ", "YQ=", "Y===", "=", "====", "Y*==", "YQ==YQ==", "YQ==Y", "Y\xff==",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
        jr_buf_str(&out, "before");
        CU_ASSERT_FALSE(jr_base64_take(&out, texts[i], strlen(texts[i])));
        JR_ASSERT_TEXT(out.data, "before");
        CU_ASSERT_EQUAL(out.len, 6);
    }
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    CU_ASSERT_FALSE(jr_base64_take(&out, "Y\0Q=", 4));
}

/* Section 10 of the standard. */
static void is_as_the_standard_has_it(void)
{
    static const char *const vectors[][2] = {
        {"", ""},
        {"f", "Zg=="},
        {"fo", "Zm8="},
        {"foo", "Zm9v"},
        {"foob", "Zm9vYg=="},
        {"fooba", "Zm9vYmE="},
        {"foobar", "Zm9vYmFy"},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
        struct jr_buf bytes JR_BUF_CLEANUP = JR_BUF_INIT;
        jr_base64_add(&text, vectors[i][0], strlen(vectors[i][0]));
        JR_ASSERT_TEXT(text.data, vectors[i][1]);
        CU_ASSERT_TRUE(jr_base64_take(&bytes, text.data, text.len));
        JR_ASSERT_TEXT(bytes.data, vectors[i][0]);
    }
}

static void carries_every_byte(void)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_buf got JR_BUF_CLEANUP = JR_BUF_INIT;
    char bytes[1000];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i * 131 + i / 256);
    for (size_t len = 0; len <= sizeof bytes; len += 37) {
        jr_buf_clear(&text);
        jr_buf_clear(&got);
        jr_base64_add(&text, bytes, len);
        CU_ASSERT_TRUE(jr_base64_take(&got, text.data, text.len));
        CU_ASSERT_EQUAL(got.len, len);
        CU_ASSERT_TRUE(memcmp(got.data, bytes, len) == 0);
    }
}

JR_UNIT_MAIN("base64", CASE(refuses_what_is_none), CASE(is_as_the_standard_has_it),
             CASE(carries_every_byte))
