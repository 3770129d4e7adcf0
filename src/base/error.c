/* Texts of errors: the functions of jobrun/error.h that fill a jr_error. */
#include <jobrun/error.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/banned.h"

/* The formatted text and, unless it is NULL, ": " and `tail`; what does not fit is cut. */
__attribute__((format(printf, 2, 0))) static void write_error_text(struct jr_error *err,
                                                                   const char *format, va_list args,
                                                                   const char *tail)
{
    (void)vsnprintf(err->text, sizeof err->text, format, args);
    size_t len = strlen(err->text);
    if (tail != NULL)
        (void)snprintf(err->text + len, sizeof err->text - len, ": %s", tail);
}

int jr_error_set(struct jr_error *err, enum jr_status status, const char *format, ...)
{
    if (err == NULL)
        return -1;
    va_list args;
    *err = (struct jr_error){.status = status};
    va_start(args, format);
    write_error_text(err, format, args, NULL);
    va_end(args);
    return -1;
}

int jr_error_sys(struct jr_error *err, enum jr_status status, const char *format, ...)
{
    int sys = errno;
    if (err == NULL)
        return -1;
    va_list args;
    *err = (struct jr_error){.status = status, .sys = sys};
    va_start(args, format);
    write_error_text(err, format, args, strerror(sys));
    va_end(args);
    errno = sys;
    return -1;
}

int jr_error_wrap(struct jr_error *err, const char *format, ...)
{
    if (err == NULL)
        return -1;
    const struct jr_error inner = *err;
    va_list args;
    va_start(args, format);
    write_error_text(err, format, args, inner.text);
    va_end(args);
    return -1;
}
