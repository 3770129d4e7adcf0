/*
 * A field and a value, in the words of who reads them: `device: cpu` where the job has a spec, and
 * `-s device=cpu` where it is a command on a line, which has no place to write a field into, or
 * where an option is what the text is about.
 */
#ifndef JR_SETTING_WORDS_H
#define JR_SETTING_WORDS_H

#include "base/buf.h"

/* A setting within a text for jr_setting_words; both are literals. */
#define JR_SETTING(path, value) "\001" path "\002" value "\003"

/* Append the text, and the settings in it as a spec has them, "limits: {nofile: 100}", or as words
 * of `option`, unless that is NULL: "-s limits.nofile=100". */
void jr_setting_words(struct jr_buf *out, const char *text, const char *option);

#endif
