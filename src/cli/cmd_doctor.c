/* jobrun doctor: the facts that the resolver sees, for people or as the file that --on reads; and
 * other hosts, as a job on them would see them. cli.h declares it. */
#include <string.h>

#include "base/shell_words.h"
#include "cli/cli.h"
#include "session/foreground.h"
#include "session/survey_hosts.h"

#include "base/banned.h"

/* Nothing else of a spec counts for hosts. */
static int check_hosts_sets(const struct jr_cli *cli)
{
    static const char *const counting[] = {"engine.ssh", "master_addr", "master_port",
                                           "timeouts.start"};
    for (size_t i = 0; i < cli->sets.count; i++) {
        const char *set = cli->sets.items[i];
        size_t len = strcspn(set, "="), k = 0;
        while (k < 4 && (strncmp(set, counting[k], strlen(counting[k])) != 0 ||
                         strchr(".[=", set[strlen(counting[k])]) == NULL))
            k++;
        if (k == 4)
            return jr_cli_say(cli, JR_STATUS_USAGE,
                              "-s %.*s: doctor looks at engine.ssh, master_addr, master_port and "
                              "timeouts.start alone: leave it out",
                              (int)len, set);
    }
    return 0;
}

/* Of formats[]. */
enum { TEXT, YAML, JSON };

static int print_hosts(struct jr_cli *cli, int format)
{
    const struct jr_session_options options = jr_stage_options(cli);
    struct jr_session *session = NULL;
    uint32_t faulty = 0;
    struct jr_error err = {0};
    struct jr_buf out = JR_BUF_INIT;
    JR_BUF_CLEANUP struct jr_buf hosts = JR_BUF_INIT;
    jr_shell_quote(&hosts, cli->hosts);
    if (format == YAML)
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "what hosts answer is no file of facts: type jobrun "
                          "doctor --hosts %s --format json",
                          hosts.failed ? cli->hosts : hosts.data);
    int status = check_hosts_sets(cli);
    if (status == 0)
        status = jr_stage_open(&session, cli, &options);
    if (status == 0)
        status = jr_stage_told(
            session, cli, jr_session_survey_hosts(session, format == JSON, &out, &faulty, &err),
            &err);
    if (status == 0)
        status = jr_cli_out(cli, &out);
    if (status == 0 && faulty > 0)
        status = JR_STATUS_UNRESOLVED;
    jr_buf_release(&out);
    jr_session_close(session);
    return status;
}

static int print_machine(const struct jr_session *session, const struct jr_cli *cli)
{
    struct jr_buf out = JR_BUF_INIT;
    jr_session_describe_machine(&out, session);
    return jr_cli_out(cli, &out);
}

int jr_cmd_doctor(struct jr_cli *cli)
{
    static const char *const formats[] = {"text", "yaml", "json", NULL};
    const struct jr_session_options options = jr_stage_options(cli);
    struct jr_session *session = NULL;
    int format = jr_cli_format(cli, formats);
    if (format < 0)
        return JR_STATUS_USAGE;
    if (cli->hosts != NULL)
        return print_hosts(cli, format);
    JR_BUF_CLEANUP struct jr_buf set = JR_BUF_INIT;
    if (cli->sets.count > 0 && check_hosts_sets(cli) != 0)
        return JR_STATUS_USAGE;
    if (cli->sets.count > 0) {
        jr_shell_quote(&set, cli->sets.items[0]);
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "-s of doctor is about other hosts: type jobrun "
                          "doctor --hosts gpu01,gpu02 -s %s",
                          set.failed ? cli->sets.items[0] : set.data);
    }
    if (format == JSON)
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "the facts about this machine are a file of YAML: "
                          "type jobrun doctor --format yaml");
    int status = jr_stage_open(&session, cli, &options);
    if (status == 0)
        status = jr_stage_facts(session, cli);
    if (status == 0)
        jr_session_more_facts(session);
    if (status == 0 && format == YAML)
        status = jr_stage_print(session, cli, JR_TEXT_FACTS);
    else if (status == 0)
        status = print_machine(session, cli);
    jr_session_close(session);
    return status;
}
