/* The report on hosts (survey_hosts.h), for people and for programs. */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/diff_table.h"
#include "base/json.h"
#include "base/utf8.h"
#include "session/hosts_report.h"

#include "base/banned.h"

#define MS  UINT64_C(1000000)
#define GAP 3 /* blanks between columns */

/* For people. */

static size_t host_columns(const struct jr_hosts_report *report)
{
    size_t widest = 0;
    for (uint32_t i = 0; i < report->count; i++) {
        const char *name = report->hosts[i].name;
        size_t own = jr_utf8_columns(name, strlen(name));
        widest = own > widest ? own : widest;
    }
    return widest + GAP;
}

static void print_host_name(struct jr_buf *out, const char *name, size_t columns)
{
    size_t own = jr_utf8_columns(name, strlen(name));
    jr_buf_safe(out, name);
    jr_buf_fill(out, ' ', own < columns ? columns - own : 1);
}

/* "clock +2 ms"; or the most that it may be, where that is not known to be another. */
static void print_clock(struct jr_buf *out, const struct jr_host_report *host)
{
    uint64_t offset_ns = (uint64_t)host->clock_offset_ns;
    uint64_t off_ns = host->clock_offset_ns < 0 ? 0 - offset_ns : offset_ns;
    if (!host->timed)
        return;
    if (off_ns <= host->clock_error_ns || off_ns < MS) {
        jr_buf_str(out, "clock within ");
        jr_clock_human(out, off_ns + host->clock_error_ns + MS - 1);
        return;
    }
    jr_buf_str(out, host->clock_offset_ns < 0 ? "clock -" : "clock +");
    jr_clock_human(out, off_ns);
}

static void print_reach(struct jr_buf *out, const struct jr_hosts_report *report,
                        const struct jr_host_report *host)
{
    if (!host->tried)
        return;
    jr_buf_str(out, host->reach == JR_REACH_OK ? "reaches " : "does not reach ");
    jr_buf_safe(out, report->meeting);
}

/* A line for each host that has answered, in order, without its name. */
static void print_answers(struct jr_buf *out, const struct jr_hosts_report *report)
{
    struct jr_buf cells JR_BUF_CLEANUP = JR_BUF_INIT;
    for (uint32_t i = 0; i < report->count; i++) {
        const struct jr_host_report *host = &report->hosts[i];
        if (!host->answered)
            continue;
        jr_buf_str(&cells, host->devices);
        jr_buf_str(&cells, "\tjobrun ");
        jr_buf_safe(&cells, host->version != NULL ? host->version : "?");
        jr_buf_char(&cells, '\t');
        print_clock(&cells, host);
        jr_buf_char(&cells, '\t');
        print_reach(&cells, report, host);
        jr_buf_char(&cells, '\n');
    }
    jr_table_add(out, &cells, GAP);
}

static void print_fault(struct jr_buf *out, const struct jr_host_fault *fault, size_t columns,
                        bool first)
{
    if (!first)
        jr_buf_fill(out, ' ', columns);
    jr_buf_safe(out, fault->message);
    jr_buf_char(out, '\n');
    if (fault->help == NULL)
        return;
    jr_buf_fill(out, ' ', columns);
    jr_buf_safe(out, fault->help);
    jr_buf_char(out, '\n');
}

/* The line of a host, `*answers` being those that are left of them, and below it its faults. */
static void print_host(struct jr_buf *out, const struct jr_host_report *host, const char **answers,
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
    for (size_t i = 0; i < host->faults_count; i++)
        print_fault(out, &host->faults[i], columns, i == 0 && !host->answered);
}

static void print_difference(struct jr_buf *out, const struct jr_host_difference *difference,
                             size_t columns)
{
    print_host_name(out, "differ", columns);
    jr_buf_printf(out, "%s: ", difference->name);
    for (size_t i = 0; i < difference->count; i++) {
        const struct jr_host_group *group = &difference->groups[i];
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

static uint32_t count_unable(const struct jr_hosts_report *report)
{
    uint32_t unable = 0;
    for (uint32_t i = 0; i < report->count; i++)
        unable += report->hosts[i].unable;
    return unable;
}

static void print_sum(struct jr_buf *out, const struct jr_hosts_report *report)
{
    uint32_t unable = count_unable(report);
    uint32_t faulty = jr_hosts_report_faulty(report);
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

void jr_hosts_report_text(struct jr_buf *out, const struct jr_hosts_report *report)
{
    struct jr_buf answers JR_BUF_CLEANUP = JR_BUF_INIT;
    size_t columns = host_columns(report);
    print_answers(&answers, report);
    out->failed |= answers.failed;
    const char *rest = answers.len > 0 && !answers.failed ? answers.data : "";
    for (uint32_t i = 0; i < report->count; i++)
        print_host(out, &report->hosts[i], &rest, columns);
    for (size_t i = 0; i < report->differences_count; i++)
        print_difference(out, &report->differences[i], columns);
    print_sum(out, report);
}

/* For programs. */

static void put_text(json_t *object, const char *key, const char *text)
{
    if (text != NULL)
        jr_json_set_str(object, key, text);
    else
        jr_json_set_null(object, key);
}

static json_t *faults_json(const struct jr_host_report *host)
{
    json_t *list = json_array();
    for (size_t i = 0; i < host->faults_count; i++) {
        json_t *row = json_object();
        put_text(row, "message", host->faults[i].message);
        put_text(row, "help", host->faults[i].help);
        jr_json_append(list, row);
    }
    return list;
}

static void put_clock(json_t *row, const struct jr_host_report *host)
{
    if (!host->timed) {
        jr_json_set_null(row, "clock_offset");
        jr_json_set_null(row, "clock_error");
        return;
    }
    jr_json_set_real(row, "clock_offset", (double)host->clock_offset_ns / 1e9);
    jr_json_set_real(row, "clock_error", (double)host->clock_error_ns / 1e9);
}

static void put_machine(json_t *row, const struct jr_host_report *host)
{
    put_text(row, "hostname", host->answered ? host->host.hostname : NULL);
    put_text(row, "devices", host->answered && host->host.devices_count > 0 ? host->devices : NULL);
    if (host->answered) {
        jr_json_set_int(row, "cpus", host->host.cpus.usable);
        jr_json_set_int(row, "memory", (json_int_t)host->host.memory);
    } else {
        jr_json_set_null(row, "cpus");
        jr_json_set_null(row, "memory");
    }
}

static json_t *host_json(const struct jr_host_report *host)
{
    json_t *row = json_object();
    put_text(row, "host", host->name);
    jr_json_set_bool(row, "answered", host->answered);
    put_text(row, "version", host->version);
    put_machine(row, host);
    put_clock(row, host);
    if (host->tried)
        jr_json_set_bool(row, "reaches", host->reach == JR_REACH_OK);
    else
        jr_json_set_null(row, "reaches");
    jr_json_set_bool(row, "can_take_part", !host->unable);
    jr_json_set(row, "faults", faults_json(host));
    return row;
}

static json_t *difference_json(const struct jr_host_difference *difference)
{
    json_t *row = json_object(), *values = json_array();
    put_text(row, "name", difference->name);
    for (size_t i = 0; i < difference->count; i++) {
        const struct jr_host_group *group = &difference->groups[i];
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

void jr_hosts_report_json(struct jr_buf *out, const struct jr_hosts_report *report)
{
    json_t *root = json_object(), *hosts = json_array();
    json_t *differences = json_array();
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
