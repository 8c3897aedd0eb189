/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Placing: the target of a get has its BTL write the data into the origin's memory.
 *
 * A packet takes effect when all it has asked for has been written, so neither a lock nor the end of an epoch
 * comes before that. What tells the origin follows the data on the same link, after the BTL's callback: a BTL
 * that moves data so delivers it first. What a BTL does not take, or fails to write, comes in replies.
 *
 * Only BTLs that want no registration of memory do that: a handle would be one link's.
 */
#include "ompi_config.h"

#include "compat/fastpath_ft_compat.h"

#include "osc_fastpath_packet.h"
#include "osc_fastpath_place.h"

/** A link is given so many bytes at least when several share a piece. */
#define LEAST_SHARE ((size_t) 64 << 10)

/* The next of the links that packets take which writes memory of the peer without more ado, or NULL. Where
 * failures of processes are survived there is none: a call may return while a target goes on writing. */
static mca_bml_base_btl_t *next_placing_link(mca_bml_base_endpoint_t *endpoint)
{
    const size_t links =
        NULL == endpoint || fastpath_ft() ? 0 : mca_bml_base_btl_array_get_size(&endpoint->btl_eager);

    for (size_t i = 0; i < links; ++i) {
        mca_bml_base_btl_t *bml_btl = mca_bml_base_btl_array_get_next(&endpoint->btl_eager);
        const mca_btl_base_module_t *btl = bml_btl->btl;

        if (0 != (MCA_BTL_FLAGS_PUT & bml_btl->btl_flags) && NULL != btl->btl_put
            && NULL == btl->btl_register_mem && 1 >= btl->btl_put_alignment) {
            return bml_btl;
        }
    }
    return NULL;
}

bool mca_osc_fastpath_may_place(mca_osc_fastpath_peer_t *peer, const mca_osc_fastpath_operation_t *operation,
                                size_t total)
{
    const size_t limit = mca_osc_fastpath_component.place_limit;

    return OPAL_UNLIKELY(0 != limit && limit <= total) && MCA_OSC_FASTPATH_GET == operation->kind
           && mca_osc_fastpath_is_contiguous(operation->type, operation->count)
           && mca_osc_fastpath_is_contiguous(operation->result_type, operation->result_count)
           && NULL != next_placing_link(mca_osc_fastpath_endpoint(peer));
}

uint64_t mca_osc_fastpath_place_address(const mca_osc_fastpath_operation_t *operation, size_t offset)
{
    return (uint64_t) ((uintptr_t) operation->result + (uintptr_t) operation->result_type->super.true_lb
                       + offset);
}

/* May come in any thread, and within mca_osc_fastpath_place(). */
static void written(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint, void *local_address,
                    mca_btl_base_registration_handle_t *local_handle, void *context, void *cbdata, int status)
{
    mca_osc_fastpath_placing_t *placing = cbdata;

    (void) btl;
    (void) endpoint;
    (void) local_address;
    (void) local_handle;
    (void) context;
    placing->status = status;
    /* release, with the acquire of mca_osc_fastpath_is_placing(): the status */
    (void) atomic_fetch_sub_explicit(&placing->peer->target.writing, 1, memory_order_release);
}

/* Have `length` bytes of a piece written. @return whether the BTL does that */
static bool write_some(mca_osc_fastpath_peer_t *peer, mca_bml_base_btl_t *bml_btl,
                       const mca_osc_fastpath_op_hdr_t *hdr, void *from, uint64_t to, size_t length)
{
    mca_osc_fastpath_placing_t *placing;

    if (mca_osc_fastpath_inject_fault()) {
        return false;
    }
    placing = malloc(sizeof(*placing));
    if (NULL == placing) {
        return false;
    }
    placing->peer = peer;
    placing->bml_btl = bml_btl;
    placing->hdr = *hdr;
    placing->hdr.length = (uint32_t) length;
    placing->from = from;
    (void) atomic_fetch_add_explicit(&peer->target.writing, 1, memory_order_relaxed);
    if (0 > mca_bml_base_put(bml_btl, from, to, NULL, NULL, length, 0, MCA_BTL_NO_ORDER, written, placing)) {
        (void) atomic_fetch_sub_explicit(&peer->target.writing, 1, memory_order_relaxed);
        free(placing);
        return false;
    }
    placing->next = peer->target.placing;
    peer->target.placing = placing;
    return true;
}

size_t mca_osc_fastpath_place(mca_osc_fastpath_peer_t *peer, const mca_osc_fastpath_op_hdr_t *hdr, void *from,
                              uint64_t to)
{
    mca_bml_base_endpoint_t *endpoint = mca_osc_fastpath_endpoint(peer);
    mca_osc_fastpath_op_hdr_t some = *hdr;
    mca_bml_base_btl_t *bml_btl = next_placing_link(endpoint);
    size_t done = 0, share;

    if (NULL == bml_btl) {
        return 0;
    }
    share = (hdr->length - 1) / mca_bml_base_btl_array_get_size(&endpoint->btl_eager) + 1;
    share = share < LEAST_SHARE ? LEAST_SHARE : share;
    for (; done < hdr->length; bml_btl = next_placing_link(endpoint)) {
        size_t length = hdr->length - done < share ? hdr->length - done : share;

        length = length < bml_btl->btl->btl_put_limit ? length : bml_btl->btl->btl_put_limit;
        some.offset = hdr->offset + done;
        if (!write_some(peer, bml_btl, &some, (char *) from + done, to + done, length)) {
            break;
        }
        done += length;
    }
    return done;
}

mca_osc_fastpath_placing_t *mca_osc_fastpath_placed(mca_osc_fastpath_peer_t *peer)
{
    mca_osc_fastpath_placing_t *placing = peer->target.placing;

    if (NULL != placing) {
        peer->target.placing = placing->next;
    }
    return placing;
}
