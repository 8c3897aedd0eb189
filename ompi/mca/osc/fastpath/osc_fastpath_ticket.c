/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Operations that wait for data from a target.
 */
#include "ompi_config.h"

#include "osc_fastpath_request.h"
#include "osc_fastpath_ticket.h"

#define NONE UINT32_MAX

mca_osc_fastpath_tickets_t *mca_osc_fastpath_tickets_make(void)
{
    mca_osc_fastpath_tickets_t *tickets = calloc(1, sizeof(*tickets));

    if (NULL != tickets) {
        tickets->free = NONE;
    }
    return tickets;
}

void mca_osc_fastpath_tickets_free(mca_osc_fastpath_tickets_t *tickets)
{
    if (NULL == tickets) {
        return;
    }
    for (uint32_t i = 0; i < tickets->size; ++i) {
        if (tickets->all[i]->generation & 1) {
            mca_osc_fastpath_cursor_end(&tickets->all[i]->cursor);
        }
    }
    for (uint32_t i = 0; i < tickets->size; i += MCA_OSC_FASTPATH_TICKETS_CHUNK) {
        free(tickets->all[i]); /* the first of each chunk */
    }
    free(tickets->all);
    free(tickets);
}

static bool grow_tickets(mca_osc_fastpath_tickets_t *tickets)
{
    mca_osc_fastpath_ticket_t **all =
        realloc(tickets->all, (tickets->size + MCA_OSC_FASTPATH_TICKETS_CHUNK) * sizeof(*all));
    mca_osc_fastpath_ticket_t *chunk;

    if (NULL == all) {
        return false;
    }
    tickets->all = all;
    chunk = calloc(MCA_OSC_FASTPATH_TICKETS_CHUNK, sizeof(*chunk));
    if (NULL == chunk) {
        return false;
    }
    for (uint32_t i = 0; i < MCA_OSC_FASTPATH_TICKETS_CHUNK; ++i) {
        all[tickets->size + i] = &chunk[i];
        chunk[i].next = i + 1 < MCA_OSC_FASTPATH_TICKETS_CHUNK ? tickets->size + i + 1 : tickets->free;
    }
    tickets->free = tickets->size;
    tickets->size += MCA_OSC_FASTPATH_TICKETS_CHUNK;
    return true;
}

mca_osc_fastpath_ticket_t *mca_osc_fastpath_ticket_take(mca_osc_fastpath_peer_t *peer, void *address,
                                                        size_t count, ompi_datatype_t *type, size_t bytes,
                                                        uint32_t *index)
{
    mca_osc_fastpath_tickets_t *tickets = peer->module->tickets;
    mca_osc_fastpath_ticket_t *ticket;
    void *staged = NULL;

    if (NONE == tickets->free && !grow_tickets(tickets)) {
        return NULL;
    }
    /* replies may end within elements of a type that has different ones, which convertors cannot take */
    if (!mca_osc_fastpath_is_contiguous(type, count) && NULL == mca_osc_fastpath_element(type)) {
        staged = calloc(1, bytes);
        if (NULL == staged) {
            return NULL;
        }
    }
    *index = tickets->free;
    ticket = tickets->all[*index];
    tickets->free = ticket->next;
    ++tickets->used;
    ++ticket->generation;
    ticket->peer = peer;
    ticket->number = tickets->taken++;
    ticket->bytes = bytes;
    ticket->request = NULL;
    ticket->type = NULL;
    ticket->staged = staged;
    ticket->place = false;
    ticket->error = OMPI_SUCCESS;
    if (NULL != staged) {
        ticket->address = address;
        ticket->count = count;
        mca_osc_fastpath_cursor_begin(&ticket->cursor, staged, bytes, &ompi_mpi_byte.dt, true);
    } else {
        mca_osc_fastpath_cursor_begin(&ticket->cursor, address, count, type, true);
    }
    if ((NULL != staged || NULL == ticket->cursor.memory) && !ompi_datatype_is_predefined(type)) {
        OBJ_RETAIN(type); /* the convertor uses it */
        ticket->type = type;
    }
    ++peer->origin.tickets;
    if (++mca_osc_fastpath_counters[MCA_OSC_FASTPATH_PENDING]
        > mca_osc_fastpath_counters[MCA_OSC_FASTPATH_PENDING_MAX]) {
        mca_osc_fastpath_counters[MCA_OSC_FASTPATH_PENDING_MAX] =
            mca_osc_fastpath_counters[MCA_OSC_FASTPATH_PENDING];
    }
    return ticket;
}

bool mca_osc_fastpath_tickets_ended(const mca_osc_fastpath_peer_t *peer, uint64_t number)
{
    const mca_osc_fastpath_tickets_t *tickets = peer->module->tickets;

    if (0 == peer->origin.tickets) {
        return true;
    }
    if (!peer->module->threads) {
        return false; /* nobody has taken one since */
    }
    for (uint32_t i = 0; i < tickets->size; ++i) {
        const mca_osc_fastpath_ticket_t *ticket = tickets->all[i];

        if ((ticket->generation & 1) && peer == ticket->peer && number > ticket->number) {
            return false;
        }
    }
    return true;
}

static mca_osc_fastpath_request_t *ticket_end(mca_osc_fastpath_ticket_t *ticket, uint32_t index)
{
    mca_osc_fastpath_tickets_t *tickets = ticket->peer->module->tickets;
    const size_t staged = ticket->cursor.bytes;

    mca_osc_fastpath_cursor_end(&ticket->cursor);
    if (NULL != ticket->staged) {
        mca_osc_fastpath_cursor_begin(&ticket->cursor, ticket->address, ticket->count, ticket->type, true);
        mca_osc_fastpath_cursor_unpack(&ticket->cursor, ticket->staged, staged);
        mca_osc_fastpath_cursor_end(&ticket->cursor);
        free(ticket->staged);
    }
    if (NULL != ticket->type) {
        OBJ_RELEASE(ticket->type);
    }
    ++ticket->generation;
    ticket->next = tickets->free;
    tickets->free = index;
    --tickets->used;
    --ticket->peer->origin.tickets;
    --mca_osc_fastpath_counters[MCA_OSC_FASTPATH_PENDING];
    return ticket->request;
}

int mca_osc_fastpath_ticket_data(mca_osc_fastpath_peer_t *peer, const mca_osc_fastpath_entry_t *entry,
                                 const void *data, int error, mca_osc_fastpath_request_t **request)
{
    mca_osc_fastpath_tickets_t *tickets = peer->module->tickets;
    mca_osc_fastpath_ticket_t *ticket;

    *request = NULL;
    if (entry->ticket >= tickets->size) {
        return OMPI_ERR_BAD_PARAM;
    }
    ticket = tickets->all[entry->ticket];
    if (entry->generation != ticket->generation || !(ticket->generation & 1) || peer != ticket->peer
        || entry->length > ticket->bytes || entry->offset > ticket->cursor.bytes
        || entry->length > ticket->cursor.bytes - entry->offset
        || (ticket->place ? MCA_OSC_FASTPATH_ENTRY_PLACED : MCA_OSC_FASTPATH_ENTRY_FAILED) < entry->what) {
        return OMPI_ERR_BAD_PARAM;
    }
    if (MCA_OSC_FASTPATH_ENTRY_DATA == entry->what) {
        mca_osc_fastpath_cursor_seek(&ticket->cursor, entry->offset);
        mca_osc_fastpath_cursor_unpack(&ticket->cursor, data, entry->length);
    } else if (MCA_OSC_FASTPATH_ENTRY_PLACED == entry->what) {
        mca_osc_fastpath_count(MCA_OSC_FASTPATH_PLACED);
    } else {
        ticket->error = OMPI_SUCCESS == error ? OMPI_ERROR : error;
    }
    if (ticket->place) {
        peer->origin.place_bytes -= entry->length;
    } else {
        peer->origin.ticket_bytes -= entry->length;
    }
    ticket->bytes -= entry->length;
    if (0 == ticket->bytes) {
        error = ticket->error;
        *request = ticket_end(ticket, entry->ticket);
        if (NULL != *request) {
            (*request)->super.req_status.MPI_ERROR = error;
        }
    }
    return OMPI_SUCCESS;
}

void mca_osc_fastpath_ticket_cut(mca_osc_fastpath_peer_t *peer, uint32_t index, size_t bytes)
{
    mca_osc_fastpath_ticket_t *ticket = peer->module->tickets->all[index];

    ticket->request = NULL;
    ticket->bytes -= bytes;
    if (0 == ticket->bytes) {
        (void) ticket_end(ticket, index);
    }
}
