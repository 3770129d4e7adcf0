#include "base/hash.h"

#include "unit.h"

/* The vectors of FIPS 180-4's examples, and one with a NUL inside. */
TEST(hashes)
{
    static const struct {
        const char *bytes;
        size_t len;
        const char *digest;
    } vectors[] = {
        {"", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56,
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"a\0b", 3, "59b271ae1bbcb1d31d41929817f4b16fb439eb4f31520b5ad1d5ce98920a7138"},
    };
    JR_EACH(row, vectors) {
        char digest[JR_HASH_SIZE];
        jr_hash(digest, row->bytes, row->len);
        JR_ASSERT_TEXT(digest, row->digest);
    }
}

TEST(makes_words_that_nobody_can_guess)
{
    char one[JR_TOKEN_SIZE], other[JR_TOKEN_SIZE];
    jr_token(one);
    jr_token(other);
    CU_ASSERT_EQUAL(strlen(one), JR_TOKEN_SIZE - 1);
    CU_ASSERT_EQUAL(strspn(one, "0123456789abcdef"), JR_TOKEN_SIZE - 1);
    CU_ASSERT_NOT_EQUAL(strncmp(one, other, 16), 0);
    CU_ASSERT_STRING_NOT_EQUAL(one + 16, other + 16);
}

TEST(refuses_what_is_no_base64)
{
    static const char *const texts[] = {"a",    "YQ",   "YQ=",      "Y===",  "=",
                                        "====", "Y*==", "YQ==YQ==", "YQ==Y", "Y\xff=="};
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_str(&out, "before");
    JR_EACH(text, texts) {
        CU_ASSERT_FALSE(jr_base64_take(&out, *text, strlen(*text)));
        JR_ASSERT_TEXT(out.data, "before");
        CU_ASSERT_EQUAL(out.len, 6);
    }
    CU_ASSERT_FALSE(jr_base64_take(&out, "Y\0Q=", 4));
}

/* Section 10 of RFC 4648, and every byte. */
TEST(carries_every_byte)
{
    static const char *const vectors[][2] = {{"", ""},
                                             {"f", "Zg=="},
                                             {"fo", "Zm8="},
                                             {"foo", "Zm9v"},
                                             {"foob", "Zm9vYg=="},
                                             {"fooba", "Zm9vYmE="},
                                             {"foobar", "Zm9vYmFy"}};
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT, got JR_BUF_CLEANUP = JR_BUF_INIT;
    char bytes[1000];
    JR_EACH(pair, vectors) {
        jr_buf_clear(&text);
        jr_buf_clear(&got);
        jr_base64_add(&text, (*pair)[0], strlen((*pair)[0]));
        JR_ASSERT_TEXT(text.data, (*pair)[1]);
        CU_ASSERT_TRUE(jr_base64_take(&got, text.data, text.len));
        JR_ASSERT_TEXT(got.data, (*pair)[0]);
    }
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i * 131 + i / 256);
    for (size_t len = 0; len <= sizeof bytes; len += 37) {
        jr_buf_clear(&text);
        jr_buf_clear(&got);
        jr_base64_add(&text, bytes, len);
        CU_ASSERT_TRUE(jr_base64_take(&got, text.data, text.len));
        CU_ASSERT_TRUE(got.len == len && memcmp(got.data, bytes, len) == 0);
    }
}
