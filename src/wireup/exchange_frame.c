#include "wireup/exchange_frame.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/banned.h"

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

static enum jr_exchange_result take_whole_frame(struct jr_inlet *inlet,
                                                const uint32_t head[HEAD_COUNT],
                                                struct jr_exchange_frame *ret)
{
    size_t group_len = head[HEAD_GROUP], len = head[HEAD_DATA];
    size_t whole = sizeof *head * HEAD_COUNT + group_len + len;
    const char *group = inlet->bytes.data + inlet->at + sizeof *head * HEAD_COUNT;
    if (inlet->bytes.len - inlet->at < whole)
        return JR_EXCHANGE_NONE;
    if (memchr(group, '\0', group_len) != group + group_len - 1)
        return JR_EXCHANGE_BROKEN;
    inlet->at += whole;
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

enum jr_exchange_result jr_exchange_next(struct jr_inlet *inlet, struct jr_exchange_frame *ret)
{
    uint32_t head[HEAD_COUNT];
    if (inlet->bytes.failed)
        return JR_EXCHANGE_BROKEN;
    if (inlet->bytes.len - inlet->at < sizeof head)
        return JR_EXCHANGE_NONE;
    memcpy(head, inlet->bytes.data + inlet->at, sizeof head);
    for (int i = 0; i < HEAD_COUNT; i++)
        head[i] = ntohl(head[i]);
    if (head[HEAD_KIND] < JR_EXCHANGE_FENCE || head[HEAD_KIND] >= JR_EXCHANGE_KINDS ||
        head[HEAD_GROUP] == 0 || head[HEAD_GROUP] > PART_MOST || head[HEAD_DATA] > PART_MOST)
        return JR_EXCHANGE_BROKEN;
    return take_whole_frame(inlet, head, ret);
}
