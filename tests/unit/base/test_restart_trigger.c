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
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
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
}

TEST(has_one_normal_form)
{
    EACH_PART(row, "exit>|exit:75>|exit:75,1-3>exit:1-3,75|exit:1-255>|signal>|"
                   "signal:SEGV>signal:SIGSEGV|signal:SIGSEGV,KILL>signal:SIGKILL,SIGSEGV|"
                   "signal:RTMIN+3>signal:SIGRTMIN+3|oom>|hang>|timeout>|start>|result>|"
                   "stderr:/CUDA error:NCCL/>|stderr:/a/b:c/>") {
        struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
        struct jr_restart_trigger trigger;
        struct jr_restart_trigger_fault fault;
        JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
        char *normal = strchr(row, '>'); /* nothing: as it is */
        *normal++ = '\0';
        CU_ASSERT_TRUE_FATAL(jr_restart_trigger_parse(&trigger, &arena, row, &fault));
        jr_restart_trigger_print(&text, &trigger);
        JR_ASSERT_TEXT(text.data, *normal == '\0' ? row : normal);
    }
}

TEST(takes_codes_and_signals)
{
    /* the trigger, and codes and signals that it takes, and does not */
    static const struct {
        const char *text;
        int codes[2], no_codes[2], signals[2], no_signals[3];
    } rows[] = {
        {"exit", {1, 255}, {0}, {0}, {SIGSEGV}},
        {"exit:2,75", {75, 2}, {3}, {0}, {0}},
        {"signal", {0}, {9}, {SIGKILL, SIGBUS}, {0}},
        {"signal:SEGV", {0}, {0}, {SIGSEGV}, {0, SIGBUS, 65}},
        {"oom", {0}, {1}, {0}, {SIGKILL}},
    };
    JR_EACH(row, rows) {
        struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
        struct jr_restart_trigger trigger;
        struct jr_restart_trigger_fault fault;
        CU_ASSERT_TRUE_FATAL(jr_restart_trigger_parse(&trigger, &arena, row->text, &fault));
        for (int i = 0; i < 2; i++) {
            CU_ASSERT_EQUAL(jr_restart_trigger_takes_code(&trigger, row->codes[i]),
                            row->codes[i] != 0);
            CU_ASSERT_EQUAL(jr_restart_trigger_takes_signal(&trigger, row->signals[i]),
                            row->signals[i] != 0);
            CU_ASSERT_FALSE(jr_restart_trigger_takes_code(&trigger, row->no_codes[i]));
        }
        for (int i = 0; i < 3; i++)
            CU_ASSERT_FALSE(jr_restart_trigger_takes_signal(&trigger, row->no_signals[i]));
        CU_ASSERT_EQUAL(trigger.kind == JR_RESTART_TRIGGER_OOM, strcmp(row->text, "oom") == 0);
    }
}
