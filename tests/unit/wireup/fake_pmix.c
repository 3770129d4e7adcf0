/*
 * A library that stands for PMIx's: it has the functions that jobrun calls. The name of the world
 * says what goes wrong: "init", "nspace", "client" and "fork" are what fails, "crash" kills the
 * process, and "mute" never says that an operation is done. Where FAKE is "slow", it never begins.
 * As it is finalized, rank 0 connects and finalizes, and rank 1 connects and aborts with 3.
 *
 * In the world "nodes", which is one of two nodes with two ranks each, it begins a fence of all and
 * one of the ranks 0 and 3, and asks for the data of rank 0, as soon as it has said by which
 * variables it is found. What comes of these is told by the codes of aborts: so many bytes, or less
 * than 0 the status. The world "strangers" is such a one, and it begins with what is of ranks that
 * are none: a fence, the data of any rank, and those of a rank of another world.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "wireup/pmix_abi.h"

#define PUBLIC __attribute__((visibility("default")))

enum { FAILED = -1, RANKS = 64 };

static struct jr_pmix_module module;
static void *objects[RANKS];
static char world[JR_PMIX_NAME_BYTES];

static int is_called(const char *name)
{
    return strcmp(world, name) == 0;
}

static int has_nodes(void)
{
    return is_called("nodes") || is_called("strangers");
}

PUBLIC const char *PMIx_Error_string(int status);
PUBLIC const char *PMIx_Error_string(int status)
{
    return status == FAILED ? "FAKE-FAILED" : "FAKE-SUCCESS";
}

/* The folder's last part is where the test says what is to fail so early. */
PUBLIC int PMIx_server_init(struct jr_pmix_module *given, struct jr_pmix_info *infos, size_t count);
PUBLIC int PMIx_server_init(struct jr_pmix_module *given, struct jr_pmix_info *infos, size_t count)
{
    const char *folder = infos[0].value.data.string;
    module = *given;
    if (count != 3 || strcmp(infos[0].key, "pmix.srvr.tmpdir") != 0 ||
        strcmp(infos[2].key, "pmix.hname") != 0 || infos[2].value.data.string[0] == '\0' ||
        getenv("OMPI_FOREIGN") != NULL || getenv("FAKE") == NULL)
        return FAILED;
    while (strcmp(getenv("FAKE"), "slow") == 0)
        (void)pause();
    return strcmp(folder, "/init") == 0 ? FAILED : 0;
}

static char *copy(const char *text)
{
    return strdup(text);
}

PUBLIC int PMIx_server_register_nspace(const char *name, int count, struct jr_pmix_info *infos,
                                       size_t keys, jr_pmix_done *done, void *data);
PUBLIC int PMIx_server_register_nspace(const char *name, int count, struct jr_pmix_info *infos,
                                       size_t keys, jr_pmix_done *done, void *data)
{
    (void)snprintf(world, sizeof world, "%s", name);
    if (is_called("crash"))
        (void)raise(SIGKILL);
    int all = has_nodes() ? 4 : 2;
    static const char *const known[] = {"pmix.nmap",      "pmix.pmap",       "pmix.job.size",
                                        "pmix.univ.size", "pmix.local.size", "pmix.lpeers"};
    for (size_t i = 0; i < 6 && i < keys; i++)
        if (strcmp(infos[i].key, known[i]) != 0)
            return FAILED;
    if (keys != 6 || count != 2 ||
        (all == 4 && strcmp(infos[0].value.data.string, "there,here") != 0) ||
        strcmp(infos[1].value.data.string, all == 4 ? "0,1;2,3" : "0,1") != 0 ||
        infos[2].value.data.uint32 != (uint32_t)all ||
        infos[3].value.data.uint32 != (uint32_t)all ||
        infos[4].value.data.uint32 != (uint32_t)count ||
        strcmp(infos[5].value.data.string, all == 4 ? "2,3" : "0,1") != 0)
        return FAILED;
    if (is_called("nspace"))
        return FAILED;
    done(0, data);
    return 0;
}

PUBLIC int PMIx_server_register_client(const struct jr_pmix_proc *proc, uid_t uid, gid_t gid,
                                       void *object, jr_pmix_done *done, void *data);
PUBLIC int PMIx_server_register_client(const struct jr_pmix_proc *proc, uid_t uid, gid_t gid,
                                       void *object, jr_pmix_done *done, void *data)
{
    (void)gid;
    if (uid != geteuid() || proc->rank >= RANKS || strcmp(proc->nspace, world) != 0)
        return FAILED;
    objects[proc->rank] = object;
    done(is_called("client") && proc->rank == 1 ? FAILED : 0, data);
    return 0;
}

static struct jr_pmix_proc proc_of(uint32_t rank)
{
    struct jr_pmix_proc proc = {.rank = rank};
    memcpy(proc.nspace, world, sizeof proc.nspace);
    return proc;
}

/* Rank `data` aborts with what came. */
static void on_exchanged(int status, const char *bytes, size_t len, void *data,
                         jr_pmix_release *release, void *object)
{
    const struct jr_pmix_proc *proc = data;
    int right = status == 0 && len > 0 && bytes[len - 1] == '.';
    (void)module.abort(proc, objects[2], right ? (int)len : status, "N/A", NULL, 0, NULL, NULL);
    release(object);
}

static void begin_to_exchange(void)
{
    static struct jr_pmix_proc procs[3];
    const struct jr_pmix_proc all = proc_of(JR_PMIX_ALL_RANKS);
    const struct jr_pmix_proc some[] = {proc_of(3), proc_of(0)};
    for (uint32_t i = 0; i < 3; i++)
        procs[i] = proc_of(i);
    (void)module.fence_nb(&all, 1, NULL, 0, copy("mine"), 4, on_exchanged, &procs[0]);
    (void)module.fence_nb(some, 2, NULL, 0, NULL, 0, on_exchanged, &procs[1]);
    (void)module.direct_modex(&procs[0], NULL, 0, on_exchanged, &procs[2]);
}

static void begin_with_strangers(void)
{
    static struct jr_pmix_proc procs[3];
    const struct jr_pmix_proc some[] = {proc_of(2), proc_of(4)};
    const struct jr_pmix_proc any = proc_of(UINT32_MAX);
    const struct jr_pmix_proc other = {.nspace = "other", .rank = 0};
    for (uint32_t i = 0; i < 3; i++)
        procs[i] = proc_of(i);
    (void)module.fence_nb(some, 2, NULL, 0, copy("mine"), 4, on_exchanged, &procs[0]);
    (void)module.direct_modex(&any, NULL, 0, on_exchanged, &procs[1]);
    (void)module.direct_modex(&other, NULL, 0, on_exchanged, &procs[2]);
}

/* Another server asks for data of a rank here. */
PUBLIC int PMIx_server_dmodex_request(const struct jr_pmix_proc *proc, jr_pmix_found *done,
                                      void *data);
PUBLIC int PMIx_server_dmodex_request(const struct jr_pmix_proc *proc, jr_pmix_found *done,
                                      void *data)
{
    char bytes[] = "data of 2";
    if (strcmp(proc->nspace, world) != 0 || proc->rank != 2)
        return FAILED;
    done(0, bytes, sizeof bytes - 1, data);
    return 0;
}

PUBLIC int PMIx_server_setup_fork(const struct jr_pmix_proc *proc, char ***env);
PUBLIC int PMIx_server_setup_fork(const struct jr_pmix_proc *proc, char ***env)
{
    char **items = calloc(4, sizeof *items);
    uint32_t first = has_nodes() ? 2 : 0;
    if (items == NULL || proc->rank != first || is_called("fork"))
        return FAILED;
    items[0] = copy("PMIX_NAMESPACE=fake");
    items[1] = copy("PMIX_RANK=0");
    items[2] = copy("PMIX_SERVER_URI=here");
    *env = items;
    if (is_called("strangers"))
        begin_with_strangers();
    if (has_nodes())
        begin_to_exchange();
    return 0;
}

PUBLIC int PMIx_server_finalize(void);
PUBLIC int PMIx_server_finalize(void)
{
    const struct jr_pmix_proc first = proc_of(0), second = proc_of(1);
    if (has_nodes())
        return 0;
    (void)module.client_connected(&first, objects[0], NULL, NULL);
    (void)module.client_connected(&second, objects[1], NULL, NULL);
    (void)module.client_finalized(&first, objects[0], NULL, NULL);
    if (module.spawn(&second, NULL, 0, NULL, 0, NULL, NULL) == JR_PMIX_NOT_SUPPORTED)
        (void)module.abort(&second, objects[1], 3, "N/A", NULL, 0, NULL, NULL);
    return 0;
}
