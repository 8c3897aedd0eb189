/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Updates of integers by the processor.
 *
 * In the windows that MPI allocates, integers of 1, 2, 4 and 8 bytes that lie at a multiple of their size are
 * updated by atomic instructions alone, by whoever reaches the memory: members of the node, and the target
 * for messages of others. Everything else is updated inside the target's accumulate lock. Which of them it
 * is depends on nothing but the datatype of the element and its place, so that all updates of an element are
 * made in the same way, whatever the operation, and by whatever datatype the element is reached.
 */
#ifndef MCA_OSC_FASTPATH_ATOMIC_H
#define MCA_OSC_FASTPATH_ATOMIC_H

#include "osc_fastpath_memory.h"

#include "ompi/datatype/ompi_datatype_internal.h" /* needs the headers before it */

/** An integer of 1, 2, 4 or 8 bytes. */
typedef union {
    uint8_t one;
    uint16_t two;
    uint32_t four;
    uint64_t eight;
} mca_osc_fastpath_integer_t;

/** @return whether a predefined type is an integer that processors update */
static inline bool mca_osc_fastpath_is_integer(const ompi_datatype_t *element)
{
    const size_t size = element->super.size;

    return OMPI_DATATYPE_FLAG_DATA_INT == (OMPI_DATATYPE_FLAG_DATA_TYPE & element->super.flags)
           && (1 == size || 2 == size || 4 == size || 8 == size)
           && size == (size_t) (element->super.ub - element->super.lb);
}

/** @return whether an element of so many bytes lies at a multiple of that, a power of two */
static inline bool mca_osc_fastpath_is_aligned(const void *at, size_t size)
{
    return 0 == ((uintptr_t) at & (size - 1));
}

/** Copy 1, 2, 4 or 8 bytes. */
static inline void mca_osc_fastpath_integer_copy(void *to, const void *from, size_t size)
{
    switch (size) {
    case 1:
        memcpy(to, from, 1);
        break;
    case 2:
        memcpy(to, from, 2);
        break;
    case 4:
        memcpy(to, from, 4);
        break;
    default:
        memcpy(to, from, 8);
        break;
    }
}

/** @return the integer of that size at an address that may be any */
static inline mca_osc_fastpath_integer_t mca_osc_fastpath_integer(const void *from, size_t size)
{
    mca_osc_fastpath_integer_t value = {.eight = 0};

    mca_osc_fastpath_integer_copy(&value, from, size);
    return value;
}

/*
 * Atomic accesses to elements of a window: U1 are loads (acquire), U2 are stores (release); a read-modify-
 * write is both. A U1 that reads a value pairs with the U2 that has stored it: the reader then sees all that
 * the writer stored before, as it would inside the accumulate lock.
 */

/** U1.  Partner: U2.  @return the integer at an aligned address */
static inline mca_osc_fastpath_integer_t mca_osc_fastpath_atomic_load(const void *at, size_t size)
{
    mca_osc_fastpath_integer_t value = {.eight = 0};

    switch (size) {
    case 1:
        value.one = atomic_load_explicit((const _Atomic uint8_t *) at, memory_order_acquire);
        break;
    case 2:
        value.two = atomic_load_explicit((const _Atomic uint16_t *) at, memory_order_acquire);
        break;
    case 4:
        value.four = atomic_load_explicit((const _Atomic uint32_t *) at, memory_order_acquire);
        break;
    default:
        value.eight = atomic_load_explicit((const _Atomic uint64_t *) at, memory_order_acquire);
        break;
    }
    return value;
}

/** U1 and U2.  Partners: U2 and U1.  Store `value`. @return what was there */
static inline mca_osc_fastpath_integer_t mca_osc_fastpath_atomic_swap(void *at, size_t size,
                                                                      mca_osc_fastpath_integer_t value)
{
    switch (size) {
    case 1:
        value.one = atomic_exchange_explicit((_Atomic uint8_t *) at, value.one, memory_order_acq_rel);
        break;
    case 2:
        value.two = atomic_exchange_explicit((_Atomic uint16_t *) at, value.two, memory_order_acq_rel);
        break;
    case 4:
        value.four = atomic_exchange_explicit((_Atomic uint32_t *) at, value.four, memory_order_acq_rel);
        break;
    default:
        value.eight = atomic_exchange_explicit((_Atomic uint64_t *) at, value.eight, memory_order_acq_rel);
        break;
    }
    return value;
}

/** U1 and U2.  Partners: U2 and U1.  Add `value`. @return what was there */
static inline mca_osc_fastpath_integer_t mca_osc_fastpath_atomic_add(void *at, size_t size,
                                                                     mca_osc_fastpath_integer_t value)
{
    switch (size) {
    case 1:
        value.one = atomic_fetch_add_explicit((_Atomic uint8_t *) at, value.one, memory_order_acq_rel);
        break;
    case 2:
        value.two = atomic_fetch_add_explicit((_Atomic uint16_t *) at, value.two, memory_order_acq_rel);
        break;
    case 4:
        value.four = atomic_fetch_add_explicit((_Atomic uint32_t *) at, value.four, memory_order_acq_rel);
        break;
    default:
        value.eight = atomic_fetch_add_explicit((_Atomic uint64_t *) at, value.eight, memory_order_acq_rel);
        break;
    }
    return value;
}

/** U1, and U2 if it stores.  Partners: U2 and U1.  Store `value` if *expected is there. @return whether it
 * was; else what is there in *expected */
static inline bool mca_osc_fastpath_atomic_swap_if(void *at, size_t size,
                                                   mca_osc_fastpath_integer_t *expected,
                                                   mca_osc_fastpath_integer_t value)
{
    switch (size) {
    case 1:
        return atomic_compare_exchange_strong_explicit((_Atomic uint8_t *) at, &expected->one, value.one,
                                                       memory_order_acq_rel, memory_order_acquire);
    case 2:
        return atomic_compare_exchange_strong_explicit((_Atomic uint16_t *) at, &expected->two, value.two,
                                                       memory_order_acq_rel, memory_order_acquire);
    case 4:
        return atomic_compare_exchange_strong_explicit((_Atomic uint32_t *) at, &expected->four, value.four,
                                                       memory_order_acq_rel, memory_order_acquire);
    default:
        return atomic_compare_exchange_strong_explicit((_Atomic uint64_t *) at, &expected->eight, value.eight,
                                                       memory_order_acq_rel, memory_order_acquire);
    }
}

/** The rarer operations of mca_osc_fastpath_atomic_update(). @return what was there */
mca_osc_fastpath_integer_t mca_osc_fastpath_atomic_reduce(ompi_op_t *op, ompi_datatype_t *element, void *at,
                                                          mca_osc_fastpath_integer_t origin);

/**
 * Update one element.
 *
 * @param element  for which mca_osc_fastpath_is_integer() is true
 * @param at       the element, aligned
 * @param origin   not looked at for MPI_NO_OP
 *
 * @return what was there
 */
static inline mca_osc_fastpath_integer_t
mca_osc_fastpath_atomic_update(ompi_op_t *op, ompi_datatype_t *element, void *at, const void *origin)
{
    const size_t size = element->super.size;

    if (&ompi_mpi_op_no_op.op == op) {
        return mca_osc_fastpath_atomic_load(at, size);
    }
    if (&ompi_mpi_op_sum.op == op) {
        return mca_osc_fastpath_atomic_add(at, size, mca_osc_fastpath_integer(origin, size));
    }
    if (&ompi_mpi_op_replace.op == op) {
        return mca_osc_fastpath_atomic_swap(at, size, mca_osc_fastpath_integer(origin, size));
    }
    return mca_osc_fastpath_atomic_reduce(op, element, at, mca_osc_fastpath_integer(origin, size));
}

/** Compare and swap one element, as above. @return what was there */
static inline mca_osc_fastpath_integer_t
mca_osc_fastpath_atomic_compare(size_t size, void *at, const void *compare, const void *origin)
{
    mca_osc_fastpath_integer_t found = mca_osc_fastpath_integer(compare, size);

    (void) mca_osc_fastpath_atomic_swap_if(at, size, &found, mca_osc_fastpath_integer(origin, size));
    return found;
}

/** @return whether an update has to be made inside the accumulate lock; see the head of this file */
bool mca_osc_fastpath_needs_lock(const mca_osc_fastpath_update_t *update);

/**
 * Carry out an update of a window whose integers are updated by atomic instructions.
 *
 * @return OMPI_SUCCESS or OMPI_ERR_OUT_OF_RESOURCE
 */
int mca_osc_fastpath_atomic(const mca_osc_fastpath_update_t *update);

#endif /* MCA_OSC_FASTPATH_ATOMIC_H */
