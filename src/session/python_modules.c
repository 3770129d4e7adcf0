#include "session/python_modules.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/did_you_mean.h"
#include "base/strv.h"
#include "host/ask.h"

#include "base/banned.h"

/* How long an interpreter may take to start on a busy file system, and the bytes of its answer at
 * most. */
enum { LIMIT_MS = 20000, MOST_BYTES = 1 << 20 };

/* Prints a line for each thing that is known of a module that is missing:
 * "missing NAME", "near NAME" of what lies where that should be, "folder NAME"
 * and "venv NAME" of those in the working directory that have it. It imports
 * only what the interpreter has in itself, lest a file beside the job take the
 * place of a module of Python's. What is loaded, or a package that changes
 * where its modules are, may have any; so may a file that acts as one, as that
 * of six does. */
static const char PROGRAM[] =
    "import sys\n"
    "here = sys.path[:1] == [''] and sys.path.pop(0)\n"
    "import os, _frozen_importlib_external as external\n"
    "sys.path[:0] = [''] if here == '' else []\n"
    "def find(name, path):\n"
    "    for finder in sys.meta_path:\n"
    "        spec = finder.find_spec(name, path)\n"
    "        if spec:\n"
    "            return spec\n"
    "def has(name, folder):\n"
    "    return external.PathFinder.find_spec(name, [os.path.abspath(folder)])\n"
    "def is_open(spec):\n"
    "    if not spec.origin or not os.path.isfile(spec.origin):\n"
    "        return False\n"
    "    with open(spec.origin, errors='replace') as file:\n"
    "        text = file.read()\n"
    "    return any(word in text for word in ('__path__', 'extend_path',\n"
    "        'sys.modules', 'meta_path', 'import_module'))\n"
    "before, path, places = '', None, [os.getcwd()] if here == '' else []\n"
    "for part in sys.argv[1].split('.'):\n"
    "    name = before + part\n"
    "    spec = find(name, path)\n"
    "    if not spec:\n"
    "        break\n"
    "    if name in sys.modules or is_open(spec):\n"
    "        sys.exit()\n"
    "    path = places = list(spec.submodule_search_locations or [])\n"
    "    before = name + '.'\n"
    "else:\n"
    "    sys.exit()\n"
    "print('missing', name)\n"
    "for place in places:\n"
    "    for file in sorted(os.listdir(place)):\n"
    "        stem = file.split('.')[0]\n"
    "        if stem.isidentifier() and has(stem, place):\n"
    "            print('near', stem)\n"
    "for folder in ('src', 'lib', 'python'):\n"
    "    if not before and has(part, folder):\n"
    "        print('folder', folder)\n"
    "for venv in ('.venv', 'venv', 'env'):\n"
    "    lib = os.path.join(venv, 'lib')\n"
    "    if before or not os.path.exists(os.path.join(venv, 'bin/python3')):\n"
    "        continue\n"
    "    for version in os.listdir(lib):\n"
    "        if has(part, os.path.join(lib, version, 'site-packages')):\n"
    "            print('venv', venv)\n";

/* Whether the file is a binary program. */
static bool is_binary(const struct jr_python_look *look)
{
    char magic[4] = "";
    JR_CLOSE int folder = open(look->workdir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    JR_CLOSE int fd = openat(folder, look->interpreter, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    return fd >= 0 && read(fd, magic, sizeof magic) == sizeof magic &&
           memcmp(magic, "\177ELF", sizeof magic) == 0;
}

struct question {
    const struct jr_python_look *look;
    char *const *argv;
};

/* Becomes the interpreter. */
static int exec_python(void *data, int fd)
{
    const struct question *question = data;
    const struct jr_python_look *look = question->look;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(fd, STDOUT_FILENO) < 0 ||
        dup2(null, STDERR_FILENO) < 0 || chdir(look->workdir) != 0)
        return 126;
    (void)execve(look->interpreter, question->argv, look->env);
    return 127;
}

/* What the program prints; nothing where it is not asked or fails. */
static void ask_python(struct jr_buf *out, struct jr_arena *arena,
                       const struct jr_python_look *look, const char *module)
{
    struct jr_strv argv = {0};
    jr_strv_push(&argv, arena, jr_arena_strdup(arena, look->interpreter));
    for (size_t i = 0; i < look->options_count; i++)
        jr_strv_push(&argv, arena, jr_arena_strdup(arena, look->options[i]));
    jr_strv_push(&argv, arena, jr_arena_strdup(arena, "-Bc")); /* no .pyc */
    jr_strv_push(&argv, arena, jr_arena_strdup(arena, PROGRAM));
    jr_strv_push(&argv, arena, jr_arena_strdup(arena, module));
    struct question question = {look, argv.items};
    const struct jr_ask ask = {
        .answer = exec_python, .data = &question, .limit_ms = LIMIT_MS, .most = MOST_BYTES};
    if (arena->failed || jr_ask(out, arena, &ask) != NULL || out->failed)
        jr_buf_clear(out);
}

/* The words behind a key of the answer. */
static struct jr_strv read_answer(const struct jr_buf *out, struct jr_arena *arena, const char *key)
{
    struct jr_strv words = {0};
    size_t len = strlen(key);
    for (const char *at = out->data; at != NULL && *at != '\0';) {
        size_t line = strcspn(at, "\n");
        if (line > len && memcmp(at, key, len) == 0 && at[len] == ' ')
            jr_strv_push(&words, arena, jr_arena_strndup(arena, at + len + 1, line - len - 1));
        at += line + (at[line] == '\n');
    }
    return words;
}

/* What to type, by what lies beside it; `rest` is of the module's name. */
static void add_module_help(struct jr_buf *help, struct jr_arena *arena,
                            const struct jr_python_look *look, const struct jr_buf *answer,
                            const char *part, const char *rest)
{
    const struct jr_strv near = read_answer(answer, arena, "near");
    const struct jr_strv folders = read_answer(answer, arena, "folder");
    const struct jr_strv venvs = read_answer(answer, arena, "venv");
    const char *dot = strrchr(part, '.');
    const char *last = dot == NULL ? part : dot + 1;
    const char *other =
        near.count == 0 ? NULL : jr_did_you_mean(last, (const char *const *)near.items);
    if (other != NULL)
        jr_buf_printf(help, "did you mean '%.*s%s%s'?", (int)(last - part), part, other, rest);
    else if (folders.count > 0)
        jr_buf_printf(help, "it is in %s: env: {PYTHONPATH: %s/%s}", folders.items[0],
                      look->workdir, folders.items[0]);
    else if (venvs.count > 0)
        jr_buf_printf(help, "%s has it: write %s/bin/python3 for python3", venvs.items[0],
                      venvs.items[0]);
    else if (dot == NULL)
        jr_buf_printf(help,
                      "Python looks in the working directory, in PYTHONPATH "
                      "and in the packages of %s",
                      look->interpreter);
}

bool jr_python_module_missing(struct jr_buf *ret_part, struct jr_buf *ret_help,
                              const struct jr_python_look *look, const char *module)
{
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_buf answer JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_clear(ret_part);
    jr_buf_clear(ret_help);
    if (is_binary(look))
        ask_python(&answer, &arena, look, module);
    const struct jr_strv missing = read_answer(&answer, &arena, "missing");
    size_t len = missing.count == 0 ? 0 : strlen(missing.items[0]);
    if (len > 0 && strncmp(module, missing.items[0], len) == 0) {
        jr_buf_str(ret_part, missing.items[0]);
        add_module_help(ret_help, &arena, look, &answer, missing.items[0], module + len);
    }
    jr_arena_release(&arena);
    return len > 0 && ret_part->len > 0 && !ret_part->failed && !ret_help->failed;
}
