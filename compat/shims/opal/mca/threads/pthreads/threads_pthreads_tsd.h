/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/*
 * Stand-in for a header that Open MPI 5.0 and 6.0 do not install; opal/mca/threads/tsd.h reaches it through
 * a macro of opal_config.h.
 */
#ifndef FASTPATH_SHIM_THREADS_PTHREADS_TSD_H
#define FASTPATH_SHIM_THREADS_PTHREADS_TSD_H

#include "opal_config.h"

#include <pthread.h>

#include "opal/constants.h"

typedef pthread_key_t opal_tsd_key_t;

static inline int opal_tsd_key_delete(opal_tsd_key_t key)
{
    return 0 == pthread_key_delete(key) ? OPAL_SUCCESS : OPAL_ERR_IN_ERRNO;
}

static inline int opal_tsd_set(opal_tsd_key_t key, void *value)
{
    return 0 == pthread_setspecific(key, value) ? OPAL_SUCCESS : OPAL_ERR_IN_ERRNO;
}

static inline int opal_tsd_get(opal_tsd_key_t key, void **value)
{
    *value = pthread_getspecific(key);
    return OPAL_SUCCESS;
}

#endif /* FASTPATH_SHIM_THREADS_PTHREADS_TSD_H */
