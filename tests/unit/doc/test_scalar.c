#include "tree.h"
#include "unit.h"

static const char *const names[] = {"null", "bool", "int", "float", "string"};

static void check(const char *text, bool plain, enum jr_scalar_type expected)
{
    struct jr_arena arena = JR_ARENA_INIT;
    const struct jr_node *node = jr_node_scalar(&arena, text, plain);
    CU_ASSERT_PTR_NOT_NULL_FATAL(node);
    enum jr_scalar_type type = jr_scalar_type(node);
    if (type != expected)
        printf("\n    '%s' is a %s, not a %s\n", text, names[type], names[expected]);
    CU_ASSERT_EQUAL(type, expected);
    jr_arena_release(&arena);
}

static void check_all(const char *const *texts, size_t count, enum jr_scalar_type expected)
{
    for (size_t i = 0; i < count; i++) {
        check(texts[i], true, expected);
        check(texts[i], false, JR_SCALAR_STRING);
    }
}

#define CHECK_ALL(expected, ...)                                                                   \
    do {                                                                                           \
        static const char *const texts[] = {__VA_ARGS__};                                          \
        check_all(texts, sizeof texts / sizeof *texts, expected);                                  \
    } while (0)

static void refuses_what_only_yaml_1_1_knows(void)
{
    CHECK_ALL(JR_SCALAR_STRING, "yes", "no", "on", "off", "y", "n", "Yes", "NO", "1_000", "0b101",
              "190:20:30", "2001-12-14", "=", "<<");
}

static void refuses_other_bases_and_leading_zeros(void)
{
    CHECK_ALL(JR_SCALAR_STRING, "010", "00", "-01", "0x10", "0o10", "0X1f", "+0x1");
}

static void refuses_junk(void)
{
    CHECK_ALL(JR_SCALAR_STRING, "4x", "4 ", " 4", "+", "-", "--1", "1-", "1.2.3", "1e", "1e+", "e5",
              ".", ".e3", "+.", "1,5", "tRUE", "nULL", "~~", "nan", "inf", "+.nan", ".iNF", "NaN",
              "1e5x", "0.0.", "\xd9\xa1");
}

static void knows_null(void)
{
    CHECK_ALL(JR_SCALAR_NULL, "", "~", "null", "Null", "NULL");
}

static void knows_booleans(void)
{
    CHECK_ALL(JR_SCALAR_BOOL, "true", "True", "TRUE", "false", "False", "FALSE");
}

static void knows_integers(void)
{
    CHECK_ALL(JR_SCALAR_INT, "0", "-0", "+5", "7", "-12", "1234567890",
              "99999999999999999999999999");
}

static void knows_floats(void)
{
    CHECK_ALL(JR_SCALAR_FLOAT, "0.5", ".5", "-.5", "5.", "1e3", "1E-3", "1.5e+10", "+1.", "01.5",
              ".inf", "-.Inf", "+.INF", ".nan", ".NaN", ".NAN");
}

JR_UNIT_MAIN("doc.scalar", CASE(refuses_what_only_yaml_1_1_knows),
             CASE(refuses_other_bases_and_leading_zeros), CASE(refuses_junk), CASE(knows_null),
             CASE(knows_booleans), CASE(knows_integers), CASE(knows_floats))
