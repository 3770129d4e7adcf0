/*
 * What is found out about hosts that ssh reaches, before a job is started on them (`jobrun doctor
 * --hosts`): who answers, with what, what differs between them, and whether they reach the first of
 * them where ranks would meet.
 */
#ifndef JR_SURVEY_HOSTS_H
#define JR_SURVEY_HOSTS_H

#include <jobrun/jobrun.h>

#include "base/buf.h"

/* Ask the hosts of a session, whose options have `hosts` and `sets`, all at once, and append what
 * they have answered: a line for each host and below that its faults, what differs, and how many
 * hosts have faults, which is also *ret_faulty; or the same as JSON. Nothing is run there. What is
 * wrong with the options is a finding. */
enum jr_status jr_session_survey_hosts(struct jr_session *session, bool json, struct jr_buf *out,
                                       uint32_t *ret_faulty, struct jr_error *err);

#endif
