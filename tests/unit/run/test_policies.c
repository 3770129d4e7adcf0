#include "run/policies/policies.h"
#include "unit.h"

#include <fcntl.h>

#include "base/io.h"

/* policies_table.txt is the array as it is meant: its rows are in the order of
 * the calls. */
static void prints_every_row(void)
{
    struct jr_buf out = JR_BUF_INIT, expected = JR_BUF_INIT;
    jr_policies_print(&out);
    CU_ASSERT_EQUAL(jr_io_read_file(&expected, AT_FDCWD,
                                    TEST_SOURCE_DIR
                                    "/unit/run/policies_table.txt",
                                    65536, NULL),
                    0);
    JR_ASSERT_TEXT(out.data, expected.data);
    jr_buf_release(&out);
    jr_buf_release(&expected);
}

JR_UNIT_MAIN("policies", CASE(prints_every_row))
