#include "base/buf.h"
#include "cluster/protocol.h"

#include "unit.h"

TEST(refuses_what_is_no_frame)
{
    EACH_PART(part, "|hello|{|{\"n\":1}|{\"n\":-1,\"t\":\"hello\"}|{\"n\":4294967296,\"t\":"
                    "\"hello\"}|{\"n\":1.0,\"t\":\"hello\"}|{\"n\":\"1\",\"t\":\"hello\"}|{\"n\":1,"
                    "\"t\":7}|{\"t\":\"hello\",\"n\":1}| {\"n\":1,\"t\":\"hello\"}|{\"n\" "
                    ":1,\"t\":\"hello\"}|{\"n\":1,\"t\":\"hello\"} x|{\"n\":1,\"t\":\"hel")
        CU_ASSERT_PTR_NULL(jr_message_read(part, strlen(part)));
}

TEST(reads_the_first_node_and_the_last)
{
    static const struct {
        const char *line;
        json_int_t node;
    } vectors[] = {{"{\"n\":0,\"t\":\"hello\"}", 0}, {"{\"n\":4294967295,\"t\":\"\"}", 4294967295}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        json_auto_t *frame = jr_message_read(vectors[i].line, strlen(vectors[i].line));
        CU_ASSERT_PTR_NOT_NULL_FATAL(frame);
        CU_ASSERT_EQUAL(jr_json_get_int(frame, "n"), vectors[i].node);
    }
}

/* Each message, with all that it may say, through a line and back. */
TEST(each_is_read_as_it_was_written)
{
    for (unsigned type = 0; type < JR_MESSAGE_COUNT; type++) {
        JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT, again = JR_BUF_INIT;
        bool from_node = type < JR_MESSAGE_FROM_COUNT;
        struct jr_message got, message = {.type = (enum jr_message_type)type,
                                          .node = from_node ? 7 : 0,
                                          .at_ns = 1,
                                          .wall_ns = -2,
                                          .for_ns = INT64_C(1) << 60,
                                          .port = 4,
                                          .code = 5,
                                          .signal = 6,
                                          .number = 8,
                                          .version = "0.1",
                                          .host = "n",
                                          .spec = "a:\n",
                                          .inject = "kill@0",
                                          .run_id = "r",
                                          .token = "t",
                                          .behind = true,
                                          .heartbeats = true,
                                          .on = true};
        jr_message_put(&out, &message);
        json_auto_t *object = jr_json_parse(out.data, out.len, NULL);
        CU_ASSERT_EQUAL(jr_message_of_node(&got, object),
                        from_node || type == JR_TO_NODES_HEARTBEAT);
        CU_ASSERT_EQUAL(jr_message_of_controller(&got, object),
                        !from_node || type == JR_FROM_NODE_HEARTBEAT);
        if (from_node)
            (void)jr_message_of_node(&got, object);
        CU_ASSERT_EQUAL(got.type, (enum jr_message_type)type);
        CU_ASSERT_EQUAL(got.node, message.node);
        jr_message_put(&again, &got);
        JR_ASSERT_TEXT(again.data, out.data);
        CU_ASSERT_EQUAL(out.data[out.len - 1], '\n');
        CU_ASSERT_TRUE(!from_node || strncmp(out.data, "{\"n\":", 5) == 0);
    }
}

TEST(says_what_the_rows_say)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_message_put(&out, &(struct jr_message){.type = JR_FROM_NODE_DONE,
                                              .node = 3,
                                              .at_ns = 9,
                                              .behind = true,
                                              .port = 80,
                                              .host = "not of this one"});
    jr_message_put(&out, &(struct jr_message){.type = JR_TO_NODES_SPEC, .node = 3, .spec = "a"});
    jr_message_put(
        &out, &(struct jr_message){
                  .type = JR_TO_NODES_SPEC, .spec = "a", .cell = "7", .sweep = "s", .cells = "/x"});
    JR_ASSERT_TEXT(out.data, "{\"n\": 3, \"t\": \"done\", \"at\": 9, \"port\": 80, \"signal\": 0, "
                             "\"behind\": true}\n"
                             "{\"t\": \"spec\", \"spec\": \"a\", \"attempt\": 0, \"on\": false}\n"
                             "{\"t\": \"spec\", \"spec\": \"a\", \"cell\": \"7\", \"sweep\": "
                             "\"s\", \"cells\": \"/x\", \"attempt\": 0, \"on\": false}\n");
}

/* What is missing, or of another type, is as if it had not been said; so the hello of any build can
 * be read. */
TEST(reads_what_other_builds_say)
{
    static const char hello[] =
        "{\"n\":1,\"t\":\"hello\",\"version\":\"9\",\"port\":\"x\",\"new\":1}";
    struct jr_message message;
    json_t *object = jr_json_parse(hello, sizeof hello - 1, NULL);
    CU_ASSERT_TRUE(jr_message_of_node(&message, object));
    JR_ASSERT_TEXT(message.version, "9");
    CU_ASSERT_PTR_NULL(message.host);
    CU_ASSERT_EQUAL(message.port, 0);
    CU_ASSERT_FALSE(jr_message_of_controller(&message, object));
    json_decref(object);
    EACH_PART(part,
              "{\"n\":1}|{\"n\":1,\"t\":7}|{\"n\":1,\"t\":\"hell\"}|{\"n\":1,\"t\":\"out\"}|[]") {
        object = jr_json_parse(part, strlen(part), NULL);
        CU_ASSERT_FALSE(jr_message_of_node(&message, object));
        CU_ASSERT_FALSE(jr_message_of_controller(&message, object));
        json_decref(object);
    }
}

TEST(refuses_what_is_no_base64)
{
    EACH_PART(part,
              "{\"n\":1,\"t\":\"out\"}|{\"n\":1,\"t\":\"out\",\"b\":7}|"
              "{\"n\":1,\"t\":\"out\",\"b\":\"a\"}|{\"n\":1,\"t\":\"out\",\"b\":\"YQ=\"}|"
              "{\"n\":1,\"t\":\"out\",\"b\":\"Y===\"}|{\"n\":1,\"t\":\"out\",\"b\":\"====\"}|"
              "{\"n\":1,\"t\":\"out\",\"b\":\"Y*==\"}|{\"n\":1,\"t\":\"out\",\"b\":\"YQ==YQ==\"}|"
              "{\"n\":1,\"t\":\"out\",\"b\":\"Y\\u0000Q=\"}") {
        struct jr_buf bytes JR_BUF_CLEANUP = JR_BUF_INIT;
        json_auto_t *frame = jr_message_read(part, strlen(part));
        CU_ASSERT_PTR_NOT_NULL_FATAL(frame);
        CU_ASSERT_FALSE(jr_channel_take(&bytes, frame));
    }
}

/* Through frames and back, byte for byte; none is longer than srun keeps. */
static void carry(const char *bytes, size_t len)
{
    JR_BUF_CLEANUP struct jr_buf sent = JR_BUF_INIT, got = JR_BUF_INIT;
    struct jr_inlet inlet RELEASE(jr_inlet_release) = {0};
    const char *line;
    size_t line_len, frames = 0;
    jr_channel_put(&sent, &(struct jr_sender){.node = 1048575}, JR_CHANNEL_OUTCOME, bytes, len);
    jr_inlet_add(&inlet, sent.len == 0 ? "" : sent.data, sent.len);
    while ((line = jr_inlet_line(&inlet, &line_len)) != NULL) {
        json_t *frame = jr_message_read(line, line_len);
        CU_ASSERT_TRUE(line_len + 1 <= JR_MESSAGE_MOST);
        CU_ASSERT_TRUE(jr_channel_take(&got, frame));
        json_decref(frame);
        frames++;
    }
    CU_ASSERT_EQUAL(frames, (len + JR_MESSAGE_RAW - 1) / JR_MESSAGE_RAW);
    CU_ASSERT_EQUAL(got.len, len);
    CU_ASSERT_TRUE(len == 0 || memcmp(got.data, bytes, len) == 0);
}

TEST(carries_any_bytes)
{
    char bytes[3000];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i * 131 + i / 256);
    for (size_t len = 0; len < 10; len++)
        carry(bytes, len);
    carry(bytes, JR_MESSAGE_RAW - 1);
    carry(bytes, JR_MESSAGE_RAW);
    carry(bytes, JR_MESSAGE_RAW + 1);
    carry(bytes, sizeof bytes);
}

/* The words that no build may change: by them others are told apart. */
TEST(keeps_its_words)
{
    JR_ASSERT_TEXT(jr_channel_word(JR_CHANNEL_FACTS), "facts");
}

TEST(knows_its_flows)
{
    CU_ASSERT_EQUAL(jr_channel_find("nothing"), JR_CHANNEL_COUNT);
    for (int i = 0; i < JR_CHANNEL_COUNT; i++)
        CU_ASSERT_EQUAL(jr_channel_find(jr_channel_word((enum jr_channel)i)), (enum jr_channel)i);
}

/* Where a transport can carry more in a line, it is more. */
TEST(a_transport_may_carry_more)
{
    static char bytes[100000];
    JR_BUF_CLEANUP struct jr_buf few = JR_BUF_INIT, many = JR_BUF_INIT;
    size_t lines = 0;
    jr_channel_put(&many, &(struct jr_sender){.node = 1}, JR_CHANNEL_OUT, bytes, sizeof bytes);
    jr_channel_put(&few, &(struct jr_sender){1, 50000}, JR_CHANNEL_OUT, bytes, sizeof bytes);
    for (size_t i = 0; i < few.len; i++)
        lines += few.data[i] == '\n';
    CU_ASSERT_EQUAL(lines, 2);
    CU_ASSERT_TRUE(few.len < many.len);
}
