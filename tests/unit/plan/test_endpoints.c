/* The addresses of ranks that Paddle's programs read: HOST:PORT of each. */
#include "sample.h"

/* Two nodes of two ranks, with ports of their own. */
static void check_endpoints(char *first, char *second, bool local, const char *all,
                            const char *third)
{
    char *names[] = {TEXT("paddle")};
    uint32_t ports[] = {7000, 7001, 7100, 7101};
    SAMPLE(s, 1, 1, 4);
    sample_nodes(&s, 2);
    s.hosts[0] = first;
    s.hosts[1] = second;
    s.job.env_profiles = names;
    s.job.rank_ports = ports;
    s.job.master_addr = "m";
    s.options.local = local;
    CU_ASSERT_EQUAL_FATAL(sample_build(&s), JR_STATUS_OK);
    for (uint32_t i = 0; i < 4; i++)
        JR_ASSERT_TEXT(sample_env(&s, i, "PADDLE_TRAINER_ENDPOINTS"), all);
    JR_ASSERT_TEXT(sample_env(&s, 2, "PADDLE_CURRENT_ENDPOINT"), third);
}

TEST(names_the_host_of_each_rank)
{
    check_endpoints(TEXT("a"), TEXT("b"), false, "a:7000,a:7001,b:7100,b:7101", "b:7100");
    check_endpoints(TEXT("10.0.0.1"), TEXT("10.0.0.2"), false,
                    "10.0.0.1:7000,10.0.0.1:7001,10.0.0.2:7100,10.0.0.2:7101", "10.0.0.2:7100");
}

/* Where a host is not known, and where all ranks are here, they are where rank 0 listens. */
TEST(takes_the_master_for_unknown_hosts)
{
    check_endpoints(TEXT("a"), NULL, false, "a:7000,a:7001,m:7100,m:7101", "m:7100");
    check_endpoints(TEXT("a"), TEXT("b"), true, "m:7000,m:7001,m:7100,m:7101", "m:7100");
}

/* Addresses of version 6 have brackets around them, once. */
TEST(brackets_addresses_with_colons)
{
    check_endpoints(TEXT("fe80::1"), TEXT("[fe80::2]"), false,
                    "[fe80::1]:7000,[fe80::1]:7001,[fe80::2]:7100,[fe80::2]:7101",
                    "[fe80::2]:7100");
    check_endpoints(TEXT("a"), TEXT("::1"), false, "a:7000,a:7001,[::1]:7100,[::1]:7101",
                    "[::1]:7100");
}
