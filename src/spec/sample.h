/* The examples of the manual as JSON values. Private to this folder. */
#ifndef JR_SAMPLE_H
#define JR_SAMPLE_H

#include "base/json.h"
#include "spec/field.h"

/* The value that the example of a field gives it; NULL if there is none, and if
 * memory runs out. */
json_t *jr_field_sample(const struct jr_spec_field *field);

#endif
