#include <string.h>

#include "render/render.h"

#include "base/banned.h"

#define SAFE                                                                   \
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"           \
    "%+,-./:=@_"

/* sbatch reads a backslash in single quotes as the shell reads one outside of
 * them, so what has one, or a single quote, is escaped byte by byte. */
static void escape_word(struct jr_buf *out, const char *word)
{
    for (; *word != '\0'; word++) {
        if ((unsigned char)*word < 0x80 && strchr(SAFE, *word) == NULL)
            jr_buf_char(out, '\\');
        jr_buf_char(out, *word);
    }
}

void jr_engine_word(struct jr_buf *out, const char *word)
{
    if (word[0] != '\0' && word[strspn(word, SAFE)] == '\0')
        jr_buf_str(out, word);
    else if (strpbrk(word, "\\'") == NULL)
        jr_buf_printf(out, "'%s'", word);
    else if (strchr(word, '\n') == NULL)
        escape_word(out, word);
    else {
        jr_buf_char(out, '\'');
        jr_buf_replaced(out, word, "'", "'\\''");
        jr_buf_char(out, '\'');
    }
}
