/* The forms of a report that are JSON: in the words of the contract, for GitLab, and SARIF.
 * Declared in internal.h. */
#include "diag/internal.h"

#include <ctype.h>
#include <string.h>

#include "generated/version.h"

#include "base/banned.h"

#define SCHEMA                                                                                     \
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/"                          \
    "sarif-schema-2.1.0.json"

/* A position of which nothing is known is null. */
static json_t *position(uint32_t value)
{
    return value == 0 ? json_null() : json_integer(value);
}

static void set_span(json_t *object, const struct jr_span *span, bool whole)
{
    jr_json_set_str(object, "file", span->source == NULL ? NULL : span->source->name);
    jr_json_set(object, "line", position(span->line));
    jr_json_set(object, "column", position(span->column));
    if (!whole)
        return;
    jr_json_set(object, "end_line", position(span->end_line));
    jr_json_set(object, "end_column", position(span->end_column));
}

static json_t *diag_to_object(const struct jr_diag *diag, struct jr_diag_cursor *cursor)
{
    JR_BUF_CLEANUP struct jr_buf rendered = JR_BUF_INIT;
    json_t *object = json_object(), *fixes = json_array(), *related = json_array();
    if (diag->fix != NULL) {
        json_t *fix = json_object();
        set_span(fix, &diag->fix->span, true);
        jr_json_set_str(fix, "text", diag->fix->text);
        jr_json_append(fixes, fix);
    }
    for (const struct jr_related *other = diag->related; other != NULL; other = other->next) {
        json_t *place = json_object();
        jr_json_set_str(place, "message", other->message);
        set_span(place, &other->span, false);
        jr_json_append(related, place);
    }
    jr_json_set_str(object, "severity", jr_diag_severity_word(diag->severity));
    jr_json_set_str(object, "code", diag->code);
    jr_json_set_str(object, "message", diag->message);
    set_span(object, &diag->span, true);
    jr_json_set_str(object, "path", diag->path);
    jr_json_set_str(object, "help", diag->help);
    jr_json_set(object, "fixes", fixes);
    jr_json_set(object, "related", related);
    jr_diag_human(&rendered, diag, cursor, false);
    jr_json_set(object, "rendered", jr_json_buf(&rendered));
    return object;
}

static void print_document(struct jr_buf *out, json_t *json, int indent)
{
    jr_json_print(out, json, indent);
    jr_buf_char(out, '\n');
    json_decref(json);
}

void jr_diag_write_json(struct jr_buf *out, const struct jr_diag_report *report)
{
    const struct jr_diags *diags = report->diags;
    struct jr_diag_cursor cursor = {0};
    json_t *list = json_array();
    for (size_t i = 0; i < diags->count; i++)
        jr_json_append(list, diag_to_object(&diags->items[i], &cursor));
    print_document(out,
                   json_pack("{s:i,s:b,s:I,s:I,s:o}", "format_version", 1, "valid",
                             jr_diag_report_valid(report), "error_count", (json_int_t)diags->errors,
                             "warning_count", (json_int_t)diags->warnings, "diagnostics", list),
                   2);
}

void jr_diag_write_jsonl(struct jr_buf *out, const struct jr_diag_report *report)
{
    struct jr_diag_cursor cursor = {0};
    for (size_t i = 0; i < report->diags->count; i++)
        print_document(out, diag_to_object(&report->diags->items[i], &cursor), 0);
}

/* A digest of file, code and key path, which stays when lines move, and of how many with the same
 * three came before it, so that it is unique in the report: services compare those of two reports
 * to tell what a change adds. `seen` belongs to the report, and is empty at first. NULL without
 * memory. */
static json_t *make_fingerprint(json_t *seen, const struct jr_diag_report *report,
                                const struct jr_diag *diag)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    char digest[JR_HASH_SIZE];
    if (diag->span.source != NULL)
        jr_diag_file(&text, report, diag->span.source->name);
    jr_buf_char(&text, '\0');
    jr_buf_str(&text, diag->code == NULL ? "" : diag->code);
    jr_buf_char(&text, '\0');
    jr_buf_str(&text, diag->path == NULL ? "" : diag->path);
    jr_buf_char(&text, '\0');
    if (text.failed)
        return NULL;
    jr_hash(digest, text.data, text.len);
    json_int_t before = jr_json_get_int(seen, digest);
    jr_json_set_int(seen, digest, before + 1);
    if (before > 0) {
        jr_buf_printf(&text, "%lld", (long long)before);
        jr_hash(digest, text.data, text.len);
    }
    return json_string(digest);
}

/*
 * A Code Quality report of GitLab: an array of findings, without a byte order mark.
 */

static json_t *diag_to_gitlab(const struct jr_diag_report *report, const struct jr_diag *diag,
                              json_t *seen)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT, file = JR_BUF_INIT;
    const struct jr_span *span = &diag->span;
    json_t *lines = json_object();
    jr_buf_str(&text, diag->message);
    if (diag->help != NULL)
        jr_buf_printf(&text, " (help: %s)", diag->help);
    if (span->source != NULL)
        jr_diag_file(&file, report, span->source->name);
    else
        jr_buf_char(&file, '.');
    jr_json_set_int(lines, "begin", span->line == 0 ? 1 : span->line);
    if (span->end_line > span->line)
        jr_json_set_int(lines, "end", span->end_line);
    return json_pack("{s:o,s:o,s:o,s:s,s:{s:o,s:o}}", "description", jr_json_buf(&text),
                     "check_name", jr_json_str(diag->code), "fingerprint",
                     make_fingerprint(seen, report, diag), "severity",
                     diag->severity == JR_SEVERITY_ERROR ? "critical" : "minor", "location", "path",
                     jr_json_buf(&file), "lines", lines);
}

void jr_diag_write_gitlab(struct jr_buf *out, const struct jr_diag_report *report)
{
    json_t *list = json_array(), *seen = json_object();
    for (size_t i = 0; i < report->diags->count; i++)
        jr_json_append(list, diag_to_gitlab(report, &report->diags->items[i], seen));
    print_document(out, list, 2);
    json_decref(seen);
}

/*
 * SARIF 2.1.0 (OASIS): one run, the rules that its results name, and a result for each finding.
 * Positions are jobrun's own: code points, from 1, the end exclusive; line breaks are those of
 * YAML.
 */

/* The message and, below it, the help. Viewers take `[text](target)` as a link, and a finding may
 * quote such a text; a blank prevents that. */
static json_t *sarif_message(const char *text, const char *help)
{
    JR_BUF_CLEANUP struct jr_buf whole = JR_BUF_INIT, safe = JR_BUF_INIT;
    jr_buf_str(&whole, text);
    if (help != NULL)
        jr_buf_printf(&whole, "\nhelp: %s", help);
    for (size_t i = 0; i < whole.len; i++) {
        jr_buf_char(&safe, whole.data[i]);
        if (whole.data[i] == ']' && whole.data[i + 1] == '(')
            jr_buf_char(&safe, ' ');
    }
    safe.failed |= whole.failed;
    return json_pack("{s:o}", "text", jr_json_buf(&safe));
}

/* RFC 3986: a name below the root becomes a relative reference. */
static json_t *sarif_artifact(const struct jr_diag_report *report, const char *name)
{
    JR_BUF_CLEANUP struct jr_buf path = JR_BUF_INIT, uri = JR_BUF_INIT;
    json_t *artifact = json_object();
    jr_diag_file(&path, report, name);
    bool absolute = path.len > 0 && path.data[0] == '/';
    if (absolute)
        jr_buf_str(&uri, "file://");
    for (size_t i = 0; i < path.len; i++) {
        unsigned char byte = (unsigned char)path.data[i];
        bool plain = byte < 0x80 && (isalnum(byte) || strchr("-._~/", byte));
        jr_buf_printf(&uri, plain ? "%c" : "%%%02X", byte);
    }
    uri.failed |= path.failed;
    jr_json_set(artifact, "uri", jr_json_buf(&uri));
    if (!absolute)
        jr_json_set_str(artifact, "uriBaseId", "%SRCROOT%");
    return artifact;
}

/* GitHub requires a line, so a finding about the whole file gets the first. */
static json_t *sarif_region(const struct jr_span *span)
{
    json_t *region = json_object();
    jr_json_set_int(region, "startLine", span->line == 0 ? 1 : span->line);
    if (span->column != 0)
        jr_json_set_int(region, "startColumn", span->column);
    if (span->end_line != 0)
        jr_json_set_int(region, "endLine", span->end_line);
    if (span->end_column != 0)
        jr_json_set_int(region, "endColumn", span->end_column);
    return region;
}

static json_t *sarif_place(const struct jr_diag_report *report, const struct jr_span *span)
{
    return json_pack("{s:{s:o,s:o}}", "physicalLocation", "artifactLocation",
                     sarif_artifact(report, span->source->name), "region", sarif_region(span));
}

/* A rule as the table of codes has it: the paragraph, then the example. */
static json_t *sarif_rule(const struct jr_code *code, const char *id)
{
    JR_BUF_CLEANUP struct jr_buf paragraph = JR_BUF_INIT, help = JR_BUF_INIT;
    const char *end = strstr(code->text, "\n\n");
    size_t len = end == NULL ? strlen(code->text) : (size_t)(end - code->text);
    jr_buf_add(&paragraph, code->text, len);
    for (size_t i = 0; i < paragraph.len; i++)
        if (paragraph.data[i] == '\n')
            paragraph.data[i] = ' ';
    jr_buf_printf(&help, "%s\n\n```\n%s```\n", paragraph.failed ? "" : paragraph.data,
                  end == NULL ? "" : end + 2);
    return json_pack("{s:s,s:{s:s},s:{s:o},s:{s:s,s:o}}", "id", id, "shortDescription", "text",
                     code->title, "fullDescription", "text", jr_json_buf(&paragraph), "help",
                     "text", code->text, "markdown", jr_json_buf(&help));
}

/* A result, and its rule where that is new: `indices` has where the rule of each code is. */
static json_t *sarif_result(const struct jr_diag_report *report, const struct jr_diag *diag,
                            json_t *rules, json_t *indices, json_t *seen)
{
    json_t *fingerprint = make_fingerprint(seen, report, diag);
    const struct jr_code *code = jr_code_find(diag->code);
    const struct jr_fix *fix = diag->fix;
    json_t *result = json_pack("{s:s}", "ruleId", diag->code);
    if (code != NULL && json_object_get(indices, diag->code) == NULL) {
        jr_json_set_int(indices, diag->code, (json_int_t)json_array_size(rules));
        jr_json_append(rules, sarif_rule(code, diag->code));
    }
    if (code != NULL)
        jr_json_set(result, "ruleIndex", json_incref(json_object_get(indices, diag->code)));
    jr_json_set_str(result, "level", jr_diag_severity_word(diag->severity));
    jr_json_set(result, "message", sarif_message(diag->message, diag->help));
    if (diag->span.source != NULL) {
        json_t *location = sarif_place(report, &diag->span);
        if (diag->path != NULL)
            jr_json_set(location, "logicalLocations",
                        json_pack("[{s:o}]", "fullyQualifiedName", jr_json_str(diag->path)));
        jr_json_set(result, "locations", json_pack("[o]", location));
    }
    if (diag->related != NULL && diag->related->span.source != NULL) {
        json_t *list = json_array();
        int id = 1;
        for (const struct jr_related *other = diag->related; other != NULL;
             other = other->next, id++) {
            if (other->span.source == NULL)
                continue;
            json_t *location = sarif_place(report, &other->span);
            jr_json_set_int(location, "id", id);
            jr_json_set(location, "message", sarif_message(other->message, NULL));
            jr_json_append(list, location);
        }
        jr_json_set(result, "relatedLocations", list);
    }
    jr_json_set(result, "partialFingerprints",
                json_pack("{s:o}", "jobrunFieldHash/v1", fingerprint));
    if (fix != NULL && fix->span.source != NULL) {
        json_t *change = json_pack("[{s:o,s:[{s:o,s:{s:o}}]}]", "artifactLocation",
                                   sarif_artifact(report, fix->span.source->name), "replacements",
                                   "deletedRegion", sarif_region(&fix->span), "insertedContent",
                                   "text", jr_json_str(fix->text));
        json_t *whole = json_object();
        if (diag->help != NULL)
            jr_json_set(whole, "description", sarif_message(diag->help, NULL));
        jr_json_set(whole, "artifactChanges", change);
        jr_json_set(result, "fixes", json_pack("[o]", whole));
    }
    return result;
}

void jr_diag_write_sarif(struct jr_buf *out, const struct jr_diag_report *report)
{
    const struct jr_diags *diags = report->diags;
    size_t more = diags->errors + diags->warnings - diags->count;
    json_t *results = json_array(), *rules = json_array(), *run = json_object();
    json_t *indices = json_object(), *seen = json_object();
    for (size_t i = 0; i < diags->count; i++)
        jr_json_append(results, sarif_result(report, &diags->items[i], rules, indices, seen));
    jr_json_set(run, "tool",
                json_pack("{s:{s:s,s:s,s:o}}", "driver", "name", "jobrun", "semanticVersion",
                          JR_VERSION, "rules", rules));
    if (more != 0) { /* the list is not whole */
        JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
        jr_buf_printf(&text, "%zu more findings are not listed.", more);
        jr_json_set(run, "invocations",
                    json_pack("[{s:b,s:[{s:{s:o},s:s}]}]", "executionSuccessful", 1,
                              "toolExecutionNotifications", "message", "text", jr_json_buf(&text),
                              "level", "warning"));
    }
    jr_json_set_str(run, "columnKind", "unicodeCodePoints");
    jr_json_set(
        run, "newlineSequences",
        json_pack("[s,s,s,s,s,s]", "\r\n", "\r", "\n", "\xc2\x85", "\xe2\x80\xa8", "\xe2\x80\xa9"));
    jr_json_set(run, "results", results);
    print_document(
        out, json_pack("{s:s,s:s,s:[o]}", "$schema", SCHEMA, "version", "2.1.0", "runs", run), 2);
    json_decref(indices);
    json_decref(seen);
}
