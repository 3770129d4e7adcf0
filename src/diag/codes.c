#include "diag/codes.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/num.h"
#include "diag/diag.h"

#include "base/banned.h"

#define ROW(number, title, text) {number, title, text},

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
