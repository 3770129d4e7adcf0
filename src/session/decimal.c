#include "session/decimal.h"

#include "base/banned.h"

struct jr_decimal_point jr_decimal_point_begin(void)
{
    struct jr_decimal_point point = {0};
    locale_t copy = duplocale(uselocale((locale_t)0));
    if (copy == (locale_t)0)
        return point;
    point.plain = newlocale(LC_NUMERIC_MASK, "C", copy);
    if (point.plain != (locale_t)0)
        point.before = uselocale(point.plain);
    else
        freelocale(copy);
    return point;
}

void jr_decimal_point_end(struct jr_decimal_point *point)
{
    if (point->plain == (locale_t)0)
        return;
    (void)uselocale(point->before);
    freelocale(point->plain);
}
