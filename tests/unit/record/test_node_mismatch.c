/* What is told of nodes that do not belong together. */
#include "base/json.h"
#include "record/multinode.h"
#include "unit.h"

/* The facts of one node; a `world` of 0 is not known, `absent` is not here. */
struct node {
    uint32_t nodes, world, first, count;
    const char *fingerprint;
    bool absent;
};

struct vector {
    struct node nodes[12];
    size_t count;
    const char *expected; /* NULL: they are of one run */
};

static json_t *node_json(size_t i, const struct node *node)
{
    char part[32];
    json_t *object = json_object(), *ranks = json_object();
    (void)snprintf(part, sizeof part, "node_%zu", i);
    jr_json_set_str(object, "part", node->absent ? NULL : part);
    if (node->nodes != 0)
        jr_json_set_int(object, "nodes", node->nodes);
    if (node->world != 0)
        jr_json_set_int(object, "world_size", node->world);
    jr_json_set_str(object, "fingerprint", node->fingerprint);
    jr_json_set_int(ranks, "first", node->first);
    jr_json_set_int(ranks, "count", node->count);
    jr_json_set(object, "ranks", ranks);
    return object;
}

static json_t *nodes_json(const struct vector *vector)
{
    json_t *nodes = json_array();
    for (size_t i = 0; i < vector->count; i++)
        jr_json_append(nodes, node_json(i, &vector->nodes[i]));
    return nodes;
}

static void check_torn(const struct vector *vector)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    json_t *nodes = nodes_json(vector);
    bool torn = jr_node_mismatch_find(&text, nodes);
    CU_ASSERT_EQUAL(torn, vector->expected != NULL);
    if (torn || vector->expected != NULL)
        JR_ASSERT_TEXT(torn ? text.data : "(one run)",
                       vector->expected == NULL ? "(one run)" : vector->expected);
    json_decref(nodes);
}

#define WORLD(nodes, world)                                                                        \
    {                                                                                              \
        nodes, world, 0, 0, NULL, false                                                            \
    }
#define RANKS(nodes, world, first, count)                                                          \
    {                                                                                              \
        nodes, world, first, count, NULL, false                                                    \
    }
#define RAN(nodes, world, first, count, fingerprint)                                               \
    {                                                                                              \
        nodes, world, first, count, fingerprint, false                                             \
    }
#define ABSENT                                                                                     \
    {                                                                                              \
        .absent = true                                                                             \
    }

#define OF "the nodes are not of one run: "
#define CHECK_ALL(vectors, check)                                                                  \
    do                                                                                             \
        for (size_t v = 0; v < sizeof(vectors) / sizeof *(vectors); v++)                           \
            check(&(vectors)[v]);                                                                  \
    while (0)

TEST(worlds_that_differ_are_named)
{
    static const struct vector vectors[] = {
        {{RANKS(2, 4, 0, 2), RANKS(2, 8, 4, 4)},
         2,
         OF "node 0: 4 ranks on 2 nodes; node 1: 8 ranks on 2 nodes"},
        {{RANKS(1, 1, 0, 1), RANKS(2, 1, 0, 1)},
         2,
         OF "node 0: 1 rank on 1 node; node 1: 1 rank on 2 nodes"},
        {{RANKS(3, 6, 0, 2), RANKS(3, 9, 2, 2), RANKS(3, 6, 4, 2)},
         3,
         OF "nodes 0,2: 6 ranks on 3 nodes; node 1: 9 ranks on 3 nodes"},
        {{RANKS(4, 8, 0, 2), RANKS(2, 4, 2, 2), RANKS(2, 4, 4, 2), RANKS(2, 4, 6, 2)},
         4,
         OF "node 0: 8 ranks on 4 nodes; nodes 1-3: 4 ranks on 2 nodes"},
        {{WORLD(1, 2), WORLD(1, 3), WORLD(1, 4), WORLD(1, 5), WORLD(1, 6)},
         5,
         OF "node 0: 2 ranks on 1 node; node 1: 3 ranks on 1 node; node 2: 4 ranks on 1 node; node "
            "3: 5 ranks on 1 node; and more"},
        {{WORLD(1, 2), WORLD(1, 3), WORLD(1, 4), WORLD(1, 5)},
         4,
         OF "node 0: 2 ranks on 1 node; node 1: 3 ranks on 1 node; node 2: 4 ranks on 1 node; node "
            "3: 5 ranks on 1 node"}};
    CHECK_ALL(vectors, check_torn);
}

TEST(ranks_that_overlap_or_lack_are_named)
{
    static const struct vector vectors[] = {
        {{RANKS(2, 4, 0, 2), RANKS(2, 4, 1, 3)}, 2, OF "more than one has rank 1"},
        {{RANKS(2, 4, 0, 4), RANKS(2, 4, 1, 2)}, 2, OF "more than one has ranks 1-2"},
        {{RANKS(2, 4, 0, 2), RANKS(2, 4, 3, 1)}, 2, OF "none has rank 2"},
        {{RANKS(1, 3, 0, 2)}, 1, OF "none has rank 2"},
        {{RANKS(2, 6, 0, 1), RANKS(2, 6, 4, 2)}, 2, OF "none has ranks 1-3"},
        {{RANKS(2, 6, 1, 1), RANKS(2, 6, 3, 2)}, 2, OF "none has ranks 0,2,5"},
        {{RANKS(2, 6, 0, 3), RANKS(2, 6, 2, 2)},
         2,
         OF "more than one has rank 2; none has ranks 4-5"},
        {{RANKS(3, 6, 4, 2), RANKS(3, 6, 0, 2), RANKS(3, 6, 2, 1)}, 3, OF "none has rank 3"},
        {{RANKS(3, 4, 0, 4), RANKS(3, 4, 1, 1), RANKS(3, 4, 3, 1)},
         3,
         OF "more than one has ranks 1,3"},
        {{RANKS(9, 20, 1, 1), RANKS(9, 20, 3, 1), RANKS(9, 20, 5, 1), RANKS(9, 20, 7, 1),
          RANKS(9, 20, 9, 1), RANKS(9, 20, 11, 1), RANKS(9, 20, 13, 1), RANKS(9, 20, 15, 1),
          RANKS(9, 20, 17, 1)},
         9,
         OF "none has ranks 0,2,4,6,8,10,12,14,..."},
        {{RANKS(8, 16, 1, 1), RANKS(8, 16, 3, 1), RANKS(8, 16, 5, 1), RANKS(8, 16, 7, 1),
          RANKS(8, 16, 9, 1), RANKS(8, 16, 11, 1), RANKS(8, 16, 13, 1), RANKS(8, 16, 15, 1)},
         8,
         OF "none has ranks 0,2,4,6,8,10,12,14"}};
    CHECK_ALL(vectors, check_torn);
}

TEST(what_is_not_known_is_no_difference)
{
    static const struct vector vectors[] = {
        {{RANKS(2, 4, 0, 2), RANKS(2, 4, 2, 2)}, 2, NULL},
        {{RANKS(2, 4, 2, 2), RANKS(2, 4, 0, 2)}, 2, NULL},
        {{RANKS(2, 4, 0, 2), RANKS(0, 0, 2, 2)}, 2, NULL},
        {{RANKS(2, 4, 0, 2), RANKS(2, 4, 0, 0)}, 2, NULL},
        {{RANKS(2, 4, 0, 2), RANKS(2, 4, 4000000000, 4000000000)}, 2, NULL},
        {{RANKS(2, 4, 0, 2), ABSENT}, 2, NULL},
        {{ABSENT, RANKS(2, 4, 2, 2)}, 2, NULL},
        {{ABSENT, ABSENT}, 2, NULL},
        {{ABSENT}, 0, NULL},
        {{RANKS(3, 6, 0, 3), ABSENT, RANKS(3, 6, 2, 2)}, 3, OF "more than one has rank 2"}};
    CHECK_ALL(vectors, check_torn);
}

/* The verdict has said that they are not of one run, where they are not. */
static void check_unlike(const struct vector *vector)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT, reason = JR_BUF_INIT;
    json_t *nodes = nodes_json(vector);
    (void)jr_node_mismatch_find(&reason, nodes);
    jr_node_mismatch_print(&text, nodes, "  ", "exp1", "runs/exp1",
                           strstr(reason.data, OF) == NULL ? NULL : reason.data);
    JR_ASSERT_TEXT(text.data == NULL ? "" : text.data,
                   vector->expected == NULL ? "" : vector->expected);
    json_decref(nodes);
}

#define UNLIKE "  the nodes ran different experiments: "

TEST(experiments_that_differ_offer_their_difference)
{
    static const struct vector vectors[] = {
        {{RAN(1, 1, 0, 1, "aaaa"), RAN(1, 1, 0, 1, "aaaa")}, 2, NULL},
        {{RAN(1, 1, 0, 1, "aaaa"), RAN(1, 1, 0, 1, NULL)}, 2, NULL},
        {{RAN(1, 1, 0, 1, NULL), RAN(1, 1, 0, 1, NULL)}, 2, NULL},
        {{RAN(1, 1, 0, 1, "aaaa"), RAN(1, 1, 0, 1, "bbbb")},
         2,
         UNLIKE "node 0: fingerprint aaaa; node 1: fingerprint bbbb (jobrun diff exp1/node_0 "
                "exp1/node_1)\n"},
        {{RAN(1, 1, 0, 1, "0123456789abcdef"), RAN(1, 1, 0, 1, "0123456789abcdef"),
          RAN(1, 1, 0, 1, "f\033x")},
         3,
         UNLIKE "nodes 0-1: fingerprint 0123456789ab; node 2: fingerprint f\\x1bx (jobrun diff "
                "exp1/node_0 exp1/node_2)\n"},
        {{ABSENT, RAN(1, 1, 0, 1, "aaaa"), ABSENT, RAN(1, 1, 0, 1, "bbbb")},
         4,
         UNLIKE "node 1: fingerprint aaaa; node 3: fingerprint bbbb (jobrun diff exp1/node_1 "
                "exp1/node_3)\n"}};
    CHECK_ALL(vectors, check_unlike);
}

/* They are not one job; of what the verdict has told, only the command is left. */
TEST(experiments_that_differ_are_a_reason)
{
    static const struct vector vector = {
        {RAN(2, 2, 0, 1, "a"), RAN(2, 2, 1, 1, "b")},
        2,
        "the nodes ran different experiments: node 0: fingerprint a; node 1: fingerprint b"};
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    json_t *nodes = nodes_json(&vector);
    check_torn(&vector);
    jr_node_mismatch_print(&text, nodes, "  ", "exp1", "runs/exp1", vector.expected);
    JR_ASSERT_TEXT(text.data,
                   "  try:        jobrun diff exp1/node_0 exp1/node_1 shows in what they differ\n");
    json_decref(nodes);
}

/* The verdict may have said already that they are not of one run; and a log_dir that is not the
 * usual one is part of the command. */
TEST(worlds_are_told_unless_the_verdict_did)
{
    static const struct vector vector = {{RAN(2, 4, 0, 2, "a"), RAN(2, 8, 4, 4, "b")}, 2, NULL};
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    json_t *nodes = nodes_json(&vector);
    jr_node_mismatch_print(&text, nodes, "! ", "exp1", "/data/x/exp1", NULL);
    JR_ASSERT_TEXT(text.data,
                   "! " OF "node 0: 4 ranks on 2 nodes; node 1: 8 ranks on 2 nodes\n"
                   "! the nodes ran different experiments: node 0: fingerprint a; node 1: "
                   "fingerprint b (jobrun diff exp1/node_0 exp1/node_1 --log-dir '/data/x')\n");
    json_decref(nodes);
}
