/* Which YAML files read like specs, however broken they are further down. */
#include "session/specs/check_specs.h"
#include "unit.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

TEST(passes_over_what_is_no_spec)
{
    static const char *const texts[] = {
        "",
        "\n\n",
        "version: 1\n",
        "entrypoint: [a]\n",
        "version: 1\nservices: {}\nvolumes: {}\n",
        /* not at the top */
        "a:\n  version: 1\n  entrypoint: [a]\n",
        "version: 1\n  entrypoint: [a]\n",
        "- version: 1\n- entrypoint: [a]\n",
        " version: 1\n entrypoint: [a]\n",
        "x: {version: 1, entrypoint: [a]}\n",
        /* in the second document */
        "version: 1\n---\nentrypoint: [a]\n",
        "a: 1\n---\nversion: 1\nentrypoint: [a]\n",
        /* in a comment, in quotes that do not end, without a colon */
        "# version: 1\n# entrypoint: [a]\n",
        "version: 1\n#entrypoint: [a]\n",
        "version: 1\n\"entrypoint': [a]\n",
        "version: 1\n\"entrypoint: [a]\n",
        "version: 1\nentrypoint [a]\n",
        "version 1\nentrypoint: [a]\n",
        "version.x: 1\nentrypoint: [a]\n",
        "versions: 1\nentrypoint: [a]\n",
        /* within other brackets, and behind the braces */
        "{a: {version: 1, entrypoint: [a]}}\n",
        "{version: 1, a: [entrypoint: 1]}\n",
        "{version: 1} entrypoint: 1\n",
        "{version: 1},{entrypoint: 1}\n",
    };
    for (size_t i = 0; i < LENGTH(texts); i++) {
        bool reads = jr_find_reads_like_spec(texts[i]);
        if (reads)
            printf("\n    taken for a spec: %s", texts[i]);
        CU_ASSERT_FALSE(reads);
    }
}

TEST(knows_specs_by_their_keys)
{
    static const char *const texts[] = {
        "version: 1\nentrypoint: [a]\n",
        "entrypoint: [a]\nversion: 1\n",
        "version: 1\nname: x",
        "version:\nworld_size:",
        "version : 1\nentrypoint\t: [a]\n",
        "\xef\xbb\xbfversion: 1\nentrypoint: [a]\n",
        "---\nversion: 1\nentrypoint: [a]\n",
        "%YAML 1.2\n---\nversion: 1\nentrypoint: [a]\n",
        "# a\n\nversion: 1\n\n# b\nentrypoint: [a]\n",
        "\"version\": 1\n'entrypoint': [a]\n",
        "version: 1\r\nentrypoint: [a]\r\n",
        /* near misses of a field count, and what is broken besides */
        "version: 1\nentripoint: [a]\n",
        "version: 1\nworldsize: [\n",
        "version: 1\n\tx: }\n: : :\nworld_size: 2\n",
        "version: one\nwrong: 1\nentrypoint:\n  - [a\n",
        "{version: 1, entrypoint: [a]}\n",
        "{\"version\": 1,\n \"entrypoint\": [\"a\"]}\n",
        "{entrypoint: [a, b], version: 1}\n",
        "{entrypoint: {shell: x}, version: 1}\n",
        "{ version: 1\n,\n  world_size: 2",
    };
    for (size_t i = 0; i < LENGTH(texts); i++) {
        bool reads = jr_find_reads_like_spec(texts[i]);
        if (!reads)
            printf("\n    taken for none: %s", texts[i]);
        CU_ASSERT_TRUE(reads);
    }
}

/* A key longer than any field's is none, at the length where that begins. */
TEST(reads_keys_up_to_a_length)
{
    char text[256], key[128];
    for (size_t len = 60; len <= 70; len++) {
        (void)memset(key, 'a', sizeof key);
        key[len] = '\0';
        (void)snprintf(text, sizeof text, "version: 1\n%s: 1\nname: a\n", key);
        CU_ASSERT_TRUE(jr_find_reads_like_spec(text));
        (void)snprintf(text, sizeof text, "version: 1\n%s: 1\n", key);
        CU_ASSERT_FALSE(jr_find_reads_like_spec(text));
    }
}

TEST(knows_specs_by_their_names)
{
    static const struct {
        const char *name;
        bool named;
    } rows[] = {{"", false},
                {"a.yaml", false},
                {"jobrun.yaml", false},
                {"a.jobrun.yml.bak", false},
                {"a.jobrun.YAML", false},
                {"a.jobrun.json", false},
                {"ajobrun.yaml", false},
                {"a.jobrun.yaml", true},
                {"a.jobrun.yml", true},
                {"a.b.jobrun.yaml", true}};
    for (size_t i = 0; i < LENGTH(rows); i++)
        CU_ASSERT_EQUAL(jr_find_is_named(rows[i].name), rows[i].named);
}
