/*
 * Which values must not be shown: those of variables that `secrets` matches, wherever they come
 * from.
 *
 *   ${env:NAME}    that the spec reads
 *   environment    of jobrun: a shell has put them into arguments by then, and
 *                  ranks into results and messages
 *   env, per_rank  that the spec states
 *   NAME=VALUE     and --name=VALUE among the arguments
 *
 * A value that the spec reads is replaced where the spec reads it. Of the others, short values do
 * not count, because they occur in many places where they are not secret.
 */
#ifndef JR_SECRET_VALUES_H
#define JR_SECRET_VALUES_H

#include "resolve/rules.h"

/* Find the values that are not to be told. */
void jr_secrets_find(struct jr_resolver *r);

#endif
