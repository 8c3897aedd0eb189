/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Convertors: where data is packed or unpacked next, and what they may be given.
 */
#ifndef MCA_COMMON_FASTPATH_CONVERTOR_H
#define MCA_COMMON_FASTPATH_CONVERTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "opal/datatype/opal_convertor.h"
#include "opal/datatype/opal_datatype_internal.h"

/** Bytes of the longest element that Open MPI 4.1 and 5.0 unpack in parts. */
#define MCA_COMMON_FASTPATH_PART_MAX 16u

/**
 * Set a convertor to a position, in bytes of packed data, whatever its position is now.
 *
 * Open MPI 4.1 must not be told to move on from a position other than 0: where that is some whole elements
 * of the type and a few bytes, opal_convertor_generic_simple_position() leaves its stack one level too low.
 * The convertor then leaves elements out, writes beside the buffer or loops for ever. So a position ahead is
 * looked for from the beginning; for one behind, Open MPI does that itself.
 */
static inline void mca_common_fastpath_convertor_seek(opal_convertor_t *convertor, size_t position)
{
    size_t beginning = 0;

    if (OPAL_UNLIKELY(position != convertor->bConverted)) {
        (void) opal_convertor_set_position(convertor, &beginning);
        (void) opal_convertor_set_position(convertor, &position);
    }
}

/**
 * Whether what is unpacked into data of a type with gaps may begin or end within an element.
 *
 * Open MPI 4.1 and 5.0 put an element of which they are given a part together in 16 bytes on the stack
 * (opal_unpack_partial_predefined()), and write beyond them where it has more, as MPI_C_LONG_DOUBLE_COMPLEX.
 *
 * @return whether that is so; if not, a message that comes in pieces has to be put together first
 */
static inline bool mca_common_fastpath_convertor_takes_parts(const opal_datatype_t *datatype)
{
    for (uint64_t used = datatype->bdt_used; 0 != used; used &= used - 1) {
        if (MCA_COMMON_FASTPATH_PART_MAX < opal_datatype_basicDatatypes[__builtin_ctzll(used)]->size) {
            return false;
        }
    }
    return true;
}

#endif /* MCA_COMMON_FASTPATH_CONVERTOR_H */
