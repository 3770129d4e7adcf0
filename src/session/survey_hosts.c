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

#define GIB        (1024.0 * 1024.0 * 1024.0)
#define SAME_SHARE 0.02 /* memory that differs by less is the same */
#define MS         UINT64_C(1000000)
#define GAP        3 /* blanks between columns */

/* What a session is loaded with that runs nothing. */
#define NO_JOB "version: 1\nentrypoint: ['true']\n"

/* The report is what is printed as JSON: a row for each host. */

static void add_fault(json_t *row, const char *message, const char *help)
{
    json_t *fault = json_object();
    jr_json_set_str(fault, "message", message);
    jr_json_set_str(fault, "help", help); /* null: nothing is known to be done */
    jr_json_append(json_object_get(row, "faults"), fault);
}

/* No rank can run there as it is. */
static void add_obstacle(json_t *row, const char *message, const char *help)
{
    jr_json_set_bool(row, "can_take_part", false);
    add_fault(row, message, help);
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

static uint64_t clock_off_ns(const struct jr_survey_host *from)
{
    uint64_t offset_ns = (uint64_t)from->clock_offset_ns;
    return from->clock_offset_ns < 0 ? 0 - offset_ns : offset_ns;
}

/* What a host has said, and what is wrong with it: by its answer, its facts, the limits to which a
 * run holds the clocks of its nodes, and whether it reaches where ranks would meet. */
static json_t *make_row(const char *name, const struct jr_survey_host *from, const char *meeting)
{
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_diags diags = {0};
    struct jr_host host = {0};
    json_t *row = json_object();
    bool told = from->facts_len > 0;
    bool answered =
        told && jr_profile_read(&host, &arena, name, from->facts, from->facts_len, &diags) == 0;
    if (answered && host.devices_count > 0)
        describe_devices(&text, &host);
    jr_json_set_str(row, "host", name);
    jr_json_set_bool(row, "answered", answered);
    jr_json_set_str(row, "version", from->version);
    jr_json_set_str(row, "hostname", answered ? host.hostname : NULL);
    jr_json_set_str(row, "devices", text.data);
    jr_json_set(row, "cpus", answered ? json_integer(host.cpus.usable) : json_null());
    jr_json_set(row, "memory", answered ? json_integer((json_int_t)host.memory) : json_null());
    jr_json_set(row, "clock_offset",
                from->timed ? json_real((double)from->clock_offset_ns / 1e9) : json_null());
    jr_json_set(row, "clock_error",
                from->timed ? json_real((double)from->clock_error_ns / 1e9) : json_null());
    jr_json_set(row, "reaches",
                from->tried ? json_boolean(from->reach == JR_REACH_OK) : json_null());
    jr_json_set_bool(row, "can_take_part", true);
    jr_json_set(row, "faults", json_array());
    if (from->failure != NULL) {
        const char *help = from->advice;
        if (help == NULL && from->version != NULL && strcmp(from->version, jr_version()) != 0)
            help = "install the same there, name it: -s engine.ssh.program=PATH, "
                   "or have it copied: -s engine.ssh.copy=true";
        add_obstacle(row, from->failure, help);
    }
    jr_buf_clear(&text);
    jr_buf_printf(&text, "its facts cannot be read: %s",
                  diags.count > 0 ? diags.items[0].message : "out of memory");
    if (told && !answered)
        add_obstacle(row, text.data, NULL);
    for (uint32_t i = 0; answered && i < host.problems_count; i++)
        add_fault(row, host.problems[i].message, host.problems[i].help);
    if (from->timed && clock_off_ns(from) >= JR_CLOCK_TOLD_NS) {
        jr_buf_clear(&text);
        jr_buf_str(&text, "its clock is ");
        jr_clock_human(&text, clock_off_ns(from));
        jr_buf_printf(&text, " %s of the one here", from->clock_offset_ns < 0 ? "behind" : "ahead");
        (clock_off_ns(from) >= JR_CLOCK_MOST_NS ? add_obstacle : add_fault)(
            row, text.data, "set it by the network: chrony, or systemd-timesyncd");
    }
    if (from->tried && from->reach != JR_REACH_OK) {
        jr_buf_clear(&text);
        jr_buf_printf(&text, "does not reach %s: %s", meeting, from->reach_why);
        add_obstacle(row, text.data, reach_helps[from->reach]);
    }
    jr_diags_release(&diags);
    return row;
}

/* The hosts, and where they were to meet; that nobody could listen is a fault of who was to. */
static void add_hosts(json_t *root, const struct jr_survey *survey, const struct jr_spec *spec)
{
    struct jr_buf meeting JR_BUF_CLEANUP = JR_BUF_INIT;
    json_t *hosts = json_array(), *row;
    const char *why;
    uint32_t port;
    size_t i;
    int node = jr_survey_meeting(survey, &port, &why);
    if (node >= 0) {
        const char *name = spec->master_addr != NULL ? spec->master_addr : spec->hosts[node];
        bool bare = strchr(name, ':') != NULL && name[0] != '[';
        jr_buf_printf(&meeting, bare ? "[%s]:%u" : "%s:%u", name, port);
    }
    jr_json_set_str(root, "meeting", meeting.data);
    for (uint32_t k = 0; k < spec->hosts_count; k++) {
        const struct jr_survey_host from = jr_survey_host(survey, k);
        jr_json_append(hosts, make_row(spec->hosts[k], &from, meeting.data));
    }
    jr_json_set(root, "hosts", hosts);
    if (node >= 0 || why == NULL)
        return;
    json_array_foreach(hosts, i, row) {
        if (!jr_json_get_bool(row, "answered"))
            continue;
        add_obstacle(row, why, "state a port that is free there: -s master_port=PORT");
        return;
    }
}

/* Append what a host has of a kind that is compared; nothing where it is not known. */
static void add_value(struct jr_buf *out, const json_t *row, const char *name)
{
    const char *devices = jr_json_get_str(row, "devices");
    const char *version = jr_json_get_str(row, "version");
    if (strcmp(name, "devices") == 0)
        jr_buf_str(out, devices == NULL ? "none" : devices);
    else if (strcmp(name, "CPUs") == 0)
        jr_buf_printf(out, "%u", jr_json_get_u32(row, "cpus"));
    else if (strcmp(name, "memory") == 0)
        jr_buf_printf(out, "%.4g GiB", (double)jr_json_get_int(row, "memory") / GIB);
    else
        jr_buf_str(out, version == NULL ? "" : version);
}

/* What is not the same on all hosts that have answered: each value, and the hosts that have it. */
static void add_differences(json_t *root)
{
    static const char *const names[] = {"devices", "CPUs", "memory", "jobrun"};
    json_t *differences = json_array(), *row;
    const json_t *hosts = json_object_get(root, "hosts");
    json_int_t most = 0, least = INT64_MAX;
    size_t i, n;
    json_array_foreach(hosts, i, row) {
        json_int_t own = jr_json_get_int(row, "memory");
        if (!jr_json_get_bool(row, "answered"))
            continue;
        most = own > most ? own : most;
        least = own < least ? own : least;
    }
    bool same_memory = (double)(most - least) <= SAME_SHARE * (double)most;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        json_t *values = json_array(), *value;
        json_array_foreach(hosts, i, row) {
            struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
            if (!jr_json_get_bool(row, "answered") ||
                (strcmp(names[k], "memory") == 0 && same_memory))
                continue;
            add_value(&text, row, names[k]);
            if (text.len == 0)
                continue;
            json_t *group = NULL;
            json_array_foreach(values, n, value)
                if (strcmp(jr_json_get_str(value, "value"), text.data) == 0)
                    group = value;
            if (group == NULL) {
                group = json_object();
                jr_json_set_str(group, "value", text.data);
                jr_json_set(group, "hosts", json_array());
                jr_json_append(values, group);
            }
            jr_json_append(json_object_get(group, "hosts"),
                           json_incref(json_object_get(row, "host")));
        }
        if (json_array_size(values) >= 2) {
            json_t *difference = json_object();
            jr_json_set_str(difference, "name", names[k]);
            jr_json_set(difference, "values", json_incref(values));
            jr_json_append(differences, difference);
        }
        json_decref(values);
    }
    jr_json_set(root, "differences", differences);
}

/* For people. */

static void print_host_name(struct jr_buf *out, const char *name, size_t columns)
{
    size_t own = jr_utf8_columns(name, strlen(name));
    jr_buf_safe(out, name);
    jr_buf_fill(out, ' ', own < columns ? columns - own : 1);
}

/* "clock +2 ms"; or the most that it may be, where that is not known to be another. */
static void print_clock(struct jr_buf *out, const struct jr_survey_host *from)
{
    uint64_t off_ns = clock_off_ns(from);
    if (!from->timed)
        return;
    if (off_ns <= from->clock_error_ns || off_ns < MS) {
        jr_buf_str(out, "clock within ");
        jr_clock_human(out, off_ns + from->clock_error_ns + MS - 1);
        return;
    }
    jr_buf_str(out, from->clock_offset_ns < 0 ? "clock -" : "clock +");
    jr_clock_human(out, off_ns);
}

/* A line for each host that has answered, in order, without its name. */
static void print_answers(struct jr_buf *out, const json_t *root, const struct jr_survey *survey)
{
    struct jr_buf cells JR_BUF_CLEANUP = JR_BUF_INIT;
    const json_t *row;
    size_t i;
    json_array_foreach(json_object_get(root, "hosts"), i, row) {
        const struct jr_survey_host from = jr_survey_host(survey, (uint32_t)i);
        const char *devices = jr_json_get_str(row, "devices");
        if (!jr_json_get_bool(row, "answered"))
            continue;
        if (devices != NULL)
            jr_buf_str(&cells, devices);
        else
            jr_buf_printf(&cells, "%u CPUs", jr_json_get_u32(row, "cpus"));
        jr_buf_str(&cells, "\tjobrun ");
        jr_buf_safe(&cells, from.version != NULL ? from.version : "?");
        jr_buf_char(&cells, '\t');
        print_clock(&cells, &from);
        jr_buf_char(&cells, '\t');
        if (from.tried) {
            const char *meeting = jr_json_get_str(root, "meeting");
            jr_buf_str(&cells, from.reach == JR_REACH_OK ? "reaches " : "does not reach ");
            jr_buf_safe(&cells, meeting == NULL ? "" : meeting);
        }
        jr_buf_char(&cells, '\n');
    }
    jr_table_add(out, &cells, GAP);
}

/* The line of a host, `*answers` being those that are left of them, and below it its faults. */
static void print_host(struct jr_buf *out, const json_t *row, const char **answers, size_t columns)
{
    bool answered = jr_json_get_bool(row, "answered");
    const json_t *fault;
    size_t i;
    print_host_name(out, jr_json_get_str(row, "host"), columns);
    if (answered) {
        size_t len = strcspn(*answers, "\n");
        jr_buf_add(out, *answers, len);
        jr_buf_char(out, '\n');
        *answers += len + ((*answers)[len] == '\n');
    } else
        jr_buf_str(out, "not reached: ");
    json_array_foreach(json_object_get(row, "faults"), i, fault) {
        const char *message = jr_json_get_str(fault, "message");
        const char *help = jr_json_get_str(fault, "help");
        if (i > 0 || answered)
            jr_buf_fill(out, ' ', columns);
        jr_buf_safe(out, message == NULL ? "" : message);
        jr_buf_char(out, '\n');
        if (help == NULL)
            continue;
        jr_buf_fill(out, ' ', columns);
        jr_buf_safe(out, help);
        jr_buf_char(out, '\n');
    }
}

static void print_text(struct jr_buf *out, const json_t *root, const struct jr_survey *survey)
{
    struct jr_buf answers JR_BUF_CLEANUP = JR_BUF_INIT;
    const json_t *hosts = json_object_get(root, "hosts"), *row, *value;
    size_t columns = 0, unable = 0, faulty = 0, count = json_array_size(hosts), i, k, n;
    json_array_foreach(hosts, i, row) {
        const char *name = jr_json_get_str(row, "host");
        size_t own = jr_utf8_columns(name, strlen(name));
        columns = own > columns ? own : columns;
        unable += !jr_json_get_bool(row, "can_take_part");
        faulty += json_array_size(json_object_get(row, "faults")) > 0;
    }
    columns += GAP;
    print_answers(&answers, root, survey);
    out->failed |= answers.failed;
    const char *rest = answers.len > 0 && !answers.failed ? answers.data : "";
    json_array_foreach(hosts, i, row)
        print_host(out, row, &rest, columns);
    json_array_foreach(json_object_get(root, "differences"), i, row) {
        print_host_name(out, "differ", columns);
        jr_buf_printf(out, "%s: ", jr_json_get_str(row, "name"));
        json_array_foreach(json_object_get(row, "values"), k, value) {
            const json_t *names = json_object_get(value, "hosts");
            jr_buf_str(out, k > 0 ? "; " : "");
            jr_buf_safe(out, jr_json_get_str(value, "value"));
            jr_buf_str(out, " on ");
            for (n = 0; n < json_array_size(names); n++) {
                jr_buf_str(out, n > 0 ? ", " : "");
                jr_buf_safe(out, json_string_value(json_array_get(names, n)));
            }
        }
        jr_buf_char(out, '\n');
    }
    if (faulty == 0 && count == 1)
        jr_buf_str(out, "the host can take part\n");
    else if (faulty == 0)
        jr_buf_printf(out, "all %zu hosts can take part\n", count);
    else
        jr_buf_printf(out, "%zu of %zu host%s %s\n", unable > 0 ? unable : faulty, count,
                      count == 1 ? "" : "s",
                      unable > 0    ? "cannot take part"
                      : faulty == 1 ? "has a fault"
                                    : "have faults");
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
    json_t *root = json_object(), *row;
    size_t i;
    *ret_faulty = 0;
    int failed = jr_ssh_session_prepare(session, session->file, &options, &why);
    if (failed == 0)
        failed = jr_survey_hosts(&survey, &options, &meeting, &why);
    if (failed == 0) {
        jr_json_set_int(root, "format_version", 1);
        add_hosts(root, survey, spec);
        add_differences(root);
        if (json) {
            jr_json_print(out, root, 2);
            jr_buf_char(out, '\n');
        } else {
            print_text(out, root, survey);
        }
    }
    json_array_foreach(json_object_get(root, "hosts"), i, row)
        *ret_faulty += json_array_size(json_object_get(row, "faults")) > 0;
    jr_survey_end(survey);
    json_decref(root);
    return failed == 0 ? JR_STATUS_OK : jr_session_fail(err, &why);
}
