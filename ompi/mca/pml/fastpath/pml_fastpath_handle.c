/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include "opal/class/opal_pointer_array.h"

#include "pml_fastpath_handle.h"

/* An entry of the table. It keeps its index for ever. */
typedef struct {
    opal_free_list_item_t super;
    uint32_t index;
    uint32_t generation; /* of its present use, never 0; the upper half of the handle */
    mca_pml_fastpath_handle_kind_t kind;
    void *object;
    opal_atomic_int64_t *todo;
} entry_t;

static void entry_construct(entry_t *entry)
{
    entry->generation = 1;
    entry->kind = MCA_PML_FASTPATH_HANDLE_FREE;
}

static OBJ_CLASS_INSTANCE(entry_t, opal_free_list_item_t, entry_construct, NULL);

static struct {
    opal_mutex_t lock;          /* taken last; protects what the entries say */
    opal_free_list_t entries;   /* those that name nothing */
    opal_pointer_array_t table; /* all, by index */
} handles;

static int entry_init(opal_free_list_item_t *item, void *context)
{
    int index = opal_pointer_array_add(&handles.table, item);

    (void) context;
    if (0 > index) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    ((entry_t *) item)->index = (uint32_t) index;
    return OMPI_SUCCESS;
}

int mca_pml_fastpath_handles_init(void)
{
    OBJ_CONSTRUCT(&handles.lock, opal_mutex_t);
    OBJ_CONSTRUCT(&handles.entries, opal_free_list_t);
    OBJ_CONSTRUCT(&handles.table, opal_pointer_array_t);
    if (OPAL_SUCCESS != opal_pointer_array_init(&handles.table, 64, INT32_MAX, 64)) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    return opal_free_list_init(&handles.entries, sizeof(entry_t), opal_cache_line_size, OBJ_CLASS(entry_t), 0,
                               opal_cache_line_size, 0, -1, (int) mca_pml_fastpath.free_list_inc, NULL, 0,
                               NULL, entry_init, NULL);
}

void mca_pml_fastpath_handles_fini(void)
{
    OBJ_DESTRUCT(&handles.entries);
    OBJ_DESTRUCT(&handles.table);
    OBJ_DESTRUCT(&handles.lock);
}

uint64_t mca_pml_fastpath_handle_new(mca_pml_fastpath_handle_kind_t kind, void *object,
                                     opal_atomic_int64_t *todo)
{
    entry_t *entry =
        mca_pml_fastpath_needed(opal_free_list_get(&handles.entries), "the name of a request", "free list");
    uint64_t handle;

    OPAL_THREAD_LOCK(&handles.lock);
    entry->kind = kind;
    entry->object = object;
    entry->todo = todo;
    handle = (uint64_t) entry->generation << 32 | entry->index;
    OPAL_THREAD_UNLOCK(&handles.lock);
    return handle;
}

/* The table is locked. */
static entry_t *find_entry(mca_pml_fastpath_handle_kind_t kind, uint64_t handle)
{
    const uint32_t index = (uint32_t) handle;
    entry_t *entry =
        INT32_MAX < index ? NULL : (entry_t *) opal_pointer_array_get_item(&handles.table, (int) index);

    return NULL != entry && kind == entry->kind && handle >> 32 == entry->generation ? entry : NULL;
}

/* The next use of the entry has another number. The table is locked. */
static void end(entry_t *entry)
{
    entry->kind = MCA_PML_FASTPATH_HANDLE_FREE;
    entry->generation = UINT32_MAX == entry->generation ? 1 : entry->generation + 1;
}

void *mca_pml_fastpath_handle_hold(mca_pml_fastpath_handle_kind_t kind, uint64_t handle)
{
    void *object = NULL;
    const entry_t *entry;

    OPAL_THREAD_LOCK(&handles.lock);
    entry = find_entry(kind, handle);
    if (OPAL_LIKELY(NULL != entry && mca_pml_fastpath_hold(entry->todo))) {
        object = entry->object;
    }
    OPAL_THREAD_UNLOCK(&handles.lock);
    return object;
}

void *mca_pml_fastpath_handle_take(mca_pml_fastpath_handle_kind_t kind, uint64_t handle)
{
    void *object = NULL;
    entry_t *entry;

    OPAL_THREAD_LOCK(&handles.lock);
    entry = find_entry(kind, handle);
    if (OPAL_LIKELY(NULL != entry)) {
        object = entry->object;
        end(entry);
    }
    OPAL_THREAD_UNLOCK(&handles.lock);
    if (OPAL_LIKELY(NULL != entry)) {
        opal_free_list_return(&handles.entries, &entry->super);
    }
    return object;
}

void mca_pml_fastpath_handle_end(uint64_t *handle)
{
    entry_t *entry;

    if (MCA_PML_FASTPATH_HANDLE_NONE == *handle) {
        return;
    }
    OPAL_THREAD_LOCK(&handles.lock);
    entry = (entry_t *) opal_pointer_array_get_item(&handles.table, (int) (uint32_t) *handle);
    end(entry);
    OPAL_THREAD_UNLOCK(&handles.lock);
    opal_free_list_return(&handles.entries, &entry->super);
    *handle = MCA_PML_FASTPATH_HANDLE_NONE;
}
