#include "run/failure_words.h"

#include <string.h>

#include "unit.h"

static bool in_error(const char *text)
{
    json_t *error = jr_json_parse(text, strlen(text), NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(error);
    bool found = jr_failure_words_of_error(error).lost_peer;
    json_decref(error);
    return found;
}

TEST(files_that_are_none)
{
    static const char *const texts[] = {
        "null",
        "[]",
        "3",
        "{}",
        "{\"message\": null}",
        "{\"message\": {}}",
        "{\"message\": {\"message\": 3}}",
        "{\"message\": \"\"}",
        "{\"message\": \"E\", \"causes\": {\"a\": 1}}",
        "{\"message\": \"E\", \"causes\": [3, {}, {\"message\": []}]}",
        "{\"message\": {\"message\": \"E\", \"extraInfo\": 3}}",
        ("{\"message\": \"[Errno 104] Connection reset by peer\", \"start\": true}"),
    };
    CU_ASSERT_FALSE(jr_failure_words_of_error(NULL).lost_peer);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        CU_ASSERT_FALSE(in_error(texts[i]));
}

struct headline {
    const char *text;
    bool lost;
};

static const struct headline headlines[] = {
    {"", false},
    {":", false},
    {"E", false},
    {"ValueError: loss is NaN", false},
    {"MyConnectionResetErrors: x", false},
    {"ConnectionResetErrorish", false},
    {"EOFError: EOF when reading a line", false},
    {"EOFError: Ran out of input", false},
    {"EOFError: No data left in file", false},
    {"TimeoutError: the lock of the cache", false},
    {"RuntimeError: NCCL error in: x.cpp:1, unhandled cuda error", false},
    {"torch.cuda.OutOfMemoryError: CUDA out of memory.", false},
    {"EOFError", true},
    {"EOFError: the peer closed its end", true},
    {"ConnectionResetError", true},
    {"ConnectionResetError: [Errno 104] Connection reset by peer", true},
    {"ConnectionRefusedError: [Errno 111] Connection refused", true},
    {"BrokenPipeError: [Errno 32] Broken pipe", true},
    {"ConnectionAbortedError: [Errno 103] Software caused connection abort", true},
    {"asyncio.exceptions.IncompleteReadError: 0 bytes read on a total of 4 expected bytes", true},
    {"TimeoutError: timed out", true},
    {"socket.timeout: timed out", true},
    {"OSError: [Errno 107] Transport endpoint is not connected", true},
    {"RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] "
     "Connection closed by peer [127.0.0.1]:10895",
     true},
    {"RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:589] Read "
     "error [10.0.0.2]:25266: Connection reset by peer",
     true},
    {"RuntimeError: [../third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:81] Timed out "
     "waiting 1800000ms for recv operation to complete",
     true},
    {"RuntimeError: Application timeout caused pair closure", true},
    {"RuntimeError: Socket Timeout", true},
    {"RuntimeError: Broken pipe", true},
    {"torch.distributed.DistNetworkError: failed to recv, got 0 bytes", true},
    {"torch.distributed.DistStoreError: Timed out after 301 seconds waiting "
     "for clients. 1/2 clients joined.",
     true},
    {"torch.distributed.DistBackendError: NCCL error in: /p/x.cpp:3, remote "
     "process exited or there was a network error, NCCL version 2.20.5",
     true},
    {"RuntimeError: NCCL communicator was aborted on rank 1.", true},
    {"mpi4py.MPI.Exception: MPIX_ERR_PROC_FAILED: Process Failure", true},
};

TEST(exceptions)
{
    char text[512];
    for (size_t i = 0; i < sizeof headlines / sizeof *headlines; i++) {
        (void)snprintf(text, sizeof text, "{\"message\": {\"message\": \"%s\"}}",
                       headlines[i].text);
        if (in_error(text) != headlines[i].lost)
            printf("\n    %s", headlines[i].text);
        CU_ASSERT_EQUAL(in_error(text), headlines[i].lost);
        (void)snprintf(text, sizeof text, "{\"message\": \"%s\"}", headlines[i].text);
        CU_ASSERT_EQUAL(in_error(text), headlines[i].lost);
        (void)snprintf(text, sizeof text,
                       "Traceback (most recent call last):\n  File \"a.py\", line 1\n    x()\n%s\n",
                       headlines[i].text);
        CU_ASSERT_EQUAL(jr_failure_words_of_output(text, strlen(text)).lost_peer,
                        headlines[i].lost);
    }
}

TEST(exceptions_behind)
{
    CU_ASSERT_TRUE(in_error("{\"message\": \"RuntimeError: the step failed\", \"causes\": ["
                            "{\"how\": \"cause\", \"message\": \"OSError: x\"},"
                            "{\"how\": \"context\", \"message\": \"ConnectionResetError\"}]}"));
    CU_ASSERT_FALSE(in_error("{\"message\": \"RuntimeError: x\", \"causes\": []}"));
    /* As torch's record leaves it. */
    CU_ASSERT_TRUE(in_error("{\"message\": {\"message\": \"RuntimeError: x\", \"extraInfo\": "
                            "{\"py_callstack\": \"Traceback (most recent call last):\\n  File"
                            "\\nBrokenPipeError: [Errno 32] Broken pipe\\n\\nDuring handling of "
                            "the above exception, another exception occurred:\\n\\nTraceback "
                            "(most recent call last):\\n  File\\nRuntimeError: x\\n\"}}}"));
    CU_ASSERT_FALSE(in_error("{\"message\": {\"message\": \"RuntimeError: x\", \"extraInfo\": "
                             "{\"py_callstack\": \"Traceback (most recent call last):\\n    log("
                             "'broken pipe')\\nRuntimeError: x\\n\"}}}"));
}

#define TRACE "Traceback (most recent call last):\n  File \"a.py\", line 1\n"
#define CODE  "    raise ValueError('connection reset by peer')\n"
#define RESET "ConnectionResetError: [Errno 104] Connection reset by peer\n"
#define CAUSE                                                                                      \
    "\nThe above exception was the direct cause of the following "                                 \
    "exception:\n\n"
#define LINES "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n"

TEST(output)
{
    static const struct headline vectors[] = {
        {"", false},
        {"\n\n\n", false},
        {"\0\0\xff", false},
        {"[rank", false},
        {"[rank3]", false},
        {"[rank3]:", false},
        {"step 1\nstep 2\n", false},
        {TRACE CODE "ValueError: x\n", false},
        {TRACE RESET "retrying\n" LINES "config.yaml is invalid\n", false},
        {TRACE RESET TRACE "ValueError: x\n", false},
        {"read: Connection reset by peer\n" LINES, false},
        {"Fatal Python error: Aborted\n\nCurrent thread 0x1 (most recent call "
         "first):\n  File \"a.py\", line 1 in main\n",
         false},
        {"read: Connection reset by peer\n", false}, /* as a log has it */
        {"read: Connection reset by peer", false},
        {"read: Connection reset by peer\nrank 1: giving up\n\n", false},
        {LINES TRACE RESET, true},
        {TRACE RESET CAUSE TRACE "RuntimeError: lost rank 0\n", true},
        {"[rank1]: Traceback (most recent call last):\n[rank1]:   File\n"
         "[rank1]: torch.distributed.DistNetworkError: x\n",
         true},
        {"terminate called after throwing an instance of 'c10::DistBackendError'\n  what():  [PG "
         "ID 0 Rank 3] Watchdog caught collective operation timeout: "
         "WorkNCCL(SeqNum=4)\nException raised from checkTimeout at x.cpp:632 (most recent call "
         "first):\nframe #0: a\nframe #1: b\nframe #2: c\nframe #3: d\nframe #4: e\n\nFatal "
         "Python error: Aborted\n",
         true},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        const char *text = vectors[i].text;
        bool lost = jr_failure_words_of_output(text, strlen(text)).lost_peer;
        if (lost != vectors[i].lost)
            printf("\n    %s", text);
        CU_ASSERT_EQUAL(lost, vectors[i].lost);
    }
}

/* Any end of it, and any beginning, as a tail that was cut has it. */
TEST(cut_output)
{
    static const char text[] =
        "[rank1]: " TRACE "[rank1]: " RESET CAUSE TRACE "torch.distributed.DistStoreError: x\n";
    for (size_t from = 0; from < sizeof text; from++)
        for (size_t to = from; to < sizeof text; to++) {
            char *copy = strndup(text + from, to - from);
            CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
            (void)jr_failure_words_of_output(copy, to - from);
            free(copy);
        }
}

static uint32_t hash_of(const char *text)
{
    return jr_failure_words_of_output(text, strlen(text)).hash;
}

static uint32_t hash_of_error(const char *text)
{
    json_t *error = jr_json_parse(text, strlen(text), NULL);
    uint32_t hash = jr_failure_words_of_error(error).hash;
    json_decref(error);
    return hash;
}

/* Equal words have equal hashes, whatever their numbers and what was before. */
TEST(hashes_of_last_words)
{
    static const char *const alike[] = {
        "star: rank 1 has lost 0x7ffe12ab\n",
        "step 3\nstar: rank 12 has lost 0x55aabb00\n\n",
        "[rank7]: star: rank 3 has lost 0xdeadbeef",
    };
    static const char *const others[] = {"star: rank 1 has lost it\n", "star\n",
                                         "star: rank has lost 0x1\n"};
    CU_ASSERT_TRUE(hash_of("") == 0 && hash_of("\n\n") == 0);
    for (size_t i = 0; i < sizeof alike / sizeof *alike; i++)
        CU_ASSERT_EQUAL(hash_of(alike[i]), hash_of(alike[0]));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        CU_ASSERT_TRUE(hash_of(others[i]) != hash_of(alike[0]) && hash_of(others[i]) != 0);
    }
    CU_ASSERT_EQUAL(hash_of_error("{}"), 0);
    CU_ASSERT_EQUAL(hash_of_error("{\"message\": \"a.E: loss 3\"}"),
                    hash_of_error("{\"message\": {\"message\": \"E: x\"}}"));
    CU_ASSERT_NOT_EQUAL(hash_of_error("{\"message\": \"E: x\"}"),
                        hash_of_error("{\"message\": \"F: x\"}"));
}
