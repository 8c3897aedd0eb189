/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * How many messages of one sender may be under way, and how it knows: arithmetic on numbers of 32 bits, which
 * wrap around, and their lower 16 bits. pml_fastpath_number.h says what for.
 */
#ifndef MCA_PML_FASTPATH_WINDOW_H
#define MCA_PML_FASTPATH_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

/**
 * Messages that may be under way. Two of them differ by less than 2^15 then, so the sign of the difference of
 * their lower 16 bits says which comes first.
 */
#define MCA_PML_FASTPATH_WINDOW 32768u

/** The receiver tells when so many more have come in their turn: a part of the above, so that nobody stops
 * whose receiver is attentive. A power of two. */
#define MCA_PML_FASTPATH_WINDOW_STEP 8192u

/**
 * @param last    number of the last message
 * @param passed  that of one before which all have come in their turn, itself included
 * @return        whether one more may leave
 */
static inline bool mca_pml_fastpath_window_is_open(uint32_t last, uint32_t passed)
{
    return last - passed < MCA_PML_FASTPATH_WINDOW;
}

/** @return whether a message asks its receiver to tell when its turn has come */
static inline bool mca_pml_fastpath_window_asks(uint32_t number)
{
    return 0 == (number & (MCA_PML_FASTPATH_WINDOW_STEP - 1));
}

/**
 * The receiver has told.
 *
 * @param last    number of the last message
 * @param passed  as above
 * @param told    lower 16 bits of the number of the message whose turn has come
 * @return        what is known now: that number; or passed, if the message is none of those that were under
 *                way, because the receiver has told of a later one already, or means an earlier communicator
 */
static inline uint32_t mca_pml_fastpath_window_move(uint32_t last, uint32_t passed, uint16_t told)
{
    const uint16_t ahead = (uint16_t) (told - (uint16_t) passed);

    return ahead <= last - passed ? passed + ahead : passed;
}

#endif /* MCA_PML_FASTPATH_WINDOW_H */
