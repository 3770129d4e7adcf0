/* What is told of cells: where a value comes from, and what is wrong. Private to this folder. */
#ifndef JR_FINDINGS_H
#define JR_FINDINGS_H

#include <stdint.h>

#include "diag/codes.h"
#include "resolve/resolve.h"

struct jr_diag;
struct jr_resolver;

/* Report that the cells `fields` (bits) do not go together: positioned at the stated ones that they
 * come from, all of them named. It is the spec's own fault unless a fact took part. */
struct jr_diag *jr_rules_clash(struct jr_resolver *r, enum jr_diag_code code, uint32_t fields,
                               const char *format, ...) __attribute__((format(printf, 4, 5)));

/* The same where the machine is what refuses. */
struct jr_diag *jr_rules_refuse(struct jr_resolver *r, enum jr_diag_code code, uint32_t fields,
                                const char *format, ...) __attribute__((format(printf, 4, 5)));

/* The same as a warning, where the machine is only doubtful. */
struct jr_diag *jr_rules_warn(struct jr_resolver *r, enum jr_diag_code code, uint32_t fields,
                              const char *format, ...) __attribute__((format(printf, 4, 5)));

/* "derived"; for what the hardware said, what it is called: "--on 2x8". */
const char *jr_explain_origin(const struct jr_resolution *resolution, enum jr_origin origin);

/* Append the position of what is stated, the origin of the rest, and the detail: "hardware: 8
 * usable devices". */
void jr_explain_from(struct jr_buf *out, const struct jr_resolution *resolution,
                     const struct jr_provenance *row);

#endif
