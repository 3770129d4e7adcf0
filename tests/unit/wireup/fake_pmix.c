/*
 * A library that stands for PMIx's: it has the functions that jobrun calls. The
 * name of the world says what goes wrong: "init", "nspace", "client" and "fork"
 * are what fails, "crash" kills the process, and "mute" never says that an
 * operation is done. As it is finalized, rank 0 connects and finalizes, and
 * rank 1 connects and aborts with 3.
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

PUBLIC const char *PMIx_Error_string(int status);
PUBLIC const char *PMIx_Error_string(int status)
{
    return status == FAILED ? "FAKE-FAILED" : "FAKE-SUCCESS";
}

/* The folder's last part is where the test says what is to fail so early. */
PUBLIC int PMIx_server_init(struct jr_pmix_module *given,
                            struct jr_pmix_info *infos, size_t count);
PUBLIC int PMIx_server_init(struct jr_pmix_module *given,
                            struct jr_pmix_info *infos, size_t count)
{
    const char *folder = infos[0].value.data.string;
    module = *given;
    if (count != 2 || strcmp(infos[0].key, "pmix.srvr.tmpdir") != 0 ||
        getenv("OMPI_FOREIGN") != NULL || getenv("FAKE") == NULL)
        return FAILED;
    return strcmp(folder, "/init") == 0 ? FAILED : 0;
}

static char *copy(const char *text)
{
    return strdup(text);
}

PUBLIC int PMIx_generate_regex(const char *nodes, char **ret);
PUBLIC int PMIx_generate_regex(const char *nodes, char **ret)
{
    *ret = copy(nodes);
    return 0;
}

PUBLIC int PMIx_generate_ppn(const char *ranks, char **ret);
PUBLIC int PMIx_generate_ppn(const char *ranks, char **ret)
{
    *ret = copy(ranks);
    return 0;
}

PUBLIC int PMIx_server_register_nspace(const char *name, int count,
                                       struct jr_pmix_info *infos, size_t keys,
                                       jr_pmix_done *done, void *data);
PUBLIC int PMIx_server_register_nspace(const char *name, int count,
                                       struct jr_pmix_info *infos, size_t keys,
                                       jr_pmix_done *done, void *data)
{
    (void)snprintf(world, sizeof world, "%s", name);
    if (is_called("crash"))
        (void)raise(SIGKILL);
    if (keys != 6 || strcmp(infos[1].value.data.bo.bytes, "0,1") != 0 ||
        infos[2].value.data.uint32 != (uint32_t)count ||
        strcmp(infos[5].value.data.string, "0,1") != 0)
        return FAILED;
    if (is_called("nspace"))
        return FAILED;
    done(0, data);
    return 0;
}

PUBLIC int PMIx_server_register_client(const struct jr_pmix_proc *proc,
                                       uid_t uid, gid_t gid, void *object,
                                       jr_pmix_done *done, void *data);
PUBLIC int PMIx_server_register_client(const struct jr_pmix_proc *proc,
                                       uid_t uid, gid_t gid, void *object,
                                       jr_pmix_done *done, void *data)
{
    (void)gid;
    if (uid != geteuid() || proc->rank >= RANKS ||
        strcmp(proc->nspace, world) != 0)
        return FAILED;
    objects[proc->rank] = object;
    done(is_called("client") && proc->rank == 1 ? FAILED : 0, data);
    return 0;
}

PUBLIC int PMIx_server_setup_fork(const struct jr_pmix_proc *proc, char ***env);
PUBLIC int PMIx_server_setup_fork(const struct jr_pmix_proc *proc, char ***env)
{
    char **items = calloc(4, sizeof *items);
    if (items == NULL || proc->rank != 0 || is_called("fork"))
        return FAILED;
    items[0] = copy("PMIX_NAMESPACE=fake");
    items[1] = copy("PMIX_RANK=0");
    items[2] = copy("PMIX_SERVER_URI=here");
    *env = items;
    return 0;
}

static struct jr_pmix_proc proc_of(uint32_t rank)
{
    struct jr_pmix_proc proc = {.rank = rank};
    memcpy(proc.nspace, world, sizeof proc.nspace);
    return proc;
}

PUBLIC int PMIx_server_finalize(void);
PUBLIC int PMIx_server_finalize(void)
{
    const struct jr_pmix_proc first = proc_of(0), second = proc_of(1);
    (void)module.client_connected(&first, objects[0], NULL, NULL);
    (void)module.client_connected(&second, objects[1], NULL, NULL);
    (void)module.client_finalized(&first, objects[0], NULL, NULL);
    (void)module.abort(&second, objects[1], 3, "N/A", NULL, 0, NULL, NULL);
    return 0;
}
