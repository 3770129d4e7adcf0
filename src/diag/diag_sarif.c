/*
 * SARIF 2.1.0 (OASIS): one run, the rules that its results name, and a result for each finding.
 * Positions are jobrun's own: code points, from 1, the end exclusive; line breaks are those of
 * YAML. The header of this file is diag_text.h.
 */
#include <ctype.h>
#include <string.h>

#include "diag/diag.h"
#include "diag/diag_text.h"
#include "generated/version.h"

#include "base/banned.h"

#define SCHEMA                                                                                     \
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/"                          \
    "sarif-schema-2.1.0.json"

/* What is gathered over the results. */
struct sarif {
    const struct jr_diag_report *report;
    json_t *rules;
    json_t *indices; /* of the rules, by code */
    json_t *seen;    /* fingerprints */
};

static void set_property(json_t *object, const char *key, json_t *value)
{
    jr_json_set(object, key, value);
}

static void append_item(json_t *list, json_t *value)
{
    jr_json_append(list, value);
}

static json_t *wrap_in_object(const char *key, json_t *value)
{
    json_t *object = json_object();
    set_property(object, key, value);
    return object;
}

static json_t *wrap_in_list(json_t *value)
{
    json_t *list = json_array();
    append_item(list, value);
    return list;
}

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
    return wrap_in_object("text", jr_json_buf(&safe));
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
    set_property(artifact, "uri", jr_json_buf(&uri));
    if (!absolute)
        set_property(artifact, "uriBaseId", json_string("%SRCROOT%"));
    return artifact;
}

static void set_position_number(json_t *object, const char *key, uint32_t value)
{
    if (value != 0)
        jr_json_set_int(object, key, value);
}

/* GitHub requires a line, so a finding about the whole file gets the first. */
static json_t *sarif_region(const struct jr_span *span)
{
    json_t *region = json_object();
    set_position_number(region, "startLine", span->line == 0 ? 1 : span->line);
    set_position_number(region, "startColumn", span->column);
    set_position_number(region, "endLine", span->end_line);
    set_position_number(region, "endColumn", span->end_column);
    return region;
}

static json_t *sarif_place(const struct sarif *sarif, const struct jr_span *span)
{
    json_t *place = json_object();
    set_property(place, "artifactLocation", sarif_artifact(sarif->report, span->source->name));
    set_property(place, "region", sarif_region(span));
    return wrap_in_object("physicalLocation", place);
}

static json_t *sarif_location(const struct sarif *sarif, const struct jr_diag *diag)
{
    json_t *location = sarif_place(sarif, &diag->span);
    if (diag->path != NULL)
        set_property(location, "logicalLocations",
                     wrap_in_list(wrap_in_object("fullyQualifiedName", jr_json_str(diag->path))));
    return location;
}

static json_t *sarif_fix(const struct sarif *sarif, const struct jr_diag *diag)
{
    const struct jr_fix *fix = diag->fix;
    json_t *replacement = wrap_in_object("deletedRegion", sarif_region(&fix->span));
    json_t *change = json_object();
    json_t *object = json_object();
    set_property(replacement, "insertedContent", wrap_in_object("text", jr_json_str(fix->text)));
    set_property(change, "artifactLocation", sarif_artifact(sarif->report, fix->span.source->name));
    set_property(change, "replacements", wrap_in_list(replacement));
    if (diag->help != NULL)
        set_property(object, "description", sarif_message(diag->help, NULL));
    set_property(object, "artifactChanges", wrap_in_list(change));
    return object;
}

static json_t *sarif_related(const struct sarif *sarif, const struct jr_related *related)
{
    json_t *list = json_array();
    for (int id = 1; related != NULL; related = related->next, id++) {
        if (related->span.source == NULL)
            continue;
        json_t *location = sarif_place(sarif, &related->span);
        set_property(location, "id", json_integer(id));
        set_property(location, "message", sarif_message(related->message, NULL));
        append_item(list, location);
    }
    return list;
}

/* A rule as the table of codes has it: the paragraph, then the example. */
static json_t *sarif_rule(const struct jr_code *code, const char *id)
{
    JR_BUF_CLEANUP struct jr_buf paragraph = JR_BUF_INIT, help = JR_BUF_INIT;
    const char *end = strstr(code->text, "\n\n");
    size_t len = end == NULL ? strlen(code->text) : (size_t)(end - code->text);
    json_t *rule = wrap_in_object("id", json_string(id));
    jr_buf_add(&paragraph, code->text, len);
    for (size_t i = 0; i < paragraph.len; i++)
        if (paragraph.data[i] == '\n')
            paragraph.data[i] = ' ';
    jr_buf_printf(&help, "%s\n\n```\n%s```\n", paragraph.failed ? "" : paragraph.data,
                  end == NULL ? "" : end + 2);
    set_property(rule, "shortDescription", wrap_in_object("text", json_string(code->title)));
    set_property(rule, "fullDescription", wrap_in_object("text", jr_json_buf(&paragraph)));
    json_t *both = wrap_in_object("text", json_string(code->text));
    set_property(both, "markdown", jr_json_buf(&help));
    set_property(rule, "help", both);
    return rule;
}

/* The index of the code's rule, which is made when it is new. */
static json_t *rule_index(struct sarif *sarif, const char *id)
{
    json_t *index = json_object_get(sarif->indices, id);
    const struct jr_code *code = jr_code_find(id);
    if (index != NULL || code == NULL)
        return json_incref(index);
    index = json_integer((json_int_t)json_array_size(sarif->rules));
    (void)json_object_set(sarif->indices, id, index);
    append_item(sarif->rules, sarif_rule(code, id));
    return index;
}

static json_t *sarif_result(struct sarif *sarif, const struct jr_diag *diag)
{
    char fingerprint[JR_HASH_SIZE];
    json_t *result = wrap_in_object("ruleId", json_string(diag->code));
    jr_diag_fingerprint(fingerprint, sarif->seen, sarif->report, diag);
    if (jr_code_find(diag->code) != NULL)
        set_property(result, "ruleIndex", rule_index(sarif, diag->code));
    set_property(result, "level", json_string(jr_diag_severity_word(diag->severity)));
    set_property(result, "message", sarif_message(diag->message, diag->help));
    if (diag->span.source != NULL)
        set_property(result, "locations", wrap_in_list(sarif_location(sarif, diag)));
    if (diag->related != NULL && diag->related->span.source != NULL)
        set_property(result, "relatedLocations", sarif_related(sarif, diag->related));
    set_property(result, "partialFingerprints",
                 wrap_in_object("jobrunFieldHash/v1",
                                fingerprint[0] == '\0' ? NULL : json_string(fingerprint)));
    if (diag->fix != NULL && diag->fix->span.source != NULL)
        set_property(result, "fixes", wrap_in_list(sarif_fix(sarif, diag)));
    return result;
}

static json_t *sarif_tool(const struct sarif *sarif)
{
    json_t *driver = wrap_in_object("name", json_string("jobrun"));
    set_property(driver, "semanticVersion", json_string(JR_VERSION));
    set_property(driver, "rules", json_incref(sarif->rules));
    return wrap_in_object("driver", driver);
}

/* Says that the list is not whole. */
static json_t *sarif_invocation(size_t more)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    jr_buf_printf(&text, "%zu more findings are not listed.", more);
    json_t *note = wrap_in_object("message", sarif_message(text.data, NULL));
    json_t *invocation = wrap_in_object("executionSuccessful", json_true());
    set_property(note, "level", json_string("warning"));
    set_property(invocation, "toolExecutionNotifications", wrap_in_list(note));
    return invocation;
}

static json_t *sarif_run(struct sarif *sarif)
{
    static const char *const breaks[] = {"\r\n",     "\r",           "\n",
                                         "\xc2\x85", "\xe2\x80\xa8", "\xe2\x80\xa9"};
    const struct jr_diags *diags = sarif->report->diags;
    size_t more = jr_diag_left_out(diags);
    json_t *results = json_array(), *sequences = json_array();
    for (size_t i = 0; i < diags->count; i++)
        append_item(results, sarif_result(sarif, &diags->items[i]));
    for (size_t i = 0; i < sizeof breaks / sizeof *breaks; i++)
        append_item(sequences, json_string(breaks[i]));
    json_t *run = wrap_in_object("tool", sarif_tool(sarif));
    if (more != 0)
        set_property(run, "invocations", wrap_in_list(sarif_invocation(more)));
    set_property(run, "columnKind", json_string("unicodeCodePoints"));
    set_property(run, "newlineSequences", sequences);
    set_property(run, "results", results);
    return run;
}

void jr_diag_write_sarif(struct jr_buf *out, const struct jr_diag_report *report)
{
    struct sarif sarif = {report, json_array(), json_object(), json_object()};
    json_t *log = wrap_in_object("$schema", json_string(SCHEMA));
    set_property(log, "version", json_string("2.1.0"));
    set_property(log, "runs", wrap_in_list(sarif_run(&sarif)));
    jr_json_print(out, log, 2);
    jr_buf_char(out, '\n');
    json_decref(log);
    json_decref(sarif.rules);
    json_decref(sarif.indices);
    json_decref(sarif.seen);
}
