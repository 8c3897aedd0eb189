/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * The end of a measurement, where some processes have had nothing to do.
 */

#ifndef FASTPATH_COMMTEST_JOIN_H
#define FASTPATH_COMMTEST_JOIN_H

#include <stdbool.h>

/** Collective: waits for all.  Who has been idle does so asleep, so that those that measure are not
 * disturbed. */
void commtest_join(bool idle);

#endif /* FASTPATH_COMMTEST_JOIN_H */
