/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Data that can be checked: each byte follows from who sends it, from where it lies and from a number that
 * changes with each pass.
 */

#ifndef FASTPATH_COMMTEST_VERIFY_H
#define FASTPATH_COMMTEST_VERIFY_H

#include <stddef.h>

/** Writes what a process sends in a pass. */
void commtest_fill(char *out, size_t bytes, int process, int pass);

/** Where the first byte is that is not what that process has sent in that pass; bytes if all are. */
size_t commtest_wrong(const char *in, size_t bytes, int process, int pass);

#endif /* FASTPATH_COMMTEST_VERIFY_H */
