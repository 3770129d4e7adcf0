#include "session/survey_hosts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/diff_table.h"
#include "base/json.h"
#include "base/utf8.h"
#include "cluster/controller.h"
#include "cluster/survey.h"
#include "resolve/device_profile.h"
#include "session/internal.h"

#include "base/banned.h"

struct host_fault {
    const char *message;
    const char *help; /* NULL: nothing is known to be done */
};

struct host_report {
    const char *name;           /* as it was stated */
    struct jr_survey_host from; /* what it has said, which the survey has */
    bool answered;              /* it has sent its facts: */
    struct jr_host host;        /* of which `devices` and the like are read */
    const char *devices;        /* "8 NVIDIA H100", or its CPUs */
    struct host_fault *faults;
    size_t faults_count;
    bool unable; /* no rank can run there as it is */
};

/* A value, and the hosts that have it. */
struct host_group {
    const char *value;
    const char **hosts;
    size_t count;
};

/* What is not the same on all hosts that have answered. */
struct host_difference {
    const char *name;
    struct host_group *groups;
    size_t count;
};

struct hosts_report {
    struct jr_arena arena;
    struct host_report *hosts;
    uint32_t count;
    const char *meeting; /* "gpu01:29500"; NULL: nobody listened */
    struct host_difference *differences;
    size_t differences_count;
};

#define GIB        (1024.0 * 1024.0 * 1024.0)
#define SAME_SHARE 0.02 /* memory that differs by less is the same */

/* What a session is loaded with that runs nothing. */
#define NO_JOB "version: 1\nentrypoint: ['true']\n"

static void add_fault(struct jr_arena *arena, struct host_report *to, const char *message,
                      const char *help)
{
    struct host_fault *fault = jr_arena_push(arena, &to->faults, &to->faults_count, sizeof *fault);
    if (fault != NULL)
        *fault = (struct host_fault){message, help};
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

/* The facts of a host that has answered, and what is wrong with them. */
static void read_facts(struct jr_arena *arena, struct host_report *to)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_diags diags = {0};
    to->answered = jr_profile_read(&to->host, arena, to->name, to->from.facts, to->from.facts_len,
                                   &diags) == 0;
    if (to->answered) {
        describe_devices(&text, &to->host);
        to->devices = jr_buf_keep(&text, arena);
    } else {
        to->unable = true;
        jr_buf_printf(&text, "its facts cannot be read: %s",
                      diags.count > 0 ? diags.items[0].message : "out of memory");
        add_fault(arena, to, jr_buf_keep(&text, arena), NULL);
    }
    for (uint32_t i = 0; to->answered && i < to->host.problems_count; i++)
        add_fault(arena, to, to->host.problems[i].message, to->host.problems[i].help);
    jr_diags_release(&diags);
}

/* What is wrong with a host: by its answer, its facts, the limits to which a run holds the clocks
 * of its nodes, and whether it reaches where ranks would meet. */
static void judge_host(struct hosts_report *report, struct host_report *to)
{
    struct jr_arena *arena = &report->arena;
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    const struct jr_survey_host *from = &to->from;
    bool behind = from->clock_offset_ns < 0;
    uint64_t offset_ns = (uint64_t)from->clock_offset_ns;
    uint64_t off_ns = behind ? 0 - offset_ns : offset_ns;
    if (from->failure != NULL) {
        const char *help = from->advice;
        if (help == NULL && from->version != NULL && strcmp(from->version, jr_version()) != 0)
            help = "install the same there, name it: -s engine.ssh.program=PATH, "
                   "or have it copied: -s engine.ssh.copy=true";
        to->unable = true;
        add_fault(arena, to, from->failure, help);
    }
    if (from->facts_len > 0)
        read_facts(arena, to);
    if (from->timed && off_ns >= JR_CLOCK_TOLD_NS) {
        to->unable |= off_ns >= JR_CLOCK_MOST_NS;
        jr_buf_str(&text, "its clock is ");
        jr_clock_human(&text, off_ns);
        jr_buf_printf(&text, " %s of the one here", behind ? "behind" : "ahead");
        add_fault(arena, to, jr_buf_keep(&text, arena),
                  "set it by the network: chrony, or systemd-timesyncd");
    }
    if (from->tried && from->reach != JR_REACH_OK) {
        to->unable = true;
        add_fault(arena, to,
                  jr_arena_printf(arena, "does not reach %s: %s", report->meeting, from->reach_why),
                  reach_helps[from->reach]);
    }
}

/* Where the hosts were to meet; that nobody could listen is a fault of who was to. */
static void take_hosts(struct hosts_report *report, const struct jr_survey *survey,
                       const char *address)
{
    struct jr_arena *arena = &report->arena;
    const char *why;
    uint32_t port, first = 0;
    int node = jr_survey_meeting(survey, &port, &why);
    if (node >= 0) {
        const char *name = address != NULL ? address : report->hosts[node].name;
        bool bare = strchr(name, ':') != NULL && name[0] != '[';
        report->meeting = jr_arena_printf(arena, bare ? "[%s]:%u" : "%s:%u", name, port);
    }
    for (uint32_t i = 0; i < report->count; i++) {
        report->hosts[i].from = jr_survey_host(survey, i);
        judge_host(report, &report->hosts[i]);
    }
    while (first < report->count && !report->hosts[first].answered)
        first++;
    if (node >= 0 || why == NULL || first == report->count)
        return;
    report->hosts[first].unable = true;
    add_fault(arena, &report->hosts[first], why,
              "state a port that is free there: -s master_port=PORT");
}

/* What differs. */

static void add_to_group(struct jr_arena *arena, struct host_difference *to, const char *value,
                         const char *host)
{
    struct host_group *group = NULL;
    for (size_t i = 0; i < to->count && group == NULL; i++)
        if (strcmp(to->groups[i].value, value) == 0)
            group = &to->groups[i];
    if (group == NULL) {
        group = jr_arena_push(arena, &to->groups, &to->count, sizeof *group);
        if (group == NULL)
            return;
        *group = (struct host_group){.value = value};
    }
    const char **slot = jr_arena_push(arena, &group->hosts, &group->count, sizeof *slot);
    if (slot != NULL)
        *slot = host;
}

#define MS  UINT64_C(1000000)
#define GAP 3 /* blanks between columns */

static void compare_hosts(struct hosts_report *report)
{
    struct jr_arena *arena = &report->arena;
    enum { DEVICES, CPUS, MEMORY, VERSION, VALUES };
    static const char *const names[VALUES] = {"devices", "CPUs", "memory", "jobrun"};
    uint64_t most = 0, least = UINT64_MAX;
    for (uint32_t i = 0; i < report->count; i++) {
        uint64_t own = report->hosts[i].host.memory;
        if (!report->hosts[i].answered)
            continue;
        most = own > most ? own : most;
        least = own < least ? own : least;
    }
    bool same_memory = (double)(most - least) <= SAME_SHARE * (double)most;
    for (int k = 0; k < VALUES; k++) {
        struct host_difference found = {.name = names[k]};
        for (uint32_t i = 0; i < report->count && (k != MEMORY || !same_memory); i++) {
            const struct host_report *from = &report->hosts[i];
            const char *value = from->from.version;
            if (k == DEVICES)
                value = from->host.devices_count > 0 ? from->devices : "none";
            else if (k == CPUS)
                value = jr_arena_printf(arena, "%u", from->host.cpus.usable);
            else if (k == MEMORY)
                value = jr_arena_printf(arena, "%.4g GiB", (double)from->host.memory / GIB);
            if (from->answered && value != NULL)
                add_to_group(arena, &found, value, from->name);
        }
        struct host_difference *slot = NULL;
        if (found.count >= 2)
            slot = jr_arena_push(arena, &report->differences, &report->differences_count,
                                 sizeof *slot);
        if (slot != NULL)
            *slot = found;
    }
}

/* For people. */

static void print_host_name(struct jr_buf *out, const char *name, size_t columns)
{
    size_t own = jr_utf8_columns(name, strlen(name));
    jr_buf_safe(out, name);
    jr_buf_fill(out, ' ', own < columns ? columns - own : 1);
}

/* "clock +2 ms"; or the most that it may be, where that is not known to be another. */
static void print_clock(struct jr_buf *out, const struct host_report *host)
{
    uint64_t offset_ns = (uint64_t)host->from.clock_offset_ns;
    uint64_t off_ns = host->from.clock_offset_ns < 0 ? 0 - offset_ns : offset_ns;
    if (!host->from.timed)
        return;
    if (off_ns <= host->from.clock_error_ns || off_ns < MS) {
        jr_buf_str(out, "clock within ");
        jr_clock_human(out, off_ns + host->from.clock_error_ns + MS - 1);
        return;
    }
    jr_buf_str(out, host->from.clock_offset_ns < 0 ? "clock -" : "clock +");
    jr_clock_human(out, off_ns);
}

/* A line for each host that has answered, in order, without its name. */
static void print_answers(struct jr_buf *out, const struct hosts_report *report)
{
    struct jr_buf cells JR_BUF_CLEANUP = JR_BUF_INIT;
    for (uint32_t i = 0; i < report->count; i++) {
        const struct host_report *host = &report->hosts[i];
        if (!host->answered)
            continue;
        jr_buf_str(&cells, host->devices);
        jr_buf_str(&cells, "\tjobrun ");
        jr_buf_safe(&cells, host->from.version != NULL ? host->from.version : "?");
        jr_buf_char(&cells, '\t');
        print_clock(&cells, host);
        jr_buf_char(&cells, '\t');
        if (host->from.tried) {
            jr_buf_str(&cells, host->from.reach == JR_REACH_OK ? "reaches " : "does not reach ");
            jr_buf_safe(&cells, report->meeting);
        }
        jr_buf_char(&cells, '\n');
    }
    jr_table_add(out, &cells, GAP);
}

/* The line of a host, `*answers` being those that are left of them, and below it its faults. */
static void print_host(struct jr_buf *out, const struct host_report *host, const char **answers,
                       size_t columns)
{
    print_host_name(out, host->name, columns);
    if (host->answered) {
        size_t len = strcspn(*answers, "\n");
        jr_buf_add(out, *answers, len);
        jr_buf_char(out, '\n');
        *answers += len + ((*answers)[len] == '\n');
    } else
        jr_buf_str(out, "not reached: ");
    for (size_t i = 0; i < host->faults_count; i++) {
        if (i > 0 || host->answered)
            jr_buf_fill(out, ' ', columns);
        jr_buf_safe(out, host->faults[i].message);
        jr_buf_char(out, '\n');
        if (host->faults[i].help == NULL)
            continue;
        jr_buf_fill(out, ' ', columns);
        jr_buf_safe(out, host->faults[i].help);
        jr_buf_char(out, '\n');
    }
}

static void print_difference(struct jr_buf *out, const struct host_difference *difference,
                             size_t columns)
{
    print_host_name(out, "differ", columns);
    jr_buf_printf(out, "%s: ", difference->name);
    for (size_t i = 0; i < difference->count; i++) {
        const struct host_group *group = &difference->groups[i];
        jr_buf_str(out, i > 0 ? "; " : "");
        jr_buf_safe(out, group->value);
        jr_buf_str(out, " on ");
        for (size_t k = 0; k < group->count; k++) {
            jr_buf_str(out, k > 0 ? ", " : "");
            jr_buf_safe(out, group->hosts[k]);
        }
    }
    jr_buf_char(out, '\n');
}

static void print_text(struct jr_buf *out, const struct hosts_report *report)
{
    struct jr_buf answers JR_BUF_CLEANUP = JR_BUF_INIT;
    size_t columns = 0;
    uint32_t unable = 0, faulty = 0;
    for (uint32_t i = 0; i < report->count; i++) {
        const char *name = report->hosts[i].name;
        size_t own = jr_utf8_columns(name, strlen(name));
        columns = own > columns ? own : columns;
        unable += report->hosts[i].unable;
        faulty += report->hosts[i].faults_count > 0;
    }
    columns += GAP;
    print_answers(&answers, report);
    out->failed |= answers.failed;
    const char *rest = answers.len > 0 && !answers.failed ? answers.data : "";
    for (uint32_t i = 0; i < report->count; i++)
        print_host(out, &report->hosts[i], &rest, columns);
    for (size_t i = 0; i < report->differences_count; i++)
        print_difference(out, &report->differences[i], columns);
    if (faulty == 0 && report->count == 1)
        jr_buf_str(out, "the host can take part\n");
    else if (faulty == 0)
        jr_buf_printf(out, "all %u hosts can take part\n", report->count);
    else
        jr_buf_printf(out, "%u of %u host%s %s\n", unable > 0 ? unable : faulty, report->count,
                      report->count == 1 ? "" : "s",
                      unable > 0    ? "cannot take part"
                      : faulty == 1 ? "has a fault"
                                    : "have faults");
}

static void put_text(json_t *object, const char *key, const char *text)
{
    if (text != NULL)
        jr_json_set_str(object, key, text);
    else
        jr_json_set_null(object, key);
}

static json_t *host_json(const struct host_report *host)
{
    const struct jr_survey_host *from = &host->from;
    json_t *row = json_object(), *faults = json_array();
    bool devices = host->answered && host->host.devices_count > 0;
    put_text(row, "host", host->name);
    jr_json_set_bool(row, "answered", host->answered);
    put_text(row, "version", from->version);
    put_text(row, "hostname", host->answered ? host->host.hostname : NULL);
    put_text(row, "devices", devices ? host->devices : NULL);
    jr_json_set(row, "cpus", host->answered ? json_integer(host->host.cpus.usable) : json_null());
    jr_json_set(row, "memory",
                host->answered ? json_integer((json_int_t)host->host.memory) : json_null());
    jr_json_set(row, "clock_offset",
                from->timed ? json_real((double)from->clock_offset_ns / 1e9) : json_null());
    jr_json_set(row, "clock_error",
                from->timed ? json_real((double)from->clock_error_ns / 1e9) : json_null());
    jr_json_set(row, "reaches",
                from->tried ? json_boolean(from->reach == JR_REACH_OK) : json_null());
    jr_json_set_bool(row, "can_take_part", !host->unable);
    for (size_t i = 0; i < host->faults_count; i++) {
        json_t *fault = json_object();
        put_text(fault, "message", host->faults[i].message);
        put_text(fault, "help", host->faults[i].help);
        jr_json_append(faults, fault);
    }
    jr_json_set(row, "faults", faults);
    return row;
}

static json_t *difference_json(const struct host_difference *difference)
{
    json_t *row = json_object(), *values = json_array();
    put_text(row, "name", difference->name);
    for (size_t i = 0; i < difference->count; i++) {
        const struct host_group *group = &difference->groups[i];
        json_t *value = json_object(), *hosts = json_array();
        put_text(value, "value", group->value);
        for (size_t k = 0; k < group->count; k++)
            jr_json_append(hosts, jr_json_str(group->hosts[k]));
        jr_json_set(value, "hosts", hosts);
        jr_json_append(values, value);
    }
    jr_json_set(row, "values", values);
    return row;
}

static void print_json(struct jr_buf *out, const struct hosts_report *report)
{
    json_t *root = json_object(), *hosts = json_array(), *differences = json_array();
    for (uint32_t i = 0; i < report->count; i++)
        jr_json_append(hosts, host_json(&report->hosts[i]));
    for (size_t i = 0; i < report->differences_count; i++)
        jr_json_append(differences, difference_json(&report->differences[i]));
    jr_json_set_int(root, "format_version", 1);
    put_text(root, "meeting", report->meeting);
    jr_json_set(root, "hosts", hosts);
    jr_json_set(root, "differences", differences);
    out->failed |= root == NULL || hosts == NULL || differences == NULL;
    if (root != NULL)
        jr_json_print(out, root, 2);
    jr_buf_char(out, '\n');
    json_decref(root);
}

enum jr_status jr_session_survey_hosts(struct jr_session *session, bool json, struct jr_buf *out,
                                       uint32_t *ret_faulty, struct jr_error *err)
{
    const struct jr_spec_source source = {
        .name = "--hosts", .text = NO_JOB, .len = sizeof NO_JOB - 1};
    struct jr_error why = {.status = JR_STATUS_LAUNCH};
    struct jr_survey *survey = NULL;
    enum jr_status status = jr_session_load(session, &source, err);
    if (status != JR_STATUS_OK)
        return status;
    const struct jr_spec *spec = jr_spec_get(session->file);
    const struct jr_survey_options meeting = {
        .address = spec->master_addr,
        .port = spec->master_port != NULL ? *spec->master_port : 0,
        .limit_ms = spec->policy.timeouts.start_ms,
    };
    struct jr_controller_options options = {
        .program = jr_session_own_program(session),
        .envp = session->options.envp,
        .note = jr_session_note_line,
        .data = session,
    };
    struct hosts_report report = {.arena = JR_ARENA_INIT};
    report.hosts = jr_arena_array(&report.arena, spec->hosts_count, sizeof *report.hosts);
    report.count = report.hosts == NULL ? 0 : spec->hosts_count;
    for (uint32_t i = 0; i < report.count; i++)
        report.hosts[i].name = spec->hosts[i];
    int failed = jr_ssh_session_prepare(session, session->file, &options, &why);
    if (failed == 0)
        failed = jr_survey_hosts(&survey, &options, &meeting, &why);
    if (failed == 0) {
        take_hosts(&report, survey, meeting.address);
        compare_hosts(&report);
        (json ? print_json : print_text)(out, &report);
        if (report.arena.failed)
            failed = jr_error_set(&why, JR_STATUS_LAUNCH, "out of memory");
    }
    *ret_faulty = 0;
    for (uint32_t i = 0; i < report.count; i++)
        *ret_faulty += report.hosts[i].faults_count > 0;
    jr_survey_end(survey);
    jr_arena_release(&report.arena);
    return failed == 0 ? JR_STATUS_OK : jr_session_fail(err, &why);
}
