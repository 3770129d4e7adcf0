/*
 * System calls that leave errno alone, for a process that shares its memory with one that runs on
 * beside it: errno belongs to a thread, and the two look like one to the C library.
 */
#ifndef JR_RAW_CALL_H
#define JR_RAW_CALL_H

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Whether errno really stays as it is: on the machines below. AddressSanitizer keeps notes about
 * stacks by thread, too. */
#ifdef __has_feature
#define JR_RAW_CHECKED __has_feature(address_sanitizer)
#elif defined __SANITIZE_ADDRESS__
#define JR_RAW_CHECKED 1
#else
#define JR_RAW_CHECKED 0
#endif
#if JR_RAW_CHECKED
#define JR_RAW_CALLS 0
#elif defined __x86_64__ && defined __LP64__
#define JR_RAW_CALLS 1
#elif defined __aarch64__ && defined __LP64__
#define JR_RAW_CALLS 1
#else
#define JR_RAW_CALLS 0
#endif

/* A pointer as an argument. */
#define JR_RAW(pointer) ((long)(pointer))

/* The call `number` of syscalls(2). Returns what it returns, or -E for the errno E. */
static inline long jr_raw_call(long number, long a, long b, long c, long d)
{
#if JR_RAW_CALLS && defined __x86_64__
    long result;
    register long fourth __asm__("r10") = d;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth)
                     : "rcx", "r11", "memory");
    return result;
#elif JR_RAW_CALLS
    register long call __asm__("x8") = number;
    register long result __asm__("x0") = a;
    register long second __asm__("x1") = b;
    register long third __asm__("x2") = c;
    register long fourth __asm__("x3") = d;
    __asm__ volatile("svc 0"
                     : "+r"(result)
                     : "r"(call), "r"(second), "r"(third), "r"(fourth)
                     : "memory");
    return result;
#else
    long result = syscall(number, a, b, c, d);
    return result == -1 ? -errno : result;
#endif
}

#endif
