/*
 * Any text as a word of a shell's command line: a shell that reads it back has the same text, and
 * one word.
 */
#include "fuzz.h"

#include "render/render.h"

/* XCU 2.2: what stands in single quotes is taken as it is, and so is what has a backslash before
 * it, but for a newline; anything else that is not plain would mean something. */
static void unquote(struct jr_buf *out, const char *word)
{
    static const char special[] = " \t\n|&;<>()$`\"*?[]#~!{}^";
    bool quoted = false;
    for (; *word != '\0'; word++) {
        if (*word == '\'') {
            quoted = !quoted;
        } else if (quoted) {
            jr_buf_char(out, *word);
        } else if (*word == '\\') {
            require(*++word != '\0' && *word != '\n');
            jr_buf_char(out, *word);
        } else {
            require(strchr(special, *word) == NULL);
            jr_buf_char(out, *word);
        }
    }
    require(!quoted);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text;
    JR_BUF_CLEANUP struct jr_buf word = JR_BUF_INIT, read = JR_BUF_INIT;
    fuzz_split(&text, 1, '\0', data, size);
    jr_engine_word(&word, text);
    require(word.len > 0);
    unquote(&read, word.data);
    require(read.len == strlen(text) &&
            memcmp(read.len == 0 ? "" : read.data, text, read.len) == 0);
    fuzz_free(&text, 1);
    return 0;
}
