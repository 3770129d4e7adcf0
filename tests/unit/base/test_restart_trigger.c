#include "base/restart_trigger.h"

#include <signal.h>
#include <string.h>

#include "unit.h"

/* A text that is none, and what of it is told to be wrong. */
struct bad {
    const char *text, *part, *why;
};

TEST(refuses)
{
    static const struct bad bad[] = {
        {"", "", "it is exit"},
        {"exti:1", "exti", "it is exit"},
        {"EXIT", "EXIT", "it is exit"},
        {"oom:", ":", "nothing may follow"},
        {"oom:1", ":1", "nothing may follow"},
        {"hang ", "hang ", "it is exit"},
        {"exit:", "", "exit codes are written"},
        {"exit:x", "x", "exit codes are written"},
        {"exit:1,x,3", "x", "exit codes are written"},
        {"exit:3-1", "1", "exit codes are written"},
        {"exit:1,1", "1", "exit codes are written"},
        {"exit:0", "0", "exit code 0 is no failure"},
        {"exit:0-255", "0-255", "exit code 0 is no failure"},
        {"exit:256", "256", "from 1 to 255"},
        {"exit:all", "all", "any code but 0"},
        {"exit:none", "none", "from 1 to 255"},
        {"signal:", "", "by name"},
        {"signal:9", "9", "by name"},
        {"signal:segv", "segv", "by name"},
        {"signal:SEGV,", "", "by name"},
        {"signal:SEGV,NOPE", "NOPE", "by name"},
        {"signal:SIGSIGSEGV", "SIGSIGSEGV", "by name"},
        {"signal:AVERYLONGNAMEINDEED", "AVERYLONGNAMEINDEED", "by name"},
        {"stderr", "", "between slashes"},
        {"stderr:", "", "between slashes"},
        {"stderr:x", "x", "between slashes"},
        {"stderr:/", "/", "between slashes"},
        {"stderr://", "//", "between slashes"},
        {"stderr:/x", "/x", "between slashes"},
        {"stderr:/(/", "(", "parenthes"},
        {"stderr:/a[b/", "b", "character class"},
    };
    struct jr_arena arena = JR_ARENA_INIT;
    JR_EACH(row, bad) {
        struct jr_restart_trigger trigger;
        struct jr_restart_trigger_fault fault = {0};
        const char *text = row->text;
        char part[64] = "";
        CU_ASSERT_FALSE(jr_restart_trigger_parse(&trigger, &arena, text, &fault));
        CU_ASSERT_FATAL(fault.from <= fault.to && fault.to <= strlen(text));
        (void)memcpy(part, text + fault.from, fault.to - fault.from);
        CU_ASSERT_STRING_EQUAL(part, row->part);
        CU_ASSERT_PTR_NOT_NULL(strstr(fault.text, row->why));
        CU_ASSERT_EQUAL(fault.regex,
                        strncmp(text, "stderr:/", 8) == 0 && strstr(fault.text, "slashes") == NULL);
    }
    jr_arena_release(&arena);
}

TEST(has_one_normal_form)
{
    static const char *const good[][2] = {
        {"exit", "exit"},
        {"exit:75", "exit:75"},
        {"exit:75,1-3", "exit:1-3,75"},
        {"exit:1-255", "exit:1-255"},
        {"signal", "signal"},
        {"signal:SEGV", "signal:SIGSEGV"},
        {"signal:SIGSEGV,KILL", "signal:SIGKILL,SIGSEGV"},
        {"signal:RTMIN+3", "signal:SIGRTMIN+3"},
        {"oom", "oom"},
        {"hang", "hang"},
        {"timeout", "timeout"},
        {"start", "start"},
        {"result", "result"},
        {"stderr:/CUDA error|NCCL/", "stderr:/CUDA error|NCCL/"},
        {"stderr:/a/b:c/", "stderr:/a/b:c/"},
    };
    struct jr_arena arena = JR_ARENA_INIT;
    JR_EACH(row, good) {
        struct jr_restart_trigger trigger;
        struct jr_restart_trigger_fault fault;
        struct jr_buf text = JR_BUF_INIT;
        CU_ASSERT_TRUE_FATAL(jr_restart_trigger_parse(&trigger, &arena, (*row)[0], &fault));
        jr_restart_trigger_print(&text, &trigger);
        CU_ASSERT_STRING_EQUAL(text.data, (*row)[1]);
        jr_buf_release(&text);
    }
    jr_arena_release(&arena);
}

TEST(takes_codes_and_signals)
{
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_restart_trigger trigger;
    struct jr_restart_trigger_fault fault;
    CU_ASSERT_TRUE(jr_restart_trigger_parse(&trigger, &arena, "exit", &fault));
    CU_ASSERT_TRUE(jr_restart_trigger_takes_code(&trigger, 1));
    CU_ASSERT_TRUE(jr_restart_trigger_takes_code(&trigger, 255));
    CU_ASSERT_FALSE(jr_restart_trigger_takes_code(&trigger, 0));
    CU_ASSERT_FALSE(jr_restart_trigger_takes_signal(&trigger, SIGSEGV));
    CU_ASSERT_TRUE(jr_restart_trigger_parse(&trigger, &arena, "exit:2,75", &fault));
    CU_ASSERT_TRUE(jr_restart_trigger_takes_code(&trigger, 75));
    CU_ASSERT_FALSE(jr_restart_trigger_takes_code(&trigger, 3));
    CU_ASSERT_TRUE(jr_restart_trigger_parse(&trigger, &arena, "signal", &fault));
    CU_ASSERT_TRUE(jr_restart_trigger_takes_signal(&trigger, SIGKILL));
    CU_ASSERT_FALSE(jr_restart_trigger_takes_signal(&trigger, 0));
    CU_ASSERT_FALSE(jr_restart_trigger_takes_code(&trigger, 9));
    CU_ASSERT_TRUE(jr_restart_trigger_parse(&trigger, &arena, "signal:SEGV", &fault));
    CU_ASSERT_TRUE(jr_restart_trigger_takes_signal(&trigger, SIGSEGV));
    CU_ASSERT_FALSE(jr_restart_trigger_takes_signal(&trigger, SIGBUS));
    CU_ASSERT_FALSE(jr_restart_trigger_takes_signal(&trigger, 65));
    CU_ASSERT_TRUE(jr_restart_trigger_parse(&trigger, &arena, "oom", &fault));
    CU_ASSERT_FALSE(jr_restart_trigger_takes_signal(&trigger, SIGKILL));
    CU_ASSERT_EQUAL(trigger.kind, JR_RESTART_TRIGGER_OOM);
    jr_arena_release(&arena);
}
