#include "wireup/exchange.h"

#include <arpa/inet.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "base/rank_set.h"

#include "base/banned.h"

/* Frames. */

/* Bytes of a group or of data; nothing that is right comes near it. */
#define PART_MOST (UINT32_C(1) << 28)

/* What a frame begins with: numbers in network order. The group follows, with its NUL, and then the
 * data. */
enum {
    HEAD_KIND,
    HEAD_NODE,
    HEAD_RANK,
    HEAD_TOKEN,
    HEAD_STATUS,
    HEAD_GROUP, /* bytes, with the NUL */
    HEAD_DATA,  /* bytes */
    HEAD_COUNT
};

void jr_exchange_put(struct jr_buf *out, const struct jr_exchange_frame *frame)
{
    const char *group = frame->group == NULL ? "" : frame->group;
    size_t group_len = strlen(group) + 1;
    if (group_len > PART_MOST || frame->len > PART_MOST) {
        out->failed = true;
        return;
    }
    const uint32_t head[HEAD_COUNT] = {
        [HEAD_KIND] = htonl((uint32_t)frame->kind),
        [HEAD_NODE] = htonl(frame->node),
        [HEAD_RANK] = htonl(frame->rank),
        [HEAD_TOKEN] = htonl(frame->token),
        [HEAD_STATUS] = htonl((uint32_t)frame->status),
        [HEAD_GROUP] = htonl((uint32_t)group_len),
        [HEAD_DATA] = htonl((uint32_t)frame->len),
    };
    jr_buf_add(out, head, sizeof head);
    jr_buf_add(out, group, group_len);
    if (frame->len > 0)
        jr_buf_add(out, frame->data, frame->len);
}

enum jr_exchange_result jr_exchange_next(struct jr_inlet *inlet, struct jr_exchange_frame *ret)
{
    uint32_t head[HEAD_COUNT];
    size_t there = inlet->bytes.len - inlet->at;
    if (inlet->bytes.failed)
        return JR_EXCHANGE_BROKEN;
    if (there < sizeof head)
        return JR_EXCHANGE_NONE;
    memcpy(head, inlet->bytes.data + inlet->at, sizeof head);
    for (int i = 0; i < HEAD_COUNT; i++)
        head[i] = ntohl(head[i]);
    size_t group_len = head[HEAD_GROUP], len = head[HEAD_DATA];
    if (head[HEAD_KIND] < JR_EXCHANGE_FENCE || head[HEAD_KIND] >= JR_EXCHANGE_KINDS ||
        group_len == 0 || group_len > PART_MOST || len > PART_MOST)
        return JR_EXCHANGE_BROKEN;
    if (there < sizeof head + group_len + len)
        return JR_EXCHANGE_NONE;
    const char *group = inlet->bytes.data + inlet->at + sizeof head;
    if (memchr(group, '\0', group_len) != group + group_len - 1)
        return JR_EXCHANGE_BROKEN;
    inlet->at += sizeof head + group_len + len;
    *ret = (struct jr_exchange_frame){
        .kind = (enum jr_exchange_kind)head[HEAD_KIND],
        .node = head[HEAD_NODE],
        .rank = head[HEAD_RANK],
        .token = head[HEAD_TOKEN],
        .status = (int32_t)head[HEAD_STATUS],
        .group = group,
        .data = group + group_len,
        .len = len,
    };
    return JR_EXCHANGE_TAKEN;
}

/* The hub. */

enum part_state { PART_NONE, PART_AWAITED, PART_THERE };

/* What one node has for a fence. */
struct exchange_part {
    enum part_state state;
    struct jr_buf data;
};

struct exchange_fence {
    char *group;
    uint32_t nodes, awaited;      /* nodes whose part has not come */
    struct exchange_part parts[]; /* of each node of the job */
};

/* What a node has asked, until the answer has come. */
struct exchange_question {
    uint32_t asker, token;
    uint32_t asked; /* the node that is to answer */
};

static int compare_questions(const void *a, const void *b)
{
    const struct exchange_question *left = a, *right = b;
    int askers = (left->asker > right->asker) - (left->asker < right->asker);
    int tokens = (left->token > right->token) - (left->token < right->token);
    return askers != 0 ? askers : tokens;
}

static int compare_fences(const void *a, const void *b)
{
    const struct exchange_fence *left = a, *right = b;
    return strcmp(left->group, right->group);
}

static void free_fence(void *data)
{
    struct exchange_fence *fence = data;
    for (uint32_t i = 0; i < fence->nodes; i++)
        jr_buf_release(&fence->parts[i].data);
    free(fence->group);
    free(fence);
}

/* The node of a rank that there is. */
static uint32_t find_rank_node(const struct jr_exchange_hub *hub, uint32_t rank)
{
    uint32_t low = 0, high = hub->nodes;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (hub->first[middle] <= rank)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void await_fence_part(struct exchange_fence *fence, uint32_t node)
{
    fence->awaited += fence->parts[node].state == PART_NONE;
    fence->parts[node].state = PART_AWAITED;
}

/* Mark the nodes of a group's ranks. False: it is none, or names a rank that is none. */
static bool read_fence_group(const struct jr_exchange_hub *hub, struct exchange_fence *fence)
{
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    struct jr_set set;
    const char *bad;
    bool read = jr_set_parse(&set, &arena, fence->group, &bad);
    for (uint32_t node = 0; read && set.all && node < hub->nodes; node++)
        await_fence_part(fence, node);
    for (size_t i = 0; read && i < set.count; i++) {
        const struct jr_range *range = &set.ranges[i];
        read = range->last < hub->first[hub->nodes];
        for (uint64_t rank = range->first; read && rank <= range->last; rank += range->step)
            await_fence_part(fence, find_rank_node(hub, (uint32_t)rank));
    }
    return read && fence->awaited > 0;
}

/* The fence of a group, which begins with the first part; NULL: there is none of that name, or no
 * memory. */
static struct exchange_fence *find_fence(struct jr_exchange_hub *hub, const char *group)
{
    struct exchange_fence wanted = {.group = (char *)(uintptr_t)group};
    struct exchange_fence *const *slot = tfind(&wanted, &hub->fences, compare_fences);
    if (slot != NULL)
        return *slot;
    struct exchange_fence *fence = calloc(1, sizeof *fence + hub->nodes * sizeof *fence->parts);
    if (fence == NULL)
        return NULL;
    fence->nodes = hub->nodes;
    fence->group = strdup(group);
    if (fence->group == NULL || !read_fence_group(hub, fence) ||
        tsearch(fence, &hub->fences, compare_fences) == NULL) {
        free_fence(fence);
        return NULL;
    }
    return fence;
}

static bool send_frame_to(struct jr_exchange_hub *hub, uint32_t node,
                          const struct jr_exchange_frame *frame)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_exchange_put(&out, frame);
    return !out.failed && hub->send(hub->owner, node, out.data, out.len);
}

/* A part of a fence; once all are there, all nodes get them. */
static bool take_fence_part(struct jr_exchange_hub *hub, uint32_t node,
                            const struct jr_exchange_frame *frame)
{
    struct jr_buf data JR_BUF_CLEANUP = JR_BUF_INIT;
    struct exchange_fence *fence = find_fence(hub, frame->group);
    if (fence == NULL || fence->parts[node].state != PART_AWAITED)
        return false;
    struct exchange_part *part = &fence->parts[node];
    jr_buf_add(&part->data, frame->data, frame->len);
    part->state = PART_THERE;
    if (part->data.failed)
        return false;
    if (--fence->awaited > 0)
        return true;
    for (uint32_t i = 0; i < hub->nodes; i++)
        if (fence->parts[i].data.len > 0)
            jr_buf_add(&data, fence->parts[i].data.data, fence->parts[i].data.len);
    bool sent = !data.failed && send_frame_to(hub, JR_EXCHANGE_ALL,
                                              &(struct jr_exchange_frame){.kind = JR_EXCHANGE_FENCE,
                                                                          .group = fence->group,
                                                                          .data = data.data,
                                                                          .len = data.len});
    (void)tdelete(fence, &hub->fences, compare_fences);
    free_fence(fence);
    return sent;
}

/* A question goes to the node of its rank, and is noted, so that its answer is known. False: the
 * asker waits for the answer to another of the same token, or there is no memory. */
static bool take_ask(struct jr_exchange_hub *hub, uint32_t node, struct jr_exchange_frame *frame)
{
    if (frame->rank >= hub->first[hub->nodes])
        return false;
    struct exchange_question *question = malloc(sizeof *question);
    if (question == NULL)
        return false;
    *question = (struct exchange_question){
        .asker = node, .token = frame->token, .asked = find_rank_node(hub, frame->rank)};
    struct exchange_question *const *slot = tsearch(question, &hub->questions, compare_questions);
    if (slot == NULL || *slot != question) {
        free(question);
        return false;
    }
    frame->node = node;
    return send_frame_to(hub, question->asked, frame);
}

/* An answer goes to who asked. False: nothing like that was asked of the node that answers. */
static bool take_answer(struct jr_exchange_hub *hub, uint32_t node,
                        const struct jr_exchange_frame *frame)
{
    const struct exchange_question answered = {.asker = frame->node, .token = frame->token};
    struct exchange_question *const *slot = tfind(&answered, &hub->questions, compare_questions);
    if (slot == NULL || (*slot)->asked != node)
        return false;
    struct exchange_question *question = *slot;
    (void)tdelete(question, &hub->questions, compare_questions);
    free(question);
    return send_frame_to(hub, frame->node, frame);
}

bool jr_exchange_hub_take(struct jr_exchange_hub *hub, uint32_t node, const char *bytes, size_t len)
{
    struct jr_inlet *inlet = &hub->inlets[node];
    struct jr_exchange_frame frame;
    enum jr_exchange_result result = JR_EXCHANGE_NONE;
    bool taken = true;
    jr_inlet_add(inlet, bytes, len);
    while (taken && (result = jr_exchange_next(inlet, &frame)) == JR_EXCHANGE_TAKEN)
        taken = frame.kind == JR_EXCHANGE_FENCE ? take_fence_part(hub, node, &frame)
                : frame.kind == JR_EXCHANGE_ASK ? take_ask(hub, node, &frame)
                                                : take_answer(hub, node, &frame);
    return taken && result == JR_EXCHANGE_NONE;
}

int jr_exchange_hub_open(struct jr_exchange_hub *hub)
{
    hub->fences = hub->questions = NULL;
    hub->inlets = calloc((size_t)hub->nodes + 1, sizeof *hub->inlets);
    return hub->inlets == NULL ? -1 : 0;
}

void jr_exchange_hub_release(struct jr_exchange_hub *hub)
{
    for (uint32_t i = 0; hub->inlets != NULL && i < hub->nodes; i++)
        jr_inlet_release(&hub->inlets[i]);
    free(hub->inlets);
    hub->inlets = NULL;
    tdestroy(hub->fences, free_fence);
    tdestroy(hub->questions, free);
    hub->fences = hub->questions = NULL;
}
