/* Files that are something else than YAML in UTF-8, by how they begin. */
#ifndef JR_OTHER_FILE_H
#define JR_OTHER_FILE_H

#include "doc/doc.h"

/* Report a file that is none: UTF-16, an archive, a program, a script, a web
 * page, or one with a conflict of a merge. Returns whether it is. `source` has
 * its text. */
bool jr_other_file_report(struct jr_diags *diags,
                          const struct jr_source *source);

#endif
