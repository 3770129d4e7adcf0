#include "render/render.h"

#include <string.h>

#include "render/internal.h"

#include "base/banned.h"

enum jr_engine_kind jr_engine_find(const char *word)
{
#define WORD(name, word, help) word,
    static const char *const words[] = {JR_ENGINES(WORD)};
#undef WORD
    size_t kind = 0;
    while (kind < JR_ENGINE_COUNT && strcmp(words[kind], word) != 0)
        kind++;
    return (enum jr_engine_kind)kind;
}

int jr_engine_render(struct jr_buf *out, enum jr_engine_kind kind, const struct jr_engine_job *job,
                     struct jr_error *err)
{
    if (kind == JR_ENGINE_SLURM)
        return jr_slurm_render(out, job, err);
    return kind == JR_ENGINE_MPI ? jr_mpi_render(out, job, err)
                                 : jr_kubernetes_render(out, job, err);
}

#define SAFE                                                                                       \
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"                               \
    "%+,-./:=@_"

void jr_engine_word(struct jr_buf *out, const char *word)
{
    if (word[0] != '\0' && word[strspn(word, SAFE)] == '\0') {
        jr_buf_str(out, word);
    } else if (strpbrk(word, "\\'") == NULL) {
        jr_buf_printf(out, "'%s'", word);
    } else if (strchr(word, '\n') == NULL) {
        /* sbatch reads a backslash in single quotes as the shell reads one outside of them, so what
         * has one, or a single quote, is escaped byte by byte */
        for (; *word != '\0'; word++) {
            if ((unsigned char)*word < 0x80 && strchr(SAFE, *word) == NULL)
                jr_buf_char(out, '\\');
            jr_buf_char(out, *word);
        }
    } else {
        jr_buf_char(out, '\'');
        jr_buf_replaced(out, word, "'", "'\\''");
        jr_buf_char(out, '\'');
    }
}
