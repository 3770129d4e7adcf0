/*
 * SARIF 2.1.0 (OASIS): one run, the rules that its results name, and a result
 * for each finding. Positions are jobrun's own: code points, from 1, the end
 * exclusive; line breaks are those of YAML.
 */
#include <ctype.h>
#include <string.h>

#include "diag.h"
#include "diag_text.h"
#include "version.h"

#include "banned.h"

#define SCHEMA                                                                 \
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/"      \
    "sarif-schema-2.1.0.json"

/* What is gathered over the results. */
struct sarif {
    const struct jr_diag_report *report;
    json_t *rules;
    json_t *indices; /* of the rules, by code */
    json_t *seen;    /* fingerprints */
};

static void set(json_t *object, const char *key, json_t *value)
{
    jr_json_set(object, key, value);
}

static void append(json_t *list, json_t *value)
{
    jr_json_append(list, value);
}

static json_t *object_of(const char *key, json_t *value)
{
    json_t *object = json_object();
    set(object, key, value);
    return object;
}

static json_t *list_of(json_t *value)
{
    json_t *list = json_array();
    append(list, value);
    return list;
}

/* A text of ours and, below it, the help. Viewers take `[text](target)` for a
 * link, and a finding may quote one that somebody wrote: a blank breaks it. */
static json_t *message_of(const char *text, const char *help)
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
    return object_of("text", jr_json_buf(&safe));
}

/* RFC 3986: a name below the root becomes a relative reference. */
static json_t *artifact_of(const struct jr_diag_report *report,
                           const char *name)
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
    set(artifact, "uri", jr_json_buf(&uri));
    if (!absolute)
        set(artifact, "uriBaseId", json_string("%SRCROOT%"));
    return artifact;
}

static void set_number(json_t *object, const char *key, uint32_t value)
{
    if (value != 0)
        jr_json_set_int(object, key, value);
}

/* GitHub wants a line: the first stands for the whole file. */
static json_t *region_of(const struct jr_span *span)
{
    json_t *region = json_object();
    set_number(region, "startLine", span->line == 0 ? 1 : span->line);
    set_number(region, "startColumn", span->column);
    set_number(region, "endLine", span->end_line);
    set_number(region, "endColumn", span->end_column);
    return region;
}

static json_t *place_of(const struct sarif *sarif, const struct jr_span *span)
{
    json_t *place = json_object();
    set(place, "artifactLocation",
        artifact_of(sarif->report, span->source->name));
    set(place, "region", region_of(span));
    return object_of("physicalLocation", place);
}

static json_t *location_of(const struct sarif *sarif,
                           const struct jr_diag *diag)
{
    json_t *location = place_of(sarif, &diag->span);
    if (diag->path != NULL)
        set(location, "logicalLocations",
            list_of(object_of("fullyQualifiedName", jr_json_str(diag->path))));
    return location;
}

static json_t *fix_of(const struct sarif *sarif, const struct jr_diag *diag)
{
    const struct jr_fix *fix = diag->fix;
    json_t *replacement = object_of("deletedRegion", region_of(&fix->span));
    json_t *change = json_object();
    json_t *object = json_object();
    set(replacement, "insertedContent",
        object_of("text", jr_json_str(fix->text)));
    set(change, "artifactLocation",
        artifact_of(sarif->report, fix->span.source->name));
    set(change, "replacements", list_of(replacement));
    if (diag->help != NULL)
        set(object, "description", message_of(diag->help, NULL));
    set(object, "artifactChanges", list_of(change));
    return object;
}

static json_t *related_of(const struct sarif *sarif,
                          const struct jr_related *related)
{
    json_t *list = json_array();
    for (int id = 1; related != NULL; related = related->next, id++) {
        if (related->span.source == NULL)
            continue;
        json_t *location = place_of(sarif, &related->span);
        set(location, "id", json_integer(id));
        set(location, "message", message_of(related->message, NULL));
        append(list, location);
    }
    return list;
}

/* A rule as codes.h has it: the paragraph, then the example. */
static json_t *rule_of(const struct jr_code *code, const char *id)
{
    JR_BUF_CLEANUP struct jr_buf paragraph = JR_BUF_INIT, help = JR_BUF_INIT;
    const char *end = strstr(code->text, "\n\n");
    size_t len = end == NULL ? strlen(code->text) : (size_t)(end - code->text);
    json_t *rule = object_of("id", json_string(id));
    jr_buf_add(&paragraph, code->text, len);
    for (size_t i = 0; i < paragraph.len; i++)
        if (paragraph.data[i] == '\n')
            paragraph.data[i] = ' ';
    jr_buf_printf(&help, "%s\n\n```\n%s```\n",
                  paragraph.failed ? "" : paragraph.data,
                  end == NULL ? "" : end + 2);
    set(rule, "shortDescription", object_of("text", json_string(code->title)));
    set(rule, "fullDescription", object_of("text", jr_json_buf(&paragraph)));
    json_t *both = object_of("text", json_string(code->text));
    set(both, "markdown", jr_json_buf(&help));
    set(rule, "help", both);
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
    append(sarif->rules, rule_of(code, id));
    return index;
}

static json_t *result_of(struct sarif *sarif, const struct jr_diag *diag)
{
    char fingerprint[JR_HASH_SIZE];
    json_t *result = object_of("ruleId", json_string(diag->code));
    jr_diag_fingerprint(fingerprint, sarif->seen, sarif->report, diag);
    if (jr_code_find(diag->code) != NULL)
        set(result, "ruleIndex", rule_index(sarif, diag->code));
    set(result, "level", json_string(jr_diag_severity_word(diag->severity)));
    set(result, "message", message_of(diag->message, diag->help));
    if (diag->span.source != NULL)
        set(result, "locations", list_of(location_of(sarif, diag)));
    if (diag->related != NULL && diag->related->span.source != NULL)
        set(result, "relatedLocations", related_of(sarif, diag->related));
    set(result, "partialFingerprints",
        object_of("jobrunFieldHash/v1",
                  fingerprint[0] == '\0' ? NULL : json_string(fingerprint)));
    if (diag->fix != NULL && diag->fix->span.source != NULL)
        set(result, "fixes", list_of(fix_of(sarif, diag)));
    return result;
}

static json_t *tool_of(const struct sarif *sarif)
{
    json_t *driver = object_of("name", json_string("jobrun"));
    set(driver, "semanticVersion", json_string(JR_VERSION));
    set(driver, "rules", json_incref(sarif->rules));
    return object_of("driver", driver);
}

/* Says that the list is not whole. */
static json_t *invocation_of(size_t more)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    jr_buf_printf(&text, "%zu more findings are not listed.", more);
    json_t *note = object_of("message", message_of(text.data, NULL));
    json_t *invocation = object_of("executionSuccessful", json_true());
    set(note, "level", json_string("warning"));
    set(invocation, "toolExecutionNotifications", list_of(note));
    return invocation;
}

static json_t *run_of(struct sarif *sarif)
{
    static const char *const breaks[] = {
        "\r\n", "\r", "\n", "\xc2\x85", "\xe2\x80\xa8", "\xe2\x80\xa9"};
    const struct jr_diags *diags = sarif->report->diags;
    size_t more = jr_diag_left_out(diags);
    json_t *results = json_array(), *sequences = json_array();
    for (size_t i = 0; i < diags->count; i++)
        append(results, result_of(sarif, &diags->items[i]));
    for (size_t i = 0; i < sizeof breaks / sizeof *breaks; i++)
        append(sequences, json_string(breaks[i]));
    json_t *run = object_of("tool", tool_of(sarif));
    if (more != 0)
        set(run, "invocations", list_of(invocation_of(more)));
    set(run, "columnKind", json_string("unicodeCodePoints"));
    set(run, "newlineSequences", sequences);
    set(run, "results", results);
    return run;
}

void jr_diag_write_sarif(struct jr_buf *out,
                         const struct jr_diag_report *report)
{
    struct sarif sarif = {report, json_array(), json_object(), json_object()};
    json_t *log = object_of("$schema", json_string(SCHEMA));
    set(log, "version", json_string("2.1.0"));
    set(log, "runs", list_of(run_of(&sarif)));
    jr_json_print(out, log, 2);
    jr_buf_char(out, '\n');
    json_decref(log);
    json_decref(sarif.rules);
    json_decref(sarif.indices);
    json_decref(sarif.seen);
}
