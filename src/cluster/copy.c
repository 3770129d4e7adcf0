#include "cluster/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/io.h"
#include "base/shell_words.h"
#include "generated/version.h"

#include "base/banned.h"

#define FILE_MOST  ((size_t)256 << 20)
#define FILES_MOST 1000u

/* Reading. */

static int add_copy_file(struct jr_copy *copy, const char *from, const char *path, bool executable,
                         struct jr_error *err)
{
    struct jr_buf bytes JR_BUF_CLEANUP = JR_BUF_INIT;
    if (jr_io_read_file(&bytes, AT_FDCWD, from, FILE_MOST, err) != 0)
        return jr_error_wrap(err, "%s cannot be copied to the hosts", from);
    struct jr_copy_file *file =
        jr_arena_push(&copy->arena, &copy->files, &copy->count, sizeof *file);
    if (file == NULL)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    *file = (struct jr_copy_file){.path = jr_arena_strdup(&copy->arena, path),
                                  .at = copy->bytes.len,
                                  .len = bytes.len,
                                  .executable = executable};
    jr_hash(file->hash, bytes.data, bytes.len);
    jr_buf_add(&copy->bytes, bytes.data, bytes.len);
    return 0;
}

static int compare_names(const FTSENT **one, const FTSENT **other)
{
    return strcmp((*one)->fts_name, (*other)->fts_name);
}

/* One entry of the folder. What is hidden, and what Python compiles, is left.
 */
static int add_entry(struct jr_copy *copy, FTS *tree, FTSENT *entry, size_t skipped,
                     struct jr_error *err)
{
    bool left = entry->fts_level > 0 &&
                (entry->fts_name[0] == '.' || strcmp(entry->fts_name, "__pycache__") == 0);
    if (left && entry->fts_info == FTS_D)
        (void)fts_set(tree, entry, FTS_SKIP);
    if (left || entry->fts_info != FTS_F || copy->count >= FILES_MOST)
        return 0;
    const char *path = jr_arena_printf(&copy->arena, "support%s", entry->fts_path + skipped);
    return path == NULL ? jr_error_set(err, JR_STATUS_LAUNCH, "out of memory")
                        : add_copy_file(copy, entry->fts_path, path,
                                        (entry->fts_statp->st_mode & 0100) != 0, err);
}

static int add_folder(struct jr_copy *copy, const char *folder, struct jr_error *err)
{
    char *roots[] = {jr_arena_strdup(&copy->arena, folder), NULL};
    FTS *tree =
        roots[0] == NULL ? NULL : fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, compare_names);
    FTSENT *entry;
    int failed = 0;
    if (tree == NULL)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "could not read %s", folder);
    while (failed == 0 && (entry = fts_read(tree)) != NULL)
        failed = add_entry(copy, tree, entry, strlen(folder), err);
    (void)fts_close(tree);
    return failed;
}

static void name_copy(struct jr_copy *copy)
{
    struct jr_buf list JR_BUF_CLEANUP = JR_BUF_INIT;
    char hash[JR_HASH_SIZE];
    for (size_t i = 0; i < copy->count; i++)
        jr_buf_printf(&list, "%s  %s\n", copy->files[i].hash, copy->files[i].path);
    copy->bytes.failed |= list.failed;
    jr_hash(hash, list.len > 0 ? list.data : "", list.len);
    memcpy(copy->hash, hash, JR_COPY_NAME - 1);
    copy->hash[JR_COPY_NAME - 1] = '\0';
}

int jr_copy_read(struct jr_copy *ret, const char *program, const char *support,
                 struct jr_error *err)
{
    struct utsname here = {0};
    *ret = (struct jr_copy){.arena = JR_ARENA_INIT, .bytes = JR_BUF_INIT};
    (void)uname(&here);
    memcpy(ret->machine, here.machine, sizeof ret->machine - 1);
    if (add_copy_file(ret, program, "jobrun", true, err) != 0 ||
        (support != NULL && add_folder(ret, support, err) != 0))
        return -1;
    name_copy(ret);
    return ret->bytes.failed || ret->arena.failed
               ? jr_error_set(err, JR_STATUS_LAUNCH, "out of memory")
               : 0;
}

void jr_copy_release(struct jr_copy *copy)
{
    jr_buf_release(&copy->bytes);
    jr_arena_release(&copy->arena);
}

/* The script: one line, because not every shell takes a word that has several (csh(1)). It has n,
 * v, h, a and z: node, version, hash, machine and bytes. */

/* Whatever is there and of this version is taken. */
static const char begin[] =
    "unset CDPATH; u=$(umask); umask 077; w=$PWD; say() { printf '\\n{\"n\":%s,\"t\":\"%s\"}\\n' "
    "\"$n\" \"$1\"; }; die() { printf '%s\\n' \"$1\" >&2; exit 127; }; no() { die \"cannot copy "
    "jobrun: $1\"; }; run() { cd \"$w\"; umask \"$u\"; say placed; exec \"$1\" agent ssh; }; if "
    "command -v \"$p\" >/dev/null 2>&1 && [ \"$(\"$p\" version </dev/null 2>/dev/null)\" = "
    "\"jobrun $v\" ]; then run \"$p\"; fi; [ \"$(uname -sm)\" = \"Linux $a\" ] || no \"that "
    "machine is $(uname -sm), and this program is for Linux $a\"; command -v sha256sum >/dev/null "
    "2>&1 || no 'there is no sha256sum, by which it is checked'; ";

/* Enter a folder, made if it is missing, that is the user's alone. */
static const char enter[] =
    "into() { [ ! -h \"$1\" ] || no \"$PWD/$1 is a link\"; [ -d \"$1\" ] || e=$(mkdir \"$1\" "
    "2>&1) || [ -d \"$1\" ] || no \"no room: $e\"; cd -P \"$1\" || no \"$PWD/$1 cannot be "
    "entered\"; set -f -- $(ls -ldn .); [ \"$3\" = \"$(id -u)\" ] || no \"$PWD belongs to user "
    "$3\"; case $1 in drwx------*) ;; *) no \"others may use $PWD\";; esac; set +f; }; ";

/* What another start on this machine has left half-way is removed. Two may copy at once: who comes
 * second finds the first one's copy. */
static const char receive[] =
    "copy() { o=$(uname -n); for f in .new.\"$o\".*; do [ ! -d \"$f\" ] || kill -0 \"${f##*.}\" "
    "2>/dev/null || rm -rf \"$f\"; done; t=.new.$o.$$; trap 'rm -rf \"$t\"' EXIT; trap 'exit 1' "
    "HUP INT TERM PIPE; e=$(mkdir \"$t\" 2>&1) || no \"no room: $e\"; say want; e=$(head -c "
    "\"$z\" 2>&1 >\"$t/all\") || no \"no room: $e\"; [ \"$(wc -c <\"$t/all\")\" -eq \"$z\" ] || "
    "exit 1; parts; rm -f \"$t/all\"; (cd \"$t\" && whole) || no 'what arrived is not what was "
    "sent'; if [ -e \"$d\" ]; then is_there || mv \"$d\" \"$t/old\"; fi; [ -e \"$d\" ] || mv "
    "\"$t\" \"$d\" || no \"$PWD/$d cannot be made\"; rm -rf \"$t\" \"$d/old\" \"$d/$t\"; trap - "
    "EXIT HUP INT TERM PIPE; }; part() { e=$({ tail -c \"+$1\" \"$t/all\" | head -c \"$2\" "
    ">\"$t/$4\"; } 2>&1) && chmod \"$3\" \"$t/$4\" || no \"no room: $e\"; }; room() { e=$(mkdir "
    "-p \"$t/$1\" 2>&1) || no \"no room: $e\"; }; ";

static const char end[] = "is_there() { (cd -P \"$d\" 2>/dev/null && whole); }; [ -n \"$HOME\" ] "
                          "|| no 'there is no home folder'; e=$(mkdir -p \"$HOME/.cache\" 2>&1) "
                          "|| no \"no room: $e\"; cd -P \"$HOME/.cache\" || no \"$HOME/.cache "
                          "cannot be entered\"; into jobrun; d=$v-$h; [ ! -h \"$d\" ] || no "
                          "\"$PWD/$d is a link\"; [ ! -d \"$d\" ] || (into \"$d\") || exit 127; "
                          "is_there || copy; into \"$d\"; whole || no \"$PWD is not as it was "
                          "made\"; e=$(./jobrun version </dev/null 2>&1); [ \"$e\" = \"jobrun "
                          "$v\" ] || die \"cannot run the copy of jobrun: $e\"; run "
                          "\"$PWD/jobrun\"";

/* The files by their hashes, as sha256sum(1) checks them. */
static void add_check(struct jr_buf *out, const struct jr_copy *copy)
{
    jr_buf_str(out, "whole() { printf '%s  %s\\n'");
    for (size_t i = 0; i < copy->count; i++) {
        jr_buf_printf(out, " %s ", copy->files[i].hash);
        jr_shell_quote(out, copy->files[i].path);
    }
    jr_buf_str(out, " | sha256sum -c >/dev/null 2>&1; }; ");
}

/* What arrived as one is cut into its files. */
static void add_parts(struct jr_buf *out, const struct jr_copy *copy)
{
    jr_buf_str(out, "parts() { ");
    for (size_t i = 0; i < copy->count; i++) {
        const struct jr_copy_file *file = &copy->files[i];
        const char *slash = strrchr(file->path, '/');
        char *folder = slash == NULL ? NULL : strndup(file->path, (size_t)(slash - file->path));
        if (folder != NULL) {
            jr_buf_str(out, "room ");
            jr_shell_quote(out, folder);
            jr_buf_str(out, "; ");
        }
        free(folder);
        jr_buf_printf(out, "part %zu %zu %s ", file->at + 1, file->len,
                      file->executable ? "700" : "600");
        jr_shell_quote(out, file->path);
        jr_buf_str(out, "; ");
    }
    jr_buf_str(out, "}; ");
}

void jr_copy_add_script(struct jr_buf *out, const struct jr_copy *copy, uint32_t node, bool stated)
{
    jr_buf_printf(out, "n=%u; v=" JR_VERSION "; h=%s; a=%s; z=%zu; ", node, copy->hash,
                  copy->machine, copy->bytes.len);
    if (!stated)
        jr_buf_str(out, "[ -x \"$p\" ] || p=jobrun; ");
    jr_buf_str(out, begin);
    jr_buf_str(out, enter);
    add_check(out, copy);
    jr_buf_str(out, receive);
    add_parts(out, copy);
    jr_buf_str(out, end);
}
