#include "tree.h"
#include "unit.h"

static const char *const names[] = {"null", "bool", "int", "float", "string"};

/* What each plain text is; in quotes it is a string. */
TEST(knows_types)
{
    static const struct {
        enum jr_scalar_type type;
        const char *texts;
    } rows[] = {
        /* what only YAML 1.1 knows */
        {JR_SCALAR_STRING, "yes|no|on|off|y|n|Yes|NO|1_000|0b101|190:20:30|2001-12-14|=|<<"},
        /* other bases and leading zeros */
        {JR_SCALAR_STRING, "010|00|-01|0x10|0o10|0X1f|+0x1"},
        /* junk */
        {JR_SCALAR_STRING,
         "4x|4 | 4|+|-|--1|1-|1.2.3|1e|1e+|e5|.|.e3|+.|1,5|tRUE|nULL|~~|nan|inf|+.nan|"
         ".iNF|NaN|1e5x|0.0.|\xd9\xa1"},
        {JR_SCALAR_NULL, "|~|null|Null|NULL"},
        {JR_SCALAR_BOOL, "true|True|TRUE|false|False|FALSE"},
        {JR_SCALAR_INT, "0|-0|+5|7|-12|1234567890|99999999999999999999999999"},
        {JR_SCALAR_FLOAT,
         "0.5|.5|-.5|5.|1e3|1E-3|1.5e+10|+1.|01.5|.inf|-.Inf|+.INF|.nan|.NaN|.NAN"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        EACH_PART(text, rows[i].texts) {
            struct jr_node node = {.text = text, .len = (uint32_t)strlen(text), .plain = true};
            enum jr_scalar_type type = jr_scalar_type(&node);
            if (type != rows[i].type)
                printf("\n    '%s' is a %s, not a %s\n", text, names[type], names[rows[i].type]);
            CU_ASSERT_EQUAL(type, rows[i].type);
            node.plain = false;
            CU_ASSERT_EQUAL(jr_scalar_type(&node), JR_SCALAR_STRING);
        }
}
