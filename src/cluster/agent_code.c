/* The code of a run, on a node that does not see the controller's copy of it (agent_parts.h):
 * between `go` and the begin of the run, or between the spec of a run that has begun before, and
 * `ready`. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cluster/agent_parts.h"

#include "base/banned.h"

static char *copy_go_text(const char *text)
{
    return text == NULL ? NULL : strdup(text);
}

void jr_agent_end_code(struct jr_agent *agent)
{
    free((char *)agent->go.run_id);
    free((char *)agent->go.token);
    agent->go = (struct jr_message){0};
    agent->waits = false;
    jr_buf_release(&agent->pending);
}

void jr_agent_await_code(struct jr_agent *agent, const struct jr_message *go)
{
    jr_agent_end_code(agent);
    agent->joins = go == NULL;
    if (go != NULL) {
        agent->go = *go;
        agent->go.run_id = copy_go_text(go->run_id);
        agent->go.token = copy_go_text(go->token);
    }
    agent->waits = true;
    jr_agent_send(agent, &(struct jr_message){.type = JR_FROM_NODE_WANT});
}

/* What it was told meanwhile, it is told now. */
static void begin_awaited_run(struct jr_agent *agent)
{
    struct jr_error err = {.status = JR_STATUS_LAUNCH};
    const struct jr_buf *pending = &agent->pending;
    int failed = jr_agent_start(agent, &agent->go, &err);
    if (failed == JR_AGENT_WANTS_CODE)
        (void)jr_error_set(&err, JR_STATUS_LAUNCH, "the code of the run did not come whole");
    if (failed != 0)
        jr_agent_refuse(agent, &err);
    else if (pending->len > 0)
        (void)!write(agent->commands_fd, pending->data, pending->len);
    jr_agent_end_code(agent);
}

void jr_agent_on_code(struct jr_agent *agent, const struct jr_message *code)
{
    const struct jr_agent_hooks *hooks = agent->hooks;
    struct jr_error err = {.status = JR_STATUS_LAUNCH};
    if (!agent->waits)
        return;
    if (hooks->take_code(hooks->data, code, &err) != 0) {
        jr_agent_refuse(agent, &err);
        jr_agent_end_code(agent);
    } else if (code->on && agent->joins) {
        jr_agent_end_code(agent);
        jr_agent_ready(agent);
    } else if (code->on) {
        begin_awaited_run(agent);
    }
}
