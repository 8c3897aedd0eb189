/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * What a BTL refused waits here, in order, and is tried again each time Open MPI makes progress. Nothing else
 * has to happen for it to go out.
 */
#ifndef MCA_PML_FASTPATH_RETRY_H
#define MCA_PML_FASTPATH_RETRY_H

#include "pml_fastpath_peer.h"

/**
 * Something a BTL refused, and who owns it now: progress calls fn until it is
 * accepted, with no other event needed. Embedded in what is to be sent, which may be an item of a free list.
 */
typedef struct mca_pml_fastpath_retry_t mca_pml_fastpath_retry_t;
struct mca_pml_fastpath_retry_t {
    opal_free_list_item_t super;
    mca_pml_fastpath_peer_t *peer; /**< whose resources are awaited */
    /** try again: OMPI_ERR_OUT_OF_RESOURCE keeps the place in the queue, anything else leaves it */
    int (*fn)(mca_pml_fastpath_retry_t *retry);
};
OBJ_CLASS_DECLARATION(mca_pml_fastpath_retry_t);

/**
 * Put a retry at the end of a queue; from here on progress owns it.
 * @param queue  MCA_PML_FASTPATH_QUEUE_*
 */
void mca_pml_fastpath_retry_later(mca_pml_fastpath_retry_t *retry, mca_pml_fastpath_peer_t *peer, int queue,
                                  int (*fn)(mca_pml_fastpath_retry_t *retry));

/** Try everything that was refused. One pass at a time; not with a lock held. @return how many were accepted
 */
int mca_pml_fastpath_retry_all(void);

#endif /* MCA_PML_FASTPATH_RETRY_H */
