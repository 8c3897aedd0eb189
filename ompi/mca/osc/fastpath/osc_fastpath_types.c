/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Datatypes of targets, described once and named by slot afterwards.
 */
#include "ompi_config.h"

#include "osc_fastpath_memory.h"
#include "osc_fastpath_types.h"

/** Largest accepted description of a datatype, in bytes; a longer one is corrupt. */
#define DESCRIPTION_MAX ((uint64_t) 1 << 31)

/* Checksum of a description (FNV-1a). Open MPI's decoder of descriptions checks nothing, so a damaged one
 * must not get there. */
static uint64_t sum_of(const void *description, size_t length)
{
    const unsigned char *byte = description;
    uint64_t sum = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < length; ++i) {
        sum = (sum ^ byte[i]) * UINT64_C(0x100000001b3);
    }
    return sum;
}

static mca_osc_fastpath_types_t *types_of(mca_osc_fastpath_types_t **types)
{
    if (NULL == *types) {
        *types = calloc(1, sizeof(**types));
    }
    return *types;
}

static void slot_clear(mca_osc_fastpath_type_slot_t *slot)
{
    if (NULL != slot->type) {
        ompi_datatype_t *type = slot->type;

        slot->type = NULL;
        OBJ_RELEASE(type);
    }
    free(slot->description);
    slot->description = NULL;
    slot->described = 0;
}

/* The slot of a type, or the one of those that nobody uses that has not been used for the longest time. NULL:
 * all are in use. */
static mca_osc_fastpath_type_slot_t *slot_for(mca_osc_fastpath_types_t *types, const ompi_datatype_t *type)
{
    mca_osc_fastpath_type_slot_t *oldest = NULL;

    for (int i = 0; i < MCA_OSC_FASTPATH_TYPE_SLOTS; ++i) {
        mca_osc_fastpath_type_slot_t *slot = &types->slots[i];

        if (type == slot->type) {
            return slot;
        }
        if (0 == slot->users && (NULL == oldest || slot->used < oldest->used)) {
            oldest = slot;
        }
    }
    return oldest;
}

bool mca_osc_fastpath_type_nameable(const mca_osc_fastpath_peer_t *peer, const ompi_datatype_t *type)
{
    return ompi_datatype_is_predefined(type) || NULL == peer->origin.types
           || NULL != slot_for(peer->origin.types, type);
}

int mca_osc_fastpath_type_name(mca_osc_fastpath_peer_t *peer, ompi_datatype_t *type,
                               mca_osc_fastpath_type_name_t *name)
{
    mca_osc_fastpath_types_t *types;
    mca_osc_fastpath_type_slot_t *slot;

    name->description = NULL;
    name->length = 0;
    if (ompi_datatype_is_predefined(type)) {
        name->type = MCA_OSC_FASTPATH_PREDEFINED | (uint32_t) type->id;
        name->generation = 0;
        return OMPI_SUCCESS;
    }
    types = types_of(&peer->origin.types);
    if (NULL == types) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    slot = slot_for(types, type);
    slot->used = ++types->clock;
    if (type != slot->type) {
        if (OMPI_SUCCESS != ompi_datatype_get_pack_description(type, &name->description)) {
            return OMPI_ERR_TYPE_MISMATCH;
        }
        name->length = ompi_datatype_pack_description_length(type);
        name->sum = sum_of(name->description, name->length);
        slot_clear(slot);
        OBJ_RETAIN(type); /* its address names it until the slot is used for another */
        slot->type = type;
        ++slot->generation;
        mca_osc_fastpath_count(MCA_OSC_FASTPATH_TYPES_SENT);
    }
    ++slot->users;
    name->type = (uint32_t) (slot - types->slots);
    name->generation = slot->generation;
    return OMPI_SUCCESS;
}

void mca_osc_fastpath_type_release(mca_osc_fastpath_peer_t *peer, uint32_t type)
{
    if (!(MCA_OSC_FASTPATH_PREDEFINED & type)) {
        --peer->origin.types->slots[type].users;
    }
}

void mca_osc_fastpath_type_unsent(mca_osc_fastpath_peer_t *peer, const mca_osc_fastpath_type_name_t *name)
{
    slot_clear(&peer->origin.types->slots[name->type]);
}

/* All of a description is here. */
static int describe_slot(mca_osc_fastpath_peer_t *peer, mca_osc_fastpath_type_slot_t *slot, uint64_t sum)
{
    void *description = slot->description; /* the call moves its argument */
    const bool good = sum == sum_of(description, slot->described);

    if (good) {
        slot->type = ompi_datatype_create_from_packed_description(
            &description, ompi_comm_peer_lookup(peer->module->comm, peer->rank));
        if (NULL != slot->type && ompi_datatype_is_predefined(slot->type)) {
            OBJ_RETAIN(slot->type); /* a duplicate of it is described as itself; the slot releases it */
        }
    }
    free(slot->description);
    slot->description = NULL;
    return good ? OMPI_SUCCESS : OMPI_ERR_BAD_PARAM;
}

int mca_osc_fastpath_type_described(mca_osc_fastpath_peer_t *peer, const mca_osc_fastpath_op_hdr_t *hdr,
                                    const void *data)
{
    mca_osc_fastpath_types_t *types = types_of(&peer->target.types);
    mca_osc_fastpath_type_slot_t *slot;

    if (NULL == types) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    if (hdr->type >= MCA_OSC_FASTPATH_TYPE_SLOTS || 0 == hdr->count || hdr->count > DESCRIPTION_MAX
        || hdr->length > hdr->count) {
        return OMPI_ERR_BAD_PARAM;
    }
    slot = &types->slots[hdr->type];
    if (0 == hdr->offset) {
        slot_clear(slot);
        slot->generation = hdr->type_generation;
        slot->description = malloc(hdr->count);
        if (NULL == slot->description) {
            return OMPI_ERR_OUT_OF_RESOURCE;
        }
    }
    if (NULL == slot->description || hdr->offset != slot->described
        || hdr->length > hdr->count - slot->described) {
        return OMPI_ERR_BAD_PARAM;
    }
    memcpy((char *) slot->description + slot->described, data, hdr->length);
    slot->described += hdr->length;
    return slot->described == hdr->count ? describe_slot(peer, slot, (uint64_t) hdr->disp) : OMPI_SUCCESS;
}

ompi_datatype_t *mca_osc_fastpath_type_find(mca_osc_fastpath_peer_t *peer, uint32_t type, uint32_t generation)
{
    mca_osc_fastpath_types_t *types = peer->target.types;

    if (MCA_OSC_FASTPATH_PREDEFINED & type) {
        return mca_osc_fastpath_predefined(type & ~MCA_OSC_FASTPATH_PREDEFINED);
    }
    if (NULL == types || type >= MCA_OSC_FASTPATH_TYPE_SLOTS || generation != types->slots[type].generation) {
        return NULL;
    }
    return types->slots[type].type;
}

void mca_osc_fastpath_types_free(mca_osc_fastpath_types_t *types)
{
    if (NULL != types) {
        for (int i = 0; i < MCA_OSC_FASTPATH_TYPE_SLOTS; ++i) {
            slot_clear(&types->slots[i]);
        }
        free(types);
    }
}
