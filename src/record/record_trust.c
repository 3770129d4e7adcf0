#include "record/record_trust.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/user.h"

#include "base/banned.h"

bool jr_trust_is_ours(const struct jr_trust *trust)
{
    return trust->verdict == JR_TRUST_OURS;
}

static struct jr_trust judge_file(const struct stat *st, unsigned what)
{
    struct jr_trust trust = {JR_TRUST_OURS, what, st->st_uid};
    if (st->st_uid != geteuid())
        trust.verdict = JR_TRUST_THEIRS;
    else if ((st->st_mode & S_IWOTH) != 0)
        trust.verdict = JR_TRUST_OPEN;
    return trust;
}

struct jr_trust jr_trust_folder(int fd)
{
    struct stat st = {.st_uid = (uid_t)-1};
    (void)fstat(fd, &st);
    return judge_file(&st, JR_TRUST_FOLDER);
}

/* The folder above: root's is as good as ours, and where everybody may write,
 * the sticky bit keeps what is ours in its place. */
static struct jr_trust judge_folder_above(int dir_fd)
{
    struct stat st = {.st_uid = (uid_t)-1};
    (void)fstat(dir_fd, &st);
    struct jr_trust trust = judge_file(&st, JR_TRUST_LOG_DIR);
    if (trust.verdict == JR_TRUST_THEIRS && st.st_uid == 0)
        trust.verdict =
            (st.st_mode & S_IWOTH) != 0 ? JR_TRUST_OPEN : JR_TRUST_OURS;
    if (trust.verdict == JR_TRUST_OPEN && (st.st_mode & S_ISVTX) != 0)
        trust.verdict = JR_TRUST_OURS;
    return trust;
}

struct jr_trust jr_trust_run(int dir_fd, int run_fd)
{
    static const struct {
        const char *name;
        unsigned what;
    } files[] = {{"run.json", JR_TRUST_RECORD},
                 {"resolved.yaml", JR_TRUST_SPEC}};
    struct jr_trust trust = jr_trust_folder(run_fd);
    if (jr_trust_is_ours(&trust))
        trust = judge_folder_above(dir_fd);
    for (size_t i = 0; i < 2 && jr_trust_is_ours(&trust); i++) {
        struct stat st;
        if (fstatat(run_fd, files[i].name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            !S_ISLNK(st.st_mode))
            trust = judge_file(&st, files[i].what);
    }
    return trust;
}

void jr_trust_explain(struct jr_buf *out, const struct jr_trust *trust)
{
    static const char *const places[] = {
        [JR_TRUST_FOLDER] = "",
        [JR_TRUST_LOG_DIR] = "lies in a log_dir that ",
        [JR_TRUST_RECORD] = "has a run.json that ",
        [JR_TRUST_SPEC] = "has a resolved.yaml that "};
    jr_buf_str(out, places[trust->what]);
    if (trust->verdict == JR_TRUST_OPEN) {
        jr_buf_printf(out, "%severybody may write to",
                      trust->what == JR_TRUST_FOLDER ? "is a folder that "
                                                     : "");
        return;
    }
    jr_buf_str(out, "belongs to user ");
    jr_user_print(out, trust->owner);
    jr_buf_str(out, ", not to you");
}
