/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Operations on targets that only messages reach: into packets.
 */
#include "ompi_config.h"

#include "osc_fastpath_operation.h"
#include "osc_fastpath_packet.h"
#include "osc_fastpath_place.h"
#include "osc_fastpath_request.h"
#include "osc_fastpath_ticket.h"
#include "osc_fastpath_types.h"
#include "osc_fastpath_wait.h"

/** A packet is sent rather than filled with a piece of an operation that is shorter than this. */
#define PIECE_MIN 256
/** The longest datatype of several predefined ones that is sent in pieces of whole elements */
#define UNIT_MAX PIECE_MIN
/** Bytes that one piece of a get asks for, at most */
#define GET_MAX (64 << 10)
/** Bytes that gets from one target may wait for; further pieces wait. More fills the caches of the target. */
#define GET_BYTES_MAX (1 << 20)
/** The same for gets that the target's BTL writes. What is under way is in the buffers of sockets, which are
 * in nobody's caches any more when they grow to several MiB */
#define PLACE_MAX       (256 << 10)
#define PLACE_BYTES_MAX (1 << 20)
/** A packet that asks for so many of these bytes leaves: they are said to be there all at once */
#define PLACE_PACKET (256 << 10)

/** An operation on its way into packets. */
typedef struct {
    mca_osc_fastpath_peer_t *peer;
    const mca_osc_fastpath_operation_t *operation;
    mca_osc_fastpath_op_hdr_t hdr;    /**< of the next piece */
    mca_osc_fastpath_cursor_t cursor; /**< data that goes to the target */
    size_t unit;                      /**< pieces are multiples of so many bytes */
    bool has_data;                    /**< data goes to the target with the next piece */
    bool wants_data;                  /**< data comes back */
    bool place;                       /**< and may be written by the target's BTL */
    size_t room;                      /**< the next piece needs */
} sending_t;

/* @return whether enough data comes from the target */
static bool enough_asked_for(const sending_t *sending)
{
    return sending->place ? PLACE_BYTES_MAX <= sending->peer->origin.place_bytes
                          : GET_BYTES_MAX <= sending->peer->origin.ticket_bytes;
}

static bool may_go_on(mca_osc_fastpath_module_t *module, void *context)
{
    const sending_t *sending = context;
    mca_osc_fastpath_peer_t *peer = sending->peer;
    const mca_osc_fastpath_packet_t *packet = peer->origin.packet;

    if (sending->wants_data && enough_asked_for(sending)) {
        mca_osc_fastpath_send_gets(module, peer);
        return false;
    }
    return (NULL != packet && sending->room <= mca_osc_fastpath_packet_room(packet))
           || mca_osc_fastpath_may_send(peer);
}

static bool may_take_ticket(mca_osc_fastpath_module_t *module, void *context)
{
    const sending_t *sending = context;

    if (sending->peer->origin.tickets < module->max_pending) {
        return true;
    }
    mca_osc_fastpath_send_gets(module, sending->peer);
    return false;
}

static bool may_name_type(mca_osc_fastpath_module_t *module, void *context)
{
    const sending_t *sending = context;

    (void) module;
    return !sending->peer->origin.describing
           && mca_osc_fastpath_type_nameable(sending->peer, sending->operation->type);
}

/* Wait for less to be under way. */
static int throttle(sending_t *sending, mca_osc_fastpath_done_fn_t done)
{
    return mca_osc_fastpath_wait_until(sending->peer->module, done, sending);
}

/* A packet with room for the next piece, in *packet. */
static int get_room(sending_t *sending, size_t expected, mca_osc_fastpath_packet_t **packet)
{
    int rc = throttle(sending, may_go_on);

    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    *packet = mca_osc_fastpath_origin_packet(sending->peer, sending->room, expected);
    if (NULL == *packet || sending->room > mca_osc_fastpath_packet_room(*packet)) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    return OMPI_SUCCESS;
}

/* A type that the target does not know goes ahead of the operation. Others wait meanwhile. */
static int describe_type(sending_t *sending, const mca_osc_fastpath_type_name_t *name)
{
    mca_osc_fastpath_op_hdr_t hdr = {.kind = MCA_OSC_FASTPATH_TYPE,
                                     .disp = (int64_t) name->sum,
                                     .count = name->length,
                                     .type = name->type,
                                     .type_generation = name->generation};
    mca_osc_fastpath_packet_t *packet;
    int rc = OMPI_SUCCESS;

    sending->peer->origin.describing = true;
    for (hdr.offset = 0; hdr.offset < name->length && OMPI_SUCCESS == rc; hdr.offset += hdr.length) {
        size_t length = name->length - hdr.offset;

        sending->room = sizeof(hdr) + (length < PIECE_MIN ? MCA_OSC_FASTPATH_PAD(length) : PIECE_MIN);
        rc = get_room(sending, sending->room, &packet);
        if (OMPI_SUCCESS == rc) {
            unsigned char *to = mca_osc_fastpath_packet_end(packet);

            if (length > mca_osc_fastpath_packet_room(packet) - sizeof(hdr)) {
                length = mca_osc_fastpath_packet_room(packet) - sizeof(hdr);
            }
            hdr.length = (uint32_t) length;
            memcpy(to, &hdr, sizeof(hdr));
            memcpy(to + sizeof(hdr), (const char *) name->description + hdr.offset, length);
            mca_osc_fastpath_packet_filled(packet, sizeof(hdr) + length);
        }
    }
    sending->peer->origin.describing = false;
    return rc;
}

/* Name the target's datatype. What is contiguous needs no description. */
static int name_type(sending_t *sending)
{
    const mca_osc_fastpath_operation_t *operation = sending->operation;
    mca_osc_fastpath_type_name_t name;
    ompi_datatype_t *type = operation->type;
    int rc;

    sending->hdr.count = operation->count;
    if (!ompi_datatype_is_predefined(type) && 0 == type->super.true_lb
        && mca_osc_fastpath_is_contiguous(type, operation->count)) {
        type = &ompi_mpi_byte.dt;
        sending->hdr.count = sending->operation->bytes;
    }
    rc = throttle(sending, may_name_type);
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    rc = mca_osc_fastpath_type_name(sending->peer, type, &name);
    sending->hdr.type = name.type;
    sending->hdr.type_generation = name.generation;
    if (OMPI_SUCCESS == rc && NULL != name.description) {
        rc = describe_type(sending, &name);
        if (OMPI_SUCCESS != rc) {
            mca_osc_fastpath_type_unsent(sending->peer, &name);
            mca_osc_fastpath_type_release(sending->peer, name.type);
        }
    }
    return rc;
}

/* No piece may end within an element of the target's datatype: convertors cannot do that. Where its elements
 * differ, a piece is a multiple of the whole type; puts of types that are too long for that are put together
 * again at the target. */
static void choose_unit(sending_t *sending)
{
    const mca_osc_fastpath_operation_t *operation = sending->operation;
    ompi_datatype_t *element = operation->element;

    if (NULL == element && !mca_osc_fastpath_is_contiguous(operation->type, operation->count)) {
        element = mca_osc_fastpath_element(operation->type);
        if (NULL == element) {
            sending->unit = operation->type->super.size;
            sending->hdr.element = 1;
            if (MCA_OSC_FASTPATH_PUT == operation->kind && UNIT_MAX < sending->unit) {
                sending->hdr.kind = MCA_OSC_FASTPATH_PUT_WHOLE;
                sending->hdr.ticket = ++sending->peer->origin.wholes;
                sending->unit = 1;
            }
            return;
        }
    }
    if (MCA_OSC_FASTPATH_GET == operation->kind) {
        ompi_datatype_t *result =
            mca_osc_fastpath_is_contiguous(operation->result_type, operation->result_count)
                ? NULL
                : mca_osc_fastpath_element(operation->result_type);

        element = NULL != element ? element : result;
        sending->hdr.element = (uint16_t) (NULL != element ? element->super.size : 1);
    }
    sending->unit = NULL != element ? element->super.size : 1;
}

/* From here on an update has no data of the origin, and only reads. */
static void read_only(sending_t *sending)
{
    sending->has_data = false;
    sending->hdr.op = (uint8_t) mca_osc_fastpath_op_index(&ompi_mpi_op_no_op.op);
}

/* Fill in what all pieces have in common. The name of the type is in use then. */
static int prepare(sending_t *sending)
{
    const mca_osc_fastpath_operation_t *operation = sending->operation;

    sending->hdr = (mca_osc_fastpath_op_hdr_t){.kind = operation->kind, .disp = operation->disp};
    sending->has_data = 0 < operation->sent;
    sending->wants_data = mca_osc_fastpath_returns_data(operation->kind);
    sending->place = mca_osc_fastpath_may_place(sending->peer, operation, operation->bytes);
    if (sending->place) {
        sending->hdr.kind = MCA_OSC_FASTPATH_GET_PLACE;
    }
    choose_unit(sending);
    if (NULL != operation->element) {
        sending->hdr.element = (uint16_t) operation->element->id;
        if (NULL != operation->op) {
            sending->hdr.op = (uint8_t) mca_osc_fastpath_op_index(operation->op);
            if (!sending->has_data) {
                read_only(sending);
            }
        }
    }
    return name_type(sending);
}

static int take_ticket(sending_t *sending, mca_osc_fastpath_request_t **request)
{
    const mca_osc_fastpath_operation_t *operation = sending->operation;
    mca_osc_fastpath_ticket_t *ticket;
    int rc = throttle(sending, may_take_ticket);

    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    *request = NULL != operation->request ? mca_osc_fastpath_request_make(sending->peer->module->win) : NULL;
    if (NULL != operation->request && NULL == *request) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    ticket =
        mca_osc_fastpath_ticket_take(sending->peer, operation->result, operation->result_count,
                                     operation->result_type, sending->operation->bytes, &sending->hdr.ticket);
    if (NULL == ticket) {
        mca_osc_fastpath_request_drop(*request);
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    sending->hdr.generation = ticket->generation;
    ticket->request = *request;
    ticket->place = sending->place;
    return OMPI_SUCCESS;
}

/* How many bytes the next piece has, and the room it needs at least. */
static size_t piece_length(sending_t *sending)
{
    const mca_osc_fastpath_operation_t *operation = sending->operation;
    const size_t left = (sending->has_data ? operation->sent : operation->bytes) - sending->hdr.offset;
    size_t least = left < PIECE_MIN ? left : PIECE_MIN, limit;

    sending->room = sizeof(sending->hdr);
    if (MCA_OSC_FASTPATH_COMPARE_AND_SWAP == sending->hdr.kind) {
        sending->room += MCA_OSC_FASTPATH_PAD(2 * left);
        return left;
    }
    if (sending->has_data) {
        sending->room += MCA_OSC_FASTPATH_PAD(least);
        return left;
    }
    if (sending->place) {
        sending->room += sizeof(uint64_t);
        return left < PLACE_MAX ? left : PLACE_MAX;
    }
    limit = sending->unit <= GET_MAX ? GET_MAX : sending->unit;
    limit = limit <= UINT32_MAX ? limit : UINT32_MAX; /* as much as a header can ask for */
    return limit < left ? limit - limit % sending->unit : left;
}

/* Put the next piece into a packet that has room for it. @return bytes of the piece, 0 on error */
static size_t put_piece(sending_t *sending, mca_osc_fastpath_packet_t *packet, size_t length)
{
    unsigned char *to = mca_osc_fastpath_packet_end(packet);
    const size_t room = mca_osc_fastpath_packet_room(packet) - sizeof(sending->hdr);
    size_t data = 0;

    if (MCA_OSC_FASTPATH_COMPARE_AND_SWAP == sending->hdr.kind) {
        memcpy(to + sizeof(sending->hdr), sending->operation->origin, length);
        memcpy(to + sizeof(sending->hdr) + length, sending->operation->compare, length);
        data = 2 * length;
    } else if (sending->has_data) {
        if (length > room) {
            length = room - room % sending->unit;
        }
        length = data = mca_osc_fastpath_cursor_pack(&sending->cursor, to + sizeof(sending->hdr), length);
    } else if (sending->place) {
        const uint64_t address = mca_osc_fastpath_place_address(sending->operation, sending->hdr.offset);

        memcpy(to + sizeof(sending->hdr), &address, sizeof(address));
        data = sizeof(address);
    }
    sending->hdr.length = (uint32_t) length;
    if (MCA_OSC_FASTPATH_PUT_WHOLE == sending->hdr.kind) {
        sending->hdr.op = sending->operation->bytes == sending->hdr.offset + length;
    }
    memcpy(to, &sending->hdr, sizeof(sending->hdr));
    mca_osc_fastpath_packet_filled(packet, sizeof(sending->hdr) + data);
    if (sending->wants_data) {
        packet->data_from_target = true;
        *(sending->place ? &sending->peer->origin.place_bytes : &sending->peer->origin.ticket_bytes) +=
            length;
        packet->place_bytes += sending->place ? length : 0;
    }
    mca_osc_fastpath_count(MCA_OSC_FASTPATH_OPERATIONS);
    return length;
}

static int put_pieces(sending_t *sending)
{
    mca_osc_fastpath_packet_t *packet;
    int rc = OMPI_SUCCESS;

    while (sending->hdr.offset < sending->operation->bytes) {
        size_t length = piece_length(sending);

        if (0 == length) { /* an element is longer than a header can say */
            return OMPI_ERR_TYPE_MISMATCH;
        }
        rc = get_room(sending, sending->has_data ? sizeof(sending->hdr) + length : 0, &packet);
        if (OMPI_SUCCESS != rc) {
            return rc;
        }
        length = put_piece(sending, packet, length);
        if (0 == length) {
            return OMPI_ERR_TYPE_MISMATCH;
        }
        sending->hdr.offset += length;
        if (sending->has_data && sending->hdr.offset == sending->operation->sent) {
            read_only(sending);
        }
        if (sending->place && PLACE_PACKET <= packet->place_bytes) {
            mca_osc_fastpath_origin_send(sending->peer, 0);
        }
    }
    return rc;
}

/* Put all of a prepared operation into packets. */
static int put_all(sending_t *sending)
{
    const mca_osc_fastpath_operation_t *operation = sending->operation;
    int rc;

    if (!sending->has_data) {
        return put_pieces(sending);
    }
    mca_osc_fastpath_cursor_begin(&sending->cursor, operation->origin, operation->origin_count,
                                  operation->origin_type, false);
    rc = put_pieces(sending);
    mca_osc_fastpath_cursor_end(&sending->cursor);
    return rc;
}

/* A request is waited for by functions that know nothing of packets, so what it needs leaves now. */
static void send_now(sending_t *sending)
{
    mca_osc_fastpath_peer_t *peer = sending->peer;

    if (NULL != peer->origin.packet
        && (peer->module->eager || (NULL != sending->operation->request && sending->wants_data))) {
        mca_osc_fastpath_origin_send(peer, 0);
    }
}

static int put_prepared(sending_t *sending, mca_osc_fastpath_request_t **request)
{
    int rc = sending->wants_data ? take_ticket(sending, request) : OMPI_SUCCESS;

    if (OMPI_SUCCESS == rc) {
        rc = put_all(sending);
        if (OMPI_SUCCESS != rc && sending->wants_data) {
            /* given up but for the pieces on their way: nobody may wait for what they do not ask for */
            mca_osc_fastpath_ticket_cut(sending->peer, sending->hdr.ticket,
                                        sending->operation->bytes - sending->hdr.offset);
            mca_osc_fastpath_request_drop(*request);
        }
        send_now(sending);
    }
    return rc;
}

int mca_osc_fastpath_message(mca_osc_fastpath_peer_t *peer, mca_osc_fastpath_operation_t *operation)
{
    mca_osc_fastpath_module_t *module = peer->module;
    mca_osc_fastpath_request_t *request = NULL;
    sending_t sending = {.peer = peer, .operation = operation};
    int rc;

    mca_osc_fastpath_enter(module);
    rc = prepare(&sending);
    if (OMPI_SUCCESS == rc) {
        rc = put_prepared(&sending, &request);
        mca_osc_fastpath_type_release(peer, sending.hdr.type);
    }
    mca_osc_fastpath_leave(module);
    if (NULL != operation->request && OMPI_SUCCESS == rc) {
        *operation->request = NULL != request ? &request->super : &ompi_request_empty;
    }
    return rc;
}
