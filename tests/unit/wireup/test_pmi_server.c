/* What clients of a process manager say, what they hear, and what is learned from it: broken and
 * unlucky ones first. */
#include "wireup/pmi_server.h"

#include <limits.h>
#include <stdlib.h>

#include "unit.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define INIT         "cmd=init pmi_version=1 pmi_subversion=1\n"
#define INIT_OK      "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n"

enum { CLIENTS = 3, OWN = 100 }; /* client i is process OWN + i */

static struct jr_pmi pmi;
static struct jr_buf happened; /* "initialized 0; " */

static void on_initialized(void *owner, uint32_t i)
{
    (void)owner;
    jr_buf_printf(&happened, "initialized %u; ", i);
}

static void on_finalized(void *owner, uint32_t i)
{
    (void)owner;
    jr_buf_printf(&happened, "finalized %u; ", i);
}

static void on_aborted(void *owner, uint32_t i, int code)
{
    (void)owner;
    jr_buf_printf(&happened, "aborted %u %d; ", i, code);
}

static void on_broken(void *owner, uint32_t i, const char *why)
{
    (void)owner;
    jr_buf_printf(&happened, "broken %u: %s; ", i, why);
}

static void on_spawned(void *owner, uint32_t i)
{
    (void)owner;
    jr_buf_printf(&happened, "spawned %u; ", i);
}

static void on_barrier(void *owner)
{
    jr_buf_str(&happened, "barrier; ");
    jr_pmi_open_barrier(owner);
}

static const uint32_t one_node[] = {0, CLIENTS};

static void start(void)
{
    const struct jr_pmi_hooks hooks = {&pmi,      on_initialized, on_finalized, on_aborted,
                                       on_broken, on_spawned,     on_barrier};
    jr_buf_release(&happened);
    CU_ASSERT_EQUAL_FATAL(jr_pmi_open(&pmi, &hooks, CLIENTS, CLIENTS, "kvs"), 0);
    CU_ASSERT_EQUAL_FATAL(jr_pmi_map(&pmi, 1, one_node), 0);
}

static void say_as(uint32_t i, pid_t pid, const char *text)
{
    jr_pmi_take(&pmi, i, pid, text, strlen(text));
}

static void say(uint32_t i, const char *text)
{
    say_as(i, OWN + (pid_t)i, text);
}

/* What the client has been told since it was asked last. */
static void check_heard(uint32_t i, const char *expected)
{
    struct jr_buf *out = &pmi.clients[i].out;
    JR_ASSERT_TEXT(out->len == 0 ? "" : out->data, expected);
    jr_buf_clear(out);
}

static void check_happened(const char *expected)
{
    JR_ASSERT_TEXT(happened.len == 0 ? "" : happened.data, expected);
    jr_buf_clear(&happened);
}

ENDING(end)
{
    jr_pmi_release(&pmi);
    jr_buf_release(&happened);
}

/* A client that has initialized, and has heard so. */
static void start_inside(void)
{
    start();
    say(0, INIT);
    check_heard(0, INIT_OK);
    check_happened("initialized 0; ");
}

/* A program that is none of MPI's may write what it likes. */
TEST(hears_nothing_before_init)
{
    char long_line[3 * JR_PMI_LINE_MAX];
    memset(long_line, 'x', sizeof long_line);
    BEGIN(end, start());
    say(0, "garbage\n\n\n=\ncmd\ncmd=unknown\n");
    jr_pmi_take(&pmi, 0, OWN, "a\0b\n", 4);
    jr_pmi_take(&pmi, 0, OWN, long_line, sizeof long_line);
    say(0, "\ncmd=abort exitcode=3\n");
    check_heard(0, "");
    say(0, "cmd=get_maxes\n");
    check_heard(0, "cmd=error rc=-1 msg=not_initialized\n");
    check_happened("");
    CU_ASSERT_EQUAL(pmi.clients[0].state, JR_PMI_ABSENT);
    say(0, INIT);
    check_heard(0, INIT_OK);
}

TEST(refuses_other_versions)
{
    static const char *const lines[] = {"cmd=init\n", "cmd=init pmi_version=2 pmi_subversion=0\n",
                                        "cmd=init pmi_version=x\n"};
    for (size_t i = 0; i < COUNT(lines); i++) {
        BEGIN(end, start());
        say(0, lines[i]);
        check_heard(0, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1\n");
        check_happened("");
        CU_ASSERT_EQUAL(pmi.clients[0].state, JR_PMI_ABSENT);
    }
}

/* After init a line is right, or the last one that is heard. */
TEST(breaks_with_who_breaks_the_protocol)
{
    static const struct {
        const char *text, *why;
    } vectors[] = {
        {"\n", "it sent a line that is none of PMI-1"},
        {"garbage\n", "it sent a line that is none of PMI-1"},
        {"cmd=a\tb\n", "it sent a line that is none of PMI-1"},
        {INIT, "it initialized twice"},
        {"cmd=barrier_in\ncmd=get_maxes\n", "it sent a request from within the barrier"},
        {"cmd=barrier_in\ncmd=barrier_in\n", "it sent a request from within the barrier"},
    };
    JR_BUF_CLEANUP struct jr_buf expected = JR_BUF_INIT;
    for (size_t i = 0; i < COUNT(vectors); i++) {
        BEGIN(end, start_inside());
        say(0, vectors[i].text);
        jr_buf_clear(&expected);
        jr_buf_printf(&expected, "broken 0: %s; ", vectors[i].why);
        check_happened(expected.data);
        CU_ASSERT_TRUE(pmi.clients[0].state == JR_PMI_BROKEN && pmi.waiting == 0);
        say(0, "cmd=get_maxes\n" INIT);
        check_heard(0, "");
        check_happened("");
    }
}

TEST(breaks_with_endless_lines)
{
    char line[JR_PMI_LINE_MAX];
    memset(line, 'x', sizeof line);
    start_inside();
    jr_pmi_take(&pmi, 0, OWN, line, sizeof line - 1);
    check_happened("");
    jr_pmi_take(&pmi, 0, OWN, line, 1);
    check_happened("broken 0: it sent a line that is too long; ");
    end();
    start_inside();
    jr_pmi_take(&pmi, 0, OWN, "cmd=\0\n", 6);
    check_happened("broken 0: it sent a line that is none of PMI-1; ");
    end();
}

/* What the process that initialized has started has the stream, too. */
TEST(hears_the_process_that_initialized)
{
    BEGIN(end, start_inside());
    say(0, "cmd=get_a");
    say_as(0, 7, "garbage\ncmd=abort exitcode=1\n");
    say(0, "ppnum\n");
    check_heard(0, "cmd=appnum appnum=0 rc=0\n");
    check_happened("");
    say_as(0, 7, INIT);
    check_happened("broken 0: a second process of it initialized MPI before "
                   "the first had finalized; ");
}

/* Nobody has initialized: who writes in the middle of another's line begins a new one. */
TEST(keeps_lines_of_processes_apart)
{
    BEGIN(end, start());
    say(0, "cmd=ini");
    say_as(0, 7, "t pmi_version=1 pmi_subversion=1\n");
    check_heard(0, "");
    say(0, "cmd=init pmi_ver");
    say_as(0, 7, INIT);
    check_heard(0, INIT_OK);
    CU_ASSERT_EQUAL(pmi.clients[0].owner, 7);
}

TEST(tells_of_the_world)
{
    BEGIN(end, start_inside());
    say(0, "cmd=get_maxes\ncmd=get_appnum\ncmd=get_universe_size\n"
           "cmd=get_my_kvsname\n");
    check_heard(0, "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024 "
                   "rc=0\ncmd=appnum appnum=0 rc=0\n"
                   "cmd=universe_size size=3 rc=0\n"
                   "cmd=my_kvsname kvsname=kvs rc=0\n");
    say(0, "cmd=get kvsname=kvs key=PMI_process_mapping\n");
    check_heard(0, "cmd=get_result rc=0 value=(vector,(0,1,3))\n");
}

/* What is a line, and which numbers are, by what an abort says with it. */
TEST(reads_lines_and_numbers)
{
    static const struct {
        const char *text;
        bool is;
    } lines[] = {
        {" \n", false},
        {"=\n", false},
        {"=x\n", false},
        {"cmd init\n", false},
        {"cmd=a\x7f\n", false},
        {"cmd=\x01\n", false},
        {"cmd=\n", true},
        {"a=b c\n", true},
        {"cmd=get_appnums\n", true},
        {"x=1 cmd=get_appnum\n", true},
        {"mcmd=get_appnum\n", true},
        {"cmd=\xc3\xa9\n", true},
    };
    static const struct {
        const char *text;
        int number; /* 1: it is none */
    } numbers[] = {
        {"", 1},
        {"x", 1},
        {"+7", 1},
        {"7x", 1},
        {" 7", 1},
        {"0x10", 1},
        {"-", 1},
        {"99999999999999999999", 1},
        {"0", 0},
        {"3 m=4", 3},
        {"-1", -1},
        {"739859215", 739859215},
        {"99999999999", INT_MAX},
        {"9223372036854775807", INT_MAX},
        {"9223372036854775808", 1},
        {"000000000000000000007", 1},
    };
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    for (size_t i = 0; i < COUNT(lines); i++) {
        BEGIN(end, start_inside());
        say(0, lines[i].text);
        check_heard(0, lines[i].is ? "cmd=error rc=-1 msg=not_supported\n" : "");
        check_happened(lines[i].is ? "" : "broken 0: it sent a line that is none of PMI-1; ");
    }
    for (size_t i = 0; i < COUNT(numbers); i++) {
        BEGIN(end, start_inside());
        jr_buf_clear(&text);
        jr_buf_printf(&text, " cmd=abort exitcode=%s\n", numbers[i].text);
        if (i % 2 != 0) /* it may be from within the barrier, too */
            say(0, "cmd=barrier_in\n");
        say(0, text.data + 1);
        jr_buf_clear(&text);
        jr_buf_printf(&text, "aborted 0 %d; ", numbers[i].number);
        check_happened(text.data);
        CU_ASSERT_EQUAL(pmi.waiting, 0);
        say(0, "cmd=get_maxes\ncmd=abort exitcode=4\n");
        check_heard(0, "");
        check_happened("");
    }
}

/* A key is the first word of its name, a value goes to the end of the line, and texts are parts of
 * lines: what follows them is not theirs. */
TEST(reads_words)
{
    BEGIN(end, start_inside());
    say(0, "cmd=put  kvsname=kvs akey=x key=a=b key=c value=x y=z  key=k\n"
           "cmd=get kvsname=kvs key=a=b\n"
           "cmd=get kvsname=kvs key=a\n"
           "cmd=get kvsname=kvs key=c\n"
           "cmd=put kvsname=kvs key=a value=\n"
           "cmd=get kvsname=kvs key=a\n");
    check_heard(0, "cmd=put_result rc=0\n"
                   "cmd=get_result rc=0 value=x y=z  key=k\n"
                   "cmd=get_result rc=-1 msg=key_not_found\n"
                   "cmd=get_result rc=-1 msg=key_not_found\n"
                   "cmd=put_result rc=0\n"
                   "cmd=get_result rc=0 value=\n");
}

/* In the order of their first put. */
TEST(keeps_many)
{
    char line[96], reply[64];
    BEGIN(end, start_inside());
    for (unsigned i = 0; i < 1000; i++) {
        (void)snprintf(line, sizeof line, "cmd=put kvsname=kvs key=k%u value=v%u\n", (i * 7) % 1000,
                       i);
        say(0, line);
        check_heard(0, "cmd=put_result rc=0\n");
    }
    for (unsigned i = 0; i < 1000; i++) {
        (void)snprintf(line, sizeof line, "cmd=get kvsname=kvs key=k%u\n", (i * 7) % 1000);
        (void)snprintf(reply, sizeof reply, "cmd=get_result rc=0 value=v%u\n", i);
        say(0, line);
        check_heard(0, reply);
    }
    say(0, "cmd=getbyidx kvsname=kvs idx=2\n");
    check_heard(0, "cmd=getbyidx_results rc=0 nextidx=3 key=k7 val=v1\n");
}

TEST(refuses_wrong_puts)
{
    static const struct {
        const char *line, *reply;
    } vectors[] = {
        {"cmd=put\n", "cmd=put_result rc=-1 msg=no_key\n"},
        {"cmd=put kvsname=kvs key= value=v\n", "cmd=put_result rc=-1 msg=no_key\n"},
        {"cmd=put kvsname=other key=k value=v\n", "cmd=put_result rc=-1 msg=unknown_kvsname\n"},
        {"cmd=put key=k value=v\n", "cmd=put_result rc=-1 msg=unknown_kvsname\n"},
        {"cmd=put kvsname=kvs key=k\n", "cmd=put_result rc=-1 msg=no_value\n"},
        {"cmd=put kvsname=kvs "
         "key=0123456789012345678901234567890123456789012345678901234567890123 value=v\n",
         "cmd=put_result rc=-1 msg=key_too_long\n"},
        {"cmd=get kvsname=kvs key=k\n", "cmd=get_result rc=-1 msg=key_not_found\n"},
        {"cmd=get kvsname=kv key=k\n", "cmd=get_result rc=-1 msg=unknown_kvsname\n"},
        {"cmd=get kvsname=kvs\n", "cmd=get_result rc=-1 msg=no_key\n"},
        {"cmd=getbyidx kvsname=kvs idx=1\n", "cmd=getbyidx_results rc=-1 reason=no_more_keyvals\n"},
        {"cmd=getbyidx kvsname=kvs idx=-1\n",
         "cmd=getbyidx_results rc=-1 reason=no_more_keyvals\n"},
        {"cmd=getbyidx\n", "cmd=getbyidx_results rc=-1 reason=no_more_keyvals\n"},
    };
    BEGIN(end, start_inside());
    for (size_t i = 0; i < COUNT(vectors); i++) {
        say(0, vectors[i].line);
        check_heard(0, vectors[i].reply);
    }
    check_happened("");
}

TEST(bounds_values_and_puts)
{
    JR_BUF_CLEANUP struct jr_buf line = JR_BUF_INIT;
    unsigned taken = 0;
    BEGIN(end, start_inside());
    jr_buf_str(&line, "cmd=put kvsname=kvs key=k value=");
    jr_buf_fill(&line, 'v', JR_PMI_VALUE_MAX);
    jr_buf_char(&line, '\n');
    jr_pmi_take(&pmi, 0, OWN, line.data, line.len);
    check_heard(0, "cmd=put_result rc=-1 msg=value_too_long\n");
    for (bool full = false; !full && taken < 5000; taken += !full) {
        jr_buf_clear(&line);
        jr_buf_printf(&line, "cmd=put kvsname=kvs key=k%u value=", taken);
        jr_buf_fill(&line, 'v', JR_PMI_VALUE_MAX - 1);
        jr_buf_char(&line, '\n');
        jr_pmi_take(&pmi, 0, OWN, line.data, line.len);
        full = strstr(pmi.clients[0].out.data, "too_many_values") != NULL;
        jr_buf_clear(&pmi.clients[0].out);
    }
    CU_ASSERT_TRUE(taken > 900 && taken < 1024);
    say(1, INIT "cmd=put kvsname=kvs key=mine value=v\n");
    check_heard(1, INIT_OK "cmd=put_result rc=0\n");
    check_happened("initialized 1; ");
}

TEST(hands_values_to_all)
{
    BEGIN(end, start_inside());
    say(0, "cmd=put kvsname=kvs key=k value=a b=c key=d\n");
    check_heard(0, "cmd=put_result rc=0\n");
    say(1, INIT "cmd=get kvsname=kvs key=k\n");
    check_heard(1, INIT_OK "cmd=get_result rc=0 value=a b=c key=d\n");
    say(1, "cmd=put kvsname=kvs key=k value=new\n");
    say(0, "cmd=get kvsname=kvs key=k\ncmd=getbyidx kvsname=kvs idx=1\n");
    check_heard(0, "cmd=get_result rc=0 value=new\n"
                   "cmd=getbyidx_results rc=0 nextidx=2 key=k val=new\n");
}

TEST(opens_the_barrier_for_all)
{
    BEGIN(end, start());
    for (uint32_t i = 0; i < CLIENTS; i++) {
        say(i, INIT);
        jr_buf_clear(&pmi.clients[i].out);
    }
    jr_buf_clear(&happened);
    for (unsigned round = 0; round < 2; round++) {
        say(2, "cmd=barrier_in\n");
        say(0, "cmd=barrier_in\n");
        check_heard(0, "");
        check_happened("");
        say(1, "cmd=barrier_in\n");
        check_happened("barrier; ");
        for (uint32_t i = 0; i < CLIENTS; i++)
            check_heard(i, "cmd=barrier_out rc=0\n");
    }
}

TEST(tells_errors_of_mpi_from_aborts)
{
    CU_ASSERT_FALSE(jr_pmi_is_internal(0));
    CU_ASSERT_FALSE(jr_pmi_is_internal(255));
    CU_ASSERT_FALSE(jr_pmi_is_internal(-1));
    CU_ASSERT_FALSE(jr_pmi_is_internal(65535));
    CU_ASSERT_TRUE(jr_pmi_is_internal(65536));
    CU_ASSERT_TRUE(jr_pmi_is_internal(739859215));
    CU_ASSERT_TRUE(jr_pmi_is_internal(-739859215));
}

/* One reply to all programs of MPI_Comm_spawn_multiple. */
TEST(refuses_to_spawn)
{
    static const char reply[] = "cmd=spawn_result rc=-1 msg=not_supported\n";
    BEGIN(end, start_inside());
    say(0, "mcmd=spawn\nnprocs=2\nexecname=./a b\ntotspawns=2\nspawnssofar=1\n"
           "arg1=garbage\nargcnt=1\nendcmd\n");
    check_heard(0, "");
    check_happened("");
    say(0, "mcmd=spawn\nnprocs=2\nexecname=./b\ntotspawns=2\nspawnssofar=2\n"
           "\nendcmd\n");
    check_heard(0, reply);
    check_happened("spawned 0; ");
    say(0, "mcmd=spawn\nendcmd\n");
    check_heard(0, reply);
    check_happened("spawned 0; ");
    say(0, "cmd=get_appnum\n");
    check_heard(0, "cmd=appnum appnum=0 rc=0\n");
}

TEST(answers_what_it_does_not_serve)
{
    static const struct {
        const char *line, *reply;
    } vectors[] = {
        {"cmd=publish_name service=a port=b\n", "cmd=publish_result rc=-1 info=not_supported\n"},
        {"cmd=unpublish_name service=a\n", "cmd=unpublish_result rc=-1 info=not_supported\n"},
        {"cmd=lookup_name service=a\n", "cmd=lookup_result rc=-1 info=not_supported\n"},
        {"cmd=create_kvs\n", "cmd=newkvs rc=-1 msg=not_supported\n"},
        {"cmd=destroy_kvs kvsname=kvs\n", "cmd=kvs_destroyed rc=-1 msg=not_supported\n"},
        {"cmd=later_version\n", "cmd=error rc=-1 msg=not_supported\n"},
    };
    BEGIN(end, start_inside());
    for (size_t i = 0; i < COUNT(vectors); i++) {
        say(0, vectors[i].line);
        check_heard(0, vectors[i].reply);
    }
    check_happened("");
}

/* However a client's bytes are cut. */
TEST(takes_bytes_one_by_one)
{
    static const char text[] = INIT "cmd=put kvsname=kvs key=k value=v\ncmd=get kvsname=kvs key=k\n"
                                    "cmd=finalize\n";
    BEGIN(end, start());
    for (size_t i = 0; i < sizeof text - 1; i++)
        jr_pmi_take(&pmi, 0, OWN, text + i, 1);
    check_heard(0, INIT_OK "cmd=put_result rc=0\n"
                           "cmd=get_result rc=0 value=v\n"
                           "cmd=finalize_ack rc=0\n");
    check_happened("initialized 0; finalized 0; ");
}

static void check_mapping(uint32_t nodes, const uint32_t *first, const char *expected)
{
    static const char request[] = "cmd=get kvsname=kvs key=PMI_process_mapping\n";
    BEGIN(end, start());
    CU_ASSERT_EQUAL(jr_pmi_map(&pmi, nodes, first), 0);
    say(0, INIT);
    check_heard(0, INIT_OK);
    say(0, request);
    check_heard(0, expected);
}

/* Nodes of the same size that follow each other are one item. */
TEST(says_where_ranks_are)
{
    static const uint32_t same[] = {0, 4, 8, 12};
    static const uint32_t mixed[] = {0, 1, 4, 7, 9};
    check_mapping(3, same, "cmd=get_result rc=0 value=(vector,(0,3,4))\n");
    check_mapping(4, mixed, "cmd=get_result rc=0 value=(vector,(0,1,1),(1,2,3),(3,1,2))\n");
}

/* A mapping that is no value leaves the last one, here that of start(). */
TEST(leaves_out_a_mapping_that_is_too_long)
{
    enum { MANY = 200 };
    uint32_t first[MANY + 1] = {0};
    for (uint32_t i = 0; i < MANY; i++)
        first[i + 1] = first[i] + 1 + i % 2;
    check_mapping(MANY, first, "cmd=get_result rc=0 value=(vector,(0,1,3))\n");
}

/* What clients put goes to other nodes, and what comes from there is got. */
TEST(exchanges_with_other_nodes)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    static const char others[] = "k0 mine\nk9 their s\nk8 \n";
    static const char *const none[] = {"a", "a 1", "a\n", "\n", "a 1\nb"};
    BEGIN(end, start());
    say(0, INIT "cmd=put kvsname=kvs key=k0 value=old\ncmd=put kvsname=kvs key=k1 value=x y\n"
                "cmd=put kvsname=kvs key=k0 value=mine\n");
    check_heard(0, INIT_OK "cmd=put_result rc=0\ncmd=put_result rc=0\ncmd=put_result rc=0\n");
    jr_pmi_take_fresh(&pmi, &out); /* each once, as it is now */
    JR_ASSERT_TEXT(out.data, "k0 mine\nk1 x y\n");
    jr_buf_clear(&out);
    jr_pmi_take_fresh(&pmi, &out);
    CU_ASSERT_EQUAL(out.len, 0);
    CU_ASSERT_TRUE(jr_pmi_take_all(&pmi, others, sizeof others - 1));
    say(0, "cmd=get kvsname=kvs key=k9\ncmd=get kvsname=kvs key=k8\n");
    check_heard(0, "cmd=get_result rc=0 value=their s\ncmd=get_result rc=0 value=\n");
    jr_pmi_take_fresh(&pmi, &out);
    CU_ASSERT_EQUAL(out.len, 0);
    CU_ASSERT_TRUE(jr_pmi_take_all(&pmi, NULL, 0));
    for (size_t i = 0; i < COUNT(none); i++)
        CU_ASSERT_FALSE(jr_pmi_take_all(&pmi, none[i], strlen(none[i])));
}
