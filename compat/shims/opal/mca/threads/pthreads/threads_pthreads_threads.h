/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/*
 * Stand-in for a header that Open MPI 5.0 and 6.0 do not install; opal/mca/threads/threads.h reaches it
 * through a macro of opal_config.h.
 */
#ifndef FASTPATH_SHIM_THREADS_PTHREADS_THREADS_H
#define FASTPATH_SHIM_THREADS_PTHREADS_THREADS_H

#include "opal_config.h"

#define OPAL_THREAD_YIELD_WHEN_IDLE_DEFAULT false

/* exported by libopen-pal: how to yield is the user's choice */
OPAL_DECLSPEC extern void (*opal_threads_pthreads_yield_fn)(void);

static inline void opal_thread_yield(void)
{
    opal_threads_pthreads_yield_fn();
}

#endif /* FASTPATH_SHIM_THREADS_PTHREADS_THREADS_H */
