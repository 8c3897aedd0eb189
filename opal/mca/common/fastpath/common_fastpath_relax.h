/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Waiting for another processor's store by looking again and again.
 */
#ifndef COMMON_FASTPATH_RELAX_H
#define COMMON_FASTPATH_RELAX_H

/**
 * Between one look and the next.  Without it a processor loads the same word many times ahead.  When the line
 * comes, all of these loads have to be taken back, just when there is something to do.  After this the next
 * load begins when the last one has ended, at most some nanoseconds later.
 */
static inline void mca_common_fastpath_relax(void)
{
#if defined(__x86_64__)
    __asm__ __volatile__("lfence" ::: "memory");
#elif defined(__aarch64__)
    __asm__ __volatile__("isb" ::: "memory");
#endif
}

#endif /* COMMON_FASTPATH_RELAX_H */
