/* What a survey hears from the controller's files. Not for other layers. */
#ifndef JR_SURVEY_PARTS_H
#define JR_SURVEY_PARTS_H

#include "cluster/link.h"
#include "cluster/protocol.h"
#include "cluster/survey.h"

/* A host cannot take part; the first reason counts. `advice` NULL: nothing is known to be done
 * about it. */
void jr_survey_fail(struct jr_survey *survey, uint32_t node, const char *what, const char *advice);

/* The link to a host has ended. */
void jr_survey_lose(struct jr_survey *survey, const struct jr_link *link);

/* An agent says something. */
void jr_survey_take(struct jr_survey *survey, uint32_t node, const struct jr_message *message);

#endif
