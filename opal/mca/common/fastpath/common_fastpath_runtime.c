/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "compat/fastpath_opal_compat.h"

#include <stdatomic.h>
#include <unistd.h>

#include "opal/runtime/opal_progress.h"

#include "common_fastpath_runtime.h"
#include "common_fastpath_thread.h"

#if FASTPATH_RUNTIME_TABLE

/** between two calls of opal_progress, as in MPI_Finalize */
#    define PAUSE_US 100

/** What the runtime had in these places, if ours are there. */
static struct {
    bool installed;
    opal_pmix_base_module_fence_fn_t fence;
    opal_pmix_base_module_lookup_fn_t lookup;
    opal_pmix_base_module_connect_fn_t connect;
} stock;

/** A call into the runtime, made by a thread of its own. */
typedef struct operation_t operation_t;
struct operation_t {
    int (*call)(const operation_t *operation);
    opal_list_t *list; /**< the call's arguments */
    opal_list_t *info;
    int collect_data;
    int rc;
    _Atomic bool done; /**< rc and what the arguments lead to are the caller's again */
};

static void *operation_main(void *argument)
{
    operation_t *operation = argument;

    operation->rc = operation->call(operation);
    /* D1.  Partner: D2.  The call has written all that it writes. */
    atomic_store_explicit(&operation->done, true, memory_order_release);
    return NULL;
}

static int run(operation_t *operation)
{
    pthread_t thread;

    if (!mca_common_fastpath_thread_start(&thread, operation_main, operation)) {
        return operation->call(operation);
    }
    /* D2.  Partner: D1. */
    while (!atomic_load_explicit(&operation->done, memory_order_acquire)) {
        opal_progress();
        usleep(PAUSE_US);
    }
    pthread_join(thread, NULL);
    return operation->rc;
}

static int fence_call(const operation_t *operation)
{
    return stock.fence(operation->list, operation->collect_data);
}

static int fence(opal_list_t *procs, int collect_data)
{
    operation_t operation = {.call = fence_call, .list = procs, .collect_data = collect_data};

    return run(&operation);
}

static int lookup_call(const operation_t *operation)
{
    return stock.lookup(operation->list, operation->info);
}

static int lookup(opal_list_t *data, opal_list_t *info)
{
    operation_t operation = {.call = lookup_call, .list = data, .info = info};

    return run(&operation);
}

static int connect_call(const operation_t *operation)
{
    return stock.connect(operation->list);
}

static int connect_procs(opal_list_t *procs)
{
    operation_t operation = {.call = connect_call, .list = procs};

    return run(&operation);
}

void mca_common_fastpath_runtime_install(void)
{
    if (stock.installed) {
        return;
    }
    stock.installed = true;
    stock.fence = opal_pmix.fence;
    stock.lookup = opal_pmix.lookup;
    stock.connect = opal_pmix.connect;
    opal_pmix.fence = NULL == stock.fence ? NULL : fence;
    opal_pmix.lookup = NULL == stock.lookup ? NULL : lookup;
    opal_pmix.connect = NULL == stock.connect ? NULL : connect_procs;
}

void mca_common_fastpath_runtime_remove(void)
{
    if (!stock.installed) {
        return;
    }
    stock.installed = false;
    opal_pmix.fence = stock.fence;
    opal_pmix.lookup = stock.lookup;
    opal_pmix.connect = stock.connect;
}

#else

void mca_common_fastpath_runtime_install(void)
{
}

void mca_common_fastpath_runtime_remove(void)
{
}

#endif /* FASTPATH_RUNTIME_TABLE */
