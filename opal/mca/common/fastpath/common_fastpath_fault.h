/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Fault injection: parameters that make faults likely, for tests.
 */
#ifndef COMMON_FASTPATH_FAULT_H
#define COMMON_FASTPATH_FAULT_H

#include <stdbool.h>

/**
 * Decide whether a call fails.
 *
 * @return true in `percent` of 100 calls, at random; each thread of each process has numbers of its own
 */
bool mca_common_fastpath_fault(unsigned percent);

#endif /* COMMON_FASTPATH_FAULT_H */
