#include "cluster/link_lines.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "cluster/controller_run.h"

#include "base/banned.h"

#define EARLY_MOST (16U << 10) /* bytes kept until a node has answered */

static bool is_idle_line(const struct jr_link *link, const char *line, size_t len)
{
    const struct jr_transport *transport = link->controller->transport;
    return len == 0 || (transport->is_idle != NULL && transport->is_idle(line, len));
}

/* What is not a frame: what a prolog prints, or the program itself; except for what it says of its
 * own end. */
static void forward_other_line(const struct jr_link *link, int stream, const char *line, size_t len)
{
    struct jr_controller *controller = link->controller;
    if (is_idle_line(link, line, len))
        return;
    if (controller->run != NULL)
        jr_controller_run_print(controller->run, stream, line, len);
    else if (controller->options.note != NULL && link->in.fd >= 0 &&
             controller->survey == NULL) { /* that tells it of its host */
        char text[512];
        (void)snprintf(text, sizeof text, "%.*s", (int)len, line);
        controller->options.note(controller->options.data, text);
    }
}

/* An agent that has a link of its own speaks for no other node, whatever a host sends. */
static bool is_frame_of_link(const struct jr_link *link, const json_t *frame)
{
    return frame != NULL &&
           (!link->controller->transport->each || jr_json_get_u32(frame, "n") == link->node);
}

/* What ssh says on the way to a host, as its banner, is worth no line once that is reached; and is
 * nothing that it says in the end. */
static void note_answer(struct jr_link *link)
{
    if (link->answered)
        return;
    link->answered = true;
    link->last_line[0] = link->telling[0] = '\0';
    jr_inlet_release(&link->early);
}

/* Whether a line of standard error waits for the answer of the node. */
static bool keep_early_line(struct jr_link *link, const char *line, size_t len)
{
    if (link->answered || !link->controller->transport->each)
        return false;
    if (link->early.bytes.len + len < EARLY_MOST) {
        jr_inlet_add(&link->early, line, len);
        jr_inlet_add(&link->early, "\n", 1);
    }
    return true;
}

void jr_link_forward_early(struct jr_link *link)
{
    const char *line;
    size_t len;
    while ((line = jr_inlet_line(&link->early, &len)) != NULL)
        forward_other_line(link, 1, line, len);
    jr_inlet_release(&link->early);
}

void jr_link_take_output(struct jr_link *link)
{
    const char *line;
    size_t len;
    while ((line = jr_inlet_line(&link->out_lines, &len)) != NULL) {
        json_t *frame = jr_message_read(line, len);
        if (is_frame_of_link(link, frame)) {
            note_answer(link);
            jr_controller_receive(link->controller, frame);
        } else {
            forward_other_line(link, 0, line, len);
        }
        json_decref(frame);
    }
}

/* The first says more than those that follow from it. */
static void note_telling_line(struct jr_link *link)
{
    const struct jr_transport *transport = link->controller->transport;
    if (link->telling[0] == '\0' && transport->is_telling != NULL &&
        transport->is_telling(link->last_line))
        memcpy(link->telling, link->last_line, sizeof link->telling);
}

void jr_link_take_errors(struct jr_link *link)
{
    const char *line;
    size_t len;
    while ((line = jr_inlet_line(&link->err_lines, &len)) != NULL) {
        len -= len > 0 && line[len - 1] == '\r'; /* as ssh ends its lines */
        if (!keep_early_line(link, line, len))
            forward_other_line(link, 1, line, len);
        if (is_idle_line(link, line, len))
            continue;
        (void)snprintf(link->last_line, sizeof link->last_line, "%.*s", (int)len, line);
        note_telling_line(link);
        jr_controller_handle_errors(link->controller, link);
    }
}
