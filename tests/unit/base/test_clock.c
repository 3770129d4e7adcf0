#include "base/clock.h"

#include <limits.h>
#include <math.h>
#include <time.h>

#include "unit.h"

TEST(moves_forward)
{
    uint64_t before = jr_clock_ns();
    CU_ASSERT_TRUE(before > 0);
    CU_ASSERT_TRUE(jr_clock_ns() >= before);
    uint64_t now = (uint64_t)time(NULL), wall = jr_clock_wall_ns() / 1000000000;
    CU_ASSERT_TRUE(wall >= now && wall - now < 60);
}

TEST(tells_wall_time)
{
    static const struct {
        uint64_t ns;
        const char *text;
    } vectors[] = {
        {0, "1970-01-01T00:00:00.000Z"},
        {951782399999999999, "2000-02-28T23:59:59.999Z"},
        {951782400000000000, "2000-02-29T00:00:00.000Z"},
        {1795242612345678901, "2026-11-21T06:30:12.345Z"},
        {UINT64_MAX, "2554-07-21T23:34:33.709Z"},
    };
    JR_EACH(row, vectors) {
        char text[32];
        jr_clock_rfc3339(text, row->ns);
        JR_ASSERT_TEXT(text, row->text);
    }
}

TEST(reads_wall_time)
{
    const char *bad = "|x|2026-11-21|2026-13-21T06:30:12.345Z|2026-11-21T06:30:12Z|"
                      "2026-11-21T06:30:12.3Z|2026-11-21T06:30:12.345|2026-11-21T06:30:12.345Zx";
    CU_ASSERT_DOUBLE_EQUAL(jr_clock_of_rfc3339("2026-11-21T06:30:12.345Z"), 1795242612.345, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(jr_clock_of_rfc3339("1970-01-01T00:00:01.000Z"), 1, 0);
    EACH_PART(text, bad)
        CU_ASSERT_DOUBLE_EQUAL(jr_clock_of_rfc3339(text), 0, 0);
}

TEST(counts_nanoseconds)
{
    CU_ASSERT_EQUAL(jr_clock_ns_of(0), 0);
    CU_ASSERT_EQUAL(jr_clock_ns_of(0.1), 100000000);
    CU_ASSERT_EQUAL(jr_clock_ns_of(1795242612.345), UINT64_C(1795242612345000000));
    /* Nobody has written those. */
    CU_ASSERT_EQUAL(jr_clock_ns_of(-1), 0);
    CU_ASSERT_EQUAL(jr_clock_ns_of(1e300), 0);
    CU_ASSERT_EQUAL(jr_clock_ns_of((double)NAN), 0);
}

TEST(tells_poll_how_long)
{
    const uint64_t now = jr_clock_ns(), ms = 1000000, day = 86400000;
    CU_ASSERT_EQUAL(jr_clock_poll_ms(0), -1);
    CU_ASSERT_EQUAL(jr_clock_poll_ms(now), 0);
    CU_ASSERT_EQUAL(jr_clock_poll_ms(1), 0);
    /* Not one before it is over. */
    CU_ASSERT_TRUE(jr_clock_poll_ms(now + day * ms) <= (int)day);
    CU_ASSERT_TRUE(jr_clock_poll_ms(now + day * ms) > (int)day - 3600000);
    CU_ASSERT_EQUAL(jr_clock_poll_ms(UINT64_MAX), INT_MAX);
    uint64_t soon = jr_clock_ns() + ms / 2;
    int left = jr_clock_poll_ms(soon);
    CU_ASSERT_TRUE(left == 1 || (left == 0 && jr_clock_ns() >= soon));
}

TEST(speaks_to_people)
{
    EACH_PART(row, "0 ms|84 ms|999 ms|1000=1.0 s|2449=2.4 s|59999=59.9 s|60000=1 min 00 s|"
                   "185000=3 min 05 s|3599999=59 min 59 s|3600000=1 h 00 min|"
                   "7800000=2 h 10 min|360000000=100 h 00 min") {
        JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
        char *told = NULL;
        unsigned long long ms = strtoull(row, &told, 10);
        jr_clock_human(&text, ms * 1000000 + 999999);
        JR_ASSERT_TEXT(text.data, *told == '=' ? told + 1 : row);
    }
}
