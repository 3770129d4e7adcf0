#include "base/hash.h"

#include "unit.h"

/* The vectors of FIPS 180-4's examples, and one with a NUL inside. */
static void hashes(void)
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
    char digest[JR_HASH_SIZE];
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        jr_hash(digest, vectors[i].bytes, vectors[i].len);
        JR_ASSERT_TEXT(digest, vectors[i].digest);
    }
}

static void makes_words_that_nobody_can_guess(void)
{
    char one[JR_TOKEN_SIZE], other[JR_TOKEN_SIZE];
    jr_token(one);
    jr_token(other);
    CU_ASSERT_EQUAL(strlen(one), JR_TOKEN_SIZE - 1);
    CU_ASSERT_EQUAL(strspn(one, "0123456789abcdef"), JR_TOKEN_SIZE - 1);
    CU_ASSERT_STRING_NOT_EQUAL(one, other);
    CU_ASSERT_NOT_EQUAL(strncmp(one, other, 16), 0);
    CU_ASSERT_STRING_NOT_EQUAL(one + 16, other + 16);
}

JR_UNIT_MAIN("hash", CASE(hashes), CASE(makes_words_that_nobody_can_guess))
