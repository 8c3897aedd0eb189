/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include <stdlib.h>

#include "opal/mca/common/fastpath/common_fastpath_copy.h"

#include "pml_fastpath_kept.h"
#include "pml_fastpath_message.h"

/* Records come in chunks of their own: items of Open MPI's free lists carry 48 bytes more. Free ones
 * are a stack, linked through the first link of the matcher's. */
#define CHUNK_RECORDS 63

typedef struct chunk_t {
    struct chunk_t *next;
    uint8_t padding[sizeof(mca_pml_fastpath_message_t) - sizeof(void *)];
    mca_pml_fastpath_message_t records[CHUNK_RECORDS];
} chunk_t;

static struct {
    opal_mutex_t lock; /* taken last: nothing is called while it is held */
    mca_pml_fastpath_match_link_t *free;
    chunk_t *chunks;
    size_t kept; /* bytes in use, payloads included */
    size_t most; /* that kept has been */
} records;

void mca_pml_fastpath_messages_init(void)
{
    OBJ_CONSTRUCT(&records.lock, opal_mutex_t);
    records.free = NULL;
    records.chunks = NULL;
    records.kept = 0;
    records.most = 0;
}

void mca_pml_fastpath_messages_fini(void)
{
    while (NULL != records.chunks) {
        chunk_t *chunk = records.chunks;

        records.chunks = chunk->next;
        free(chunk);
    }
    records.free = NULL;
    OBJ_DESTRUCT(&records.lock);
}

static inline void record_push(mca_pml_fastpath_message_t *message)
{
    message->msg.link[0].next = records.free;
    records.free = &message->msg.link[0];
}

static void records_grow(void)
{
    chunk_t *chunk = aligned_alloc(sizeof(mca_pml_fastpath_message_t), sizeof(*chunk));

    if (NULL != chunk) {
        chunk->next = records.chunks;
        records.chunks = chunk;
        for (int i = CHUNK_RECORDS - 1; i >= 0; --i) {
            record_push(&chunk->records[i]);
        }
    }
}

static mca_pml_fastpath_message_t *record_get(size_t payload)
{
    mca_pml_fastpath_match_link_t *link;

    OPAL_THREAD_LOCK(&records.lock);
    if (OPAL_UNLIKELY(NULL == records.free)) {
        records_grow();
    }
    link = records.free;
    if (OPAL_LIKELY(NULL != link)) {
        records.free = link->next;
        records.kept += sizeof(mca_pml_fastpath_message_t) + payload;
        records.most = records.kept > records.most ? records.kept : records.most;
    }
    OPAL_THREAD_UNLOCK(&records.lock);
    (void) mca_pml_fastpath_needed(link, "an unexpected message", "malloc");
    return (mca_pml_fastpath_message_t *) ((char *) link - offsetof(mca_pml_fastpath_message_t, msg.link[0]));
}

void mca_pml_fastpath_messages_account(int64_t bytes)
{
    OPAL_THREAD_LOCK(&records.lock);
    records.kept += (size_t) bytes;
    records.most = records.kept > records.most ? records.kept : records.most;
    OPAL_THREAD_UNLOCK(&records.lock);
}

/* Copy all that follows the header. */
static void payload_copy(uint8_t *to, const mca_pml_fastpath_arrival_t *arrival)
{
    size_t skip = arrival->skip;

    for (size_t i = 0; i < arrival->num_segments; ++i) {
        const mca_btl_base_segment_t *segment = &arrival->segments[i];

        if (segment->seg_len <= skip) {
            skip -= segment->seg_len;
            continue;
        }
        mca_common_fastpath_copy(to, (const char *) segment->seg_addr.pval + skip, segment->seg_len - skip);
        to += segment->seg_len - skip;
        skip = 0;
    }
}

mca_pml_fastpath_message_t *mca_pml_fastpath_message_keep(const mca_pml_fastpath_arrival_t *arrival,
                                                          struct mca_pml_fastpath_multi_t *multi)
{
    size_t size = mca_pml_fastpath_arrival_payload(arrival);
    mca_pml_fastpath_message_t *message = record_get(size);

    message->sequence = arrival->sequence;
    message->type = arrival->type;
    message->flags = arrival->flags;
    message->length = arrival->length;
    message->payload = NULL;
    if (MCA_PML_FASTPATH_HDR_MULTI == arrival->type) {
        message->u.multi = multi;
    } else if (MCA_PML_FASTPATH_HDR_MATCH != arrival->type) {
        message->u.rndv.src_req = arrival->src_req;
        message->u.rndv.address = arrival->address;
        message->u.rndv.btl = arrival->btl;
    } else if (size <= sizeof(message->u.inlined)) {
        payload_copy(message->u.inlined, arrival);
        return message;
    }
    if (0 < size) {
        message->payload = mca_pml_fastpath_needed(
            mca_pml_fastpath_kept_alloc(sizeof(*message->payload) + size), "an unexpected message", "malloc");
        message->payload->size = size;
        payload_copy(message->payload->bytes, arrival);
    }
    return message;
}

void mca_pml_fastpath_message_arrival(mca_pml_fastpath_message_t *message, mca_btl_base_segment_t *segment,
                                      mca_pml_fastpath_arrival_t *arrival)
{
    arrival->type = message->type;
    arrival->flags = message->flags;
    arrival->src = message->msg.src;
    arrival->tag = message->msg.tag;
    arrival->sequence = message->sequence;
    arrival->length = message->length;
    if (MCA_PML_FASTPATH_HDR_MULTI == message->type) {
        arrival->multi = message->u.multi;
    } else if (MCA_PML_FASTPATH_HDR_MATCH != message->type) {
        arrival->src_req = message->u.rndv.src_req;
        arrival->address = message->u.rndv.address;
        arrival->btl = message->u.rndv.btl;
    }
    segment->seg_addr.pval = NULL != message->payload ? message->payload->bytes : message->u.inlined;
    segment->seg_len = mca_pml_fastpath_message_payload(message);
    arrival->segments = segment;
    arrival->num_segments = 1;
    arrival->skip = 0;
}

size_t mca_pml_fastpath_messages_kept(size_t *most)
{
    size_t kept;

    OPAL_THREAD_LOCK(&records.lock);
    kept = records.kept;
    if (NULL != most) {
        *most = records.most;
    }
    OPAL_THREAD_UNLOCK(&records.lock);
    return kept;
}

void mca_pml_fastpath_message_return(mca_pml_fastpath_message_t *message)
{
    size_t payload = mca_pml_fastpath_message_payload(message);

    mca_pml_fastpath_kept_free(message->payload, sizeof(*message->payload) + payload);
    OPAL_THREAD_LOCK(&records.lock);
    records.kept -= sizeof(*message) + payload;
    record_push(message);
    OPAL_THREAD_UNLOCK(&records.lock);
}

mca_pml_fastpath_parked_t *mca_pml_fastpath_park(mca_btl_base_module_t *btl,
                                                 const mca_pml_fastpath_hdr_t *hdr,
                                                 const mca_btl_base_segment_t *segments, size_t num_segments,
                                                 size_t skip)
{
    mca_pml_fastpath_arrival_t whole = {.segments = segments, .num_segments = num_segments, .skip = skip};
    const size_t hdr_size = NULL == hdr ? 0 : mca_pml_fastpath_rule(hdr->hdr_type)->size;
    const size_t size = mca_pml_fastpath_arrival_payload(&whole);
    mca_pml_fastpath_parked_t *parked =
        mca_pml_fastpath_needed(mca_pml_fastpath_kept_alloc(sizeof(*parked) + hdr_size + size),
                                "a message that came early", "malloc");

    OBJ_CONSTRUCT(&parked->super, opal_list_item_t);
    parked->btl = btl;
    parked->size = hdr_size + size;
    if (0 < hdr_size) {
        memcpy(parked->hdr, hdr, hdr_size);
    }
    payload_copy((uint8_t *) parked->hdr + hdr_size, &whole);
    return parked;
}

void mca_pml_fastpath_parked_free(mca_pml_fastpath_parked_t *parked)
{
    OBJ_DESTRUCT(&parked->super);
    mca_pml_fastpath_kept_free(parked, sizeof(*parked) + parked->size);
}
