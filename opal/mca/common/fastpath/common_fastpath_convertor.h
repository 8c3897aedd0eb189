/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Convertors: where data is packed or unpacked next.
 */
#ifndef MCA_COMMON_FASTPATH_CONVERTOR_H
#define MCA_COMMON_FASTPATH_CONVERTOR_H

#include "opal/datatype/opal_convertor.h"

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

#endif /* MCA_COMMON_FASTPATH_CONVERTOR_H */
