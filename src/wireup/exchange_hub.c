#include "wireup/exchange_hub.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "base/rank_set.h"

#include "base/banned.h"

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

static int compare_askers(uint32_t left, uint32_t right)
{
    return (left > right) - (left < right);
}

static int compare_questions(const void *a, const void *b)
{
    const struct exchange_question *left = a, *right = b;
    int order = compare_askers(left->asker, right->asker);
    return order != 0 ? order : compare_askers(left->token, right->token);
}

static int compare_fences(const void *a, const void *b)
{
    const struct exchange_fence *left = a, *right = b;
    return strcmp(left->group, right->group);
}

static void free_fence(void *data)
{
    struct exchange_fence *fence = data;
    if (fence == NULL)
        return;
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

/* Mark the nodes of a group's ranks. False: it names a rank that is none. */
static bool await_fence_parts(const struct jr_exchange_hub *hub, struct exchange_fence *fence,
                              const struct jr_set *set)
{
    uint32_t size = hub->first[hub->nodes];
    for (uint32_t node = 0; node < hub->nodes && set->all; node++)
        await_fence_part(fence, node);
    for (size_t i = 0; i < set->count; i++) {
        const struct jr_range *range = &set->ranges[i];
        if (range->last >= size)
            return false;
        for (uint64_t rank = range->first; rank <= range->last; rank += range->step)
            await_fence_part(fence, find_rank_node(hub, (uint32_t)rank));
    }
    return true;
}

static bool read_fence_group(const struct jr_exchange_hub *hub, struct exchange_fence *fence)
{
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_set set;
    const char *bad;
    bool read =
        jr_set_parse(&set, &arena, fence->group, &bad) && await_fence_parts(hub, fence, &set);
    jr_arena_release(&arena);
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

/* All parts are there. */
static bool finish_fence(struct jr_exchange_hub *hub, struct exchange_fence *fence)
{
    struct jr_buf data JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    for (uint32_t i = 0; i < hub->nodes; i++)
        if (fence->parts[i].data.len > 0)
            jr_buf_add(&data, fence->parts[i].data.data, fence->parts[i].data.len);
    jr_exchange_put(&out, &(struct jr_exchange_frame){.kind = JR_EXCHANGE_FENCE,
                                                      .group = fence->group,
                                                      .data = data.data,
                                                      .len = data.len});
    (void)tdelete(fence, &hub->fences, compare_fences);
    free_fence(fence);
    return !data.failed && !out.failed && hub->send(hub->owner, JR_EXCHANGE_ALL, out.data, out.len);
}

static bool take_fence_part(struct jr_exchange_hub *hub, uint32_t node,
                            const struct jr_exchange_frame *frame)
{
    struct exchange_fence *fence = find_fence(hub, frame->group);
    if (fence == NULL || fence->parts[node].state != PART_AWAITED)
        return false;
    struct exchange_part *part = &fence->parts[node];
    jr_buf_add(&part->data, frame->data, frame->len);
    part->state = PART_THERE;
    if (part->data.failed)
        return false;
    return --fence->awaited > 0 || finish_fence(hub, fence);
}

/* Note a question, so that its answer is known. False: the asker waits for the answer to another of
 * the same token, or there is no memory. */
static bool add_question(struct jr_exchange_hub *hub, const struct exchange_question *question)
{
    struct exchange_question *copy = malloc(sizeof *copy);
    if (copy == NULL)
        return false;
    *copy = *question;
    struct exchange_question *const *slot = tsearch(copy, &hub->questions, compare_questions);
    if (slot != NULL && *slot == copy)
        return true;
    free(copy);
    return false;
}

/* Forget what was asked, which has its answer. False: nothing like that was asked of the node that
 * answers. */
static bool take_question(struct jr_exchange_hub *hub, const struct exchange_question *answered)
{
    struct exchange_question *const *slot = tfind(answered, &hub->questions, compare_questions);
    if (slot == NULL || (*slot)->asked != answered->asked)
        return false;
    struct exchange_question *question = *slot;
    (void)tdelete(question, &hub->questions, compare_questions);
    free(question);
    return true;
}

static bool send_frame_to(struct jr_exchange_hub *hub, uint32_t node,
                          const struct jr_exchange_frame *frame)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_exchange_put(&out, frame);
    return !out.failed && hub->send(hub->owner, node, out.data, out.len);
}

/* A question goes to the node of its rank. */
static bool take_ask(struct jr_exchange_hub *hub, uint32_t node, struct jr_exchange_frame *frame)
{
    if (frame->rank >= hub->first[hub->nodes])
        return false;
    const struct exchange_question question = {
        .asker = node, .token = frame->token, .asked = find_rank_node(hub, frame->rank)};
    frame->node = node;
    return add_question(hub, &question) && send_frame_to(hub, question.asked, frame);
}

/* An answer goes to who asked. */
static bool take_answer(struct jr_exchange_hub *hub, uint32_t node,
                        const struct jr_exchange_frame *frame)
{
    const struct exchange_question answered = {
        .asker = frame->node, .token = frame->token, .asked = node};
    return take_question(hub, &answered) && send_frame_to(hub, frame->node, frame);
}

static bool take_hub_frame(struct jr_exchange_hub *hub, uint32_t node,
                           struct jr_exchange_frame *frame)
{
    switch (frame->kind) {
    case JR_EXCHANGE_FENCE:
        return take_fence_part(hub, node, frame);
    case JR_EXCHANGE_ASK:
        return take_ask(hub, node, frame);
    case JR_EXCHANGE_ANSWER:
        return take_answer(hub, node, frame);
    case JR_EXCHANGE_KINDS:
        break;
    }
    return false;
}

bool jr_exchange_hub_take(struct jr_exchange_hub *hub, uint32_t node, const char *bytes, size_t len)
{
    struct jr_inlet *inlet = &hub->inlets[node];
    struct jr_exchange_frame frame;
    enum jr_exchange_result result;
    jr_inlet_add(inlet, bytes, len);
    while ((result = jr_exchange_next(inlet, &frame)) == JR_EXCHANGE_TAKEN)
        if (!take_hub_frame(hub, node, &frame))
            return false;
    return result == JR_EXCHANGE_NONE;
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
