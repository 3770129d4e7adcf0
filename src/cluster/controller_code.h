/*
 * The code of a run (`code: freeze`) for nodes whose run folder is not the controller's: an archive
 * of the copy that the controller has, which is made once, and goes to each node that wants it as
 * fast as its link takes it.
 */
#ifndef JR_CONTROLLER_CODE_H
#define JR_CONTROLLER_CODE_H

#include <stdint.h>
#include <sys/types.h>

#include "cluster/controller.h"

struct jr_controller_code {
    struct jr_code_archive archive; /* fd -1: nobody has wanted it */
    off_t *sent;                    /* bytes of it, for each node */
};

/* A node wants it. Where there is none, the node is refused. */
void jr_controller_send_code(struct jr_controller *controller, uint32_t node);

/* Let go of it. */
void jr_controller_code_close(struct jr_controller *controller);

#endif
