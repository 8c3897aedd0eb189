/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/*
 * To be preloaded: a process ends by SIGKILL when a component says FP_STEP with enough verbosity, for
 * instance that it is at a step of a move to a deeper FIFO (btl_fastsm_deep.c), if it has announced itself as
 * the victim by putting FP_VICTIM into its environment.
 */

#if !defined(_GNU_SOURCE)
#    define _GNU_SOURCE
#endif

#include <dlfcn.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void vverbose_function_t(int level, int id, const char *format, va_list args);

static void end_at_step(const char *format, va_list args)
{
    const char *step = getenv("FP_STEP");
    char line[256] = "";

    if (NULL != step && NULL != getenv("FP_VICTIM")) {
        vsnprintf(line, sizeof(line), format, args);
        if (NULL != strstr(line, step)) {
            (void) raise(SIGKILL);
        }
    }
}

static void print(int level, int id, const char *format, va_list args)
{
    vverbose_function_t *real = (vverbose_function_t *) dlsym(RTLD_NEXT, "opal_output_vverbose");

    if (NULL != real) {
        real(level, id, format, args);
    }
}

/* Components of Open MPI 4.1 call this one. */
void opal_output_verbose(int level, int id, const char *format, ...);
void opal_output_verbose(int level, int id, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    end_at_step(format, args);
    va_end(args);
    va_start(args, format);
    print(level, id, format, args);
    va_end(args);
}

/* Since 5.0 it is a macro that asks for the verbosity first and then calls this one. */
void opal_output(int id, const char *format, ...);
void opal_output(int id, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    end_at_step(format, args);
    va_end(args);
    va_start(args, format);
    print(INT_MIN, id, format, args);
    va_end(args);
}
