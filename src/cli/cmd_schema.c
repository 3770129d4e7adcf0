/* jobrun schema: the JSON Schema of the spec. cli.h declares it. */
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/schema_file.h"
#include "session/specs/spec_help.h"

#include "base/banned.h"

int jr_cmd_schema(struct jr_cli *cli)
{
    struct jr_buf out = JR_BUF_INIT;
    if (cli->output != NULL)
        return jr_schema_file_write(cli);
    jr_spec_help_schema(&out);
    return jr_cli_out(cli, &out);
}
