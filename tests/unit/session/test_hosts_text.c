/* The report on hosts: its lines, and its JSON. */
#include "session/hosts_report.h"

#include "base/json.h"
#include "unit.h"

#define MS INT64_C(1000000)

static struct jr_host_fault dead[] = {
    {"ssh: connect to host gpu03 port 22: Connection timed out", "try: ssh gpu03 true"}};
static struct jr_host_fault late[] = {{"its clock is 12 min 03 s ahead of the one here", "set it"},
                                      {"does not reach gpu01:29500: Connection refused", NULL}};

static struct jr_host_report good_host(const char *name, int64_t offset_ns)
{
    return (struct jr_host_report){.name = name,
                                   .answered = true,
                                   .version = "0.2.0",
                                   .devices = "8 NVIDIA H100",
                                   .timed = true,
                                   .clock_offset_ns = offset_ns,
                                   .clock_error_ns = 300000,
                                   .tried = true};
}

static void check(const struct jr_hosts_report *report, const char *expected)
{
    struct jr_buf out = JR_BUF_INIT;
    jr_hosts_report_text(&out, report);
    JR_ASSERT_TEXT(out.data, expected);
    jr_buf_release(&out);
}

static void a_line_for_each_host(void)
{
    struct jr_host_report hosts[] = {good_host("gpu01", 2 * MS), good_host("gpu02", -1 * MS)};
    const struct jr_hosts_report report = {.hosts = hosts, .count = 2, .meeting = "gpu01:29500"};
    check(&report, "gpu01   8 NVIDIA H100   jobrun 0.2.0   clock +2 ms   reaches gpu01:29500\n"
                   "gpu02   8 NVIDIA H100   jobrun 0.2.0   clock -1 ms   reaches gpu01:29500\n"
                   "all 2 hosts can take part\n");
    hosts[0].clock_offset_ns = 100000;
    const struct jr_hosts_report one = {.hosts = hosts, .count = 1};
    hosts[0].tried = false;
    check(&one, "gpu01   8 NVIDIA H100   jobrun 0.2.0   clock within 1 ms\n"
                "the host can take part\n");
}

static void faults_stand_below_their_host(void)
{
    struct jr_host_report hosts[] = {
        good_host("gpu01", 2 * MS),
        good_host("gpu2", 723000 * MS),
        {.name = "gpu03", .faults = dead, .faults_count = 1, .unable = true}};
    hosts[1].reach = JR_REACH_REFUSED;
    hosts[1].faults = late;
    hosts[1].faults_count = 2;
    hosts[1].unable = true;
    hosts[1].devices = "96 CPUs";
    struct jr_hosts_report report = {.hosts = hosts, .count = 3, .meeting = "gpu01:29500"};
    check(&report, "gpu01   8 NVIDIA H100   jobrun 0.2.0   clock +2 ms          reaches "
                   "gpu01:29500\n"
                   "gpu2    96 CPUs         jobrun 0.2.0   clock +12 min 03 s   does not reach "
                   "gpu01:29500\n"
                   "        its clock is 12 min 03 s ahead of the one here\n"
                   "        set it\n"
                   "        does not reach gpu01:29500: Connection refused\n"
                   "gpu03   not reached: ssh: connect to host gpu03 port 22: Connection timed out\n"
                   "        try: ssh gpu03 true\n"
                   "2 of 3 hosts cannot take part\n");
    CU_ASSERT_EQUAL(jr_hosts_report_faulty(&report), 2);
    report.count = 2;
    hosts[1].unable = false;
    struct jr_buf out = JR_BUF_INIT;
    jr_hosts_report_text(&out, &report);
    CU_ASSERT_PTR_NOT_NULL(strstr(out.data, "\n1 of 2 hosts has a fault\n"));
    jr_buf_release(&out);
}

static void differences_name_their_hosts(void)
{
    const char *many[] = {"gpu01", "gpu03"}, *few[] = {"gpu02"};
    struct jr_host_group groups[] = {{"96", many, 2},
                                     {"6\x1b"
                                      "4",
                                      few, 1}};
    struct jr_host_difference difference = {"CPUs", groups, 2};
    struct jr_host_report hosts[] = {good_host("gpu01", 0)};
    hosts[0].tried = hosts[0].timed = false;
    const struct jr_hosts_report report = {
        .hosts = hosts, .count = 1, .differences = &difference, .differences_count = 1};
    check(&report, "gpu01   8 NVIDIA H100   jobrun 0.2.0\n"
                   "differ  CPUs: 96 on gpu01, gpu03; 6\\x1b4 on gpu02\n"
                   "the host can take part\n");
}

static void all_of_it_is_json(void)
{
    struct jr_host_report hosts[] = {
        good_host("gpu01", -500 * MS),
        {.name = "gpu03", .faults = dead, .faults_count = 1, .unable = true}};
    const char *one[] = {"gpu01"};
    struct jr_host_group groups[] = {{"96", one, 1}};
    struct jr_host_difference difference = {"CPUs", groups, 1};
    const struct jr_hosts_report report = {.hosts = hosts,
                                           .count = 2,
                                           .meeting = "gpu01:29500",
                                           .differences = &difference,
                                           .differences_count = 1};
    struct jr_buf out = JR_BUF_INIT;
    jr_hosts_report_json(&out, &report);
    json_t *root = jr_json_parse(out.data, out.len, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(root);
    CU_ASSERT_EQUAL(jr_json_get_int(root, "format_version"), 1);
    JR_ASSERT_TEXT(jr_json_get_str(root, "meeting"), "gpu01:29500");
    const json_t *list = json_object_get(root, "hosts");
    const json_t *first = json_array_get(list, 0);
    const json_t *second = json_array_get(list, 1);
    CU_ASSERT_TRUE(jr_json_get_bool(first, "answered"));
    CU_ASSERT_TRUE(jr_json_get_bool(first, "reaches"));
    CU_ASSERT_TRUE(jr_json_get_bool(first, "can_take_part"));
    CU_ASSERT_DOUBLE_EQUAL(jr_json_get_real(first, "clock_offset"), -0.5, 1e-9);
    CU_ASSERT_FALSE(jr_json_get_bool(second, "answered"));
    CU_ASSERT_FALSE(jr_json_get_bool(second, "can_take_part"));
    CU_ASSERT_TRUE(json_is_null(json_object_get(second, "reaches")));
    CU_ASSERT_TRUE(json_is_null(json_object_get(second, "clock_offset")));
    CU_ASSERT_TRUE(json_is_null(json_object_get(second, "cpus")));
    const json_t *fault = json_array_get(json_object_get(second, "faults"), 0);
    JR_ASSERT_TEXT(jr_json_get_str(fault, "message"), dead[0].message);
    JR_ASSERT_TEXT(jr_json_get_str(fault, "help"), dead[0].help);
    const json_t *differs = json_array_get(json_object_get(root, "differences"), 0);
    JR_ASSERT_TEXT(jr_json_get_str(differs, "name"), "CPUs");
    json_decref(root);
    jr_buf_release(&out);
}

JR_UNIT_MAIN("hosts_text", CASE(a_line_for_each_host), CASE(faults_stand_below_their_host),
             CASE(differences_name_their_hosts), CASE(all_of_it_is_json))
