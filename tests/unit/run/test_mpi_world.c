/* The runner as the process manager of an MPI program: what ranks hear over real sockets, and what
 * their words, and their silence, make of them. */
#include "fake_runner.h"

#define INIT    "cmd=init pmi_version=1 pmi_subversion=1\n"
#define INIT_OK "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n"

static struct jr_plan_rank world_ranks[4];

/* Give the rank a stream. */
static void connect_rank(uint32_t i)
{
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(jr_control_open(ends), 0);
    CU_ASSERT_EQUAL_FATAL(jr_mpi_world_add(&fake.ranks[i], ends[0]), 0);
    fake.controls[i] = ends[1];
}

/* Ranks 0 and 1 are all there are. */
static void start_policies(void)
{
    fake_runner_start();
    fake.policy.timeouts.stop_grace_ms = FAKE_WAIT_MS;
    fake.plan.count = fake.plan.world_size = 2;
    fake.plan.mpi.protocol = JR_MPI_PROTOCOL_PMI1;
    fake_runner_open(&jr_stop_policy);
    fake_runner_open(&jr_first_failure_policy);
    fake_runner_open(&jr_mpi_world_policy);
}

static void start(void)
{
    start_policies();
    for (uint32_t i = 0; i < 2; i++) {
        fake_runner_run(i);
        connect_rank(i);
    }
}

static void write_to(uint32_t i, const char *text)
{
    CU_ASSERT_EQUAL(send(fake.controls[i], text, strlen(text), 0), (ssize_t)strlen(text));
}

/* Let the rank write, and the runner read it. */
static void say(uint32_t i, const char *text)
{
    write_to(i, text);
    (void)jr_loop_turn(&fake.runner.loop, true);
}

static void check_heard(uint32_t i, const char *expected)
{
    char text[512];
    ssize_t len = recv(fake.controls[i], text, sizeof text - 1, MSG_DONTWAIT);
    text[len < 0 ? 0 : len] = '\0';
    JR_ASSERT_TEXT(text, expected);
}

static void check_part(uint32_t i, enum jr_mpi_part part)
{
    CU_ASSERT_EQUAL(fake.outcomes[i].mpi, part);
}

static void end_rank(uint32_t i, int code)
{
    fake_runner_note_end(i, JR_END_EXITED, code);
    jr_mpi_world_policy.rank_ended(&fake.ranks[i]);
    jr_stop_policy.rank_ended(&fake.ranks[i]);
    fake_runner_pass_hold();
}

ENDING(end)
{
    jr_mpi_world_policy.close(&fake.runner);
    fake_runner_end();
}

/* The last words of a rank that is gone are read, and its exit is what stops the others. */
TEST(reads_last_words)
{
    start();
    write_to(0, INIT "cmd=abort exitcode=3\n");
    end_rank(0, 3);
    check_part(0, JR_MPI_PART_ABORTED);
    fake_runner_check_events("mpi_abort rank=10 code=3; stop signal=SIGTERM running=1; ");
    end();
    start();
    write_to(0, INIT "cmd=finalize\n");
    end_rank(0, 0);
    check_part(0, JR_MPI_PART_FINALIZED);
    CU_ASSERT_FALSE(jr_stop_has_begun(&fake.runner));
    end();
}

/* MPICH's streams do not outlast its MPI_Finalize. */
TEST(explains_what_a_second_program_dies_of)
{
    static const struct {
        const char *said;
        enum jr_end end;
        int number;
        bool explained;
    } vectors[] = {
        {INIT "cmd=finalize\n", JR_END_SIGNALED, SIGPIPE, true},
        {INIT "cmd=finalize\n", JR_END_EXITED, 128 + SIGPIPE, true},
        {INIT "cmd=finalize\n", JR_END_EXITED, 1, false},
        {INIT, JR_END_SIGNALED, SIGPIPE, false},
        {"", JR_END_SIGNALED, SIGPIPE, false},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        char text[512];
        BEGIN(end, start());
        fake_runner_console();
        write_to(0, vectors[i].said);
        fake_runner_note_end(0, vectors[i].end, vectors[i].number);
        jr_mpi_world_policy.rank_ended(&fake.ranks[0]);
        jr_console_writer_close(&fake.runner.console);
        (void)fake_runner_read("console", text, sizeof text);
        CU_ASSERT_EQUAL(strstr(text, "rank 10 was ended by SIGPIPE after MPI_Finalize") != NULL,
                        vectors[i].explained);
    }
}

/* A rank that asks and does not read is left alone: what waits for it is bounded by what was read
 * at once, and comes when it reads. */
TEST(leaves_alone_who_does_not_read)
{
    enum { ASKED = 20000 };
    static const char request[] = "cmd=get_maxes\n";
    char text[4096];
    size_t sent = 0, heard = 0, most = 0;
    ssize_t len;
    BEGIN(end, start());
    say(0, INIT);
    check_heard(0, INIT_OK);
    for (size_t i = 0; i < ASKED; i++) {
        if (send(fake.controls[0], request, sizeof request - 1, MSG_DONTWAIT) !=
            (ssize_t)sizeof request - 1)
            break;
        sent++;
        (void)jr_loop_turn(&fake.runner.loop, true);
        size_t waiting = fake.runner.mpi_world.pmi.clients[0].out.len;
        most = waiting > most ? waiting : most;
    }
    CU_ASSERT_TRUE(sent > 100 && sent < ASKED);
    CU_ASSERT_TRUE(fake.runner.mpi_world.streams[0].full);
    CU_ASSERT_TRUE(most < 64u << 10);
    for (size_t expected = sent * strlen("cmd=maxes kvsname_max=256 keylen_max=64 "
                                         "vallen_max=1024 rc=0\n");
         heard < expected; heard += (size_t)len) {
        len = recv(fake.controls[0], text, sizeof text, MSG_DONTWAIT);
        if (len < 0)
            (void)jr_loop_turn(&fake.runner.loop, false);
        len = len < 0 ? 0 : len;
    }
    CU_ASSERT_FALSE(fake.runner.mpi_world.streams[0].full);
}

/* The stream of a rank that is closed is no end of it. */
TEST(minds_no_closed_streams)
{
    BEGIN(end, start());
    say(0, INIT);
    (void)close(fake.controls[0]);
    fake.controls[0] = -1;
    (void)jr_loop_turn(&fake.runner.loop, true);
    CU_ASSERT_EQUAL(fake.runner.mpi_world.streams[0].watch.fd, -1);
    CU_ASSERT_FALSE(jr_stop_has_begun(&fake.runner));
    end_rank(0, 0);
    CU_ASSERT_TRUE(jr_outcome_left_mpi(&fake.outcomes[0]));
}

/* With PMIx, by a process beside the runner, whose library is fake_pmix.c of tests/unit/wireup: as
 * it ends, it tells that rank 0 has finalized, and that rank 1 has aborted with 3. */
static void start_pmix(struct jr_shared *shared)
{
    fake_runner_start();
    fake.policy.timeouts.stop_grace_ms = FAKE_WAIT_MS;
    fake.plan.count = fake.plan.world_size = 2;
    fake.plan.own_dir = "/tmp";
    fake.plan.mpi.protocol = JR_MPI_PROTOCOL_PMIX;
    fake.plan.mpi.server = FAKE_PMIX;
    fake.runner.shared = shared;
    fake_runner_open(&jr_stop_policy);
    fake_runner_open(&jr_first_failure_policy);
}

static void open_pmix(void)
{
    fake_runner_open(&jr_mpi_world_policy);
    while (!jr_mpi_world_is_ready(&fake.runner))
        (void)jr_loop_turn(&fake.runner.loop, false);
}

TEST(hears_what_pmix_tells)
{
    struct jr_shared *shared = jr_shared_new(2);
    start_pmix(shared);
    (void)setenv("FAKE", "1", 1);
    (void)setenv("OMPI_FOREIGN", "1", 1);
    open_pmix();
    for (uint32_t i = 0; i < 2; i++)
        fake_runner_spawn(i);
    JR_ASSERT_TEXT(fake.runner.starter.more[0], "PMIX_NAMESPACE=fake");
    check_part(0, JR_MPI_PART_ABSENT);
    (void)shutdown(fake.runner.mpi_world.events.fd, SHUT_WR);
    while (fake.runner.mpi_world.events.fd >= 0)
        (void)jr_loop_turn(&fake.runner.loop, false);
    check_part(0, JR_MPI_PART_FINALIZED);
    check_part(1, JR_MPI_PART_ABORTED);
    CU_ASSERT_TRUE(fake.outcomes[1].mpi_code == 3 && fake.outcomes[1].mpi_spawned);
    fake_runner_check_events("mpi_initialized; mpi_spawn_refused rank=11; mpi_abort "
                             "rank=11 code=3; stop signal=SIGTERM running=2; ");
    end();
    CU_ASSERT_EQUAL(fake.runner.mpi_world.pmix.fd, -1);
    jr_shared_free(shared);
}

/* Its last words count before the end of a rank does. */
TEST(hears_pmix_before_an_end)
{
    struct jr_shared *shared = jr_shared_new(2);
    start_pmix(shared);
    (void)setenv("FAKE", "1", 1);
    open_pmix();
    for (uint32_t i = 0; i < 2; i++)
        fake_runner_run(i);
    (void)shutdown(fake.runner.mpi_world.events.fd, SHUT_WR);
    CU_ASSERT_TRUE(fake_runner_readable(fake.runner.mpi_world.events.fd, FAKE_WAIT_MS));
    while (fake.runner.mpi_world.events.fd >= 0)
        end_rank(0, 0);
    check_part(0, JR_MPI_PART_FINALIZED);
    CU_ASSERT_TRUE(jr_outcome_is_well(&fake.outcomes[0]));
    end();
    jr_shared_free(shared);
}

/* A whole runner, whose ranks wait for the server: `how` is what that does. */
static struct jr_shared *start_waiting(const char *how, const char *library)
{
    static char *argv[] = {(char *)"true", NULL};
    struct jr_shared *shared = jr_shared_new(2);
    fake_runner_start();
    fake.policy.timeouts.stop_grace_ms = FAKE_WAIT_MS;
    fake.plan.count = fake.plan.world_size = 2;
    fake.plan.own_dir = "/tmp";
    fake.plan.mpi.protocol = JR_MPI_PROTOCOL_PMIX;
    fake.plan.mpi.server = library;
    fake.runner.shared = shared;
    (void)setenv("FAKE", how, 1);
    fake_runner_starter(argv);
    CU_ASSERT_EQUAL_FATAL(jr_policies_open(&fake.runner), 0);
    CU_ASSERT_FALSE(jr_mpi_world_is_ready(&fake.runner));
    (void)jr_launch_turn(&fake.runner);
    CU_ASSERT_EQUAL(fake.runner.next, 0);
    return shared;
}

static void end_waiting(struct jr_shared *shared)
{
    pid_t server = fake.runner.mpi_world.pmix.pid;
    jr_policies_close(&fake.runner);
    if (server > 0)
        CU_ASSERT_EQUAL(kill(server, 0), -1);
    if (fake.runner.oom.log_fd > 0)
        (void)close(fake.runner.oom.log_fd);
    fake_runner_end();
    jr_shared_free(shared);
}

static bool is_launched(const struct jr_runner *runner)
{
    return !jr_launch_is_due(runner) && runner->running == 0;
}

/* Rank 0 is told to have failed to start, and the run ends. */
static void check_unstarted(const char *why)
{
    CU_ASSERT_TRUE(fake.runner.next == 1 && fake.outcomes[0].end == JR_END_START);
    CU_ASSERT_EQUAL(fake.outcomes[0].stage, JR_STAGE_PMIX);
    CU_ASSERT_PTR_NOT_NULL(strstr(fake.runner.outcome->start_text, why));
    CU_ASSERT_TRUE(jr_stop_has_begun(&fake.runner));
}

TEST(says_why_there_is_no_pmix)
{
    struct jr_shared *shared = start_waiting("1", "/nowhere/libpmix.so.2");
    fake_runner_turn(is_launched);
    check_unstarted("could not load the library: /nowhere/libpmix.so.2");
    end_waiting(shared);
}

/* By its own limit, by that of the spec, and by a signal, none of which the server has to
 * answer. */
TEST(waits_for_pmix_no_longer)
{
    struct jr_shared *shared = start_waiting("slow", FAKE_PMIX);
    CU_ASSERT_TRUE(fake.runner.mpi_world.ready.at != 0);
    fake.runner.mpi_world.ready.due(fake.runner.mpi_world.ready.owner);
    check_unstarted("it did not become ready within 30 s");
    end_waiting(shared);
    shared = start_waiting("slow", FAKE_PMIX);
    fake.runner.stop.start.due(fake.runner.stop.start.owner);
    check_unstarted("it was not ready within timeouts.start");
    CU_ASSERT_EQUAL(fake.runner.outcome->timed_out_by, JR_TIMEOUT_START);
    end_waiting(shared);
    shared = start_waiting("slow", FAKE_PMIX);
    jr_stop_signal(&fake.runner, SIGINT, jr_clock_ns());
    CU_ASSERT_TRUE(is_launched(&fake.runner) && fake.runner.next == 0);
    end_waiting(shared);
}

/* On two nodes with two ranks each, of which we are the first: `peer` is the agent's end of the
 * exchange. */
static int start_node(void)
{
    int ends[2];
    fake_runner_start();
    fake_runner_link();
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    fake.policy.timeouts.stop_grace_ms = FAKE_WAIT_MS;
    fake.runner.link.exchange_fd = ends[1];
    fake.plan.run_id = "run-7";
    fake.plan.count = 2;
    fake.plan.nodes = 2;
    fake.plan.world_size = 4;
    for (uint32_t i = 0; i < 4; i++)
        world_ranks[i] = (struct jr_plan_rank){.rank = i, .node_rank = i / 2};
    fake.plan.ranks = world_ranks;
    fake.plan.mpi.protocol = JR_MPI_PROTOCOL_PMI1;
    fake_runner_open(&jr_stop_policy);
    fake_runner_open(&jr_first_failure_policy);
    fake_runner_open(&jr_mpi_world_policy);
    for (uint32_t i = 0; i < 2; i++) {
        fake_runner_run(i);
        connect_rank(i);
    }
    return ends[0];
}

/* What came over the exchange: "all: P0 here\n". */
static void check_exchanged(int peer, const char *expected)
{
    struct jr_inlet inlet = {0};
    struct jr_exchange_frame frame;
    char text[256] = "";
    ssize_t len = recv(peer, text, sizeof text, MSG_DONTWAIT);
    jr_inlet_add(&inlet, text, len < 0 ? 0 : (size_t)len);
    if (jr_exchange_next(&inlet, &frame) == JR_EXCHANGE_TAKEN)
        (void)snprintf(text, sizeof text, "%s: %.*s", frame.group, (int)frame.len, frame.data);
    else
        text[0] = '\0';
    JR_ASSERT_TEXT(text, expected);
    jr_inlet_release(&inlet);
}

static void exchange_frame(int peer, enum jr_exchange_kind kind, const char *group,
                           const char *lines)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_exchange_put(&out, &(struct jr_exchange_frame){
                              .kind = kind, .group = group, .data = lines, .len = strlen(lines)});
    CU_ASSERT_EQUAL(send(peer, out.data, out.len, 0), (ssize_t)out.len);
    (void)jr_loop_turn(&fake.runner.loop, true);
}

static void exchange(int peer, const char *lines)
{
    exchange_frame(peer, JR_EXCHANGE_FENCE, "all", lines);
}

/* The barrier opens once all nodes are in it, and everyone gets everything. */
TEST(leads_a_world_with_others)
{
    int peer = start_node();
    say(0, INIT "cmd=get_my_kvsname\n"
                "cmd=get kvsname=jobrun-0-0-run-7 key=PMI_process_mapping\n");
    check_heard(0, INIT_OK "cmd=my_kvsname kvsname=jobrun-0-0-run-7 rc=0\n"
                           "cmd=get_result rc=0 value=(vector,(0,2,2))\n");
    say(1, INIT);
    check_heard(1, INIT_OK);
    say(0, "cmd=put kvsname=jobrun-0-0-run-7 key=P0 value=here\n"
           "cmd=barrier_in\n");
    check_heard(0, "cmd=put_result rc=0\n");
    check_exchanged(peer, "");
    say(1, "cmd=barrier_in\n");
    check_exchanged(peer, "all: P0 here\n");
    exchange_frame(peer, JR_EXCHANGE_FENCE, "2-3", "P2 false\n");
    exchange_frame(peer, JR_EXCHANGE_ANSWER, "all", "P2 false\n");
    check_heard(1, "");
    exchange(peer, "P0 here\nP2 there\n");
    check_heard(0, "cmd=barrier_out rc=0\n");
    check_heard(1, "cmd=barrier_out rc=0\n");
    say(1, "cmd=get kvsname=jobrun-0-0-run-7 key=P2\ncmd=barrier_in\n");
    check_heard(1, "cmd=get_result rc=0 value=there\n");
    say(0, "cmd=barrier_in\n");
    check_exchanged(peer, "all: ");
    exchange(peer, "");
    check_heard(0, "cmd=barrier_out rc=0\n");
    CU_ASSERT_FALSE(jr_stop_has_begun(&fake.runner));
    end();
    (void)close(peer);
}

/* Much more than a socket takes at once: it waits, nothing blocks, and all comes. What comes in
 * pieces is put together. */
TEST(exchanges_as_there_is_room)
{
    enum { KEYS = 500, DIGITS = 900 };
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_inlet inlet = {0};
    struct jr_exchange_frame frame = {0};
    const struct jr_mpi_exchange *stream = &fake.runner.mpi_world.exchange;
    char text[DIGITS + 128], bytes[65536];
    int peer = start_node();
    say(1, INIT "cmd=barrier_in\n");
    check_heard(1, INIT_OK);
    say(0, INIT);
    check_heard(0, INIT_OK);
    for (unsigned k = 0; k < KEYS; k++) {
        (void)snprintf(text, sizeof text, "cmd=put kvsname=jobrun-0-0-run-7 key=k%u value=%0*u\n",
                       k, DIGITS, k);
        say(0, text);
        check_heard(0, "cmd=put_result rc=0\n");
    }
    say(0, "cmd=barrier_in\n");
    CU_ASSERT_TRUE(stream->full);
    while (jr_exchange_next(&inlet, &frame) != JR_EXCHANGE_TAKEN) {
        ssize_t len = recv(peer, bytes, sizeof bytes, MSG_DONTWAIT);
        if (len > 0)
            jr_inlet_add(&inlet, bytes, (size_t)len);
        else
            (void)jr_loop_turn(&fake.runner.loop, true);
    }
    CU_ASSERT_TRUE(frame.len > (size_t)KEYS * DIGITS);
    (void)jr_loop_turn(&fake.runner.loop, true);
    CU_ASSERT_TRUE(!stream->full && stream->out.len == 0);
    frame.len = 0;
    jr_exchange_put(&out, &frame);
    CU_ASSERT_EQUAL(send(peer, out.data, out.len - 1, 0), (ssize_t)out.len - 1);
    (void)jr_loop_turn(&fake.runner.loop, true);
    check_heard(0, "");
    CU_ASSERT_EQUAL(send(peer, out.data + out.len - 1, 1, 0), 1);
    (void)jr_loop_turn(&fake.runner.loop, true);
    check_heard(0, "cmd=barrier_out rc=0\n");
    jr_inlet_release(&inlet);
    end();
    (void)close(peer);
}

/* The first here is reported, once. */
TEST(reports_that_a_rank_initialized)
{
    struct jr_report report = {.name = JR_REPORT_QUIET};
    int peer = start_node();
    say(0, INIT);
    say(1, INIT);
    CU_ASSERT_EQUAL(read(fake.reports[0], &report, sizeof report), (ssize_t)sizeof report);
    CU_ASSERT_EQUAL(report.name, JR_REPORT_INITIALIZED);
    CU_ASSERT_FALSE(fake_runner_readable(fake.reports[0], 0));
    end();
    (void)close(peer);
}

/* Who has ended without, or does so then, has left ranks of other nodes. */
TEST(fails_who_leaves_other_nodes)
{
    int peer = start_node();
    end_rank(0, 0);
    check_part(0, JR_MPI_PART_ABSENT);
    CU_ASSERT_FALSE(jr_stop_has_begun(&fake.runner));
    jr_mpi_world_note_others(&fake.runner);
    check_part(0, JR_MPI_PART_LEFT);
    fake_runner_pass_hold();
    CU_ASSERT_TRUE(jr_stop_has_begun(&fake.runner));
    end();
    (void)close(peer);
    peer = start_node();
    jr_mpi_world_note_others(&fake.runner);
    CU_ASSERT_FALSE(jr_stop_has_begun(&fake.runner));
    end_rank(1, 0);
    check_part(1, JR_MPI_PART_LEFT);
    CU_ASSERT_TRUE(jr_stop_has_begun(&fake.runner));
    end();
    (void)close(peer);
}

/* The exchange ends, or what comes is none: the ranks would wait for ever. */
TEST(stops_without_the_exchange)
{
    int peer = start_node();
    (void)close(peer);
    (void)jr_loop_turn(&fake.runner.loop, true);
    CU_ASSERT_TRUE(jr_stop_has_begun(&fake.runner));
    CU_ASSERT_PTR_NOT_NULL(strstr(fake.runner.outcome->start_text, "could not be read"));
    end();
    for (int framed = 0; framed < 2; framed++) {
        peer = start_node();
        if (framed)
            exchange(peer, "no line of a key and a value");
        else
            CU_ASSERT_EQUAL(send(peer, "garbage longer than a head is", 29, 0), 29);
        (void)jr_loop_turn(&fake.runner.loop, true);
        CU_ASSERT_TRUE(jr_stop_has_begun(&fake.runner));
        end();
        (void)close(peer);
    }
}
