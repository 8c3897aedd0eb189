/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Differences between Open MPI series at the OPAL level.
 *
 * Only the headers of this directory ask which series they are compiled against.  Everything else calls what
 * they declare.
 */
#ifndef FASTPATH_OPAL_COMPAT_H
#define FASTPATH_OPAL_COMPAT_H

#include "opal_config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opal/constants.h"
#include "opal/datatype/opal_convertor.h"
#include "opal/mca/base/base.h"
#include "opal/mca/base/mca_base_component_repository.h"
#include "opal/mca/btl/btl.h"
#include "opal/mca/mca.h"
#include "opal/util/proc.h"
#include "opal/version.h"

#if 5 <= OPAL_MAJOR_VERSION
#    include "opal/mca/accelerator/base/base.h"
#    include "opal/mca/pmix/pmix-internal.h"
#    include "opal/mca/threads/mutex.h"
#    include "opal/mca/threads/thread_usage.h"
#    include "opal/mca/threads/threads.h"
#    include "opal/util/event.h"
#else
#    include "opal/mca/event/event.h"
#    include "opal/mca/pmix/pmix.h"
#    include "opal/threads/mutex.h"
#    include "opal/threads/thread_usage.h"
#    include "opal/threads/threads.h"
#endif

#if 4 > OPAL_MAJOR_VERSION || (4 == OPAL_MAJOR_VERSION && 1 > OPAL_MINOR_VERSION)
#    error "this Open MPI series is not supported; configure should have said so"
#endif

#define FASTPATH_STRINGIFY2(a) #a
#define FASTPATH_STRINGIFY(a)  FASTPATH_STRINGIFY2(a)

/* "major.minor" of the Open MPI whose headers we are compiled against.  A test build overrides it. */
#if !defined(FASTPATH_BUILT_FOR_SERIES)
#    define FASTPATH_BUILT_FOR_SERIES                                                                        \
        FASTPATH_STRINGIFY(OPAL_MAJOR_VERSION) "." FASTPATH_STRINGIFY(OPAL_MINOR_VERSION)
#endif

/* 1 if what waits in the runtime goes through a table, opal_pmix; 5.0 and later call the runtime directly. */
#define FASTPATH_RUNTIME_TABLE (5 > OPAL_MAJOR_VERSION)

/** Whom published data is for: all processes that may ever meet us. */
#if 5 <= OPAL_MAJOR_VERSION
#    define FASTPATH_MODEX_GLOBAL PMIX_GLOBAL
#else
#    define FASTPATH_MODEX_GLOBAL OPAL_PMIX_GLOBAL
#endif

/**
 * Publish `size` bytes for the other processes of the job under the component's own key.
 *
 * The data is copied.  Call before the modex fence, that is, from a BTL's init.
 *
 * @return OPAL_SUCCESS or the error of the runtime.
 */
static inline int fastpath_modex_send(const mca_base_component_t *component, const void *data, size_t size)
{
    int rc = OPAL_ERROR;

    OPAL_MODEX_SEND(rc, FASTPATH_MODEX_GLOBAL, component, data, size);
    return rc;
}

/**
 * Fetch what `proc` published with fastpath_modex_send().
 *
 * May wait for the data to arrive from another node.
 *
 * @param data  on success a malloc'ed block that the caller frees; otherwise NULL
 * @param size  on success its length in bytes; otherwise 0
 *
 * @return OPAL_SUCCESS, or an error when the process published nothing under this key.
 */
static inline int fastpath_modex_recv(const mca_base_component_t *component, const opal_process_name_t *proc,
                                      void **data, size_t *size)
{
    int rc = OPAL_ERROR;

    *data = NULL;
    *size = 0;
    OPAL_MODEX_RECV(rc, component, proc, data, size);
    if (OPAL_SUCCESS == rc && NULL == *data) {
        rc = OPAL_ERR_NOT_FOUND;
    }
    return rc;
}

/** The same for what `proc` published under a key that is not one of our components'. */
static inline int fastpath_modex_recv_key(const char *key, const opal_process_name_t *proc, void **data,
                                          size_t *size)
{
    int rc = OPAL_ERROR;

    *data = NULL;
    *size = 0;
    OPAL_MODEX_RECV_STRING(rc, key, proc, data, size);
    if (OPAL_SUCCESS == rc && NULL == *data) {
        rc = OPAL_ERR_NOT_FOUND;
    }
    return rc;
}

/**
 * 1 if Open MPI adds the processes of another job on both sides when jobs meet. 5.0 and 6.0 mean to, but
 * hand an empty list to add_procs.
 */
#define FASTPATH_JOBS_ARE_ADDED (5 > OPAL_MAJOR_VERSION)

/**
 * 1 if btl/tcp tells the PML when it has lost a connection, or cannot make one; it then also tells the other
 * end, as the last thing over a connection, that it closes it in MPI_Finalize.
 */
#define FASTPATH_TCP_REPORTS_LOSS (5 <= OPAL_MAJOR_VERSION)

/** 1 if opal_show_help() finds texts that are not Open MPI's own; 6.0 has them compiled in. */
#define FASTPATH_SHOWS_PRIVATE_HELP (6 > OPAL_MAJOR_VERSION)

/** @return whether the runtime has said how many processes of our job this node has, and which we are */
static inline bool fastpath_local_ranks_known(void)
{
#if 5 <= OPAL_MAJOR_VERSION
    return true; /* MPI_Init fails otherwise */
#else
    return 0 <= opal_process_info.num_local_peers && 0 <= opal_process_info.my_local_rank;
#endif
}

/** Find the name of the host that a process runs on, for messages to the user. */
static inline void fastpath_proc_hostname(const opal_proc_t *proc, char *text, size_t size)
{
#if 5 <= OPAL_MAJOR_VERSION
    char *name = opal_get_proc_hostname(proc);

    snprintf(text, size, "%s", NULL == name ? "(unknown)" : name);
    free(name);
#else
    const char *name = opal_get_proc_hostname(proc);

    snprintf(text, size, "%s", NULL == name ? "(unknown)" : name);
#endif
}

/** @return whether this process has an accelerator whose memory only convertors can read and write */
static inline bool fastpath_have_accelerator(void)
{
#if 5 <= OPAL_MAJOR_VERSION
    return 'n' != opal_accelerator_base_selected_component.base_version.mca_component_name[0]; /* null */
#elif OPAL_CUDA_SUPPORT
    return true;
#else
    return false;
#endif
}

/**
 * Whether the memory at `buf` can be read and written as usual: what convertors find out of it, too. Costs
 * nothing but a load where there is no accelerator, and a question to its driver where there is one. Before
 * Open MPI 5.0 a component cannot ask, so in builds that know accelerators it is never so.
 */
static inline bool fastpath_is_host_memory(const void *buf)
{
#if 5 <= OPAL_MAJOR_VERSION
    uint64_t flags = 0;
    int device;

    return OPAL_LIKELY(!fastpath_have_accelerator())
           || (0 >= opal_accelerator.check_addr(buf, &device, &flags)
               && 0 == (MCA_ACCELERATOR_FLAGS_UNIFIED_MEMORY & flags));
#else
    (void) buf;
    return !fastpath_have_accelerator();
#endif
}

/** Whether the data of a convertor can be read and written only by it: it has gaps, another representation,
 * or is an accelerator's. */
static inline bool fastpath_convertor_needs_buffers(const opal_convertor_t *convertor)
{
#if 5 <= OPAL_MAJOR_VERSION
    return opal_convertor_need_buffers(convertor) || opal_convertor_on_device(convertor);
#else
    return opal_convertor_need_buffers(convertor); /* it knows of the memory, too */
#endif
}

/** @return where a BTL keeps its standard parameter accelerator_max_send_size; NULL before Open MPI 5.0 */
static inline size_t *fastpath_btl_accelerator_max_send_size(mca_btl_base_module_t *btl)
{
#if 5 <= OPAL_MAJOR_VERSION
    return &btl->btl_accelerator_max_send_size;
#else
    (void) btl;
    return NULL;
#endif
}

/**
 * Hand a received message to whoever registered for `tag`.
 *
 * @param btl       the BTL it came in on
 * @param endpoint  the sender; series whose callbacks do not know it ignore it
 * @param tag       active message tag from the sender's header
 * @param segments  the message; valid during the call only
 * @param count     of them
 */
static inline void fastpath_btl_deliver_segments(mca_btl_base_module_t *btl,
                                                 struct mca_btl_base_endpoint_t *endpoint,
                                                 mca_btl_base_tag_t tag, mca_btl_base_segment_t *segments,
                                                 size_t count)
{
    mca_btl_active_message_callback_t *reg = mca_btl_base_active_message_trigger + tag;

#if 5 <= OPAL_MAJOR_VERSION
    const mca_btl_base_receive_descriptor_t des = {.endpoint = endpoint,
                                                   .des_segments = segments,
                                                   .des_segment_count = count,
                                                   .tag = tag,
                                                   .cbdata = reg->cbdata};

    reg->cbfunc(btl, &des);
#else
    mca_btl_base_descriptor_t des = {.des_segments = segments, .des_segment_count = count};

    (void) endpoint;
    reg->cbfunc(btl, tag, &des, reg->cbdata);
#endif
}

/**
 * The same for a message in one piece.
 *
 * @param data    the message; valid during the call only
 * @param length  bytes
 */
static inline void fastpath_btl_deliver(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                                        mca_btl_base_tag_t tag, void *data, size_t length)
{
    mca_btl_base_segment_t segment = {.seg_addr.pval = data, .seg_len = length};

    fastpath_btl_deliver_segments(btl, endpoint, tag, &segment, 1);
}

/**
 * Define a function `name` to register with bml_register() that passes what arrived to
 * `handler(mca_btl_base_module_t *btl, const mca_btl_base_segment_t *segments, size_t num_segments)`.
 * The segments are valid during the call only.
 */
#if 5 <= OPAL_MAJOR_VERSION
#    define FASTPATH_BTL_RECV_CALLBACK(name, handler)                                                        \
        static void name(mca_btl_base_module_t *btl, const mca_btl_base_receive_descriptor_t *des)           \
        {                                                                                                    \
            handler(btl, des->des_segments, des->des_segment_count);                                         \
        }
#else
#    define FASTPATH_BTL_RECV_CALLBACK(name, handler)                                                        \
        static void name(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag, mca_btl_base_descriptor_t *des, \
                         void *cbdata)                                                                       \
        {                                                                                                    \
            (void) tag;                                                                                      \
            (void) cbdata;                                                                                   \
            handler(btl, des->des_segments, des->des_segment_count);                                         \
        }
#endif

/* The types and names of 5.0 and later. */
#if 5 > OPAL_MAJOR_VERSION
typedef volatile int32_t opal_atomic_int32_t;
typedef volatile int64_t opal_atomic_int64_t;
typedef volatile intptr_t opal_atomic_intptr_t;
#    define MCA_MPOOL_BASE_VERSION_3_1_0 MCA_MPOOL_BASE_VERSION_3_0_0
#endif

/* Component number i of those that are part of Open MPI's libraries, or NULL. */
static inline const mca_base_component_t *fastpath_static_component(const mca_base_framework_t *framework,
                                                                    size_t i)
{
#if 6 <= OPAL_MAJOR_VERSION
    return NULL == framework->framework_static_components[i] ? NULL
                                                             : *framework->framework_static_components[i];
#else
    return framework->framework_static_components[i];
#endif
}

/**
 * Whether this Open MPI has a component of that name in an open framework: part of its libraries, or a file
 * where it looks for such.  Whether that is selected, or can be loaded, does not matter.
 */
static inline bool fastpath_component_exists(mca_base_framework_t *framework, const char *name)
{
    const mca_base_component_t *component;
    mca_base_component_repository_item_t *item;
    opal_list_t *files = NULL;

    for (size_t i = 0; NULL != framework->framework_static_components
                       && NULL != (component = fastpath_static_component(framework, i));
         ++i) {
        if (0 == strcmp(name, component->mca_component_name)) {
            return true;
        }
    }
    if (OPAL_SUCCESS != mca_base_component_repository_get_components(framework, &files) || NULL == files) {
        return false;
    }
    OPAL_LIST_FOREACH(item, files, mca_base_component_repository_item_t)
    {
        if (0 == strcmp(name, item->ri_name)) {
            return true;
        }
    }
    return false;
}

#endif /* FASTPATH_OPAL_COMPAT_H */
