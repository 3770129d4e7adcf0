/*
 * A session whose ranks are on hosts that ssh reaches: which sessions are that, what their spec
 * gets from --hosts, and what the agents there are told. internal.h declares it.
 */
#include "session/internal.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/strv.h"
#include "cluster/controller.h"
#include "cluster/transport.h"
#include "cluster/protocol.h"
#include "cluster/survey.h"
#include "doc/emit.h"
#include "doc/node_path.h"
#include "session/left_files.h"
#include "session/support.h"

#include "base/banned.h"

bool jr_ssh_session_is(const struct jr_session *session)
{
    const struct jr_spec *spec = session->file == NULL ? NULL : jr_spec_get(session->file);
    return spec != NULL && !session->placed && spec->policy.engine.ssh != NULL;
}

bool jr_ssh_session_has(const struct jr_session *session)
{
    return session->cells_by_ssh || jr_ssh_session_is(session);
}

/* "gpu01,gpu[02-04]" as a list of YAML. What is no list of hosts is left to the checks of the
 * field. */
static void add_host_list(struct jr_buf *out, struct jr_arena *arena, const char *text)
{
    struct jr_strv hosts = {0};
    const char *bad;
    if (strchr(text, '[') == text || /* an IPv6 address */
        !jr_hostlist_expand(&hosts, arena, text, &bad)) {
        hosts = (struct jr_strv){0};
        for (size_t len; *text != '\0'; text += len + (text[len] == ',')) {
            len = strcspn(text, ",");
            jr_strv_push(&hosts, arena, jr_arena_strndup(arena, text, len));
        }
    }
    for (size_t i = 0; i < hosts.count && !arena->failed; i++) {
        jr_buf_str(out, i == 0 ? "" : ", ");
        jr_quote_double(out, hosts.items[i], strlen(hosts.items[i]));
    }
}

char *const *jr_ssh_session_sets(struct jr_session *session)
{
    struct jr_arena *arena = &session->arena;
    const struct jr_session_options *options = &session->options;
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_strv sets = {0};
    if (options->hosts == NULL)
        return options->sets;
    for (size_t i = 0; options->sets != NULL && options->sets[i] != NULL; i++)
        jr_strv_push(&sets, arena, jr_arena_strdup(arena, options->sets[i]));
    jr_buf_str(&text, "hosts=[");
    add_host_list(&text, arena, options->hosts);
    jr_buf_char(&text, ']');
    session->hosts_set = jr_buf_keep(&text, arena);
    jr_strv_push(&sets, arena, jr_arena_strdup(arena, session->hosts_set));
    return sets.items;
}

/* How many items of the list in the --set stand before a place on it. */
static size_t count_hosts_before(const struct jr_span *set)
{
    size_t count = 0;
    uint32_t column = 0;
    for (const char *at = set->source->text; *at != '\0'; at++) {
        column += ((unsigned char)*at & 0xc0) != 0x80;
        if (column == set->column)
            break;
        count += *at == ',';
    }
    return count;
}

/* The place in --hosts of the item of `hosts` that a place in the --set is on:
 * all of it where it names more hosts than are typed, as gpu[01-16] does. */
static struct jr_span place_of_host(struct jr_source *typed, const struct jr_span *set)
{
    size_t start = 0, before = count_hosts_before(set);
    if (strpbrk(typed->text, "[]") != NULL)
        return jr_point_bytes(typed, 0, typed->len);
    for (; before > 0 && typed->text[start] != '\0'; before--) {
        start += strcspn(typed->text + start, ",");
        start += typed->text[start] == ',';
    }
    return jr_point_bytes(typed, start, start + strcspn(typed->text + start, ","));
}

static bool is_set_of_hosts(const struct jr_span *span, const char *text)
{
    const struct jr_source *source = span->source;
    return source != NULL && source->option && source->text != NULL &&
           strcmp(source->text, text) == 0;
}

void jr_ssh_session_place(struct jr_session *session)
{
    struct jr_arena *arena = &session->arena;
    const char *hosts = session->options.hosts, *set = session->hosts_set;
    struct jr_source *typed = set == NULL ? NULL : jr_arena_alloc(arena, sizeof *typed);
    if (typed == NULL)
        return;
    *typed =
        (struct jr_source){.name = "--hosts", .text = hosts, .len = strlen(hosts), .option = true};
    for (size_t i = 0; i < session->diags.count; i++) {
        struct jr_diag *diag = &session->diags.items[i];
        if (is_set_of_hosts(&diag->span, set)) {
            diag->span = place_of_host(typed, &diag->span);
            if (*hosts == '\0') /* beside which a --set would stand in vain */
                diag->help = "for example: --hosts gpu01,gpu02";
        }
        for (struct jr_related *also = diag->related; also != NULL; also = also->next)
            if (is_set_of_hosts(&also->span, set))
                also->span = place_of_host(typed, &also->span);
    }
}

static bool is_variable_named(const struct jr_ssh *ssh, const char *name)
{
    for (uint32_t i = 0; i < ssh->env_count; i++)
        if (fnmatch(ssh->env[i], name, 0) == 0)
            return true;
    return false;
}

/* The variables from here that ranks there get: NAME=VALUE, each with a NUL, as base64, because a
 * value may be any bytes. */
static const char *collect_environment(struct jr_session *session, const struct jr_ssh *ssh)
{
    struct jr_buf all JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    for (char *const *entry = session->options.envp; *entry != NULL; entry++) {
        const char *name = jr_arena_strndup(&session->arena, *entry, strcspn(*entry, "="));
        if (name != NULL && is_variable_named(ssh, name))
            jr_buf_add(&all, *entry, strlen(*entry) + 1);
    }
    text.failed |= all.failed;
    jr_base64_add(&text, all.data, all.len);
    return jr_buf_keep(&text, &session->arena);
}

static int refuse_hosts(const struct jr_spec *spec, struct jr_error *err)
{
    if (spec->hosts_count == 0)
        return jr_error_set(err, JR_STATUS_UNRESOLVED,
                            "`engine.ssh` starts the ranks on `hosts`, and "
                            "none are stated: type --hosts gpu01,gpu02");
    if (spec->hosts_count > 1 && spec->master_addr == NULL &&
        strcmp(spec->hosts[0], "localhost") == 0)
        return jr_error_set(err, JR_STATUS_UNRESOLVED,
                            "the ranks meet at the first of `hosts`, and 'localhost' is another "
                            "machine on each of them: state master_addr, by a name or an address "
                            "that this machine has for the others");
    return 0;
}

/* What hosts get that have no jobrun. */
static int read_copy(struct jr_session *session, const char *program, struct jr_error *err)
{
    session->copy = calloc(1, sizeof *session->copy);
    if (session->copy == NULL)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    const char *support = session->options.support != NULL ? session->options.support
                                                           : jr_support_find(&session->arena);
    return jr_copy_read(session->copy, program, support, err);
}

void jr_ssh_session_release(struct jr_session *session)
{
    jr_left_files_release(session);
    if (session->copy != NULL)
        jr_copy_release(session->copy);
    free(session->copy);
    session->copy = NULL;
}

/* The hosts that the ranks of a spec are for: of those of a sweep a cell has the first ones, and
 * who leads the sweep all. */
static uint32_t count_hosts(const struct jr_session *session, const struct jr_spec_file *file)
{
    const struct jr_resolve_options options = {.args = session->options.args};
    uint32_t all = jr_spec_get(file)->hosts_count;
    struct jr_host alone = session->host;
    if (!jr_spec_pools_hosts(file) || session->cell == NULL)
        return all;
    alone.nodes = 0;
    alone.scheduler = (struct jr_host_scheduler){.node_rank = -1};
    uint32_t nodes = jr_resolve_nodes(file, &alone, &options);
    return nodes > 0 && nodes < all ? nodes : all;
}

/* Whether the hosts are those of a sweep that this session leads. */
static bool leads_cells(const struct jr_session *session, const struct jr_spec_file *file)
{
    return jr_spec_pools_hosts(file) && session->cell == NULL;
}

/* The last hosts are spares, those of a sweep aside. What does not fit is reported when the spec is
 * resolved. */
static void count_spares(const struct jr_spec *spec, bool pools, struct jr_controller_options *ret)
{
    uint64_t wanted = (uint64_t)*spec->nodes + spec->spare_nodes;
    bool fits = pools ? wanted <= spec->hosts_count : wanted == spec->hosts_count;
    ret->nodes = fits ? *spec->nodes : 0;
    ret->spares = fits ? spec->spare_nodes : 0;
}

int jr_ssh_session_prepare(struct jr_session *session, const struct jr_spec_file *file,
                           struct jr_controller_options *ret, struct jr_error *err)
{
    const struct jr_spec *spec = jr_spec_get(file);
    const struct jr_ssh *ssh = spec->policy.engine.ssh;
    if (refuse_hosts(spec, err) != 0)
        return -1;
    ret->transport = &jr_ssh_transport;
    ret->nodes = count_hosts(session, file);
    if (spec->spare_nodes > 0 && !leads_cells(session, file))
        count_spares(spec, jr_spec_pools_hosts(file), ret);
    ret->hosts = spec->hosts;
    ret->ssh = ssh;
    ret->agent_env = collect_environment(session, ssh);
    if (ssh->copy && read_copy(session, ret->program, err) != 0)
        return -1;
    ret->copy = session->copy;
    ret->take_left = jr_left_files_take;
    ret->open_code = jr_far_code_open;
    return session->arena.failed ? jr_error_set(err, JR_STATUS_LAUNCH, "out of memory") : 0;
}

int jr_ssh_session_take_environment(struct jr_strv *env, struct jr_arena *arena,
                                    const struct jr_message *assignment)
{
    const char *text = assignment->env;
    struct jr_buf all JR_BUF_CLEANUP = JR_BUF_INIT;
    if (text == NULL)
        return 0;
    if (!jr_base64_take(&all, text, strlen(text)) || all.failed ||
        (all.len > 0 && all.data[all.len - 1] != '\0'))
        return -1;
    for (size_t at = 0; at < all.len; at += strlen(all.data + at) + 1) {
        const char *entry = all.data + at;
        if (strchr(entry, '=') == NULL)
            return -1;
        const char *name = jr_arena_strndup(arena, entry, strcspn(entry, "="));
        if (name != NULL)
            jr_env_unset(env, name);
        jr_strv_push(env, arena, jr_arena_strdup(arena, entry));
    }
    return 0;
}

int jr_ssh_session_check_address(const char *address, struct jr_error *err)
{
    struct jr_error why = {0};
    return jr_reach_resolve(address, NULL, &why) == 0
               ? 0
               : jr_error_set(err, JR_STATUS_UNRESOLVED,
                              "the ranks meet at '%s' (master_addr), and that "
                              "name is not known there: %s; state master_addr "
                              "by a name or an address that all hosts know",
                              address, why.text);
}
