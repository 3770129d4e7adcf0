/* All cases of a unit test in the order of its file. */
#include "unit.h"

#include <errno.h>

static struct jr_unit_case *cases;

void jr_unit_add(struct jr_unit_case *added)
{
    struct jr_unit_case **place = &cases;
    while (*place != NULL && (*place)->line < added->line)
        place = &(*place)->next;
    added->next = *place;
    *place = added;
}

int jr_unit_main(void)
{
    unsigned count = 0;
    if (CU_initialize_registry() != CUE_SUCCESS)
        return 1;
    CU_pSuite suite = CU_add_suite(program_invocation_short_name, NULL, NULL);
    for (const struct jr_unit_case *item = cases; suite != NULL && item != NULL; item = item->next)
        count += CU_add_test(suite, item->name, item->run) != NULL;
    CU_basic_set_mode(CU_BRM_NORMAL);
    CU_basic_run_tests();
    bool bad = CU_get_number_of_failures() != 0 || CU_get_number_of_tests_run() != count;
    CU_cleanup_registry();
    return bad || count == 0;
}

/* A program that has to do something else before has its own. */
__attribute__((weak)) int main(void)
{
    return jr_unit_main();
}
