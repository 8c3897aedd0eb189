/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Work without time: how many basic blocks of a test program, and of the code it includes, have run.  The
 * same each time, on every machine.
 */

#ifndef FASTPATH_TEST_WORK_H
#define FASTPATH_TEST_WORK_H

/** Basic blocks so far; remains 0 where the compiler cannot count them. */
extern unsigned long work_done;

#endif /* FASTPATH_TEST_WORK_H */
