/*
 * redirects and tee: which streams of which local ranks.
 *
 *   value    := 0 | none | 1 | out | 2 | err | 3 | all
 *   string   := value | item { "," item }      item := range ":" value
 *   mapping  := { set: value ... }
 *   range    := N | A-B | A-B/STEP             set  := range { "," range }
 *
 * Normal form: a word for all ranks, or a mapping of canonical sets to words.
 */
#ifndef JR_LINT_REDIRECT_H
#define JR_LINT_REDIRECT_H

#include "spec/lint.h"

/* The reader of `redirects` and `tee`, which reads any node. */
jr_reader jr_read_streams;

#endif
