/* How the fields of a rank's outcome are written in results.json: the forms that the rows of
 * outcome_codec.c name. */
#ifndef JR_OUTCOME_FORMS_H
#define JR_OUTCOME_FORMS_H

#include <jobrun/run.h>

#include "base/json.h"
#include "base/json_shape.h"

/* How a member is stored. */
enum jr_outcome_kind { JR_OUTCOME_INT32, JR_OUTCOME_UINT32, JR_OUTCOME_UINT64, JR_OUTCOME_BOOL };

struct jr_outcome_field;

/* How results.json has a field: written, read, and what it may be. */
struct jr_outcome_form {
    void (*put)(struct jr_buf *out, const struct jr_outcome_field *field,
                const struct jr_rank_outcome *rank);
    void (*get)(struct jr_rank_outcome *ret, const struct jr_outcome_field *field,
                const json_t *value);
    struct jr_json_shape shape;
};

struct jr_outcome_field {
    const char *sent; /* its key in the message; NULL: it is not there */
    enum jr_outcome_kind kind;
    size_t at;
    int32_t limit;                      /* an enum's number of values; 0: any value */
    const char *key;                    /* in results.json; NULL: it is not there */
    const struct jr_outcome_form *form; /* of that */
    const char *help;
};

/* The member of the row in the rank or run at `base`. */
int64_t jr_outcome_load(const void *base, const struct jr_outcome_field *field);

/* Set it; a value that it cannot hold is cut to its type. */
void jr_outcome_store(void *base, const struct jr_outcome_field *field, int64_t value);

extern const struct jr_outcome_form jr_form_number;
extern const struct jr_outcome_form jr_form_flag;
extern const struct jr_outcome_form jr_form_exit_code;
extern const struct jr_outcome_form jr_form_signal_name;
/* The same of the deadline's signal. */
extern const struct jr_outcome_form jr_form_warning;
extern const struct jr_outcome_form jr_form_stops;
extern const struct jr_outcome_form jr_form_end_word;
extern const struct jr_outcome_form jr_form_stage_word;
extern const struct jr_outcome_form jr_form_mpi_word;
extern const struct jr_outcome_form jr_form_mpi_code;
extern const struct jr_outcome_form jr_form_injected;
extern const struct jr_outcome_form jr_form_lived;
extern const struct jr_outcome_form jr_form_cpu;
extern const struct jr_outcome_form jr_form_dropped;

#endif
