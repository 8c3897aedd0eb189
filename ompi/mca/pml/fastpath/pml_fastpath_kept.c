/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include <stdlib.h>

#include "pml_fastpath.h"
#include "pml_fastpath_kept.h"

/* Blocks of a class have FRONT + ((5 + n) << k) bytes, n from 0 to 3: little of one is unused, and there is
 * room for what stands in front of the data, which often is a power of two. */
#define FRONT          64u
#define SHORTEST_ORDER 9u
#define LONG_ORDER     19u
#define LONGEST_ORDER  22u
#define CLASSES        (4u * (LONGEST_ORDER - SHORTEST_ORDER))
/* Of this class and longer ones few would be all there are: so many are kept, and do not count with others.
 */
#define LONG_CLASS (4u * (LONG_ORDER - SHORTEST_ORDER))
#define LONG_SPARE 2u
/* Rounding up costs short blocks more than it is worth. */
#define SHORTEST (FRONT + ((size_t) 1 << SHORTEST_ORDER) + 1)
#define LONGEST  (FRONT + ((size_t) 1 << LONGEST_ORDER))
_Static_assert(FRONT + MCA_PML_FASTPATH_KEPT_LONGEST == LONGEST, "it is what the header says");

/** A block that is not in use. */
typedef struct block_t {
    struct block_t *next;
} block_t;

static struct {
    opal_mutex_t lock; /* taken last: nothing is called while it is held */
    block_t *free[CLASSES];
    unsigned count[CLASSES]; /* of these */
    size_t spare;            /* bytes of all that are not long */
    unsigned n_long;         /* long ones */
    size_t borrowed;         /* bytes that are, of those that are not long */
    unsigned long_borrowed;  /* long ones that are */
    unsigned drained; /* class whose blocks malloc gets next where there are too many */
} blocks;

void mca_pml_fastpath_kept_init(void)
{
    OBJ_CONSTRUCT(&blocks.lock, opal_mutex_t);
    for (unsigned i = 0; i < CLASSES; ++i) {
        blocks.free[i] = NULL;
        blocks.count[i] = 0;
    }
    blocks.spare = 0;
    blocks.n_long = 0;
    blocks.borrowed = 0;
    blocks.long_borrowed = 0;
    blocks.drained = 0;
}

static inline bool has_class(size_t bytes)
{
    return SHORTEST <= bytes && bytes <= LONGEST;
}

static inline unsigned block_class(size_t bytes)
{
    const size_t data = bytes - FRONT - 1;
    const unsigned order = 63u - (unsigned) __builtin_clzll(data);

    return 4 * (order - SHORTEST_ORDER) + (unsigned) (data >> (order - 2)) % 4;
}

/* Bytes of a block of a class. */
static inline size_t block_size(unsigned class)
{
    return FRONT + ((size_t) (5 + class % 4) << (class / 4 + SHORTEST_ORDER - 2));
}

static inline block_t *block_pop(unsigned class)
{
    block_t *block = blocks.free[class];

    if (OPAL_LIKELY(NULL != block)) {
        blocks.free[class] = block->next;
        --blocks.count[class];
        if (OPAL_LIKELY(LONG_CLASS > class)) {
            blocks.spare -= block_size(class);
        } else {
            --blocks.n_long;
        }
    }
    return block;
}

static inline void block_push(unsigned class, block_t *block)
{
    block->next = blocks.free[class];
    blocks.free[class] = block;
    ++blocks.count[class];
    if (OPAL_LIKELY(LONG_CLASS > class)) {
        blocks.spare += block_size(class);
    } else {
        ++blocks.n_long;
    }
}

void *mca_pml_fastpath_kept_alloc(size_t bytes)
{
    block_t *block;
    unsigned class;

    if (!has_class(bytes)) {
        return malloc(bytes);
    }
    class = block_class(bytes);
    OPAL_THREAD_LOCK(&blocks.lock);
    block = block_pop(class);
    OPAL_THREAD_UNLOCK(&blocks.lock);
    return OPAL_LIKELY(NULL != block) ? block : malloc(block_size(class));
}

static void blocks_free(block_t *block)
{
    while (NULL != block) {
        block_t *next = block->next;

        free(block);
        block = next;
    }
}

/* Too many would not be in use with one more. @param needed  its class; from other ones some are taken out
 * @return these */
static __opal_attribute_noinline__ block_t *blocks_drain(unsigned needed)
{
    const size_t size = block_size(needed);
    block_t *drained = NULL;

    while (MCA_PML_FASTPATH_KEPT_SPARE < blocks.spare + size && blocks.spare > blocks.count[needed] * size) {
        block_t *block = needed == blocks.drained ? NULL : block_pop(blocks.drained);

        if (NULL == block) {
            blocks.drained = (blocks.drained + 1) % LONG_CLASS;
        } else {
            block->next = drained;
            drained = block;
        }
    }
    return drained;
}

/* The same of long ones: there are as many as are kept. @return one of another class, or NULL */
static block_t *long_drain(unsigned needed)
{
    block_t *drained = NULL;

    for (unsigned class = LONG_CLASS; NULL == drained && class < CLASSES; ++class) {
        drained = needed == class ? NULL : block_pop(class);
    }
    if (NULL != drained) {
        drained->next = NULL;
    }
    return drained;
}

/* Whether there is room for one more. */
static inline bool may_keep(unsigned class)
{
    return OPAL_LIKELY(LONG_CLASS > class) ? MCA_PML_FASTPATH_KEPT_SPARE >= blocks.spare + block_size(class)
                                           : LONG_SPARE > blocks.n_long;
}

void mca_pml_fastpath_kept_free(void *block, size_t bytes)
{
    block_t *drained = NULL;
    unsigned class;
    bool kept;

    if (NULL == block || !has_class(bytes)) {
        free(block);
        return;
    }
    class = block_class(bytes);
    OPAL_THREAD_LOCK(&blocks.lock);
    if (OPAL_UNLIKELY(!may_keep(class))) {
        drained = LONG_CLASS > class ? blocks_drain(class) : long_drain(class);
    }
    kept = may_keep(class);
    if (OPAL_LIKELY(kept)) {
        block_push(class, (block_t *) block);
    }
    OPAL_THREAD_UNLOCK(&blocks.lock);
    blocks_free(drained);
    if (OPAL_UNLIKELY(!kept)) {
        free(block);
    }
}

static inline bool is_long_block(size_t bytes)
{
    return has_class(bytes) ? LONG_CLASS <= block_class(bytes) : LONGEST < bytes;
}

/* Whether such a block would be kept beside those that are borrowed. */
static bool may_lend(size_t bytes)
{
    bool may;

    OPAL_THREAD_LOCK(&blocks.lock);
    may = is_long_block(bytes) ? LONGEST >= bytes && LONG_SPARE > blocks.long_borrowed
                               : MCA_PML_FASTPATH_KEPT_SPARE / 2 >= blocks.borrowed + bytes;
    OPAL_THREAD_UNLOCK(&blocks.lock);
    return may;
}

/* @param by  1: one is borrowed; -1: it is given back */
static void count_borrowed(size_t bytes, int by)
{
    OPAL_THREAD_LOCK(&blocks.lock);
    if (is_long_block(bytes)) {
        blocks.long_borrowed += (unsigned) by;
    } else {
        blocks.borrowed += (size_t) by * bytes;
    }
    OPAL_THREAD_UNLOCK(&blocks.lock);
}

void *mca_pml_fastpath_kept_borrow(size_t bytes, bool needed)
{
    void *block = needed || may_lend(bytes) ? mca_pml_fastpath_kept_alloc(bytes) : NULL;

    if (NULL != block) {
        count_borrowed(bytes, 1);
    }
    return block;
}

void mca_pml_fastpath_kept_give_back(void *block, size_t bytes)
{
    if (NULL != block) {
        count_borrowed(bytes, -1);
        mca_pml_fastpath_kept_free(block, bytes);
    }
}

size_t mca_pml_fastpath_kept_spare(void)
{
    size_t spare;

    OPAL_THREAD_LOCK(&blocks.lock);
    spare = blocks.spare;
    for (unsigned i = LONG_CLASS; i < CLASSES; ++i) {
        spare += blocks.count[i] * block_size(i);
    }
    OPAL_THREAD_UNLOCK(&blocks.lock);
    return spare;
}

void mca_pml_fastpath_kept_fini(void)
{
    for (unsigned i = 0; i < CLASSES; ++i) {
        blocks_free(blocks.free[i]);
        blocks.free[i] = NULL;
    }
    OBJ_DESTRUCT(&blocks.lock);
}
