/* The hub of an exchange between three nodes, with the ranks 0 and 1, 2, and 3 to 5: who hears
 * what, and when. */
#include "wireup/exchange.h"

#include "unit.h"

enum { NODES = 3 };

static const uint32_t first[NODES + 1] = {0, 2, 3, 6};
static struct jr_exchange_hub hub;
static struct jr_buf sent;
static bool has_room = true; /* for what is to be sent */

/* "fence all 'abc' to all; ask 4 by 0 token 7 to 2; " */
static bool on_send(void *owner, uint32_t node, const char *bytes, size_t len)
{
    struct jr_inlet inlet = {0};
    struct jr_exchange_frame frame;
    CU_ASSERT_PTR_EQUAL(owner, &sent);
    jr_inlet_add(&inlet, bytes, len);
    CU_ASSERT_EQUAL_FATAL(jr_exchange_next(&inlet, &frame), JR_EXCHANGE_TAKEN);
    if (frame.kind == JR_EXCHANGE_FENCE)
        jr_buf_printf(&sent, "fence %s '%.*s'", frame.group, (int)frame.len, frame.data);
    else
        jr_buf_printf(&sent, "%s %u by %u token %u status %d '%.*s'",
                      frame.kind == JR_EXCHANGE_ASK ? "ask" : "answer", frame.rank, frame.node,
                      frame.token, frame.status, (int)frame.len, frame.data);
    if (node == JR_EXCHANGE_ALL)
        jr_buf_str(&sent, " to all; ");
    else
        jr_buf_printf(&sent, " to %u; ", node);
    CU_ASSERT_EQUAL(jr_exchange_next(&inlet, &frame), JR_EXCHANGE_NONE);
    jr_inlet_release(&inlet);
    return has_room;
}

static void start(void)
{
    hub = (struct jr_exchange_hub){.owner = &sent, .send = on_send, .nodes = NODES, .first = first};
    CU_ASSERT_EQUAL_FATAL(jr_exchange_hub_open(&hub), 0);
}

ENDING(end)
{
    jr_exchange_hub_release(&hub);
    jr_buf_release(&sent);
}

static bool put(uint32_t node, const struct jr_exchange_frame *frame)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_exchange_put(&out, frame);
    return jr_exchange_hub_take(&hub, node, out.data, out.len);
}

static bool fence(uint32_t node, const char *group, const char *data)
{
    return put(node,
               &(struct jr_exchange_frame){
                   .kind = JR_EXCHANGE_FENCE, .group = group, .data = data, .len = strlen(data)});
}

static void check_sent(const char *expected)
{
    JR_ASSERT_TEXT(sent.len == 0 ? "" : sent.data, expected);
    jr_buf_clear(&sent);
}

/* In the order of the nodes, whoever came first; and again. */
TEST(joins_what_nodes_have)
{
    BEGIN(end, start());
    for (int i = 0; i < 3; i++) {
        CU_ASSERT_TRUE(fence(2, "all", "c"));
        CU_ASSERT_TRUE(fence(0, "all", "a"));
        check_sent("");
        CU_ASSERT_TRUE(fence(1, "all", i == 1 ? "" : "b"));
        check_sent(i == 1 ? "fence all 'ac' to all; " : "fence all 'abc' to all; ");
    }
}

/* Fences of groups go on beside each other, and only their nodes take part. */
TEST(keeps_groups_apart)
{
    BEGIN(end, start());
    CU_ASSERT_TRUE(fence(0, "0,4", "a"));
    CU_ASSERT_TRUE(fence(2, "2-5", "y") && fence(2, "0,4", "c"));
    check_sent("fence 0,4 'ac' to all; ");
    CU_ASSERT_TRUE(fence(1, "2-5", "x"));
    check_sent("fence 2-5 'xy' to all; ");
    CU_ASSERT_TRUE(fence(0, "0-1", "self"));
    check_sent("fence 0-1 'self' to all; ");
}

/* Twice before the others, in a group of others, or in one that is none. */
TEST(refuses_what_is_no_fence)
{
    static const struct {
        uint32_t node;
        const char *group;
    } vectors[] = {{1, "0,4"}, {0, "6"}, {0, "0-9"}, {0, ""}, {0, "x"}, {0, "none"}, {0, "0,0"}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        BEGIN(end, start());
        CU_ASSERT_FALSE(fence(vectors[i].node, vectors[i].group, "a"));
        check_sent("");
    }
    start();
    CU_ASSERT_TRUE(fence(0, "all", "a") && !fence(0, "all", "a"));
    check_sent("");
    end();
    start();
    CU_ASSERT_FALSE(jr_exchange_hub_take(&hub, 1, "garbage that is too long to be a head", 38));
    end();
}

static bool ask(uint32_t node, uint32_t rank, uint32_t token)
{
    return put(node, &(struct jr_exchange_frame){
                         .kind = JR_EXCHANGE_ASK, .node = 99, .rank = rank, .token = token});
}

static bool answer(uint32_t node, uint32_t asker, uint32_t token)
{
    return put(node, &(struct jr_exchange_frame){.kind = JR_EXCHANGE_ANSWER,
                                                 .node = asker,
                                                 .token = token,
                                                 .status = -46,
                                                 .data = "xyz",
                                                 .len = 3});
}

TEST(hands_on_questions_and_answers)
{
    static const uint32_t nodes[] = {0, 0, 1, 2, 2, 2};
    char expected[64];
    BEGIN(end, start());
    for (uint32_t rank = 0; rank < 6; rank++) {
        CU_ASSERT_TRUE(ask(1, rank, 7 + rank));
        (void)snprintf(expected, sizeof expected, "ask %u by 1 token %u status 0 '' to %u; ", rank,
                       7 + rank, nodes[rank]);
        check_sent(expected);
    }
    CU_ASSERT_TRUE(ask(0, 5, 12)); /* a token is its asker's own */
    check_sent("ask 5 by 0 token 12 status 0 '' to 2; ");
    CU_ASSERT_TRUE(answer(2, 1, 12));
    check_sent("answer 0 by 1 token 12 status -46 'xyz' to 1; ");
    CU_ASSERT_TRUE(answer(2, 0, 12));
    check_sent("answer 0 by 0 token 12 status -46 'xyz' to 0; ");
    CU_ASSERT_TRUE(answer(1, 1, 9)); /* of a rank of its own */
    check_sent("answer 0 by 1 token 9 status -46 'xyz' to 1; ");
    CU_ASSERT_TRUE(ask(1, 3, 12)); /* again, once it has its answer */
    check_sent("ask 3 by 1 token 12 status 0 '' to 2; ");
}

/* Nothing was asked; by another, of another, or with another token; or it has been answered. */
TEST(refuses_what_was_not_asked)
{
    static const uint32_t wrong[][3] = {{2, 0, 7}, {0, 1, 7}, {2, 1, 8}, {1, 1, 7}, {2, NODES, 7}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        BEGIN(end, start());
        CU_ASSERT_TRUE(ask(1, 4, 7));
        check_sent("ask 4 by 1 token 7 status 0 '' to 2; ");
        CU_ASSERT_FALSE(answer(wrong[i][0], wrong[i][1], wrong[i][2]));
        check_sent("");
    }
    start();
    CU_ASSERT_TRUE(ask(1, 4, 7));
    CU_ASSERT_TRUE(answer(2, 1, 7));
    jr_buf_clear(&sent);
    CU_ASSERT_FALSE(answer(2, 1, 7));
    check_sent("");
    end();
    start();
    CU_ASSERT_FALSE(ask(0, 6, 1)); /* there is no rank 6 */
    CU_ASSERT_TRUE(ask(0, 5, 1));
    jr_buf_clear(&sent);
    CU_ASSERT_FALSE(ask(0, 4, 1)); /* which answer would be which? */
    check_sent("");
    end();
}

/* What could not be sent is missed by those who wait for it. */
TEST(says_what_it_could_not_send)
{
    has_room = false;
    start();
    CU_ASSERT_FALSE(ask(1, 4, 7));
    end();
    start();
    CU_ASSERT_TRUE(fence(0, "0,4", "a"));
    CU_ASSERT_FALSE(fence(2, "0,4", "c"));
    end();
    has_room = true;
}

/* Fences that never end are freed with the hub. */
TEST(frees_what_is_left)
{
    start();
    CU_ASSERT_TRUE(fence(0, "0,4", "a"));
    CU_ASSERT_TRUE(fence(1, "all", "b") && ask(1, 4, 7));
    CU_ASSERT_TRUE(jr_exchange_hub_take(&hub, 0, "\0\0", 2));
    end();
    CU_ASSERT_TRUE(hub.fences == NULL && hub.questions == NULL);
}
