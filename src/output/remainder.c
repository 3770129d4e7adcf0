#include "output/remainder.h"

#include <string.h>
#include <sys/mman.h>

#include "base/banned.h"

/* The backlog of both outputs, and the lines that waited to be folded. */
#define PENDING_MOST (16U << 20)

static size_t streams_size(uint32_t count)
{
    return sizeof(struct jr_remainder) +
           (size_t)count * sizeof(struct jr_shown);
}

struct jr_remainder *jr_remainder_new(uint32_t ranks)
{
    uint32_t count = 2 * ranks + 2;
    size_t times = (size_t)count * sizeof(struct jr_times);
    size_t size = streams_size(count) + times + PENDING_MOST;
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    struct jr_remainder *remainder = (void *)memory;
    remainder->size = size;
    remainder->count = count;
    remainder->times = (void *)(memory + streams_size(count));
    remainder->pending = memory + streams_size(count) + times;
    return remainder;
}

void jr_remainder_free(struct jr_remainder *remainder)
{
    if (remainder != NULL)
        (void)munmap(remainder, remainder->size);
}

void jr_remainder_keep(struct jr_remainder *remainder,
                       const struct jr_console_writer *screen)
{
    size_t used = 0;
    for (int i = 0; i < 2; i++) {
        const struct jr_output *output = &screen->outputs[i];
        size_t len = output->backlog.len - output->taken;
        if (len == 0)
            continue;
        const char *bytes = output->backlog.data + output->taken;
        if (len > PENDING_MOST - used) {
            const char *end = memrchr(bytes, '\n', PENDING_MOST - used);
            len = end == NULL ? 0 : (size_t)(end + 1 - bytes);
        }
        memcpy(remainder->pending + used, bytes, len);
        remainder->pending_len[i] = len;
        used += len;
    }
}
