/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * The framework smsc, which Open MPI has since 5.0: reading another process's memory in the way that suits
 * the machine (xpmem, knem, cma).  One module is selected for the process, before BTLs are initialised; or
 * none.
 */
#ifndef FASTPATH_SMSC_COMPAT_H
#define FASTPATH_SMSC_COMPAT_H

#include "compat/fastpath_opal_compat.h"

#if 5 <= OPAL_MAJOR_VERSION
#    include "opal/mca/smsc/smsc.h"
/* not every build of Open MPI exports it */
#    pragma weak mca_smsc
typedef mca_smsc_endpoint_t fastpath_smsc_endpoint_t;
#else
typedef struct fastpath_smsc_endpoint_t fastpath_smsc_endpoint_t;
#endif

/** @return whether a module has been selected */
static inline bool fastpath_smsc(void)
{
#if 5 <= OPAL_MAJOR_VERSION
    return NULL != &mca_smsc && NULL != mca_smsc;
#else
    return false;
#endif
}

/** @return bytes of what fastpath_smsc_register() gives; 0: memory can be read as it is */
static inline size_t fastpath_smsc_handle_size(void)
{
#if 5 <= OPAL_MAJOR_VERSION
    ssize_t size = fastpath_smsc() ? mca_smsc_base_registration_data_size() : 0;

    return 0 < size ? (size_t) size : 0;
#else
    return 0;
#endif
}

/** @return a way to read the memory of a local process, or NULL: there is none */
static inline fastpath_smsc_endpoint_t *fastpath_smsc_connect(opal_proc_t *proc)
{
#if 5 <= OPAL_MAJOR_VERSION
    return MCA_SMSC_CALL(get_endpoint, proc);
#else
    (void) proc;
    return NULL;
#endif
}

/** Give back what fastpath_smsc_connect() has returned. */
static inline void fastpath_smsc_disconnect(fastpath_smsc_endpoint_t *endpoint)
{
#if 5 <= OPAL_MAJOR_VERSION
    MCA_SMSC_CALL(return_endpoint, endpoint);
#else
    (void) endpoint;
#endif
}

/** Read memory of a process. @param handle  that of the memory, where modules want one */
static inline bool fastpath_smsc_read(fastpath_smsc_endpoint_t *endpoint, void *local, uint64_t remote,
                                      size_t size, void *handle)
{
#if 5 <= OPAL_MAJOR_VERSION
    return OPAL_SUCCESS
           == MCA_SMSC_CALL(copy_from, endpoint, local, (void *) (uintptr_t) remote, size, handle);
#else
    (void) endpoint;
    (void) local;
    (void) remote;
    (void) size;
    (void) handle;
    return false;
#endif
}

/** Let others read a piece of our memory. @return fastpath_smsc_handle_size() bytes for them, or NULL */
static inline void *fastpath_smsc_register(void *base, size_t size)
{
#if 5 <= OPAL_MAJOR_VERSION
    return MCA_SMSC_CALL(register_region, base, size);
#else
    (void) base;
    (void) size;
    return NULL;
#endif
}

/** Take that leave back. @param handle  what fastpath_smsc_register() has returned */
static inline void fastpath_smsc_deregister(void *handle)
{
#if 5 <= OPAL_MAJOR_VERSION
    MCA_SMSC_CALL(deregister_region, handle);
#else
    (void) handle;
#endif
}

#endif /* FASTPATH_SMSC_COMPAT_H */
