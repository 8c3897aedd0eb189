/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Small operations that a target makes for an origin that the kernel copies for, see osc_fastpath_mailbox.h.
 */
#ifndef MCA_OSC_FASTPATH_MAIL_H
#define MCA_OSC_FASTPATH_MAIL_H

#include "osc_fastpath.h"
#include "osc_fastpath_memory.h"

/** Operations that an origin makes itself before it asks a target again, at most */
#define MCA_OSC_FASTPATH_MOST_SKIPPED 127u

/** @return whether the target is to be asked now */
static inline bool mca_osc_fastpath_is_tried(mca_osc_fastpath_tries_t *tries)
{
    const uint8_t skip = atomic_load_explicit(&tries->skip, memory_order_relaxed);

    if (0 < skip) {
        atomic_store_explicit(&tries->skip, (uint8_t) (skip - 1), memory_order_relaxed);
        return false;
    }
    return 0 < mca_osc_fastpath_component.spin_count;
}

/** It has not answered: ask less and less often. */
static inline void mca_osc_fastpath_no_answer(mca_osc_fastpath_tries_t *tries)
{
    const unsigned next = 2u * tries->pause + 1;

    tries->pause = (uint8_t) (MCA_OSC_FASTPATH_MOST_SKIPPED < next ? MCA_OSC_FASTPATH_MOST_SKIPPED : next);
    atomic_store_explicit(&tries->skip, tries->pause, memory_order_relaxed);
}

/**
 * Let the target make an update, in its accumulate lock, if it looks at its mailbox now.
 *
 * @param rc  OMPI_SUCCESS, or MPI_ERR_PROC_FAILED where the target has died while it was at it
 *
 * @return whether the target has made it, or an error; otherwise nothing has happened
 */
bool mca_osc_fastpath_mail(mca_osc_fastpath_peer_t *peer, const mca_osc_fastpath_update_t *update, int *rc);

/**
 * The same for a put or a get of a few bytes. Does not take the target's accumulate lock.
 *
 * @param here    the origin's memory
 * @param there   the target's memory, in its process; it may be accessed
 * @param length  more than 0
 * @param inside  the window whose lock the caller has, or NULL
 * @param rc      as above
 * @return as above
 */
bool mca_osc_fastpath_mail_bytes(mca_osc_fastpath_peer_t *peer, bool put, void *here, const void *there,
                                 size_t length, mca_osc_fastpath_module_t *inside, int *rc);

/**
 * Origin: wait for the answer to what the target has taken, which is some instructions or a copy from there,
 * unless it does not run or has died.
 *
 * @return MCA_OSC_FASTPATH_MAILBOX_DONE, MCA_OSC_FASTPATH_MAILBOX_REFUSED; MCA_OSC_FASTPATH_MAILBOX_TAKEN: it
 * has died
 */
uint32_t mca_osc_fastpath_await_answer(const mca_osc_fastpath_peer_t *peer,
                                       const mca_osc_fastpath_mailbox_t *mailbox);

/** From now on progress looks at the mailbox of a window, if others may leave something there. */
void mca_osc_fastpath_listen(mca_osc_fastpath_module_t *module);

/** Not any more. */
void mca_osc_fastpath_deafen(mca_osc_fastpath_module_t *module);

/** Look at the mailboxes of some windows. For mca_osc_fastpath_look(). @return the operations made */
int mca_osc_fastpath_look_at_some(const mca_osc_fastpath_module_t *inside);

/**
 * Look at the mailboxes of some windows, if there are any.
 *
 * @param inside  the window whose lock the caller has, or NULL
 *
 * @return the operations made
 */
static inline int mca_osc_fastpath_look(const mca_osc_fastpath_module_t *inside)
{
    /* relaxed: a hint where there are threads, who look again in component.lock */
    return NULL == atomic_load_explicit(&mca_osc_fastpath_component.listener, memory_order_relaxed)
               ? 0
               : mca_osc_fastpath_look_at_some(inside);
}

#endif /* MCA_OSC_FASTPATH_MAIL_H */
