/*
 * Any bytes as what the ranks of an MPI program say to their process manager. A line is a rank, a
 * process and what it writes, and how that is cut on the way is no matter; a line that begins with
 * '+' has no end. What waits for a rank is bounded by what it asked, replies are lines, no client
 * is in the barrier twice, and what is stored stays within its bounds.
 */
#include "fuzz.h"

#include "wireup/pmi_server.h"

enum { CLIENTS = 3 };

static const uint32_t one_node[] = {0, CLIENTS};

struct side {
    struct jr_pmi pmi;
    unsigned ends[CLIENTS]; /* broken or aborted */
};

static void on_nothing(void *owner, uint32_t i)
{
    (void)owner;
    require(i < CLIENTS);
}

static void on_aborted(void *owner, uint32_t i, int code)
{
    struct side *side = owner;
    (void)code;
    require(++side->ends[i] == 1);
}

static void on_broken(void *owner, uint32_t i, const char *why)
{
    struct side *side = owner;
    require(++side->ends[i] == 1 && *why != '\0');
}

static void on_barrier(void *owner)
{
    struct side *side = owner;
    require(side->pmi.waiting == CLIENTS);
    /* What was put can be exchanged, whatever it is. */
    struct jr_buf fresh = JR_BUF_INIT;
    jr_pmi_take_fresh(&side->pmi, &fresh);
    require(jr_pmi_take_all(&side->pmi, fresh.data, fresh.len));
    jr_buf_release(&fresh);
    jr_pmi_open_barrier(&side->pmi);
}

static void check_client(const struct jr_pmi *pmi, uint32_t i)
{
    const struct jr_buf *out = &pmi->clients[i].out;
    require(out->len == 0 || out->data[out->len - 1] == '\n');
    require(pmi->clients[i].line.len < JR_PMI_LINE_MAX);
    require(pmi->clients[i].stored <= JR_PMI_CLIENT_BYTES + sizeof(struct jr_pmi_entry));
}

static void check(const struct side *side)
{
    uint32_t waiting = 0;
    for (uint32_t i = 0; i < CLIENTS; i++) {
        const struct jr_pmi_client *client = &side->pmi.clients[i];
        waiting += client->waiting;
        require(!client->waiting || client->state == JR_PMI_INSIDE);
        check_client(&side->pmi, i);
    }
    require(waiting == side->pmi.waiting);
}

static void take(struct side *side, uint32_t i, pid_t pid, const uint8_t *bytes, size_t len,
                 size_t piece)
{
    for (size_t at = 0; at < len; at += piece)
        jr_pmi_take(&side->pmi, i, pid, (const char *)bytes + at,
                    len - at < piece ? len - at : piece);
}

/* Returns the number of replies that there were to all of it. */
static size_t feed(struct side *side, const uint8_t *data, size_t size, size_t piece)
{
    size_t replies = 0;
    while (size > 2) {
        uint32_t i = data[0] % CLIENTS;
        pid_t pid = 1 + data[1] % 2;
        const uint8_t *end = memchr(data + 2, '\n', size - 2);
        size_t len = end == NULL ? size : (size_t)(end - data) + 1;
        bool open = data[2] == '+' && end != NULL && len > 3;
        take(side, i, pid, data + 2 + open, len - 2 - 2 * open, piece);
        check(side);
        data += len;
        size -= len;
    }
    for (uint32_t i = 0; i < CLIENTS; i++) {
        const struct jr_buf *out = &side->pmi.clients[i].out;
        for (size_t at = 0; at < out->len; at++)
            replies += out->data[at] == '\n';
    }
    return replies;
}

static size_t lead(const uint8_t *data, size_t size, size_t piece)
{
    struct side side = {.ends = {0}};
    const struct jr_pmi_hooks hooks = {&side,     on_nothing, on_nothing, on_aborted,
                                       on_broken, on_nothing, on_barrier};
    require(jr_pmi_open(&side.pmi, &hooks, CLIENTS, CLIENTS, "kvs") == 0);
    require(jr_pmi_map(&side.pmi, 1, one_node) == 0);
    size_t replies = feed(&side, data, size, piece);
    jr_pmi_release(&side.pmi);
    return replies;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    require(lead(data, size, 1u << 30) == lead(data, size, 7));
    return 0;
}
