/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Threads of our own beside those of the program.
 */
#ifndef MCA_COMMON_FASTPATH_THREAD_H
#define MCA_COMMON_FASTPATH_THREAD_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

/**
 * Start a thread that takes no signals: these are for the program's own threads.
 *
 * @param thread    receives the thread, for pthread_join()
 * @param run       what it does
 * @param argument  of that
 * @return whether it has been started
 */
static inline bool mca_common_fastpath_thread_start(pthread_t *thread, void *(*run)(void *), void *argument)
{
    sigset_t all, before;
    int rc;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(thread, NULL, run, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return 0 == rc;
}

#endif /* MCA_COMMON_FASTPATH_THREAD_H */
