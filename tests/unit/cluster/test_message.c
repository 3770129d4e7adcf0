#include "cluster/message.h"

#include "unit.h"

static void refuses_what_is_no_frame(void)
{
    static const char *const lines[] = {
        "",
        "hello",
        "{",
        "{\"n\":1}",
        "{\"n\":-1,\"t\":\"hello\"}",
        "{\"n\":4294967296,\"t\":\"hello\"}",
        "{\"n\":1.0,\"t\":\"hello\"}",
        "{\"n\":\"1\",\"t\":\"hello\"}",
        "{\"n\":1,\"t\":7}",
        "{\"t\":\"hello\",\"n\":1}",
        " {\"n\":1,\"t\":\"hello\"}",
        "{\"n\" :1,\"t\":\"hello\"}",
        "{\"n\":1,\"t\":\"hello\"} x",
        "{\"n\":1,\"t\":\"hel",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        CU_ASSERT_PTR_NULL(jr_message_read(lines[i], strlen(lines[i])));
}

static void reads_the_first_node_and_the_last(void)
{
    static const struct {
        const char *line;
        json_int_t node;
    } vectors[] = {
        {"{\"n\":0,\"t\":\"hello\"}", 0},
        {"{\"n\":4294967295,\"t\":\"\"}", 4294967295},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        json_t *frame = jr_message_read(vectors[i].line, strlen(vectors[i].line));
        CU_ASSERT_PTR_NOT_NULL_FATAL(frame);
        CU_ASSERT_EQUAL(jr_json_get_int(frame, "n"), vectors[i].node);
        json_decref(frame);
    }
}

/* A word as a line of its own, behind what is there; without memory for it the
 * buffer has failed. */
static void writes_words_as_lines(void)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    json_t *word = jr_message_word(7, "hello");
    jr_json_set_str(word, "host", "n\n7");
    jr_message_add(&out, word);
    jr_message_add(&out, jr_message_word(0, "beat"));
    JR_ASSERT_TEXT(out.data, "{\"n\": 7, \"t\": \"hello\", \"host\": \"n\\n7\"}\n"
                             "{\"n\": 0, \"t\": \"beat\"}\n");
    CU_ASSERT_FALSE(out.failed);
    jr_message_add(&out, NULL);
    CU_ASSERT_TRUE(out.failed);
}

static void refuses_what_is_no_base64(void)
{
    static const char *const frames[] = {
        "{\"n\":1,\"t\":\"out\"}",
        "{\"n\":1,\"t\":\"out\",\"b\":7}",
        "{\"n\":1,\"t\":\"out\",\"b\":\"a\"}",
        "{\"n\":1,\"t\":\"out\",\"b\":\"YQ=\"}",
        "{\"n\":1,\"t\":\"out\",\"b\":\"Y===\"}",
        "{\"n\":1,\"t\":\"out\",\"b\":\"====\"}",
        "{\"n\":1,\"t\":\"out\",\"b\":\"Y*==\"}",
        "{\"n\":1,\"t\":\"out\",\"b\":\"YQ==YQ==\"}",
        "{\"n\":1,\"t\":\"out\",\"b\":\"Y\\u0000Q=\"}",
    };
    for (size_t i = 0; i < sizeof frames / sizeof *frames; i++) {
        struct jr_buf bytes JR_BUF_CLEANUP = JR_BUF_INIT;
        json_t *frame = jr_message_read(frames[i], strlen(frames[i]));
        CU_ASSERT_PTR_NOT_NULL_FATAL(frame);
        CU_ASSERT_FALSE(jr_message_take(&bytes, frame));
        json_decref(frame);
    }
}

/* Through frames and back, byte for byte; none is longer than srun keeps. */
static void carry(const char *bytes, size_t len)
{
    struct jr_buf sent JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_buf got JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_inlet inlet = {0};
    const char *line;
    size_t line_len, frames = 0;
    jr_message_bytes(&sent, 1048575, JR_FLOW_OUTCOME, bytes, len);
    jr_inlet_add(&inlet, sent.len == 0 ? "" : sent.data, sent.len);
    while ((line = jr_inlet_line(&inlet, &line_len)) != NULL) {
        json_t *frame = jr_message_read(line, line_len);
        CU_ASSERT_TRUE(line_len + 1 <= JR_MESSAGE_MOST);
        CU_ASSERT_TRUE(jr_message_take(&got, frame));
        json_decref(frame);
        frames++;
    }
    CU_ASSERT_EQUAL(frames, (len + JR_MESSAGE_RAW - 1) / JR_MESSAGE_RAW);
    CU_ASSERT_EQUAL(got.len, len);
    CU_ASSERT_TRUE(len == 0 || memcmp(got.data, bytes, len) == 0);
    jr_inlet_release(&inlet);
}

static void carries_any_bytes(void)
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

static void finds_lines_in_pieces(void)
{
    static const char text[] = "one\n\ntwo\nrest";
    struct jr_inlet inlet = {0};
    char lines[3][8] = {"", "?", ""};
    size_t count = 0, len;
    for (size_t i = 0; i < sizeof text - 1; i++) {
        const char *line;
        jr_inlet_add(&inlet, text + i, 1);
        while ((line = jr_inlet_line(&inlet, &len)) != NULL && count < 3)
            (void)snprintf(lines[count++], 8, "%.*s", (int)len, line);
    }
    CU_ASSERT_EQUAL(count, 3);
    JR_ASSERT_TEXT(lines[0], "one");
    JR_ASSERT_TEXT(lines[1], "");
    JR_ASSERT_TEXT(lines[2], "two");
    CU_ASSERT_TRUE(memcmp(jr_inlet_rest(&inlet, &len), "rest", 4) == 0);
    CU_ASSERT_EQUAL(len, 4);
    jr_inlet_release(&inlet);
}

static void knows_its_flows(void)
{
    CU_ASSERT_EQUAL(jr_flow_find("nothing"), JR_FLOW_COUNT);
    for (int i = 0; i < JR_FLOW_COUNT; i++)
        CU_ASSERT_EQUAL(jr_flow_find(jr_flow_word((enum jr_flow)i)),
                        (enum jr_flow)i);
}

JR_UNIT_MAIN("frame", CASE(refuses_what_is_no_frame),
             CASE(reads_the_first_node_and_the_last),
             CASE(writes_words_as_lines), CASE(refuses_what_is_no_base64), CASE(carries_any_bytes),
             CASE(finds_lines_in_pieces), CASE(knows_its_flows))
