#include "eventloop/loop.h"
#include "unit.h"

#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"

#define MS UINT64_C(1000000)

/* What was called, in order. */
struct record {
    char calls[16];
    size_t count;
};

struct source {
    struct jr_watch watch;
    int write_fd;
    char name;
    struct record *record;
};

static void on_ready(void *owner, uint32_t events)
{
    struct source *source = owner;
    char byte;
    CU_ASSERT_TRUE((events & EPOLLIN) != 0);
    CU_ASSERT_EQUAL(read(source->watch.fd, &byte, 1), 1);
    source->record->calls[source->record->count++] = source->name;
}

static void open_source(struct source *source, struct jr_loop *loop, char name,
                        struct record *record)
{
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    *source = (struct source){.watch = {.fd = ends[0], .ready = on_ready, .owner = source},
                              .write_fd = ends[1],
                              .name = name,
                              .record = record};
    CU_ASSERT_EQUAL(jr_loop_add(loop, &source->watch, EPOLLIN), 0);
}

static void poke(const struct source *source)
{
    CU_ASSERT_EQUAL(write(source->write_fd, "x", 1), 1);
}

static void close_source(struct source *source)
{
    (void)close(source->watch.fd);
    (void)close(source->write_fd);
}

TEST(calls_in_the_kernels_order)
{
    struct jr_loop loop;
    struct record record = {0};
    struct source a, b, c;
    CU_ASSERT_EQUAL_FATAL(jr_loop_open(&loop), 0);
    open_source(&a, &loop, 'a', &record);
    open_source(&b, &loop, 'b', &record);
    open_source(&c, &loop, 'c', &record);
    poke(&c);
    poke(&a);
    poke(&b);
    CU_ASSERT_EQUAL(jr_loop_turn(&loop, false), 3);
    JR_ASSERT_TEXT(record.calls, "cab");
    CU_ASSERT_EQUAL(jr_loop_turn(&loop, true), 0);
    poke(&b);
    jr_loop_remove(&loop, &b.watch);
    CU_ASSERT_EQUAL(jr_loop_turn(&loop, true), 0);
    CU_ASSERT_EQUAL(jr_loop_add(&loop, &b.watch, EPOLLIN), 0);
    CU_ASSERT_EQUAL(jr_loop_turn(&loop, true), 1);
    close_source(&a);
    close_source(&b);
    close_source(&c);
    (void)close(loop.epoll_fd);
}

static void on_ready_remove(void *owner, uint32_t events)
{
    struct source *source = owner;
    on_ready(owner, events);
    source[1].watch.fd = -1;
}

/* One that is removed while its event is on the way is not called. */
TEST(forgets_what_was_removed)
{
    struct jr_loop loop;
    struct record record = {0};
    struct source sources[2];
    CU_ASSERT_EQUAL_FATAL(jr_loop_open(&loop), 0);
    open_source(&sources[0], &loop, 'a', &record);
    open_source(&sources[1], &loop, 'b', &record);
    int fd = sources[1].watch.fd;
    sources[0].watch.ready = on_ready_remove;
    poke(&sources[0]);
    poke(&sources[1]);
    CU_ASSERT_EQUAL(jr_loop_turn(&loop, false), 2);
    JR_ASSERT_TEXT(record.calls, "a");
    sources[1].watch.fd = fd;
    close_source(&sources[0]);
    close_source(&sources[1]);
    (void)close(loop.epoll_fd);
}

static void on_due(void *owner)
{
    struct record *record = owner;
    record->calls[record->count++] = 't';
}

TEST(calls_what_is_due)
{
    struct jr_loop loop;
    struct record record = {0};
    struct jr_timer timer = {.due = on_due, .owner = &record};
    CU_ASSERT_EQUAL_FATAL(jr_loop_open(&loop), 0);
    jr_loop_timer(&loop, &timer);
    CU_ASSERT_EQUAL(jr_loop_turn(&loop, true), 0);
    CU_ASSERT_EQUAL(record.count, 0);
    uint64_t begun = jr_clock_ns();
    timer.at = begun + 20 * MS;
    CU_ASSERT_EQUAL(jr_loop_turn(&loop, true), 0);
    CU_ASSERT_EQUAL(record.count, 0);
    CU_ASSERT_EQUAL(jr_loop_turn(&loop, false), 0);
    CU_ASSERT_TRUE(jr_clock_ns() - begun >= 20 * MS);
    CU_ASSERT_EQUAL(record.count, 1);
    CU_ASSERT_EQUAL(timer.at, 0);
    timer.at = 1;
    CU_ASSERT_EQUAL(jr_loop_turn(&loop, false), 0);
    CU_ASSERT_EQUAL(record.count, 2);
    (void)close(loop.epoll_fd);
}

/* What pauses stands still, and has the same time left afterwards. */
TEST(timers_stand_still)
{
    struct jr_loop loop;
    struct record calls = {0}, others = {0};
    struct jr_timer still = {.due = on_due, .owner = &calls, .pauses = true};
    struct jr_timer moving = {.due = on_due, .owner = &others};
    CU_ASSERT_EQUAL_FATAL(jr_loop_open(&loop), 0);
    jr_loop_timer(&loop, &still);
    jr_loop_timer(&loop, &moving);
    CU_ASSERT_EQUAL(jr_loop_resume(&loop), 0);
    still.at = moving.at = 1;
    jr_loop_pause(&loop);
    (void)jr_loop_turn(&loop, true);
    CU_ASSERT_EQUAL(calls.count, 0);
    CU_ASSERT_EQUAL(others.count, 1);
    jr_loop_pause(&loop); /* twice is once */
    uint64_t stood = jr_loop_resume(&loop);
    CU_ASSERT_TRUE(stood > 0);
    CU_ASSERT_EQUAL(still.at, 1 + stood);
    CU_ASSERT_EQUAL(moving.at, 0);
    (void)jr_loop_turn(&loop, true);
    CU_ASSERT_EQUAL(calls.count, 1);
    jr_loop_pause(&loop);
    CU_ASSERT_TRUE(jr_loop_resume(&loop) < 3600 * 1000 * MS);
    CU_ASSERT_EQUAL(still.at, 0);
    (void)close(loop.epoll_fd);
}

/* A timer too many would never be due: the loop says that there was one. */
TEST(is_crowded_by_one_too_many)
{
    struct jr_loop loop;
    struct record record = {0};
    struct jr_timer timers[JR_LOOP_TIMERS + 1];
    CU_ASSERT_EQUAL_FATAL(jr_loop_open(&loop), 0);
    for (unsigned i = 0; i <= JR_LOOP_TIMERS; i++) {
        CU_ASSERT_FALSE(loop.crowded);
        timers[i] = (struct jr_timer){.due = on_due, .owner = &record};
        jr_loop_timer(&loop, &timers[i]);
    }
    CU_ASSERT_TRUE(loop.crowded);
    CU_ASSERT_EQUAL(loop.timer_count, JR_LOOP_TIMERS);
    timers[JR_LOOP_TIMERS - 1].at = timers[JR_LOOP_TIMERS].at = 1;
    (void)jr_loop_turn(&loop, true);
    CU_ASSERT_EQUAL(record.count, 1);
    (void)close(loop.epoll_fd);
}
