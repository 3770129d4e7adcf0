#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>

#include "unit.h"

static bool is_zero(const unsigned char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (bytes[i] != 0)
            return false;
    return true;
}

TEST(refuses_impossible_sizes)
{
    for (int i = 0; i < 3; i++) {
        struct jr_arena arena = JR_ARENA_INIT;
        CU_ASSERT_PTR_NULL(i == 0   ? jr_arena_alloc(&arena, SIZE_MAX)
                           : i == 1 ? jr_arena_array(&arena, SIZE_MAX / 4, 8)
                                    : jr_arena_strndup(&arena, "x", SIZE_MAX));
        CU_ASSERT_TRUE(arena.failed);
        jr_arena_release(&arena);
        CU_ASSERT_FALSE(arena.failed);
    }
    jr_arena_release(NULL);
}

TEST(keeps_its_limit)
{
    struct jr_arena arena = {.limit = 1000};
    CU_ASSERT_PTR_NOT_NULL(jr_arena_alloc(&arena, 900));
    CU_ASSERT_PTR_NULL(jr_arena_alloc(&arena, 200));
    CU_ASSERT_TRUE(arena.failed && arena.used <= 1000);
    jr_arena_release(&arena);
    CU_ASSERT_TRUE(arena.limit == 1000 && arena.used == 0);
    CU_ASSERT_PTR_NOT_NULL(jr_arena_alloc(&arena, 900));
    jr_arena_release(&arena);
}

TEST(aligns_and_zeroes)
{
    static const size_t sizes[] = {0, 1, 7, 16, 17, 4096, 5000, 3, 3000000, 1};
    enum { COUNT = sizeof sizes / sizeof *sizes };
    struct jr_arena arena = JR_ARENA_INIT;
    unsigned char *memory[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        memory[i] = jr_arena_alloc(&arena, sizes[i]);
        CU_ASSERT_PTR_NOT_NULL_FATAL(memory[i]);
        CU_ASSERT_EQUAL((uintptr_t)memory[i] % alignof(max_align_t), 0);
        CU_ASSERT_TRUE(is_zero(memory[i], sizes[i]));
        memset(memory[i], (int)i + 1, sizes[i]);
    }
    /* None was handed out twice. */
    for (size_t i = 0; i < COUNT; i++)
        for (size_t j = 0; j < sizes[i]; j += 97)
            CU_ASSERT_EQUAL_FATAL(memory[i][j], i + 1);
    CU_ASSERT_NOT_EQUAL(memory[0], memory[1]);
    jr_arena_release(&arena);
    CU_ASSERT_PTR_NULL(arena.blocks);
}

TEST(copies_strings)
{
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    CU_ASSERT_PTR_NULL(jr_arena_strdup(&arena, NULL));
    CU_ASSERT_PTR_NULL(jr_arena_strndup(&arena, NULL, 3));
    CU_ASSERT_FALSE(arena.failed);
    JR_ASSERT_TEXT(jr_arena_strdup(&arena, ""), "");
    JR_ASSERT_TEXT(jr_arena_strdup(&arena, "rank"), "rank");
    JR_ASSERT_TEXT(jr_arena_strndup(&arena, "rank", 2), "ra");
    JR_ASSERT_TEXT(jr_arena_printf(&arena, "%s-%d", "rank", 3), "rank-3");
}

/* Two arrays of one count: what fails for one of them fails for both. */
TEST(pushes_nothing_after_a_failure)
{
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    int *items = NULL;
    size_t count = 0;
    CU_ASSERT_PTR_NOT_NULL(jr_arena_push(&arena, &items, &count, sizeof *items));
    CU_ASSERT_PTR_NULL(jr_arena_alloc(&arena, SIZE_MAX));
    CU_ASSERT_PTR_NULL(jr_arena_push(&arena, &items, &count, sizeof *items));
    CU_ASSERT_EQUAL(count, 1);
}

TEST(zeroes_a_slot_again)
{
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    int *items = NULL;
    size_t count = 0;
    for (int i = 0; i < 3; i++) {
        int *slot = jr_arena_push(&arena, &items, &count, sizeof *slot);
        CU_ASSERT_PTR_NOT_NULL_FATAL(slot);
        CU_ASSERT_EQUAL(*slot, 0);
        *slot = 7 + i;
        count = 1;
    }
    CU_ASSERT_EQUAL(items[0], 7);
}

/* Push 1, 2, 3 ... until there are so many. */
static void push_up_to(struct jr_arena *arena, uint64_t **items, size_t *count, size_t most)
{
    while (*count < most) {
        uint64_t *slot = jr_arena_push(arena, items, count, sizeof *slot);
        CU_ASSERT_PTR_NOT_NULL_FATAL(slot);
        CU_ASSERT_EQUAL(*slot, 0);
        *slot = *count;
    }
}

TEST(grows_in_place_what_is_last)
{
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    uint64_t *items = NULL;
    size_t count = 0;
    push_up_to(&arena, &items, &count, 1);
    const uint64_t *first = items;
    push_up_to(&arena, &items, &count, 8);
    CU_ASSERT_PTR_EQUAL(items, first);
    unsigned char *between = jr_arena_alloc(&arena, 8);
    CU_ASSERT_PTR_NOT_NULL_FATAL(between);
    push_up_to(&arena, &items, &count, 9);
    CU_ASSERT_PTR_NOT_EQUAL(items, first);
    CU_ASSERT_TRUE(is_zero(between, 8));
    push_up_to(&arena, &items, &count, 5000);
    for (size_t i = 0; i < count; i++)
        CU_ASSERT_EQUAL_FATAL(items[i], i + 1);
}

TEST(keeps_the_array_when_full)
{
    JR_ARENA_CLEANUP struct jr_arena arena = {.limit = 60};
    uint64_t *items = NULL;
    size_t count = 0;
    while (jr_arena_push(&arena, &items, &count, sizeof *items) != NULL)
        items[count - 1] = count;
    CU_ASSERT_TRUE(arena.failed && count == 4 && items[3] == 4);
}

TEST(adopts_what_another_owns)
{
    struct jr_arena arena = {.limit = 64}, from = {.limit = 8192};
    char *early = jr_arena_strdup(&from, "early");
    CU_ASSERT_PTR_NOT_NULL_FATAL(jr_arena_alloc(&from, 5000));
    CU_ASSERT_PTR_NOT_NULL(jr_arena_alloc(&arena, 16));
    jr_arena_adopt(&arena, &from);
    JR_ASSERT_TEXT(early, "early");
    CU_ASSERT_TRUE(from.blocks == NULL && from.used == 0 && from.limit == 8192);
    CU_ASSERT_TRUE(arena.used > 5000);
    /* the limit is exceeded, not wrapped around */
    CU_ASSERT_PTR_NULL(jr_arena_alloc(&arena, 1));
    CU_ASSERT_PTR_NOT_NULL(jr_arena_alloc(&from, 1));
    jr_arena_release(&arena);
    from.failed = true;
    jr_arena_adopt(&arena, &from);
    CU_ASSERT_TRUE(arena.failed && !from.failed);
    jr_arena_release(&arena);
    jr_arena_release(&from);
}
