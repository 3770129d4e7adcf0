/* The frozen code of a run that was: where its copy is. */
#ifndef JR_CODE_COPY_H
#define JR_CODE_COPY_H

#include "base/buf.h"
#include <jobrun/error.h>

/* Append the absolute folders of the copies of a run, one a line: one, or that
 * of each node which had a jobrun of its own. -1 with `err`, and status USAGE,
 * where there is none. */
int jr_record_code_folders(struct jr_buf *out, const char *log_dir,
                           const char *id, struct jr_error *err);

#endif
