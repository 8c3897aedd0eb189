/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Chance, for parameters that make faults likely in tests.
 */
#ifndef COMMON_FASTPATH_DICE_H
#define COMMON_FASTPATH_DICE_H

#include <stdbool.h>

/**
 * Throw the dice.
 *
 * @return true in `percent` of 100 calls, at random; each thread of each process has numbers of its own
 */
bool mca_common_fastpath_dice(unsigned percent);

#endif /* COMMON_FASTPATH_DICE_H */
