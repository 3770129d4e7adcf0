/*
 * What is found out about hosts that ssh reaches, before a job is started on them (`jobrun doctor
 * --hosts`): who answers, with what, what differs between them, and whether they reach the first of
 * them where ranks would meet.
 */
#ifndef JR_SURVEY_HOSTS_H
#define JR_SURVEY_HOSTS_H

#include <jobrun/jobrun.h>

#include "base/buf.h"

struct jr_hosts_report;

/* Ask the hosts of a session, whose options have `hosts` and `sets`, all at once. Nothing is run
 * there. What is wrong with the options is a finding. */
enum jr_status jr_session_survey_hosts(struct jr_session *session, struct jr_hosts_report **ret,
                                       struct jr_error *err);

/* How many hosts have a fault. */
uint32_t jr_hosts_report_faulty(const struct jr_hosts_report *report);

/* Append it for people: a line for each host and below that its faults, what differs, and how many
 * hosts have faults. hosts_text.c */
void jr_hosts_report_text(struct jr_buf *out, const struct jr_hosts_report *report);

/* The same as JSON. hosts_text.c */
void jr_hosts_report_json(struct jr_buf *out, const struct jr_hosts_report *report);

/* NULL is allowed. */
void jr_hosts_report_free(struct jr_hosts_report *report);

#endif
