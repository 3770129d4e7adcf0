/* jobrun schema: the JSON Schema of the spec. */
#include "cli/cli.h"
#include "spec/schema.h"

#include "base/banned.h"

int jr_cmd_schema(struct jr_cli *cli)
{
    struct jr_buf out = JR_BUF_INIT;
    jr_spec_schema(&out);
    return jr_cli_out(cli, &out);
}
