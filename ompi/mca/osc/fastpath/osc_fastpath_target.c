/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * The target's side of packets: locks, operations and replies.
 */
#include "ompi_config.h"

#include "opal/mca/common/fastpath/common_fastpath_clock.h"
#include "opal/mca/common/fastpath/common_fastpath_host.h"

#include "osc_fastpath_abort.h"
#include "osc_fastpath_atomic.h"
#include "osc_fastpath_locate.h"
#include "osc_fastpath_packet.h"
#include "osc_fastpath_place.h"
#include "osc_fastpath_target.h"
#include "osc_fastpath_types.h"
#include "osc_fastpath_wake.h"

/** An operation at its target. */
typedef struct {
    mca_osc_fastpath_op_hdr_t hdr;
    const unsigned char *data; /**< what came with it */
    size_t length;             /**< of a put: bytes of data */
    ompi_datatype_t *element;  /**< of an update */
    ompi_op_t *op;             /**< of an update other than compare and swap */
    mca_osc_fastpath_memory_t memory;
} arrived_t;

void mca_osc_fastpath_complain(const mca_osc_fastpath_hdr_t *hdr, const char *reason)
{
    mca_common_fastpath_show_help("help-mpi-osc-fastpath.txt", "corrupt message", opal_process_info.nodename,
                                  hdr->window, hdr->rank, reason);
}

/* The reply that is being filled, with at least `room` bytes of room, or NULL when nothing leads to the
 * origin any more. It leaves by a certain link, if that is not NULL. */
static mca_osc_fastpath_packet_t *reply_packet(mca_osc_fastpath_peer_t *peer, size_t room, size_t expected,
                                               mca_bml_base_btl_t *bml_btl)
{
    mca_osc_fastpath_packet_t *reply = peer->target.reply;

    if (NULL != reply
        && (room > mca_osc_fastpath_packet_room(reply) || (NULL != bml_btl && bml_btl != reply->bml_btl))) {
        mca_osc_fastpath_count(MCA_OSC_FASTPATH_REPLIES_SENT);
        mca_osc_fastpath_packet_send(reply);
        reply = NULL;
    }
    if (NULL == reply) {
        reply = mca_osc_fastpath_packet_open(peer, MCA_OSC_FASTPATH_REPLY, expected, bml_btl);
        peer->target.reply = reply;
    }
    return reply;
}

/* Put an entry into a reply; its data, if it has any, is behind it already. */
static void entry_put(mca_osc_fastpath_packet_t *reply, const mca_osc_fastpath_op_hdr_t *hdr, size_t offset,
                      size_t length, uint32_t what)
{
    const mca_osc_fastpath_entry_t entry = {.ticket = hdr->ticket,
                                            .generation = hdr->generation,
                                            .offset = hdr->offset + offset,
                                            .length = (uint32_t) length,
                                            .what = what};

    memcpy(mca_osc_fastpath_packet_end(reply), &entry, sizeof(entry));
    mca_osc_fastpath_packet_filled(reply, sizeof(entry) + (MCA_OSC_FASTPATH_ENTRY_DATA == what ? length : 0));
}

/* What was wrong with an operation of the packet that is being worked on. */
static void tell_error(const mca_osc_fastpath_peer_t *peer, mca_osc_fastpath_packet_t *reply, int error)
{
    mca_osc_fastpath_packet_hdr(reply)->error = error;
    mca_osc_fastpath_packet_hdr(reply)->epoch = peer->target.epoch;
}

/* Data that cannot be had, from byte `done` on: the origin is told so, that it does not wait for ever. */
static void reply_failure(mca_osc_fastpath_peer_t *peer, const mca_osc_fastpath_op_hdr_t *hdr, size_t done,
                          int error)
{
    mca_osc_fastpath_packet_t *reply =
        reply_packet(peer, sizeof(mca_osc_fastpath_entry_t), sizeof(mca_osc_fastpath_entry_t), NULL);

    if (NULL != reply) {
        entry_put(reply, hdr, done, hdr->length - done, MCA_OSC_FASTPATH_ENTRY_FAILED);
        tell_error(peer, reply, error);
    }
}

/* Put the next `length` bytes of *from into replies, each a multiple of `unit` bytes but the last. */
static int reply_data(mca_osc_fastpath_peer_t *peer, const mca_osc_fastpath_op_hdr_t *hdr,
                      mca_osc_fastpath_cursor_t *from, size_t length, size_t unit)
{
    size_t done = 0;

    while (done < length) {
        const size_t least = length - done < 64 ? length - done : 64; /* no element is longer */
        mca_osc_fastpath_packet_t *reply =
            reply_packet(peer, sizeof(mca_osc_fastpath_entry_t) + MCA_OSC_FASTPATH_PAD(least),
                         sizeof(mca_osc_fastpath_entry_t) + length - done, NULL);
        size_t piece;

        if (NULL == reply) {
            return OMPI_ERR_OUT_OF_RESOURCE;
        }
        piece = mca_osc_fastpath_packet_room(reply) - sizeof(mca_osc_fastpath_entry_t);
        piece = length - done < piece ? length - done : piece - piece % unit;
        piece = mca_osc_fastpath_cursor_pack(
            from, mca_osc_fastpath_packet_end(reply) + sizeof(mca_osc_fastpath_entry_t), piece);
        if (0 == piece) {
            reply_failure(peer, hdr, done, OMPI_ERR_TYPE_MISMATCH);
            return OMPI_ERR_TYPE_MISMATCH;
        }
        entry_put(reply, hdr, done, piece, MCA_OSC_FASTPATH_ENTRY_DATA);
        done += piece;
    }
    return OMPI_SUCCESS;
}

static void do_put(const arrived_t *arrived)
{
    mca_osc_fastpath_cursor_t cursor;

    mca_osc_fastpath_cursor_begin(&cursor, arrived->memory.address, arrived->memory.count,
                                  arrived->memory.type, true);
    mca_osc_fastpath_cursor_seek(&cursor, arrived->hdr.offset);
    mca_osc_fastpath_cursor_unpack(&cursor, arrived->data, arrived->length);
    mca_osc_fastpath_cursor_end(&cursor);
}

static int do_get(mca_osc_fastpath_peer_t *peer, const arrived_t *arrived)
{
    mca_osc_fastpath_cursor_t cursor;
    int rc;

    mca_osc_fastpath_cursor_begin(&cursor, arrived->memory.address, arrived->memory.count,
                                  arrived->memory.type, false);
    mca_osc_fastpath_cursor_seek(&cursor, arrived->hdr.offset);
    rc = reply_data(peer, &arrived->hdr, &cursor, arrived->hdr.length,
                    0 != arrived->hdr.element ? arrived->hdr.element : 1);
    mca_osc_fastpath_cursor_end(&cursor);
    return rc;
}

/* As much of it as a BTL takes is written into the origin's memory, the rest comes in replies. */
static int do_get_place(mca_osc_fastpath_peer_t *peer, arrived_t *arrived)
{
    mca_osc_fastpath_memory_t *memory = &arrived->memory;
    char *from = (char *) memory->address + memory->type->super.true_lb + arrived->hdr.offset;
    uint64_t to;
    size_t placed;

    if (!mca_osc_fastpath_is_contiguous(memory->type, memory->count)) {
        return do_get(peer, arrived);
    }
    memcpy(&to, arrived->data, sizeof(to));
    placed = mca_osc_fastpath_place(peer, &arrived->hdr, from, to);
    arrived->hdr.offset += placed;
    arrived->hdr.length -= (uint32_t) placed;
    return 0 < arrived->hdr.length ? do_get(peer, arrived) : OMPI_SUCCESS;
}

/* Data has been written. Where it could not be, it is in replies instead. */
static int reply_placed(mca_osc_fastpath_peer_t *peer, const mca_osc_fastpath_placing_t *placing)
{
    mca_osc_fastpath_packet_t *reply;
    mca_osc_fastpath_cursor_t cursor;
    int rc;

    if (OPAL_UNLIKELY(OPAL_SUCCESS != placing->status)) {
        mca_osc_fastpath_cursor_begin(&cursor, placing->from, placing->hdr.length, &ompi_mpi_byte.dt, false);
        rc = reply_data(peer, &placing->hdr, &cursor, placing->hdr.length, 1);
        mca_osc_fastpath_cursor_end(&cursor);
        return rc;
    }
    reply = reply_packet(peer, sizeof(mca_osc_fastpath_entry_t), sizeof(mca_osc_fastpath_entry_t),
                         placing->bml_btl);
    if (NULL == reply) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    entry_put(reply, &placing->hdr, 0, placing->hdr.length, MCA_OSC_FASTPATH_ENTRY_PLACED);
    return OMPI_SUCCESS;
}

/* Tell the origin what has been written into its memory. @return whether all has been */
static bool end_placing(mca_osc_fastpath_peer_t *peer)
{
    mca_osc_fastpath_placing_t *placing;

    if (mca_osc_fastpath_is_placing(peer)) {
        return false;
    }
    while (NULL != (placing = mca_osc_fastpath_placed(peer))) {
        const int rc = reply_placed(peer, placing);

        if (OPAL_UNLIKELY(OMPI_SUCCESS != rc)) {
            peer->target.error = rc;
        }
        free(placing);
    }
    return true;
}

/* The put whose next piece this is; a new one with the first piece, else NULL when there is none. */
static mca_osc_fastpath_whole_t *find_whole(mca_osc_fastpath_peer_t *peer, const arrived_t *arrived,
                                            size_t total)
{
    mca_osc_fastpath_whole_t *whole;

    OPAL_LIST_FOREACH(whole, &peer->target.wholes, mca_osc_fastpath_whole_t)
    {
        if (whole->number == arrived->hdr.ticket) {
            return total == whole->total && arrived->hdr.offset == whole->here ? whole : NULL;
        }
    }
    if (0 != arrived->hdr.offset) {
        return NULL;
    }
    whole = OBJ_NEW(mca_osc_fastpath_whole_t);
    if (NULL == whole) {
        mca_osc_fastpath_no_memory("a put in several pieces");
    }
    whole->number = arrived->hdr.ticket;
    whole->total = total;
    whole->here = 0;
    whole->data = malloc(total);
    opal_list_append(&peer->target.wholes, &whole->super);
    return whole;
}

/* A put that comes in pieces which end within elements. @return OMPI_SUCCESS or an error */
static int do_put_whole(mca_osc_fastpath_peer_t *peer, arrived_t *arrived)
{
    const size_t total = mca_osc_fastpath_packed_size(arrived->memory.type, arrived->memory.count);
    mca_osc_fastpath_whole_t *whole = find_whole(peer, arrived, total);
    int rc = OMPI_SUCCESS;

    if (NULL == whole) {
        return OMPI_ERR_BAD_PARAM;
    }
    if (NULL != whole->data) { /* else there is no memory for it, which is told when it is whole */
        memcpy(whole->data + whole->here, arrived->data, arrived->hdr.length);
    }
    whole->here += arrived->hdr.length;
    if (whole->here < total && 0 == arrived->hdr.op) {
        return OMPI_SUCCESS;
    }
    opal_list_remove_item(&peer->target.wholes, &whole->super);
    if (NULL != whole->data) {
        arrived->data = whole->data;
        arrived->hdr.offset = 0;
        arrived->length = whole->here;
        do_put(arrived);
    } else {
        rc = OMPI_ERR_OUT_OF_RESOURCE;
    }
    OBJ_RELEASE(whole);
    return rc;
}

/* In the accumulate lock, if that is needed. What was there before goes straight into a reply that has room
 * for it. */
static int update_of_packet(mca_osc_fastpath_peer_t *peer, const arrived_t *arrived,
                            mca_osc_fastpath_update_t *update)
{
    const size_t length = update->length;
    const size_t room = sizeof(mca_osc_fastpath_entry_t) + MCA_OSC_FASTPATH_PAD(length);
    mca_osc_fastpath_packet_t *reply;
    mca_osc_fastpath_cursor_t cursor;
    int rc;

    if (MCA_OSC_FASTPATH_ACCUMULATE == arrived->hdr.kind) {
        return mca_osc_fastpath_update(update);
    }
    reply = reply_packet(peer, room, room, NULL);
    if (NULL == reply) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    if (OPAL_LIKELY(room <= mca_osc_fastpath_packet_room(reply))) {
        update->result = mca_osc_fastpath_packet_end(reply) + sizeof(mca_osc_fastpath_entry_t);
        rc = mca_osc_fastpath_update(update);
        entry_put(reply, &arrived->hdr, 0, length, MCA_OSC_FASTPATH_ENTRY_DATA);
        return rc;
    }
    update->result = malloc(length); /* the way back has smaller packets */
    if (NULL == update->result) {
        reply_failure(peer, &arrived->hdr, 0, OMPI_ERR_OUT_OF_RESOURCE);
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    rc = mca_osc_fastpath_update(update);
    mca_osc_fastpath_cursor_begin(&cursor, update->result, length, &ompi_mpi_byte.dt, false);
    (void) reply_data(peer, &arrived->hdr, &cursor, length, arrived->element->super.size);
    mca_osc_fastpath_cursor_end(&cursor);
    free(update->result);
    return rc;
}

/* @return OMPI_SUCCESS, OMPI_ERR_WOULD_BLOCK when somebody has the accumulate lock, or an error */
static int try_update(mca_osc_fastpath_peer_t *peer, const arrived_t *arrived)
{
    mca_osc_fastpath_module_t *module = peer->module;
    mca_osc_fastpath_update_t update = {.memory = arrived->memory,
                                        .offset = arrived->hdr.offset,
                                        .length = arrived->hdr.length,
                                        .element = arrived->element,
                                        .op = arrived->op,
                                        .origin = arrived->data,
                                        .compare = arrived->data + arrived->hdr.length,
                                        .atomic = module->atomic};
    int rc;

    if (!mca_osc_fastpath_needs_lock(&update)) {
        return update_of_packet(peer, arrived, &update);
    }
    if (!mca_osc_fastpath_trylock_word(&module->member->accumulate, module->rank)) {
        return OMPI_ERR_WOULD_BLOCK;
    }
    rc = update_of_packet(peer, arrived, &update);
    mca_osc_fastpath_unlock_word(&module->member->accumulate);
    return rc;
}

static bool is_update(uint8_t kind)
{
    return MCA_OSC_FASTPATH_ACCUMULATE == kind || MCA_OSC_FASTPATH_GET_ACCUMULATE == kind
           || MCA_OSC_FASTPATH_COMPARE_AND_SWAP == kind;
}

/* Bytes of data that came with an operation, or SIZE_MAX when there is no such operation. */
static size_t data_length(const arrived_t *arrived)
{
    switch (arrived->hdr.kind) {
    case MCA_OSC_FASTPATH_PUT:
    case MCA_OSC_FASTPATH_PUT_WHOLE:
    case MCA_OSC_FASTPATH_TYPE:
        return arrived->hdr.length;
    case MCA_OSC_FASTPATH_ACCUMULATE:
    case MCA_OSC_FASTPATH_GET_ACCUMULATE:
        return &ompi_mpi_op_no_op.op == arrived->op ? 0 : arrived->hdr.length;
    case MCA_OSC_FASTPATH_COMPARE_AND_SWAP:
        return 2 * (size_t) arrived->hdr.length;
    case MCA_OSC_FASTPATH_GET:
        return 0;
    case MCA_OSC_FASTPATH_GET_PLACE:
        return sizeof(uint64_t);
    default:
        return SIZE_MAX;
    }
}

/* What an update does with which elements. @return whether there is such an update */
static bool parse_update(arrived_t *arrived)
{
    const bool compares = MCA_OSC_FASTPATH_COMPARE_AND_SWAP == arrived->hdr.kind;

    arrived->element = mca_osc_fastpath_predefined(arrived->hdr.element);
    if (NULL == arrived->element || 0 == arrived->element->super.size
        || 0 != arrived->hdr.length % arrived->element->super.size) {
        return false;
    }
    arrived->op = compares ? NULL : mca_osc_fastpath_op(arrived->hdr.op);
    return compares || (NULL != arrived->op && mca_osc_fastpath_op_defined(arrived->op, arrived->element));
}

/* Read an operation of a packet and check it. @return its length with data and padding, or 0 when it makes no
 * sense */
static size_t parse_operation(const mca_osc_fastpath_hdr_t *hdr, const unsigned char *from, size_t length,
                              arrived_t *arrived)
{
    size_t data;

    if (sizeof(arrived->hdr) > length) {
        mca_osc_fastpath_complain(hdr, "cut off");
        return 0;
    }
    memcpy(&arrived->hdr, from, sizeof(arrived->hdr));
    arrived->data = from + sizeof(arrived->hdr);
    arrived->op = NULL;
    arrived->length = arrived->hdr.length;
    if (is_update(arrived->hdr.kind) && !parse_update(arrived)) {
        mca_osc_fastpath_complain(hdr, "an operation that does not exist");
        return 0;
    }
    data = data_length(arrived);
    if (SIZE_MAX == data || data > length - sizeof(arrived->hdr)) {
        mca_osc_fastpath_complain(hdr, "an operation that does not exist, or is cut off");
        return 0;
    }
    return sizeof(arrived->hdr) + MCA_OSC_FASTPATH_PAD(data);
}

/* Find the memory of an operation. @return OMPI_SUCCESS or what is wrong */
static int find_memory(mca_osc_fastpath_peer_t *peer, arrived_t *arrived)
{
    ompi_datatype_t *type = mca_osc_fastpath_type_find(peer, arrived->hdr.type, arrived->hdr.type_generation);
    size_t size;

    if (NULL == type) {
        return MPI_ERR_TYPE;
    }
    if (OPAL_UNLIKELY(0 != type->super.size && arrived->hdr.count > SIZE_MAX / type->super.size)) {
        return OMPI_ERR_RMA_RANGE;
    }
    size = mca_osc_fastpath_packed_size(type, arrived->hdr.count);
    if (OPAL_UNLIKELY(arrived->hdr.offset > size || arrived->hdr.length > size - arrived->hdr.offset)) {
        return OMPI_ERR_RMA_RANGE;
    }
    return mca_osc_fastpath_locate(peer->module, arrived->hdr.disp, arrived->hdr.count, type,
                                   &arrived->memory);
}

/* @return OMPI_SUCCESS, OMPI_ERR_WOULD_BLOCK, or what went wrong, for the origin */
static int operate(mca_osc_fastpath_peer_t *peer, arrived_t *arrived)
{
    int rc;

    if (MCA_OSC_FASTPATH_TYPE == arrived->hdr.kind) {
        return mca_osc_fastpath_type_described(peer, &arrived->hdr, arrived->data);
    }
    if (OPAL_UNLIKELY(NULL != peer->target.placing) && MCA_OSC_FASTPATH_GET != arrived->hdr.kind
        && MCA_OSC_FASTPATH_GET_PLACE != arrived->hdr.kind && !end_placing(peer)) {
        return OMPI_ERR_WOULD_BLOCK; /* what is being read does not change */
    }
    rc = find_memory(peer, arrived);
    if (OPAL_UNLIKELY(OMPI_SUCCESS != rc)) {
        if (mca_osc_fastpath_returns_data(arrived->hdr.kind)) {
            reply_failure(peer, &arrived->hdr, 0, rc);
        }
        return rc;
    }
    if (MCA_OSC_FASTPATH_PUT == arrived->hdr.kind) {
        do_put(arrived);
        return OMPI_SUCCESS;
    }
    if (MCA_OSC_FASTPATH_PUT_WHOLE == arrived->hdr.kind) {
        return do_put_whole(peer, arrived);
    }
    if (MCA_OSC_FASTPATH_GET == arrived->hdr.kind) {
        return do_get(peer, arrived);
    }
    if (MCA_OSC_FASTPATH_GET_PLACE == arrived->hdr.kind) {
        return do_get_place(peer, arrived);
    }
    return try_update(peer, arrived);
}

/* @return whether packets of this epoch may take effect yet */
static bool epoch_open(const mca_osc_fastpath_peer_t *peer, const mca_osc_fastpath_hdr_t *hdr)
{
    if (MCA_OSC_FASTPATH_EPOCH_START == hdr->epoch) {
        return 0 <= (int32_t) (peer->target.posts - hdr->number);
    }
    return 0 <= (int32_t) (peer->module->fences - hdr->number);
}

bool mca_osc_fastpath_share_own(mca_osc_fastpath_peer_t *peer, bool pass)
{
    mca_osc_fastpath_module_t *module = peer->module;
    mca_osc_fastpath_lockword_t *word = &module->member->lock;

    if (!((pass || 0 == module->claims.waiting) && mca_osc_fastpath_lock_shared(word, pass))
        && !mca_osc_fastpath_lock_shared_late(word, true, &peer->target.refused_since,
                                              mca_common_fastpath_nanoseconds())) {
        return false;
    }
    peer->target.refused_since = 0;
    return true;
}

/* Take the lock a packet asks for. @return whether the packet has it */
static bool take_packet_lock(mca_osc_fastpath_peer_t *peer, const mca_osc_fastpath_hdr_t *hdr, bool *locked)
{
    mca_osc_fastpath_module_t *module = peer->module;

    if (*locked || !((MCA_OSC_FASTPATH_LOCK_SHARED | MCA_OSC_FASTPATH_LOCK_EXCLUSIVE) & hdr->flags)) {
        return true;
    }
    if (MCA_OSC_FASTPATH_LOCK_EXCLUSIVE & hdr->flags) {
        *locked =
            mca_osc_fastpath_lock_claim(&module->member->lock, &module->claims, &peer->target.waits_for_lock);
        peer->target.held = *locked ? MCA_OSC_FASTPATH_LOCK_EXCLUSIVE : 0;
    } else {
        *locked = mca_osc_fastpath_share_own(peer, 0 != (MCA_OSC_FASTPATH_LOCK_PASS & hdr->flags));
        peer->target.held = *locked ? MCA_OSC_FASTPATH_LOCK_SHARED : 0;
    }
    return *locked;
}

/* What a packet asks for after its operations. */
static void finish_packet(mca_osc_fastpath_peer_t *peer, const mca_osc_fastpath_hdr_t *hdr)
{
    mca_osc_fastpath_module_t *module = peer->module;

    if ((MCA_OSC_FASTPATH_UNLOCK & hdr->flags) && 0 != peer->target.held) {
        mca_osc_fastpath_give_back(module, &module->member->lock,
                                   MCA_OSC_FASTPATH_LOCK_EXCLUSIVE == peer->target.held);
        peer->target.held = 0;
        module->rerun = true;
    }
    if (MCA_OSC_FASTPATH_COMPLETE & hdr->flags) {
        ++peer->target.completes;
    }
    if (MCA_OSC_FASTPATH_EPOCH_FENCE == hdr->epoch) {
        ++module->fence_done;
    }
    ++module->packets_done;
    peer->target.done = hdr->sequence;
}

/* The acknowledgement travels with data where there is any. */
static void reply(mca_osc_fastpath_peer_t *peer, const mca_osc_fastpath_hdr_t *hdr, int error)
{
    mca_osc_fastpath_packet_t *packet = peer->target.reply;

    if (NULL == packet && (OMPI_SUCCESS != error || (MCA_OSC_FASTPATH_ACK & hdr->flags))) {
        packet = mca_osc_fastpath_packet_open(peer, MCA_OSC_FASTPATH_REPLY, 0, NULL);
        mca_osc_fastpath_count(MCA_OSC_FASTPATH_ACKS_SENT);
    } else if (NULL != packet) {
        mca_osc_fastpath_count(MCA_OSC_FASTPATH_REPLIES_SENT);
        if (MCA_OSC_FASTPATH_ACK & hdr->flags) {
            mca_osc_fastpath_count(MCA_OSC_FASTPATH_ACKS_CARRIED);
        }
    }
    peer->target.reply = NULL;
    if (NULL != packet) {
        tell_error(peer, packet, error);
        mca_osc_fastpath_packet_send(packet);
    }
}

int mca_osc_fastpath_target_run(mca_osc_fastpath_peer_t *peer, const void *packet, size_t *position,
                                bool *locked)
{
    const unsigned char *bytes = packet;
    mca_osc_fastpath_hdr_t hdr;
    size_t end;

    memcpy(&hdr, packet, sizeof(hdr));
    end = sizeof(hdr) + hdr.length;
    if (!epoch_open(peer, &hdr) || !take_packet_lock(peer, &hdr, locked)) {
        return OMPI_ERR_WOULD_BLOCK;
    }
    peer->target.epoch = hdr.epoch;
    while (*position < end) {
        arrived_t arrived;
        size_t length = parse_operation(&hdr, bytes + *position, end - *position, &arrived);
        int rc;

        if (0 == length) {
            peer->target.error = OMPI_ERROR;
            *position = end;
            break;
        }
        rc = operate(peer, &arrived);
        if (OMPI_ERR_WOULD_BLOCK == rc) {
            return rc;
        }
        if (OPAL_UNLIKELY(OMPI_SUCCESS != rc)) {
            peer->target.error = rc;
        }
        *position += length;
    }
    if (OPAL_UNLIKELY(NULL != peer->target.placing) && !end_placing(peer)) {
        return OMPI_ERR_WOULD_BLOCK;
    }
    finish_packet(peer, &hdr);
    reply(peer, &hdr, peer->target.error);
    peer->target.error = OMPI_SUCCESS;
    return OMPI_SUCCESS;
}
