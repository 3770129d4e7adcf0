#include "diag/codes.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/num.h"
#include "generated/diag_help.h" /* from docs/diagnostics */

#include "base/banned.h"

/* A row without a file has no such macro. */
#define ROW(name, number, title) {number, title, JR_HELP_##number},

/* A file without a row names no constant. */
#define ROW_NUMBER(name, number, title) ROW_##number = (number),
#define FILE_HAS_ROW(number)                                                   \
    _Static_assert(ROW_##number > 0, "docs/diagnostics has a row for each");
enum { JR_CODES(ROW_NUMBER) };
JR_HELP_FILES(FILE_HAS_ROW)

const struct jr_code *jr_code_table(size_t *ret_count)
{
    static const struct jr_code codes[] = {JR_CODES(ROW)};
    *ret_count = sizeof codes / sizeof *codes;
    return codes;
}

const struct jr_code *jr_code_find(const char *code)
{
    size_t count;
    const struct jr_code *codes = jr_code_table(&count);
    uint32_t number;
    if (strncasecmp(code, "JR", 2) == 0)
        code += 2;
    if (strlen(code) != 4)
        return NULL;
    while (*code == '0')
        code++;
    if (!jr_num_u32(code, &number))
        return NULL;
    for (size_t i = 0; i < count; i++)
        if (codes[i].number == number)
            return &codes[i];
    return NULL;
}
