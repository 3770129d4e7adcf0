#include "cluster/controller_code.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "cluster/await_agents.h"
#include "cluster/controller_run.h"

#include "base/banned.h"

#define PIECE (48U << 10) /* bytes of it in a message */

static void refuse_code(struct jr_controller *controller, uint32_t node, const char *text)
{
    if (controller->run != NULL)
        jr_controller_run_refuse(controller->run, node, text);
    else
        jr_controller_refuse(controller, node, text);
}

/* The next bytes for the node of a link. */
static void feed_code(struct jr_link *link)
{
    struct jr_controller *controller = link->controller;
    struct jr_controller_code *code = &controller->code;
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    char bytes[PIECE];
    ssize_t len = pread(code->archive.fd, bytes, sizeof bytes, code->sent[link->node]);
    if (len > 0)
        code->sent[link->node] += len;
    if (len > 0)
        jr_base64_add(&text, bytes, (size_t)len);
    if (len <= 0)
        jr_link_feed(link, NULL);
    if (controller->run == NULL)
        jr_controller_wait_on(controller);
    if (len < 0 || text.failed)
        refuse_code(controller, link->node, "the code of the run could not be read here");
    else
        jr_controller_send_to(controller, link->node,
                              &(struct jr_message){.type = JR_TO_NODES_CODE,
                                                   .folder = code->archive.top,
                                                   .name = code->archive.name,
                                                   .bytes = len > 0 ? text.data : NULL,
                                                   .on = len == 0});
}

void jr_controller_send_code(struct jr_controller *controller, uint32_t node)
{
    const struct jr_controller_options *options = &controller->options;
    struct jr_controller_code *code = &controller->code;
    struct jr_error err = {0};
    if (controller->leaves) /* nobody waits for the node any more */
        return;
    (void)jr_error_set(&err, JR_STATUS_LAUNCH, "it wants a copy of the code, and there is none");
    if (code->sent == NULL)
        code->sent = calloc(options->nodes, sizeof *code->sent);
    if (code->archive.fd < 0 && options->open_code != NULL && code->sent != NULL)
        (void)options->open_code(options->data, &code->archive, &err);
    if (code->archive.fd < 0 || code->sent == NULL || !controller->transport->each) {
        refuse_code(controller, node, err.text);
        return;
    }
    code->sent[node] = 0;
    jr_link_feed(&controller->links[node], feed_code);
}

void jr_controller_code_close(struct jr_controller *controller)
{
    struct jr_controller_code *code = &controller->code;
    for (uint32_t i = 0; i < controller->links_count; i++)
        jr_link_feed(&controller->links[i], NULL);
    free(code->sent);
    code->sent = NULL;
    if (code->archive.fd >= 0)
        (void)close(code->archive.fd);
    code->archive.fd = -1;
}
