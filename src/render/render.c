#include "render/render.h"

#include <string.h>

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

int jr_engine_render(struct jr_buf *out, enum jr_engine_kind kind,
                     const struct jr_engine_job *job, struct jr_error *err)
{
    static int (*const renders[JR_ENGINE_COUNT])(
        struct jr_buf *, const struct jr_engine_job *, struct jr_error *) = {
        [JR_ENGINE_SLURM] = jr_slurm_render,
        [JR_ENGINE_KUBERNETES] = jr_kubernetes_render,
        [JR_ENGINE_MPI] = jr_mpi_render,
    };
    return renders[kind](out, job, err);
}
