/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Tickets: operations that wait for data from a target. A packet names a ticket by index and generation, so
 * that a reply that nobody waits for is noticed. All of it inside module.lock.
 */
#ifndef MCA_OSC_FASTPATH_TICKET_H
#define MCA_OSC_FASTPATH_TICKET_H

#include "osc_fastpath.h"
#include "osc_fastpath_memory.h"

/** Tickets are made so many at a time. */
#define MCA_OSC_FASTPATH_TICKETS_CHUNK 64u

/** An operation that waits for data. */
typedef struct mca_osc_fastpath_ticket_t {
    uint32_t generation; /**< of this use; odd while it is used */
    uint32_t next;       /**< free: index of the next free one */
    mca_osc_fastpath_peer_t *peer;
    uint64_t number;                  /**< tickets of the window that were taken before */
    size_t bytes;                     /**< that are still to come */
    mca_osc_fastpath_cursor_t cursor; /**< where they go */
    ompi_datatype_t *type;            /**< retained: of the buffer, or NULL */
    void *address;                    /**< the buffer, where data is staged */
    size_t count;                     /**< elements of it */
    void *staged;                     /**< data that is put into the buffer when all of it is here, or NULL */
    bool place;                       /**< the target may write the data there */
    int error;                        /**< why some of the data cannot be had, or OMPI_SUCCESS */
    struct mca_osc_fastpath_request_t *request; /**< of an MPI_Rget or MPI_Rget_accumulate, or NULL */
} mca_osc_fastpath_ticket_t;

/** The tickets of a window. */
typedef struct mca_osc_fastpath_tickets_t {
    mca_osc_fastpath_ticket_t **all; /**< by index */
    uint32_t size;                   /**< of all */
    uint32_t free;                   /**< index of the first free one, or UINT32_MAX */
    uint32_t used;                   /**< tickets that wait */
    uint64_t taken;                  /**< so far: number of the next one */
} mca_osc_fastpath_tickets_t;

/** Make the tickets of a window. @return NULL when there is no memory */
mca_osc_fastpath_tickets_t *mca_osc_fastpath_tickets_make(void);

/** Free them. */
void mca_osc_fastpath_tickets_free(mca_osc_fastpath_tickets_t *tickets);

/**
 * Take a ticket for `bytes` bytes that go to `count` elements of `type` at `address`.
 *
 * @param index  its index, for the packet
 *
 * @return the ticket, or NULL when there is no memory
 */
mca_osc_fastpath_ticket_t *mca_osc_fastpath_ticket_take(mca_osc_fastpath_peer_t *peer, void *address,
                                                        size_t count, ompi_datatype_t *type, size_t bytes,
                                                        uint32_t *index);

/** @return whether all tickets of a peer whose numbers are lower have ended */
bool mca_osc_fastpath_tickets_ended(const mca_osc_fastpath_peer_t *peer, uint64_t number);

/**
 * Data for a ticket has come, or word that there is none. Ends the ticket when it was the last.
 *
 * @param error    what the reply says was wrong
 * @param request  set to the request that has ended with it, its error in its status, or NULL; the caller
 *                 completes it outside module.lock
 *
 * @return OMPI_SUCCESS, or OMPI_ERR_BAD_PARAM when nobody waits for such data
 */
int mca_osc_fastpath_ticket_data(mca_osc_fastpath_peer_t *peer, const mca_osc_fastpath_entry_t *entry,
                                 const void *data, int error, struct mca_osc_fastpath_request_t **request);

/**
 * The operation of a ticket has failed before it had asked for its last `bytes` bytes, more than 0. What it
 * has asked for comes still; the ticket ends with it, or now. Its request is forgotten.
 */
void mca_osc_fastpath_ticket_cut(mca_osc_fastpath_peer_t *peer, uint32_t index, size_t bytes);

#endif /* MCA_OSC_FASTPATH_TICKET_H */
