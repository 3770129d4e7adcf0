/* Readers of lint.h for numbers and booleans. */
#ifndef JR_LINT_NUMBER_H
#define JR_LINT_NUMBER_H

#include "spec/lint.h"

/* The readers of numbers and of true and false. */
jr_reader jr_read_integer, jr_read_number, jr_read_boolean;

#endif
