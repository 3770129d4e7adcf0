/*
 * Objects for kubectl: each a table of path and value. The pods of an Indexed Job have names in the
 * service's domain, NAME-INDEX.NAME, of which the first is where ranks meet; jobrun reads its
 * node_rank from JOB_COMPLETION_INDEX.
 *
 * One pod is started again when it was evicted, or when jobrun could not
 * launch; what jobrun says of the job itself is final. Of several, none can
 * continue without the others, so any end but a good one ends the job. Under
 * `requeue` exit status 8 starts a pod again, as often as that allows, and any
 * other failure ends the job.
 */
#ifndef JR_KUBERNETES_H
#define JR_KUBERNETES_H

#include "render/render.h"

/* Append what kubectl is handed: see jr_engine_render. */
int jr_kubernetes_render(struct jr_buf *out, const struct jr_engine_job *job, struct jr_error *err);

#endif
