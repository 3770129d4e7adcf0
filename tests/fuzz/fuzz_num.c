/*
 * Two lines as numbers, durations, sizes and misspelt words: what is taken is what other means make
 * of the text, and every value that there is is taken when it is written out.
 */
#include "fuzz.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/did_you_mean.h"
#include "base/num.h"

static void check_u64(const char *text)
{
    char again[32];
    uint64_t value = 7, same = 7;
    uint32_t small = 7;
    bool taken = jr_num_u64(text, &value);
    require(taken || value == 7);
    require(jr_num_u32(text, &small) == (taken && value <= UINT32_MAX));
    if (!taken)
        return;
    (void)snprintf(again, sizeof again, "%" PRIu64, value);
    require(strcmp(again, text) == 0);
    (void)snprintf(again, sizeof again, "%" PRIu64 "ms", value);
    require(jr_num_duration(again, &same) && same == value);
    require(jr_num_size(text, &same) && same == value);
}

static void check_i64(const char *text)
{
    char again[32];
    int64_t value = 7;
    bool taken = jr_num_i64(text, &value);
    require(taken || value == 7);
    if (!taken || strcmp(text, "-0") == 0)
        return;
    (void)snprintf(again, sizeof again, "%" PRId64, value);
    require(strcmp(again, text) == 0);
}

static void check_double(const char *text)
{
    char again[64], *end = NULL;
    double value = 7, same = 7;
    bool taken = jr_num_double(text, &value);
    require(taken || value == 7);
    if (!taken)
        return;
    require(isfinite(value) && strtod(text, &end) == value && *end == '\0');
    (void)snprintf(again, sizeof again, "%.17g", value);
    require(jr_num_double(again, &same) && same == value);
}

/* Units by their own arithmetic, in floating point: near enough to tell a factor or a part that is
 * lost. */
static double milliseconds(const char *text)
{
    double total = 0;
    while (*text != '\0') {
        char *unit;
        double value = strtod(text, &unit);
        bool milli = strncmp(unit, "ms", 2) == 0;
        double factor = *unit == 'd'   ? 86400e3
                        : *unit == 'h' ? 3600e3
                        : milli        ? 1
                        : *unit == 'm' ? 60e3
                                       : 1e3;
        total += value * factor;
        text = unit + (*unit != '\0') + milli;
    }
    return total;
}

static bool is_near(uint64_t value, double other)
{
    return fabs((double)value - other) <= other * 1e-9;
}

static void check_duration(const char *text)
{
    uint64_t value = 7;
    bool taken = jr_num_duration(text, &value);
    require(taken ? is_near(value, milliseconds(text)) : value == 7);
}

static void check_size(const char *text)
{
    static const char letters[] = "KMGT";
    uint64_t value = 7;
    bool taken = jr_num_size(text, &value);
    require(taken || value == 7);
    if (!taken)
        return;
    char *unit;
    double expected = strtod(text, &unit);
    if (*unit != '\0')
        expected *= pow(1024, (double)(strchr(letters, *unit) - letters + 1));
    require(is_near(value, expected));
}

static void check_words(const char *a, const char *b)
{
    const char *const one[] = {b, NULL};
    unsigned edits = jr_edit_distance(a, b, 3);
    const char *nearest = jr_did_you_mean(a, one);
    require(edits == jr_edit_distance(b, a, 3) && edits <= 4);
    if (strlen(a) < 64) /* longer words are not compared */
        require((edits == 0) == (strcmp(a, b) == 0));
    require(nearest == NULL || nearest == b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *lines[2];
    fuzz_split(lines, 2, '\n', data, size);
    for (size_t i = 0; i < 2; i++) {
        check_u64(lines[i]);
        check_i64(lines[i]);
        check_double(lines[i]);
        check_duration(lines[i]);
        check_size(lines[i]);
    }
    check_words(lines[0], lines[1]);
    fuzz_free(lines, 2);
    return 0;
}
