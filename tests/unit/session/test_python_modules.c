#include "session/python_modules.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "scratch.h"
#include "unit.h"

static struct scratch scratch;

static void make_file(const char *name, const char *text)
{
    char folder[256];
    for (const char *at = name; (at = strchr(at, '/')) != NULL; at++) {
        (void)snprintf(folder, sizeof folder, "%.*s", (int)(at - name), name);
        (void)mkdirat(scratch.fd, folder, 0700);
    }
    scratch_write(&scratch, name, text);
}

/* A Python of its own below usr/, and a folder w/ in which a job runs. */
static void make_python(void)
{
    scratch_start(&scratch);
    make_file("usr/bin/python3.11", "\177ELF");
    CU_ASSERT_EQUAL(symlinkat("python3.11", scratch.fd, "usr/bin/python3"), 0);
    make_file("usr/lib/python3.11/os.py", "");
    make_file("usr/lib/python3.11/lib-dynload/_x.so", "");
    make_file("usr/lib/python3/dist-packages/numpy/__init__.py", "");
    make_file("home/.local/lib/python3.11/site-packages/mine.py", "");
    make_file("w/train.py", "");
    make_file("w/train.yaml", "");
    make_file("w/pkg/__init__.py", "");
    make_file("w/pkg/model.py", "");
    make_file("w/pkg/deep/__init__.py", "");
    make_file("w/pkg/deep/inner.py", "");
    make_file("w/spread/there.py", "");
    make_file("w/lazy/__init__.py", "__path__ = []");
}

/* "PART|HELP" of a module that is missing, "" for another, with the variable
 * PYTHONPATH. */
static const char *look(const char *module, const char *path)
{
    static char text[2048];
    char home[128], more[512], workdir[128], python[128];
    struct jr_buf part JR_BUF_CLEANUP = JR_BUF_INIT,
                       help JR_BUF_CLEANUP = JR_BUF_INIT;
    (void)snprintf(home, sizeof home, "HOME=%s/home", scratch.dir);
    (void)snprintf(more, sizeof more, "PYTHONPATH=%s", path);
    (void)snprintf(workdir, sizeof workdir, "%s/w", scratch.dir);
    (void)snprintf(python, sizeof python, "%s/usr/bin/python3", scratch.dir);
    char *env[] = {home, more, NULL};
    const struct jr_python_look wanted = {env, workdir, python};
    bool missing = jr_python_module_missing(&part, &help, &wanted, module);
    (void)snprintf(text, sizeof text, "%s%s%s", missing ? part.data : "",
                   missing ? "|" : "",
                   missing && help.data != NULL ? help.data : "");
    return text;
}

static void finds_what_is_there(void)
{
    static const char *const names[] = {"train",
                                        "numpy",
                                        "numpy.linalg.x",
                                        "mine",
                                        "os",
                                        "_x",
                                        "time",
                                        "pkg",
                                        "pkg.model",
                                        "pkg.deep.inner",
                                        "spread.there",
                                        "spread.gone",
                                        "lazy.made",
                                        "train.not_a_package",
                                        ""};
    make_python();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        JR_ASSERT_TEXT(look(names[i], ""), "");
    scratch_end(&scratch);
}

static void says_what_is_missing(void)
{
    char text[512];
    make_python();
    JR_ASSERT_TEXT(look("trian", ""), "trian|did you mean 'train'?");
    JR_ASSERT_TEXT(look("pkg.modle", ""),
                   "pkg.modle|did you mean 'pkg.model'?");
    JR_ASSERT_TEXT(look("pkg.depe.inner", ""),
                   "pkg.depe|did you mean 'pkg.deep.inner'?");
    JR_ASSERT_TEXT(look("pkg.deep.gone", ""), "pkg.deep.gone|");
    (void)snprintf(text, sizeof text,
                   "evaluate|Python looks in the working directory, in "
                   "PYTHONPATH and in the packages of %s/usr/bin/python3",
                   scratch.dir);
    JR_ASSERT_TEXT(look("evaluate", ""), text);
    make_file("w/src/evaluate.py", "");
    (void)snprintf(text, sizeof text,
                   "evaluate|it is in src: env: {PYTHONPATH: %s/w/src}",
                   scratch.dir);
    JR_ASSERT_TEXT(look("evaluate", ""), text);
    JR_ASSERT_TEXT(look("evaluate", "src"), "");
    make_file("w/.venv/lib/python3.11/site-packages/torch/__init__.py", "");
    make_file("w/.venv/bin/python3", "");
    JR_ASSERT_TEXT(look("torch.distributed.run", ""),
                   "torch|.venv has it: write .venv/bin/python3 for python3");
    scratch_end(&scratch);
}

/* Where Python may find it by other means, nothing is said. */
static void stays_silent_in_doubt(void)
{
    static const struct {
        const char *file, *text, *path;
    } rows[] = {
        {"zip/a.zip", "PK", "../zip/a.zip"},
        {"usr/lib/python311.zip", "PK", ""},
        {"w/sitecustomize.py", "", ""},
        {"usr/lib/python3.11/site-packages/usercustomize.py", "", ""},
        {"usr/lib/python3.11/site-packages/hook.pth", "import hook\n", ""},
        {"usr/lib/python3.11/site-packages/b.pth",
         "import sys; sys.path.insert(0, 'x')\n", ""},
        {"usr/lib/python3.11/site-packages/a.pth", "# of egg\na.egg\n", ""},
        {"usr/lib/python3.11/site-packages/gone-nspkg.pth",
         "import sys; p = ('gone',)\n", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        make_python();
        make_file("usr/lib/python3.11/site-packages/a.egg", "PK");
        CU_ASSERT_TRUE(strlen(look("gone", "")) > 0);
        make_file(rows[i].file, rows[i].text);
        JR_ASSERT_TEXT(look("gone", rows[i].path), "");
        scratch_end(&scratch);
    }
}

static void follows_pth_files(void)
{
#define SITE "usr/lib/python3.11/site-packages/"
    make_python();
    make_file(SITE "distutils-precedence.pth", "import os; var = 'X'\n");
    make_file(SITE "coverage.pth", "import sys;exec('import coverage')\n");
    make_file(SITE "other-nspkg.pth", "import sys; p = ('other',)\n");
    make_file(SITE "__editable__.x.pth",
              "import __editable___x_finder; __editable___x_finder.install()");
    make_file(SITE "__editable___x_finder.py", "MAPPING = {'edited': '/x'}");
    make_file(SITE "extra/added.py", "");
    make_file(SITE "path.pth", "# own\r\nextra\r\n/no/such/folder\n");
    JR_ASSERT_TEXT(look("added", ""), "");
    JR_ASSERT_TEXT(look("edited", ""), "");
    CU_ASSERT_TRUE(strlen(look("gone", "")) > 0);
    scratch_end(&scratch);
#undef SITE
}

static void knows_no_other_interpreters(void)
{
    make_python();
    make_file("usr/bin/python3.11", "#!/bin/sh\n"); /* a shim */
    JR_ASSERT_TEXT(look("gone", ""), "");
    make_file("usr/bin/python3.11", "\177ELF");
    CU_ASSERT_TRUE(strlen(look("gone", "")) > 0);
    CU_ASSERT_EQUAL(unlinkat(scratch.fd, "usr/lib/python3.11/os.py", 0), 0);
    JR_ASSERT_TEXT(look("gone", ""), "");
    CU_ASSERT_EQUAL(unlinkat(scratch.fd, "usr/bin/python3", 0), 0);
    JR_ASSERT_TEXT(look("gone", ""), "");
    scratch_end(&scratch);
}

JR_UNIT_MAIN("python_modules", CASE(finds_what_is_there),
             CASE(says_what_is_missing), CASE(stays_silent_in_doubt),
             CASE(follows_pth_files), CASE(knows_no_other_interpreters))
