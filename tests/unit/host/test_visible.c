#include "unit.h"

#include "base/arena.h"
#include "host/accel/accel.h"

enum { GPUS = 4 };

static const struct jr_host_device gpus[GPUS] = {
    {.uuid = "GPU-11aa-01"},
    {.uuid = "GPU-11bb-02"},
    {.uuid = NULL},
    {.uuid = "GPU-22cc-03"},
};

/* The positions that a value leaves, as text: "2,0". */
static void check(const char *value, const char *expected)
{
    uint32_t order[GPUS];
    char text[GPUS * 2 + 1] = "";
    uint32_t count = jr_visible_cuda(order, gpus, GPUS, value);
    CU_ASSERT_TRUE_FATAL(count <= GPUS);
    for (uint32_t i = 0; i < count; i++) {
        text[2 * i] = (char)('0' + order[i]);
        text[2 * i + 1] = i + 1 < count ? ',' : '\0';
    }
    if (strcmp(text, expected) != 0)
        printf("\n    CUDA_VISIBLE_DEVICES='%s'", value);
    JR_ASSERT_TEXT(text, expected);
}

TEST(bad_values_leave_none)
{
    static const char *const values[] = {
        "",
        " ",
        "-1",
        "NoDevFiles",
        "none",
        "all",
        "void",
        ",0",
        "4",
        "99999999999",
        "x1",
        "-5,0",
        "+",
        "-",
        "GPU",
        "gpu-11aa",
        "GPU-",
        "GPU-11",
        ",,",
        "GPU-zz,0",
        "MIG-11aa",
        "MIG-GPU-11aa/1/0",
        "18446744073709551616",
    };
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        check(values[i], "");
}

TEST(a_bad_element_ends_the_list)
{
    check("0,2,-1,1", "0,2");
    check("1,x,2", "1");
    check("1,,2", "1");
    check("3,4,0", "3");
    check("3,4294967296,0", "3");
    check("2,GPU-11aa", "2");
    check("GPU-11aa,1", "0");
    check("GPU-11aa,GPU-zz,GPU-22", "0");
    check("GPU-22,GPU-11", "3");
    check("GPU-22,MIG-11aa", "3");
    check("0,", "0");
}

TEST(a_repeated_element_empties_the_list)
{
    check("0,0", "");
    check("0,1,2,0", "");
    check("1,+1", "");
    check("0,-0", "");
    check("0,9,0", "");
    check("GPU-11aa,GPU-11aa", "");
    check("GPU-22,GPU-22cc", "");
    check("GPU-22,GPU-zz,GPU-22", "");
    /* ... but not beyond its end */
    check("0,-1,0", "0");
}

TEST(unset_leaves_all)
{
    check(NULL, "0,1,2,3");
}

TEST(the_order_of_the_list_counts)
{
    check("0,1,2,3", "0,1,2,3");
    check("3,1", "3,1");
    check("GPU-22cc-03,GPU-11b", "3,1");
}

TEST(ordinals_are_read_as_numbers_with_a_tail)
{
    check("1gpu2,2x", "1,2");
    check("+3,-0", "3,0");
    check(" 1 , 2", "1,2");
    check("007", "");
    check("003", "3");
}

TEST(a_long_list_is_cut)
{
    static char value[1 << 16];
    size_t len = 0;
    for (unsigned i = 0; i < 8000; i++)
        len += (size_t)snprintf(value + len, sizeof value - len, "%u,", i);
    /* so far out, not even a repeated element is seen */
    (void)snprintf(value + len, sizeof value - len, "0");
    check(value, "0,1,2,3");
}

TEST(mig_is_told_apart)
{
    CU_ASSERT_TRUE(jr_visible_is_mig("MIG-1a2b"));
    CU_ASSERT_TRUE(jr_visible_is_mig("MIG-GPU-1a2b/1/0"));
    CU_ASSERT_FALSE(jr_visible_is_mig("GPU-1a2b"));
    CU_ASSERT_FALSE(jr_visible_is_mig("0"));
    CU_ASSERT_FALSE(jr_visible_is_mig(""));
}

/* What an environment of up to two variables leaves of four devices of a kind, numbered from 0. */
static void check_kind(enum jr_device kind, char *first, char *second, const char *expected)
{
    static const struct jr_host_device devices[GPUS] = {
        {.index = 0, .uuid = "GPU-11aa"},
        {.index = 1, .uuid = "GPU-11bb"},
        {.index = 2},
        {.index = 3, .uuid = "GPU-22cc"},
    };
    char *envp[] = {first, second, NULL};
    uint32_t order[GPUS];
    char text[GPUS + 1] = "";
    uint32_t count = jr_visible(order, devices, GPUS, kind, envp);
    CU_ASSERT_TRUE_FATAL(count <= GPUS);
    for (uint32_t i = 0; i < count; i++)
        text[i] = (char)('0' + order[i]);
    if (strcmp(text, expected) != 0)
        printf("\n    %s %s", first, second != NULL ? second : "");
    JR_ASSERT_TEXT(text, expected);
}

TEST(each_variable_has_its_grammar)
{
    static const struct {
        enum jr_device kind;
        const char *first, *second, *expected;
    } vectors[] = {
        {JR_DEVICE_ROCM, "X=1", NULL, "0123"},
        {JR_DEVICE_ROCM, "ROCR_VISIBLE_DEVICES=", NULL, ""},
        {JR_DEVICE_ROCM, "ROCR_VISIBLE_DEVICES=-1", NULL, ""},
        {JR_DEVICE_ROCM, "ROCR_VISIBLE_DEVICES=1,0,1,2", NULL, "10"},
        {JR_DEVICE_ROCM, "ROCR_VISIBLE_DEVICES=2,4,0", NULL, "2"},
        {JR_DEVICE_ROCM, "ROCR_VISIBLE_DEVICES=2x,0", NULL, ""},
        {JR_DEVICE_ROCM, "ROCR_VISIBLE_DEVICES=GPU-22,0", NULL, "30"},
        {JR_DEVICE_ROCM, "ROCR_VISIBLE_DEVICES=0,GPU-11", NULL, "0"},
        {JR_DEVICE_ROCM, "ROCR_VISIBLE_DEVICES=GPU-XX", NULL, ""},
        {JR_DEVICE_ROCM, "HIP_VISIBLE_DEVICES=3,1", NULL, "31"},
        {JR_DEVICE_ROCM, "HIP_VISIBLE_DEVICES=GPU-11aa", NULL, ""},
        {JR_DEVICE_ROCM, "ROCR_VISIBLE_DEVICES=3,1", "HIP_VISIBLE_DEVICES=1,0", "13"},
        {JR_DEVICE_ROCM, "HIP_VISIBLE_DEVICES=2", "ROCR_VISIBLE_DEVICES=3,1", ""},
        {JR_DEVICE_ROCM, "ROCR_VISIBLE_DEVICES=3,1", "CUDA_VISIBLE_DEVICES=3,1", "31"},
        {JR_DEVICE_ROCM, "CUDA_VISIBLE_DEVICES=2", NULL, "2"},
        {JR_DEVICE_ROCM, "GPU_DEVICE_ORDINAL=3,0", NULL, "30"},
        {JR_DEVICE_ROCM, "GPU_DEVICE_ORDINAL=3", "CUDA_VISIBLE_DEVICES=1", "1"},
        {JR_DEVICE_ROCM, "ROCR_VISIBLE_DEVICES=2,1", "GPU_DEVICE_ORDINAL=2", "21"},
        {JR_DEVICE_XPU, "ZE_AFFINITY_MASK=", NULL, ""},
        {JR_DEVICE_XPU, "ZE_AFFINITY_MASK=0.1", NULL, ""},
        {JR_DEVICE_XPU, "ZE_AFFINITY_MASK=2,0", NULL, "20"},
        {JR_DEVICE_HPU, "HABANA_VISIBLE_DEVICES=all", NULL, "0123"},
        {JR_DEVICE_HPU, "HABANA_VISIBLE_DEVICES=none", NULL, ""},
        {JR_DEVICE_HPU, "HABANA_VISIBLE_DEVICES=2,3", NULL, "23"},
        {JR_DEVICE_NPU, "ASCEND_RT_VISIBLE_DEVICES=0,2,1", NULL, "02"},
        {JR_DEVICE_NPU, "ASCEND_RT_VISIBLE_DEVICES=0, 2", NULL, "0"},
        {JR_DEVICE_NPU, "ASCEND_RT_VISIBLE_DEVICES=1,3", NULL, "13"},
        {JR_DEVICE_NPU, "ASCEND_RT_VISIBLE_DEVICES=1,1,3", NULL, "1"},
        {JR_DEVICE_NPU, "ASCEND_RT_VISIBLE_DEVICES=1,4,3", NULL, "1"},
        {JR_DEVICE_NPU, "ASCEND_RT_VISIBLE_DEVICES=", NULL, ""},
        {JR_DEVICE_NPU, "ASCEND_RT_VISIBLE_DEVICES=-1", NULL, ""},
        {JR_DEVICE_HPU, "HABANA_VISIBLE_DEVICES=", NULL, ""},
        {JR_DEVICE_HPU, "HABANA_VISIBLE_DEVICES=all,1", NULL, ""},
        {JR_DEVICE_XPU, "ZE_AFFINITY_MASK=1,9,0", NULL, "1"},
        {JR_DEVICE_MLU, "MLU_VISIBLE_DEVICES=3,,1", NULL, "3"},
        {JR_DEVICE_MLU, "MLU_VISIBLE_DEVICES=99999999999", NULL, ""},
        {JR_DEVICE_MLU, "CUDA_VISIBLE_DEVICES=0", NULL, "0123"},
        {JR_DEVICE_CUDA, "CUDA_VISIBLE_DEVICES=1,0", NULL, "10"},
        /* the container's, which images set to whatever they like */
        {JR_DEVICE_CUDA, "NVIDIA_VISIBLE_DEVICES=none", NULL, "0123"},
        {JR_DEVICE_CUDA, "CUDA_VISIBLE_DEVICES=2", "NVIDIA_VISIBLE_DEVICES=0", "2"},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
        check_kind(vectors[i].kind, jr_arena_strdup(&arena, vectors[i].first),
                   jr_arena_strdup(&arena, vectors[i].second), vectors[i].expected);
    }
}
