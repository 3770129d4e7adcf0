/* Frames between process managers: what is put is taken, however it is cut, and what is none breaks
 * the stream. */
#include "wireup/exchange.h"

#include <arpa/inet.h>

#include "unit.h"

static const struct jr_exchange_frame frames[] = {
    {.kind = JR_EXCHANGE_FENCE, .group = "all", .data = "a\0b\n", .len = 4},
    {.kind = JR_EXCHANGE_ASK, .node = 3, .rank = UINT32_MAX - 7, .token = 9},
    {.kind = JR_EXCHANGE_ANSWER, .node = 1, .token = 9, .status = -46},
    {.kind = JR_EXCHANGE_FENCE, .group = "0-3,8"},
};

enum { COUNT = sizeof frames / sizeof *frames };

static void check_frame(const struct jr_exchange_frame *got, const struct jr_exchange_frame *put)
{
    CU_ASSERT_TRUE(got->kind == put->kind && got->node == put->node && got->rank == put->rank);
    CU_ASSERT_TRUE(got->token == put->token && got->status == put->status);
    JR_ASSERT_TEXT(got->group, put->group == NULL ? "" : put->group);
    CU_ASSERT_EQUAL_FATAL(got->len, put->len);
    if (put->len > 0)
        CU_ASSERT_EQUAL(memcmp(got->data, put->data, put->len), 0);
}

static void put_all(struct jr_buf *out)
{
    for (size_t i = 0; i < COUNT; i++)
        jr_exchange_put(out, &frames[i]);
    CU_ASSERT_FALSE_FATAL(out->failed);
}

/* In pieces of every size. */
TEST(takes_what_is_put)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    put_all(&out);
    for (size_t piece = 1; piece <= out.len; piece++) {
        struct jr_inlet inlet = {0};
        struct jr_exchange_frame got;
        size_t taken = 0;
        for (size_t at = 0; at < out.len; at += piece) {
            size_t len = out.len - at < piece ? out.len - at : piece;
            jr_inlet_add(&inlet, out.data + at, len);
            while (jr_exchange_next(&inlet, &got) == JR_EXCHANGE_TAKEN)
                check_frame(&got, &frames[taken++ % COUNT]);
        }
        CU_ASSERT_EQUAL(taken, COUNT);
        CU_ASSERT_EQUAL(jr_exchange_next(&inlet, &got), JR_EXCHANGE_NONE);
        jr_inlet_release(&inlet);
        CU_ASSERT_EQUAL(inlet.bytes.len, 0);
    }
}

/* What comes is not kept once it is taken. */
TEST(keeps_only_what_waits)
{
    struct jr_inlet inlet = {0};
    struct jr_exchange_frame got;
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    put_all(&out);
    for (int i = 0; i < 1000; i++) {
        jr_inlet_add(&inlet, out.data, out.len);
        while (jr_exchange_next(&inlet, &got) == JR_EXCHANGE_TAKEN)
            continue;
    }
    CU_ASSERT_TRUE(inlet.bytes.len <= out.len);
    jr_inlet_release(&inlet);
}

TEST(breaks_at_what_is_none)
{
    enum { NUMBERS = 7 };
    static const uint32_t heads[][NUMBERS] = {
        {0, 0, 0, 0, 0, 1, 0}, /* of no kind */
        {JR_EXCHANGE_KINDS, 0, 0, 0, 0, 1, 0},
        {JR_EXCHANGE_FENCE, 0, 0, 0, 0, 0, 0}, /* a group without its NUL */
        {JR_EXCHANGE_FENCE, 0, 0, 0, 0, UINT32_MAX, 0},
        {JR_EXCHANGE_FENCE, 0, 0, 0, 0, 1, UINT32_MAX},
        {JR_EXCHANGE_FENCE, 0, 0, 0, 0, 4, 0}, /* whose NUL is elsewhere */
    };
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        struct jr_inlet inlet = {0};
        struct jr_exchange_frame got = {.rank = 77};
        uint32_t head[NUMBERS];
        for (int k = 0; k < NUMBERS; k++)
            head[k] = htonl(heads[i][k]);
        jr_inlet_add(&inlet, (const char *)head, sizeof head);
        jr_inlet_add(&inlet, "a\0b", 4);
        CU_ASSERT_EQUAL(jr_exchange_next(&inlet, &got), JR_EXCHANGE_BROKEN);
        CU_ASSERT_EQUAL(got.rank, 77);
        jr_inlet_release(&inlet);
    }
}

TEST(breaks_without_memory)
{
    struct jr_inlet inlet = {.bytes = {.failed = true}};
    struct jr_exchange_frame got;
    CU_ASSERT_EQUAL(jr_exchange_next(&inlet, &got), JR_EXCHANGE_BROKEN);
}

TEST(puts_no_frame_that_is_too_long)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_exchange_put(&out, &(struct jr_exchange_frame){.kind = JR_EXCHANGE_FENCE,
                                                      .group = "all",
                                                      .len = (size_t)UINT32_MAX + 1});
    CU_ASSERT_TRUE(out.failed);
}
