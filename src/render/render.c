#include "render/render.h"

#include <string.h>

#include "render/kubernetes.h"
#include "render/mpi.h"
#include "render/slurm.h"

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
    static int (*const renders[JR_ENGINE_COUNT])(struct jr_buf *, const struct jr_engine_job *,
                                                 struct jr_error *) = {
        [JR_ENGINE_SLURM] = jr_slurm_render,
        [JR_ENGINE_KUBERNETES] = jr_kubernetes_render,
        [JR_ENGINE_MPI] = jr_mpi_render,
    };
    return renders[kind](out, job, err);
}

#define SAFE                                                                                       \
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"                               \
    "%+,-./:=@_"

/* sbatch reads a backslash in single quotes as the shell reads one outside of them, so what has
 * one, or a single quote, is escaped byte by byte. */
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
