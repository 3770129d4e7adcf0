/* What people are told that a hung rank was doing. */
#include "judge/hang_report.h"

#include "quoted.h"

static json_t *parse(const char *text)
{
    json_t *json = jr_json_parse(text, strlen(text), NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(json);
    return json;
}

static void check_words(const char *evidence, const char *expected)
{
    JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
    json_t *json = parse(evidence);
    jr_thread_state_words(&out, json);
    JR_ASSERT_TEXT(out.data, expected);
    json_decref(json);
}

#define ONE(cpu, thread)                                                                           \
    "{\"cpu_seconds\": " cpu ", \"interval_seconds\": 0.5, \"processes\": "                        \
    "[{\"pid\": 7, \"parent\": 1, \"threads\": [" thread "]}]}"

TEST(evidence_that_says_nothing)
{
    static const char *const vectors[][2] = {{"{}", "gone"},
                                             {"[]", "gone"},
                                             {"{\"processes\": 5}", "gone"},
                                             {"{\"processes\": []}", "gone"},
                                             {"{\"processes\": [{\"threads\": []}]}", "gone"},
                                             {"{\"processes\": [[]]}", "gone"},
                                             {ONE("0", "{}"), "in no known state"},
                                             {ONE("0", "{\"state\": \"\"}"), "in no known state"},
                                             {ONE("0", "{\"state\": 7}"), "in no known state"},
                                             {ONE("0", "{\"state\": \"Q\"}"), "in no known state"},
                                             {ONE("\"0.4\"", "{\"state\": \"S\"}"), "waiting"}};
    for (size_t i = 0; i < COUNT_OF(vectors); i++)
        check_words(vectors[i][0], vectors[i][1]);
}

TEST(states_are_told_in_words)
{
    static const char *const vectors[][2] = {
        {ONE("0", "{\"state\": \"R\"}"), "using the CPU"},
        {ONE("0", "{\"state\": \"S\"}"), "waiting"},
        {ONE("0", "{\"state\": \"I\", \"syscall\": \"read\"}"), "waiting in read"},
        {ONE("0", "{\"state\": \"S\", \"wchan\": \"pipe_read\"}"), "waiting in pipe_read"},
        {ONE("0", "{\"state\": \"S\", \"syscall\": \"futex\", \"wchan\": \"futex_do_wait\"}"),
         "waiting in futex (futex_do_wait)"},
        {ONE("0", "{\"state\": \"D\", \"wchan\": \"nfs_wait\"}"), "stuck in nfs_wait"},
        {ONE("0", "{\"state\": \"D\"}"), "stuck"},
        {ONE("0", "{\"state\": \"T\", \"wchan\": \"do_signal_stop\"}"), "stopped by a signal"},
        {ONE("0", "{\"state\": \"t\"}"), "stopped by a debugger"},
        {ONE("0", "{\"state\": \"Z\"}"), "ending"},
        {ONE("0", "{\"state\": \"X\"}"), "ending"},
        {ONE("0", "{\"state\": \"S\", \"syscall\": \"a\\u001b[2J\"}"), "waiting in a\\x1b[2J"}};
    for (size_t i = 0; i < COUNT_OF(vectors); i++)
        check_words(vectors[i][0], vectors[i][1]);
}

/* A rank that slept at the look has used the CPU all the same, if it was busy for half of the
 * time. */
TEST(half_of_the_time_is_busy)
{
    check_words(ONE("0.25", "{\"state\": \"S\"}"), "using the CPU");
    check_words(ONE("0.249", "{\"state\": \"S\"}"), "waiting");
    check_words(ONE("2", "{\"state\": \"S\"}"), "using the CPU");
    check_words("{\"cpu_seconds\": 3, \"interval_seconds\": 0, \"processes\": [{\"threads\": "
                "[{\"state\": \"S\"}]}]}",
                "waiting");
    check_words("{\"cpu_seconds\": 3, \"interval_seconds\": 0.5, \"processes\": []}", "gone");
}

#define SHELL(call) "{\"pid\": 7, \"parent\": 1, \"threads\": [{\"state\": \"S\", " call "}]}"
#define CHILD(pid, parent, call)                                                                   \
    "{\"pid\": " pid ", \"parent\": " parent                                                       \
    ", \"threads\": [{\"state\": \"S\", \"syscall\": \"" call "\"}]}"
#define ALL(processes) "{\"processes\": [" processes "]}"

TEST(who_waits_for_a_child_is_not_told_of)
{
    static const char *const vectors[][2] = {
        {ALL(SHELL("\"syscall\": \"wait4\"") "," CHILD("8", "7", "recv")), "waiting in recv"},
        {ALL(SHELL("\"syscall\": \"waitid\"") "," CHILD("8", "7", "recv")), "waiting in recv"},
        {ALL(SHELL("\"wchan\": \"do_wait\"") "," CHILD("8", "7", "recv")), "waiting in recv"},
        {ALL(SHELL("\"syscall\": \"read\", \"wchan\": \"do_wait\"") "," CHILD("8", "7", "recv")),
         "waiting in read (do_wait)"},
        {ALL(SHELL("\"syscall\": \"wait4\"") "," CHILD("8", "9", "recv")), "waiting in wait4"},
        {ALL(SHELL("\"syscall\": \"wait4\"")), "waiting in wait4"},
        {ALL(SHELL("\"syscall\": \"wait4\"") "," CHILD("8", "7", "wait4") "," CHILD("9", "8",
                                                                                    "connect")),
         "waiting in connect"},
        {ALL(SHELL("\"syscall\": \"wait4\"") "," CHILD("9", "8", "connect") "," CHILD("8", "7",
                                                                                      "wait4")),
         "waiting in connect"}};
    for (size_t i = 0; i < COUNT_OF(vectors); i++)
        check_words(vectors[i][0], vectors[i][1]);
}

/* Processes that name each other as parents end the search. */
TEST(a_circle_of_parents_ends)
{
    check_words(
        ALL(CHILD("7", "8", "wait4") "," CHILD("8", "7", "wait4") "," CHILD("7", "8", "wait4")),
        "waiting in wait4");
}

TEST(silence_is_a_number_or_unknown)
{
    static const struct {
        const char *evidence;
        double silence;
    } vectors[] = {{"{}", -1},
                   {"{\"silent_seconds\": null}", -1},
                   {"{\"silent_seconds\": \"3\"}", -1},
                   {"{\"silent_seconds\": 0}", 0},
                   {"{\"silent_seconds\": 3}", 3},
                   {"{\"silent_seconds\": 14.25}", 14.25}};
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        json_t *json = parse(vectors[i].evidence);
        CU_ASSERT_EQUAL(jr_thread_state_silence(json), vectors[i].silence);
        json_decref(json);
    }
}

static void check_stacks(const char *evidence, const char *expected)
{
    JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
    json_t *json = parse(evidence);
    jr_thread_state_stacks(&out, json);
    JR_ASSERT_TEXT(out.data, expected);
    json_decref(json);
}

#define HEAD                                                                                       \
    "\"rank\": 3, \"pid\": 4711, \"cpu_seconds\": 0.126, "                                         \
    "\"interval_seconds\": 0.5"

TEST(headings_say_what_is_known)
{
    check_stacks("{" HEAD "}", "rank 3   pid 4711   gone   0.13 s of CPU in 0.50 s\n");
    check_stacks("{" HEAD ", \"silent_seconds\": 14}",
                 "rank 3   pid 4711   gone   0.13 s of CPU in 0.50 s   silent for 14.0 s\n");
    check_stacks("{" HEAD ", \"processes\": [{\"pid\": 5}]}",
                 "rank 3   pid 4711   gone   0.13 s of CPU in 0.50 s\n  process 5 ?, 0 threads\n");
}

#define THREAD(tid, name, state, more)                                                             \
    "{\"tid\": " tid ", \"name\": \"" name "\", \"state\": \"" state                               \
    "\", \"cpu_seconds\": 1.5" more "}"
#define LIKE(tid, name) THREAD(tid, name, "S", ", \"wchan\": null, \"syscall\": null")
#define STACKED(tid, name)                                                                         \
    THREAD(tid, name, "S",                                                                         \
           ", \"wchan\": null, \"syscall\": null, \"stack\": "                                     \
           "[\"f+0x1\", 7, \"g\\n\"]")
#define OF(threads)                                                                                \
    "{" HEAD ", \"processes\": [{\"pid\": 5, \"name\": \"py\\u0007\", "                            \
    "\"threads\": [" threads "]}]}"
#define TOP                                                                                        \
    "rank 3   pid 4711   waiting   0.13 s of CPU in 0.50 s\n"                                      \
    "  process 5 py\\x07, "

TEST(threads_that_are_alike_are_told_once)
{
    check_stacks(OF(THREAD("5", "main", "S", "")),
                 TOP "1 thread\n    5        main             S    1.50 s  waiting\n");
    check_stacks(OF(THREAD("5", "main", "S",
                           "") "," LIKE("6", "pool") "," LIKE("7", "pool") "," LIKE("8", "pool")),
                 TOP "4 threads\n    5        main             S    1.50 s  waiting\n    6        "
                     "pool             S    1.50 s  waiting, and 2 more like it\n");
    check_stacks(
        OF(THREAD("5", "a", "S", "") "," THREAD("6", "a", "R", "") "," THREAD(
            "7", "a", "R", ", \"wchan\": \"x\"") "," THREAD("8", "a", "R", ", \"syscall\": \"y\"")),
        TOP "4 threads\n    5        a                S    1.50 s  waiting\n    6        a         "
            "       R    1.50 s  running\n    7        a                R    1.50 s  running\n    "
            "8        a                R    1.50 s  running\n");
}

/* A stack is always shown: those are what the page is asked for. */
TEST(threads_with_a_stack_are_told_each)
{
    check_stacks(OF(LIKE("5", "a") "," STACKED("6", "a") "," LIKE("7", "a") "," LIKE("8", "a")),
                 TOP "4 threads\n"
                     "    5        a                S    1.50 s  waiting\n"
                     "    6        a                S    1.50 s  waiting\n"
                     "        f+0x1\n"
                     "        \n"
                     "        g\\x0a\n"
                     "    7        a                S    1.50 s  waiting, and 1 more like it\n");
}
