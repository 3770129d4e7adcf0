/* What is said of text that is no YAML: where, why, and what to write. */
#include "findings.h"

struct vector {
    const char *text;
    const char *finding;
};

static void check_all(const struct vector *vectors, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct loaded got = load(vectors[i].text, strlen(vectors[i].text));
        CU_ASSERT_EQUAL(got.result, -1);
        check_findings(vectors[i].text, &got.diags, vectors[i].finding);
        unload(&got);
    }
}

#define CHECK_ALL(vectors) check_all(vectors, sizeof vectors / sizeof *vectors)

TEST(explains_indentation)
{
    static const struct vector vectors[] = {
        {"a:\n\tb: 1\n", "2:1-2 0102 a tab cannot indent | indent with spaces\n"},
        {"a:\n  - b\n \tc: 1\n", "3:2-3 0102 a tab cannot indent | indent with spaces\n"},
        {"  a: 1\n b: 2\n", "2:2-3 0102 the document has ended before this | "
                            "check the indentation\n"},
        {"a: 1\n  b: 2\n", "2:3-4 0102 this line is indented more than the one above, so it "
                           "continues its value | indent it as far as 'a'\n"},
        {"- a\nb: 1\n", "2:1-2 0102 this does not belong to the sequence before it | begin each "
                        "item with '- ', all in one column | @1:1-2 the sequence begins here\n"},
        {"a: - b\n", "1:4-5 0102 a '- ' item cannot begin on this line | begin "
                     "it on a line of its own, or write [a, b]\n"},
        {"a: | x\n", "1:4-5 0102 no text is allowed on the line of a '|' or '>' | begin it "
                     "on the next line, indented; or quote it\n"},
        {"a: > text\n", "1:4-5 0102 no text is allowed on the line of a '|' or '>' | begin it "
                        "on the next line, indented; or quote it\n"}};
    CHECK_ALL(vectors);
}

TEST(explains_brackets)
{
    static const struct vector vectors[] = {
        {"a: [1, 2", "1:4-5 0102 this '[' is never closed | write ] where it ends\n"},
        {"a: [1, 2\nb: 3\n", "2:2-3 0102 a ',' or ']' is missing before this | "
                             "close it with ] on line 1 | @1:4-5 this '[' is open\n"},
        {"a: [1 2: 3, {4}\n", "1:4-5 0102 this '[' is never closed | write ] where it ends\n"},
        {"x: {a: 1\n", "1:4-5 0102 this '{' is never closed | write } where it ends\n"},
        {"x: {a: 1\ny: 2\n", "2:2-3 0102 a ',' or '}' is missing before this | "
                             "close it with } on line 1 | @1:4-5 this '{' is open\n"},
        {"x: {a: 1, b\n", "1:4-5 0102 this '{' is never closed | write } where it ends\n"},
        {"a: [", "1:4-5 0102 this '[' is never closed | write ] where it ends\n"},
        {"a: {b: [\n", "1:8-9 0102 this '[' is never closed | write ] where it ends\n"},
        {"a: [,]\n", "1:5-6 0102 a value is missing before this\n"},
        {"a: {b: ???}\n", "1:8-11 0102 a bare '?' is not allowed inside [ ] or "
                          "{ } | write auto, or quote it: \"???\"\n"},
        {"a: [?]\n", "1:4-5 0102 this '[' is never closed | write ] where it ends\n"},
        {"a: [x, ??, b]\n", "1:9-10 0102 a bare '?' is not allowed inside [ ] "
                            "or { } | write auto, or quote it: \"???\"\n"},
        {"a: ]\n", "1:4-5 0102 a value is missing before this\n"}};
    CHECK_ALL(vectors);
}

TEST(explains_quotes_and_signs)
{
    static const struct vector vectors[] = {
        {"a: \"x\nb: 2\n", "1:4-5 0102 the quote that opens here is never closed | close it: "
                           "\"x\"\n"},
        {"a: 'x\nb: 2\n---\n", "1:4-5 0102 the quote that opens here is never closed | close it: "
                               "'x'\n"},
        {"a: \"\\q\"\n", "1:5-6 0102 unknown escape in a double-quoted string "
                         "| in single quotes it stands for itself: '\\q'\n"},
        {"a: @x\n", "1:4-5 0102 a value cannot begin with '@' | quote it: \"@x\"\n"},
        {"a: `x`\n", "1:4-5 0102 a value cannot begin with '`' | quote it: \"`x`\"\n"},
        {"a: %{rank}\n", "1:4-5 0102 a value cannot begin with '%' | quote it: \"%{rank}\"\n"},
        {"s: [*TOKEN*]\n", "1:5-6 0102 a '*' begins the name of an alias | "
                           "quote it: \"*TOKEN*\"\n"},
        {"s: &\n", "1:4-5 0102 a '&' begins the name of an anchor | quote it: \"&\"\n"},
        {"s: [!x]\n", "1:5-6 0102 a '!' begins a tag | quote it: \"!x\"\n"},
        {"s: @a\"b # c\n", "1:4-5 0102 a value cannot begin with '@' | quote it: '@a\"b'\n"},
        {"a: !x!y z\n", "1:4-5 0115 unknown tag | leave it out\n"},
        {"%YAML 2.0\n---\na: 1\n", "1:1-2 0117 only YAML 1.1 and 1.2 are read\n"},
        {"%FOO x\n---\na: 1\n", "1:1-2 0117 unknown directive | only %YAML and "
                                "%TAG may begin a line with '%'\n"},
        {"%YAML 1.1\n%YAML 1.1\n---\na: 1\n", "2:1-2 0117 a duplicate %YAML\n"},
        {"%TAG ! a\n%TAG ! b\n---\na: 1\n", "2:1-2 0117 a duplicate %TAG\n"},
        {"a: \"\\uD800\"\n", "1:7-8 0102 found invalid Unicode character "
                             "escape code while parsing a quoted scalar\n"}};
    CHECK_ALL(vectors);
}

/* Slips of which libyaml complains where it stumbles over them. */
TEST(explains_slips)
{
    static const struct vector vectors[] = {
        {"a: 'it's'\n", "1:7-8 0102 this apostrophe ends the text in single quotes | double "
                        "it: 'it''s' | 1:7-8 -> ''''\n"},
        {"a: ['don't do', 'that']\n", "1:9-10 0102 this apostrophe ends the text in single quotes "
                                      "| double it: 'don''t do' | 1:9-10 -> ''''\n"},
        {"a: ['x'y]\n", "1:8-9 0102 a ',' or ']' is missing before this | "
                        "@1:4-5 this '[' is open\n"},
        {"a: 'x' y\n", "1:8-9 0102 this does not belong to the mapping around it | check its "
                       "indentation, and the quotes before it | @1:1-2 the mapping begins here\n"},
        {"a: \"say \"hi\" now\"\n", "1:9-10 0102 this '\"' ends the text in double quotes | use "
                                    "single quotes around it: 'say \"hi\" now'\n"},
        {"a = 1\nb: 2\n", "1:3-4 0102 a ':' is wanted here, not an '=' | "
                          "write a: 1 | 1:2-5 -> ': '\n"},
        {"a: 1\nb=2\n", "2:2-3 0102 a ':' is wanted here, not an '=' | write "
                        "b: 2 | 2:2-3 -> ': '\n"},
        {"a: 1\nb == 2\n", "2:1-2 0102 a ':' is missing on this line | write b: == 2\n"},
        {"a: [1],\nb: 2\n", "1:7-8 0102 a ',' cannot end a line here | leave "
                            "it out | 1:7-8 -> ''\n"},
        {"a: [1], 2\n", "1:7-8 0102 this does not belong to the mapping around it | check its "
                        "indentation, and the quotes before it | @1:1-2 the mapping begins here\n"},
        {"a: [--x=${v.y}, z]\n",
         "1:5-15 0102 '${' must be in quotes within [ ] and { } | quote it: \"--x=${v.y}\"\n"},
        {"a:\n- b\n-c\n", "3:1-2 0102 a space is missing after the '-' | write - c\n"},
        {"a:\xc2\xa0[1]\nb: 2\n", "1:3-4 0102 this is a no-break space (U+00A0), not a space | "
                                  "type a space in its place | 1:2-4 -> ': '\n"}};
    CHECK_ALL(vectors);
}

/* A space that is missing after a colon is put in. */
TEST(explains_colons)
{
    static const struct vector vectors[] = {
        {"a: b: c\n", "1:5-6 0102 a ':' is not expected here | quote the value: \"b: c\"\n"},
        {"a: 1\nb 2\nc: 3\n", "2:1-2 0102 a ':' is missing on this line | write b: 2\n"},
        {"a: 1\nb\nc: 3\n", "2:1-2 0102 a ':' is missing on this line | write `key: value`\n"},
        {"world_size:4\nname: x\n", "1:11-12 0102 a space is missing after the ':' | write "
                                    "world_size: 4 | 1:11-12 -> ': '\n"},
        {"name: x\nworld_size:4\n", "2:11-12 0102 a space is missing after the ':' | write "
                                    "world_size: 4 | 2:11-12 -> ': '\n"},
        {"name: x\nworld_size:4\nnodes: 1\n",
         "2:11-12 0102 a space is missing after the ':' | write world_size: 4 | 2:11-12 -> ': '\n"},
        {"a:\n  world-size_2:4\n  b: 1\n", "2:15-16 0102 a space is missing after the ':' | write "
                                           "world-size_2: 4 | 2:15-16 -> ': '\n"},
        {"a:\n  - b:1\n    c: 2\n", "2:6-7 0102 a space is missing after the ':' | write b: 1 | "
                                    "2:6-7 -> ': '\n"},
        {"\xc3\xa9:4\na: 1\n", "2:2-3 0102 a ':' is not expected here | quote a value that "
                               "contains ': '; check the indentation\n"},
        {":4\na: 1\n", "2:2-3 0102 a ':' is not expected here | quote a value "
                       "that contains ': '; check the indentation\n"},
        {"a:1\nb:2\nc: 3\n", "2:2-3 0102 a space is missing after the ':' | "
                             "write b: 2 | 2:2-3 -> ': '\n"}};
    CHECK_ALL(vectors);
}

TEST(explains_bytes)
{
    static const struct vector vectors[] = {
        {"a: 1\n\xc3\xa9: \xff\n", "2:4-5 0104 byte 0xff is not UTF-8 | save the file in UTF-8\n"},
        {"\xff", "1:1-2 0104 byte 0xff is not UTF-8 | save the file in UTF-8\n"},
        {"a: \x80\n", "1:4-5 0104 byte 0x80 is not UTF-8 | save the file in UTF-8\n"},
        {"a: \xc3", "1:4-5 0104 byte 0xc3 is not UTF-8 | save the file in UTF-8\n"},
        {"a: \xc3z\n", "1:4-5 0104 byte 0xc3 is not UTF-8 | save the file in UTF-8\n"},
        {"a: \xe2\x82", "1:4-5 0104 byte 0xe2 is not UTF-8 | save the file in UTF-8\n"},
        {"a: \xe2\x82z\n", "1:4-5 0104 byte 0xe2 is not UTF-8 | save the file in UTF-8\n"},
        {"a: \xf0\x9f\x98", "1:4-5 0104 byte 0xf0 is not UTF-8 | save the file in UTF-8\n"},
        {"a: \xf0\x9f\x98z\n", "1:4-5 0104 byte 0xf0 is not UTF-8 | save the file in UTF-8\n"},
        {"a: \xf0\x9fz\n", "1:4-5 0104 byte 0xf0 is not UTF-8 | save the file in UTF-8\n"},
        {"a: \xe2\x28\xa1\n", "1:4-5 0104 byte 0xe2 is not UTF-8 | save the file in UTF-8\n"},
        {"a: \xc0\xaf\n", "1:4-5 0104 byte 0xc0 is not UTF-8 | save the file in UTF-8\n"},
        {"a: \xed\xa0\x80", "1:4-5 0104 byte 0xed is not UTF-8 | save the file in UTF-8\n"},
        {"a: \xf4\x90\x80\x80\n", "1:4-5 0104 byte 0xf4 is not UTF-8 | save the file in UTF-8\n"},
        {"\xc3\xa4\xc3\xb6: \xe2\x82z\n",
         "1:5-6 0104 byte 0xe2 is not UTF-8 | save the file in UTF-8\n"},
        {"a: \"\x1b[0m\"\n", "1:5-6 0105 the control character U+001B is not allowed | in a "
                             "double-quoted string, write \\u001b\n"},
        {"\x01", "1:1-2 0105 the control character U+0001 is not allowed | in "
                 "a double-quoted string, write \\u0001\n"},
        {"a: \x7f\n", "1:4-5 0105 the control character U+007F is not allowed "
                      "| in a double-quoted string, write \\u007f\n"},
        {"a: \xc2\x80\n", "1:4-5 0105 the control character U+0080 is not allowed | in a "
                          "double-quoted string, write \\u0080\n"}};
    CHECK_ALL(vectors);
    struct loaded got = load("a: b\0c\n", 7);
    check_findings("a: b\\0c", &got.diags,
                   "1:5-6 0105 the control character U+0000 is not allowed\n");
    unload(&got);
}
