#include "session/preflight.h"

#include "base/setting_words.h"
#include "scratch.h"
#include "spawn/program.h"

static struct scratch scratch;
static char python[4096]; /* the interpreter that is asked */

static void make_file(const char *name, const char *text)
{
    char folder[256];
    for (const char *at = name; (at = strchr(at, '/')) != NULL; at++) {
        (void)snprintf(folder, sizeof folder, "%.*s", (int)(at - name), name);
        (void)mkdirat(scratch.fd, folder, 0700);
    }
    scratch_write(&scratch, name, text);
}

/* That of the system, if it has one: in PATH may be a script that chooses. */
static void find_python(void)
{
    struct jr_program found = {0};
    (void)snprintf(python, sizeof python, "/usr/bin/python3");
    if (access(python, X_OK) == 0)
        return;
    CU_ASSERT_EQUAL(jr_program_find(&found, "python3", getenv("PATH"), "/"), 0);
    (void)snprintf(python, sizeof python, "%s", found.path);
}

/* A folder w/ in which a job runs, and more/ for PYTHONPATH. */
static void make_job(void)
{
    scratch_start(&scratch);
    find_python();
    make_file("w/train.py", "open('ran', 'w')");
    make_file("w/train.yaml", "");
    make_file("w/pkg/__init__.py", "open('ran', 'w')");
    make_file("w/pkg/model.py", "");
    make_file("w/pkg/deep/__init__.py", "");
    make_file("w/pkg/deep/inner.py", "");
    make_file("w/spread/there.py", "");
    make_file("w/lazy/__init__.py", "__path__ = []");
    make_file("w/facade.py", "__path__ = []");
    make_file("more/extra.py", "");
    make_file("more/sitecustomize.py",
              "import sys\n"
              "from importlib.machinery import ModuleSpec\n"
              "class Hook:\n"
              "    def find_spec(name, path=None, target=None):\n"
              "        return name == 'made' and ModuleSpec(name, None) or None\n"
              "sys.meta_path.append(Hook)\n");
}

static void end_job(void)
{
    CU_ASSERT_TRUE(faccessat(scratch.fd, "w/ran", F_OK, 0) != 0);
    scratch_end(&scratch);
}

/* "PART|HELP" of a module that is missing, "" for another, with the variable PYTHONPATH and an
 * option; NULL: none. */
static const char *look_by(const char *module, const char *path, char *option)
{
    static char text[4096 + 512];
    char home[128], more[512], workdir[128];
    struct jr_buf part JR_BUF_CLEANUP = JR_BUF_INIT, help JR_BUF_CLEANUP = JR_BUF_INIT;
    (void)snprintf(home, sizeof home, "HOME=%s/home", scratch.dir);
    (void)snprintf(more, sizeof more, "PYTHONPATH=%s", path);
    (void)snprintf(workdir, sizeof workdir, "%s/w", scratch.dir);
    char *env[] = {home, more, NULL};
    const struct jr_python_look wanted = {env, workdir, python, false, &option, option != NULL};
    bool missing = jr_python_module_missing(&part, &help, &wanted, module);
    (void)snprintf(text, sizeof text, "%s%s%s", missing ? part.data : "", missing ? "|" : "",
                   missing && help.data != NULL ? help.data : "");
    return text;
}

static const char *look(const char *module, const char *path)
{
    return look_by(module, path, NULL);
}

TEST_WITH(make_job, end_job, finds_what_is_there)
{
    EACH_PART(part, "train|os|os.path|time|json.decoder|pkg|pkg.model|pkg.deep.inner||xml.dom|"
                    "spread.there|lazy.made|facade.made|concurrent.futures")
        JR_ASSERT_TEXT(look(part, ""), "");
    JR_ASSERT_TEXT(look("extra", "../more"), "");
    JR_ASSERT_TEXT(look("made", "../more"), "");
}

TEST_WITH(make_job, end_job, says_what_is_missing)
{
    char text[4096 + 512];
    JR_ASSERT_TEXT(look("trian", ""), "trian|did you mean 'train'?");
    JR_ASSERT_TEXT(look("pkg.modle", ""), "pkg.modle|did you mean 'pkg.model'?");
    JR_ASSERT_TEXT(look("pkg.depe.inner", ""), "pkg.depe|did you mean 'pkg.deep.inner'?");
    JR_ASSERT_TEXT(look("pkg.deep.gone", ""), "pkg.deep.gone|");
    JR_ASSERT_TEXT(look("spread.gone", ""), "spread.gone|");
    JR_ASSERT_TEXT(look("train.main", ""), "train.main|");
    (void)snprintf(text, sizeof text,
                   "evaluate|Python looks in the working directory, in "
                   "PYTHONPATH and in the packages of %s",
                   python);
    JR_ASSERT_TEXT(look("evaluate", ""), text);
}

TEST_WITH(make_job, end_job, knows_what_lies_beside_it)
{
    char text[512];
    make_file("w/src/evaluate.py", "");
    (void)snprintf(text, sizeof text,
                   "evaluate|it is in src: " JR_SETTING("env.PYTHONPATH", "%s/w/src"), scratch.dir);
    JR_ASSERT_TEXT(look("evaluate", ""), text);
    JR_ASSERT_TEXT(look("evaluate", "src"), "");
    make_file("w/.venv/lib/python3.11/site-packages/own/__init__.py", "");
    make_file("w/.venv/bin/python3", "");
    JR_ASSERT_TEXT(look("own.distributed.run", ""),
                   "own|.venv has it: write .venv/bin/python3 for python3");
}

/* Nothing beside the job takes the place of what the program itself imports, and an option decides
 * whether the working directory counts. */
TEST_WITH(make_job, end_job, asks_as_the_rank_would)
{
    char own[] = "-S", isolated[] = "-I";
    make_file("w/os.py", "open('ran', 'w')");
    make_file("w/stat.py", "open('ran', 'w')");
    JR_ASSERT_TEXT(look_by("trian", "", own), "trian|did you mean 'train'?");
    CU_ASSERT_EQUAL(strncmp(look_by("train", "", isolated), "train|Python", 12), 0);
}

TEST_WITH(make_job, end_job, asks_no_script_and_nothing_that_is_not_there)
{
    char name[sizeof python];
    make_file("bin/python3", "#!/bin/sh\ntouch ran\necho missing gone\n");
    CU_ASSERT_EQUAL(fchmodat(scratch.fd, "bin/python3", 0700, 0), 0);
    CU_ASSERT_TRUE(strlen(look("gone", "")) > 0);
    (void)snprintf(name, sizeof name, "%s/bin/python3", scratch.dir);
    (void)snprintf(python, sizeof python, "%s", name);
    JR_ASSERT_TEXT(look("gone", ""), "");
    CU_ASSERT_EQUAL(unlinkat(scratch.fd, "bin/python3", 0), 0);
    JR_ASSERT_TEXT(look("gone", ""), "");
    (void)snprintf(python, sizeof python, "/bin/true");
    JR_ASSERT_TEXT(look("gone", ""), "");
}
