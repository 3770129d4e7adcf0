#include "base/did_you_mean.h"

#include <string.h>

#include "base/banned.h"

/* Words longer than this are not compared: names of fields and values are
 * short, and the table below stays on the stack. */
enum { LONGEST = 63 };

static unsigned smaller_of(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

unsigned jr_edit_distance(const char *a, const char *b, unsigned limit)
{
    /* rows[i % 3][j]: edits from the first i of `a` to the first j of `b`. */
    unsigned rows[3][LONGEST + 1];
    size_t a_len = strlen(a), b_len = strlen(b);
    if (a_len > LONGEST || b_len > LONGEST)
        return limit + 1;
    for (unsigned j = 0; j <= b_len; j++)
        rows[0][j] = j;
    for (unsigned i = 1; i <= a_len; i++) {
        unsigned *row = rows[i % 3], *above = rows[(i - 1) % 3];
        row[0] = i;
        for (unsigned j = 1; j <= b_len; j++) {
            row[j] = smaller_of(above[j - 1] + (a[i - 1] != b[j - 1]),
                                smaller_of(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = smaller_of(row[j], rows[(i - 2) % 3][j - 2] + 1);
        }
    }
    return smaller_of(rows[a_len % 3][b_len], limit + 1);
}

/* More edits than this are another word. */
static unsigned most_edits(const char *word)
{
    size_t len = strlen(word);
    return len <= 4 ? 1 : len <= 8 ? 2 : 3;
}

const char *jr_did_you_mean(const char *word, const char *const *candidates)
{
    unsigned best_edits = most_edits(word) + 1;
    const char *best = NULL;
    for (; *candidates != NULL; candidates++) {
        unsigned edits = jr_edit_distance(word, *candidates, best_edits);
        /* two slips are no likely beginning of a word */
        if (edits < best_edits && (edits < 2 || **candidates == *word)) {
            best_edits = edits;
            best = *candidates;
        }
    }
    return best;
}

bool jr_did_you_mean_near(const char *word, const char *const *candidates)
{
    const char *best = jr_did_you_mean(word, candidates);
    if (best == NULL)
        return false;
    unsigned most = most_edits(word);
    unsigned limit = smaller_of(jr_edit_distance(word, best, most) + 1, most);
    for (; *candidates != NULL; candidates++)
        if (strcmp(*candidates, best) != 0 &&
            jr_edit_distance(word, *candidates, limit) <= limit)
            return false;
    return true;
}
