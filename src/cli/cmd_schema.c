/* jobrun schema: the JSON Schema of the spec. cli.h declares it. */
#include "cli/cli.h"
#include "cli/output.h"
#include "session/specs/spec_help.h"

#include "base/banned.h"

int jr_cmd_schema(struct jr_cli *cli)
{
    struct jr_buf out = JR_BUF_INIT;
    jr_spec_help_schema(&out);
    return jr_cli_out(cli, &out);
}
