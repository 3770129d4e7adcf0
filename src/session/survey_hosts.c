#include "session/survey_hosts.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cluster/controller.h"
#include "cluster/survey.h"
#include "resolve/device_profile.h"
#include "session/hosts_report.h"
#include "session/multinode_session.h"
#include "session/node_facts.h"
#include "session/session.h"
#include "session/ssh_session.h"
#include "session/stages.h"

#include "base/banned.h"

#define GIB        (1024.0 * 1024.0 * 1024.0)
#define SAME_SHARE 0.02 /* memory that differs by less is the same */

/* What a session is loaded with that runs nothing. */
#define NO_JOB "version: 1\nentrypoint: ['true']\n"

static void add_fault(struct jr_arena *arena, struct jr_host_report *to, const char *message,
                      const char *help)
{
    struct jr_host_fault *fault =
        jr_arena_push(arena, &to->faults, &to->faults_count, sizeof *fault);
    if (fault != NULL)
        *fault = (struct jr_host_fault){message, help};
}

static const char *keep_host_text(struct jr_arena *arena, const char *text)
{
    return text == NULL ? NULL : jr_arena_strdup(arena, text);
}

/* "8 NVIDIA H100, 1 NVIDIA A2": of those that ranks may use. Without any, what they would run
 * on. */
static void describe_devices(struct jr_buf *out, const struct jr_host *host)
{
    for (uint32_t i = 0; i < host->devices_count; i++) {
        const struct jr_host_device *device = &host->devices[i];
        const char *model = device->model != NULL ? device->model : "devices";
        uint32_t earlier = 0, same = 0;
        for (uint32_t j = 0; j < host->devices_count; j++) {
            const char *other = host->devices[j].model != NULL ? host->devices[j].model : "devices";
            bool counts = host->devices[j].visible && strcmp(other, model) == 0;
            same += counts;
            earlier += counts && j < i;
        }
        if (!device->visible || earlier > 0)
            continue;
        jr_buf_printf(out, "%s%u ", out->len > 0 ? ", " : "", same);
        jr_buf_safe(out, model);
    }
    if (out->len == 0)
        jr_buf_printf(out, "%u CPUs", host->cpus.usable);
}

static void read_facts(struct jr_arena *arena, struct jr_host_report *to,
                       const struct jr_survey_host *from)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_diags diags = {0};
    to->answered =
        jr_profile_read(&to->host, arena, to->name, from->facts, from->facts_len, &diags) == 0;
    if (to->answered) {
        describe_devices(&text, &to->host);
    } else {
        to->unable = true;
        jr_buf_printf(&text, "its facts cannot be read: %s",
                      diags.count > 0 ? diags.items[0].message : "out of memory");
        add_fault(arena, to, jr_buf_keep(&text, arena), NULL);
    }
    if (to->answered)
        to->devices = jr_buf_keep(&text, arena);
    for (uint32_t i = 0; to->answered && i < to->host.problems_count; i++)
        add_fault(arena, to, to->host.problems[i].message, to->host.problems[i].help);
    jr_diags_release(&diags);
}

/* By the limits to which a run holds its nodes. */
static void judge_clock(struct jr_arena *arena, struct jr_host_report *to)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    bool behind = to->clock_offset_ns < 0;
    uint64_t offset_ns = (uint64_t)to->clock_offset_ns;
    uint64_t off_ns = behind ? 0 - offset_ns : offset_ns;
    if (!to->timed || off_ns < JR_CLOCK_TOLD_NS)
        return;
    to->unable |= off_ns >= JR_CLOCK_MOST_NS;
    jr_buf_str(&text, "its clock is ");
    jr_clock_human(&text, off_ns);
    jr_buf_printf(&text, " %s of the one here", behind ? "behind" : "ahead");
    add_fault(arena, to, jr_buf_keep(&text, arena),
              "set it by the network: chrony, or systemd-timesyncd");
}

/* What may be wrong, and what to type. */
static const char *const reach_helps[] = {
    [JR_REACH_OK] = NULL,
    [JR_REACH_UNKNOWN] = "state an address that all hosts know: -s master_addr=ADDRESS",
    [JR_REACH_REFUSED] = "that name is another machine there, or a firewall refuses it: state "
                         "another address or port: -s master_addr=ADDRESS -s master_port=PORT",
    [JR_REACH_TIMED_OUT] = "a firewall drops it, or there is no route: open that port, or state "
                           "another address: -s master_addr=ADDRESS",
    [JR_REACH_ANOTHER] = "that name is another machine there: state an address "
                         "that all hosts know: -s master_addr=ADDRESS",
    [JR_REACH_FAILED] = "state another address or port: -s master_addr=ADDRESS -s master_port=PORT",
};

static void judge_reach(struct jr_hosts_report *report, struct jr_host_report *to,
                        const struct jr_survey_host *from)
{
    if (!to->tried || to->reach == JR_REACH_OK)
        return;
    const char *message =
        jr_arena_printf(&report->arena, "does not reach %s: %s", report->meeting, from->reach_why);
    to->unable = true;
    add_fault(&report->arena, to, message, reach_helps[to->reach]);
}

static void judge_answer(struct jr_arena *arena, struct jr_host_report *to,
                         const struct jr_survey_host *from)
{
    const char *help = keep_host_text(arena, from->advice);
    if (from->failure == NULL)
        return;
    if (help == NULL && from->version != NULL && strcmp(from->version, jr_version()) != 0)
        help = "install the same there, name it: -s engine.ssh.program=PATH, "
               "or have it copied: -s engine.ssh.copy=true";
    to->unable = true;
    add_fault(arena, to, keep_host_text(arena, from->failure), help);
}

static void take_host(struct jr_hosts_report *report, uint32_t node, const struct jr_survey *survey)
{
    const struct jr_survey_host from = jr_survey_host(survey, node);
    struct jr_host_report *to = &report->hosts[node];
    to->version = keep_host_text(&report->arena, from.version);
    to->timed = from.timed;
    to->clock_offset_ns = from.clock_offset_ns;
    to->clock_error_ns = from.clock_error_ns;
    to->tried = from.tried;
    to->reach = from.reach;
    judge_answer(&report->arena, to, &from);
    if (from.facts_len > 0)
        read_facts(&report->arena, to, &from);
    judge_clock(&report->arena, to);
    judge_reach(report, to, &from);
}

/* Where they were to meet; that nobody could listen is a fault of who was to.
 */
static void take_meeting(struct jr_hosts_report *report, const struct jr_survey *survey,
                         const char *address)
{
    const char *why;
    uint32_t port;
    int node = jr_survey_meeting(survey, &port, &why);
    if (node >= 0) {
        const char *name = address != NULL ? address : report->hosts[node].name;
        bool bare = strchr(name, ':') != NULL && name[0] != '[';
        report->meeting = jr_arena_printf(&report->arena, bare ? "[%s]:%u" : "%s:%u", name, port);
    }
}

static void take_deafness(struct jr_hosts_report *report, const struct jr_survey *survey)
{
    const char *why;
    uint32_t port, first = 0;
    if (jr_survey_meeting(survey, &port, &why) >= 0 || why == NULL)
        return;
    while (first < report->count && !report->hosts[first].answered)
        first++;
    if (first == report->count)
        return;
    report->hosts[first].unable = true;
    add_fault(&report->arena, &report->hosts[first], keep_host_text(&report->arena, why),
              "state a port that is free there: -s master_port=PORT");
}

/* What differs. */

static void add_to_group(struct jr_arena *arena, struct jr_host_difference *to, const char *value,
                         const char *host)
{
    struct jr_host_group *group = NULL;
    for (size_t i = 0; i < to->count && group == NULL; i++)
        if (strcmp(to->groups[i].value, value) == 0)
            group = &to->groups[i];
    if (group == NULL) {
        group = jr_arena_push(arena, &to->groups, &to->count, sizeof *group);
        if (group == NULL)
            return;
        *group = (struct jr_host_group){.value = value};
    }
    const char **slot = jr_arena_push(arena, &group->hosts, &group->count, sizeof *slot);
    if (slot != NULL)
        *slot = host;
}

/* `values` has one for each host; NULL: it has not answered. */
static void compare_values(struct jr_hosts_report *report, const char *name,
                           const char *const *values)
{
    struct jr_host_difference found = {.name = name};
    for (uint32_t i = 0; i < report->count; i++)
        if (values[i] != NULL)
            add_to_group(&report->arena, &found, values[i], report->hosts[i].name);
    if (found.count < 2)
        return;
    struct jr_host_difference *slot = jr_arena_push(&report->arena, &report->differences,
                                                    &report->differences_count, sizeof *slot);
    if (slot != NULL)
        *slot = found;
}

static bool is_memory_same(const struct jr_hosts_report *report)
{
    uint64_t most = 0, least = UINT64_MAX;
    for (uint32_t i = 0; i < report->count; i++) {
        uint64_t own = report->hosts[i].host.memory;
        if (!report->hosts[i].answered)
            continue;
        most = own > most ? own : most;
        least = own < least ? own : least;
    }
    return (double)(most - least) <= SAME_SHARE * (double)most;
}

static void compare_hosts(struct jr_hosts_report *report)
{
    struct jr_arena *arena = &report->arena;
    enum { DEVICES, CPUS, MEMORY, VERSION, VALUES };
    static const char *const names[VALUES] = {"devices", "CPUs", "memory", "jobrun"};
    const char **values[VALUES];
    for (int k = 0; k < VALUES; k++)
        values[k] = jr_arena_array(arena, report->count, sizeof **values);
    if (arena->failed)
        return;
    for (uint32_t i = 0; i < report->count; i++) {
        const struct jr_host_report *from = &report->hosts[i];
        if (!from->answered)
            continue;
        values[DEVICES][i] = from->host.devices_count > 0 ? from->devices : "none";
        values[CPUS][i] = jr_arena_printf(arena, "%u", from->host.cpus.usable);
        values[MEMORY][i] = jr_arena_printf(arena, "%.4g GiB", (double)from->host.memory / GIB);
        values[VERSION][i] = from->version;
    }
    for (int k = 0; k < VALUES; k++)
        if (k != MEMORY || !is_memory_same(report))
            compare_values(report, names[k], values[k]);
}

/* Asking. */

static struct jr_hosts_report *make_report(const struct jr_spec *spec)
{
    struct jr_hosts_report *report = calloc(1, sizeof *report);
    if (report == NULL)
        return NULL;
    report->arena = JR_ARENA_INIT;
    report->hosts = jr_arena_array(&report->arena, spec->hosts_count, sizeof *report->hosts);
    report->count = report->hosts == NULL ? 0 : spec->hosts_count;
    for (uint32_t i = 0; i < report->count; i++)
        report->hosts[i].name = keep_host_text(&report->arena, spec->hosts[i]);
    return report;
}

/* Of a program that is copied. */
static void note_copied_host(void *data, const char *line)
{
    jr_session_note(data, line);
}

static int survey_hosts(struct jr_session *session, struct jr_hosts_report *report,
                        struct jr_error *err)
{
    const struct jr_spec *spec = jr_spec_get(session->file);
    const struct jr_survey_options meeting = {
        .address = spec->master_addr,
        .port = spec->master_port != NULL ? *spec->master_port : 0,
        .limit_ms = spec->policy.timeouts.start_ms,
    };
    struct jr_controller_options options = {
        .program = jr_session_own_program(session),
        .envp = session->options.envp,
        .note = note_copied_host,
        .data = session,
    };
    struct jr_survey *survey;
    if (jr_ssh_session_prepare(session, session->file, &options, err) != 0 ||
        jr_survey_hosts(&survey, &options, &meeting, err) != 0)
        return -1;
    take_meeting(report, survey, meeting.address);
    for (uint32_t i = 0; i < report->count; i++)
        take_host(report, i, survey);
    take_deafness(report, survey);
    compare_hosts(report);
    jr_survey_end(survey);
    return report->arena.failed ? jr_error_set(err, JR_STATUS_LAUNCH, "out of memory") : 0;
}

enum jr_status jr_session_survey_hosts(struct jr_session *session, struct jr_hosts_report **ret,
                                       struct jr_error *err)
{
    const struct jr_spec_source source = {
        .name = "--hosts", .text = NO_JOB, .len = sizeof NO_JOB - 1};
    struct jr_error why = {.status = JR_STATUS_LAUNCH};
    enum jr_status status = jr_session_load(session, &source, err);
    if (status != JR_STATUS_OK)
        return status;
    struct jr_hosts_report *report = make_report(jr_spec_get(session->file));
    if (report == NULL)
        (void)jr_error_set(&why, JR_STATUS_LAUNCH, "out of memory");
    else if (survey_hosts(session, report, &why) == 0) {
        *ret = report;
        return JR_STATUS_OK;
    }
    jr_hosts_report_free(report);
    (void)jr_error_set(err, why.status, "%s", why.text);
    return why.status;
}

uint32_t jr_hosts_report_faulty(const struct jr_hosts_report *report)
{
    uint32_t faulty = 0;
    for (uint32_t i = 0; i < report->count; i++)
        faulty += report->hosts[i].faults_count > 0;
    return faulty;
}

void jr_hosts_report_free(struct jr_hosts_report *report)
{
    if (report == NULL)
        return;
    jr_arena_release(&report->arena);
    free(report);
}
