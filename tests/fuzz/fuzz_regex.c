/*
 * The first line as a pattern, the rest as what is searched: it compiles or says where not, and
 * what is found lies within the subject.
 */
#include "fuzz.h"

#include "base/regex.h"

enum { MOST_FOUND = 16 };

static void check_groups(struct jr_regex *regex, size_t len)
{
    for (size_t i = 0; i < jr_regex_group_count(regex); i++) {
        struct jr_match part;
        require(jr_regex_group_name(regex, i)[0] != '\0');
        if (jr_regex_group(regex, i, &part))
            require(part.start <= part.end && part.end <= len);
    }
}

static void search(struct jr_regex *regex, const char *subject, size_t len)
{
    struct jr_match match;
    bool limited = false;
    size_t from = 0;
    for (int i = 0; i < MOST_FOUND && from <= len; i++) {
        if (!jr_regex_find(regex, subject, len, from, &match, &limited))
            break;
        require(!limited && match.end <= len);
        check_groups(regex, len);
        from = match.end > from ? match.end : from + 1;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *pattern;
    fuzz_split(&pattern, 1, '\n', data, size);
    pattern[strcspn(pattern, "\n")] = '\0';
    size_t head = strlen(pattern) + (strlen(pattern) < size);
    struct jr_regex *regex = NULL;
    struct jr_error err = {0};
    size_t offset = 0;
    if (jr_regex_new(&regex, pattern, &offset, &err) == 0)
        search(regex, (const char *)data + head, size - head);
    else
        require(err.text[0] != '\0' && offset <= strlen(pattern));
    jr_regex_free(regex);
    fuzz_free(&pattern, 1);
    return 0;
}
