/*
 * The part of PMIx's C interface that jobrun calls, as libpmix.so.2 has it since version 3 of the
 * reference library (OpenPMIx): jobrun loads the library when a program wants it, and is built
 * without its headers. Names are the standard's (https://pmix.github.io).
 */
#ifndef JR_PMIX_ABI_H
#define JR_PMIX_ABI_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define JR_PMIX_LIBRARY "libpmix.so.2"

enum {
    JR_PMIX_NAME_BYTES = 256,
    JR_PMIX_KEY_BYTES = 512,
    JR_PMIX_MODULE_ROOM = 64, /* functions: later versions have more of them */
    JR_PMIX_SUCCESS = 0,
    JR_PMIX_NO_MEMORY = -32,
    JR_PMIX_NOT_FOUND = -46,
    JR_PMIX_NOT_SUPPORTED = -47,
    JR_PMIX_STRING = 3,
    JR_PMIX_UINT32 = 14
};

#define JR_PMIX_ALL_RANKS (UINT32_MAX - 1) /* PMIX_RANK_WILDCARD */

/* pmix_proc_t */
struct jr_pmix_proc {
    char nspace[JR_PMIX_NAME_BYTES];
    uint32_t rank;
};

/* pmix_value_t, with the members of its union that are used; the largest one has three words. */
struct jr_pmix_value {
    uint16_t type;
    union {
        char *string;
        uint32_t uint32;
        struct {
            char *bytes;
            size_t size;
        } bo;
        uint64_t room[3];
    } data;
};

/* pmix_info_t */
struct jr_pmix_info {
    char key[JR_PMIX_KEY_BYTES];
    uint32_t flags;
    struct jr_pmix_value value;
};

_Static_assert(sizeof(void *) != 8 || sizeof(struct jr_pmix_info) == 552, "as the library has it");

/* pmix_op_cbfunc_t */
typedef void jr_pmix_done(int status, void *data);

/* pmix_release_cbfunc_t */
typedef void jr_pmix_release(void *data);

/* pmix_modex_cbfunc_t: the bytes are valid until `release`, which may be NULL, is called with
 * `object`. */
typedef void jr_pmix_exchanged(int status, const char *bytes, size_t len, void *data,
                               jr_pmix_release *release, void *object);

/* pmix_dmodex_response_fn_t: the bytes are valid until it returns. */
typedef void jr_pmix_found(int status, char *bytes, size_t len, void *data);

/* pmix_server_module_t: what the library calls. A NULL is not supported. */
struct jr_pmix_module {
    int (*client_connected)(const struct jr_pmix_proc *proc, void *object, jr_pmix_done *done,
                            void *data);
    int (*client_finalized)(const struct jr_pmix_proc *proc, void *object, jr_pmix_done *done,
                            void *data);
    int (*abort)(const struct jr_pmix_proc *proc, void *object, int status, const char *message,
                 struct jr_pmix_proc *procs, size_t count, jr_pmix_done *done, void *data);
    /* The bytes are the callee's, to be freed. */
    int (*fence_nb)(const struct jr_pmix_proc *procs, size_t count,
                    const struct jr_pmix_info *infos, size_t infos_count, char *bytes, size_t len,
                    jr_pmix_exchanged *done, void *data);
    int (*direct_modex)(const struct jr_pmix_proc *proc, const struct jr_pmix_info *infos,
                        size_t infos_count, jr_pmix_exchanged *done, void *data);
    void (*names[3])(void); /* publish, lookup and unpublish */
    int (*spawn)(const struct jr_pmix_proc *proc, const struct jr_pmix_info *infos,
                 size_t infos_count, const void *apps, size_t apps_count, void (*done)(void),
                 void *data);
    void (*others[JR_PMIX_MODULE_ROOM])(void); /* from connect on */
};

/* The library's functions, by the names of their symbols. */
#define JR_PMIX_FUNCTIONS(X)                                                                       \
    X(PMIx_server_init, int, (struct jr_pmix_module *, struct jr_pmix_info *, size_t))             \
    X(PMIx_server_finalize, int, (void))                                                           \
    X(PMIx_server_register_nspace, int,                                                            \
      (const char *, int, struct jr_pmix_info *, size_t, jr_pmix_done *, void *))                  \
    X(PMIx_server_register_client, int,                                                            \
      (const struct jr_pmix_proc *, uid_t, gid_t, void *, jr_pmix_done *, void *))                 \
    X(PMIx_server_setup_fork, int, (const struct jr_pmix_proc *, char ***))                        \
    X(PMIx_server_dmodex_request, int, (const struct jr_pmix_proc *, jr_pmix_found *, void *))     \
    X(PMIx_Error_string, const char *, (int))

struct jr_pmix_library {
#define JR_PMIX_FUNCTION(name, type, parameters) type(*name) parameters;
    JR_PMIX_FUNCTIONS(JR_PMIX_FUNCTION)
#undef JR_PMIX_FUNCTION
};

#endif
