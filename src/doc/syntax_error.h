/* libyaml's parser errors, as findings. */
#ifndef JR_SYNTAX_ERROR_H
#define JR_SYNTAX_ERROR_H

#include <yaml.h>

#include "diag/diag.h"

/* Report the error at which the parser, reading `source`, has stopped. */
void jr_syntax_report(struct jr_diags *diags, const yaml_parser_t *parser,
                      const struct jr_source *source);

#endif
