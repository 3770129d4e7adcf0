/* Secrets that a spec gives away: as the literal value of a variable, or in an argument, which
 * every user of a machine can read. By their names, so it is a matter of likelihood, and of
 * warnings. What is found is never quoted. */
#ifndef JR_CHECK_SECRETS_H
#define JR_CHECK_SECRETS_H

#include "spec/check.h"

/* No secret is in the spec as a literal: warnings. */
jr_check_rule jr_check_secrets;

/* The globs of `secrets`; the default ones when the spec states none. */
struct jr_strv jr_check_secret_globs(const struct jr_check *check);

#endif
