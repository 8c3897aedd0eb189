/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include <stdlib.h>

#include "pml_fastpath_check.h"
#include "pml_fastpath_freed.h"

/* A process, and the number of one of its messages: of the one that would have been next, or of one
 * that came in its turn but was never received. */
typedef struct {
    opal_process_name_t name;
    uint32_t sequence;
} note_t;

/* All communicators of one id that were freed here. */
typedef struct {
    int size;                     /* members of the last communicator */
    opal_process_name_t first;    /* of them */
    opal_process_name_t *members; /* by rank; NULL: each is the process behind the one before, in its job */
    size_t num_next;
    size_t num_dropped;
    note_t notes[]; /* first those about next ones, in any order */
} freed_t;

static const freed_t none = {.num_next = 0, .num_dropped = 0};

static void freed_free(freed_t *freed)
{
    if (NULL != freed) {
        free(freed->members);
        free(freed);
    }
}

static freed_t *freed_find(uint32_t ctx)
{
    void *freed = NULL;

    (void) opal_hash_table_get_value_uint32(&mca_pml_fastpath.freed, ctx, &freed);
    return freed;
}

bool mca_pml_fastpath_freed_is(uint32_t ctx)
{
    return NULL != freed_find(ctx);
}

bool mca_pml_fastpath_is_meant(const mca_btl_base_module_t *btl, ompi_communicator_t *comm,
                               const mca_pml_fastpath_match_hdr_t *hdr, opal_process_name_t name)
{
    const ompi_proc_t *proc = NULL;
    bool freed;

    if (0 <= hdr->hdr_src && hdr->hdr_src < mca_pml_fastpath_comm(comm)->size) {
        proc = ompi_comm_peer_lookup(comm, hdr->hdr_src);
    }
    if (OPAL_LIKELY(NULL != proc && 0 == opal_compare_proc(proc->super.proc_name, name))) {
        return true;
    }
    OPAL_THREAD_LOCK(&mca_pml_fastpath.lock);
    freed = mca_pml_fastpath_freed_is(hdr->hdr_ctx);
    OPAL_THREAD_UNLOCK(&mca_pml_fastpath.lock);
    if (OPAL_UNLIKELY(!freed)) {
        mca_pml_fastpath_corrupt(btl, NULL, hdr->hdr_type, "a sender who is not in the communicator");
    }
    return false;
}

/* The note about a process that would have been next. It often has the same place as before. */
static const note_t *next_find(const note_t *notes, size_t count, opal_process_name_t name, size_t place)
{
    if (place < count && 0 == opal_compare_proc(notes[place].name, name)) {
        return &notes[place];
    }
    for (size_t i = 0; i < count; ++i) {
        if (0 == opal_compare_proc(notes[i].name, name)) {
            return &notes[i];
        }
    }
    return NULL;
}

bool mca_pml_fastpath_freed_dropped(const mca_pml_fastpath_cancel_hdr_t *cancel)
{
    const freed_t *freed = freed_find(cancel->hdr_match.hdr_ctx);
    const note_t *next = NULL == freed ? NULL : next_find(freed->notes, freed->num_next, cancel->hdr_name, 0);

    if (NULL == next || 0 <= (int32_t) (cancel->hdr_sequence - next->sequence)) {
        return true; /* it did not come before its communicator was freed */
    }
    for (size_t i = freed->num_next; i < freed->num_next + freed->num_dropped; ++i) {
        const note_t *note = &freed->notes[i];

        if (note->sequence == cancel->hdr_sequence && 0 == opal_compare_proc(note->name, cancel->hdr_name)) {
            return true;
        }
    }
    return false;
}

static bool has_sent(const mca_pml_fastpath_comm_t *pml_comm, int rank)
{
    return NULL != pml_comm->members[rank] && 1 != pml_comm->members[rank]->expected;
}

/* All that there may be to note: what has been sent here, and what is inherited. */
static size_t max_notes(const mca_pml_fastpath_comm_t *pml_comm, const freed_t *before)
{
    size_t count = pml_comm->matcher.unexpected + before->num_next + before->num_dropped;

    for (int rank = 0; rank < pml_comm->size; ++rank) {
        count += has_sent(pml_comm, rank);
    }
    return count;
}

static note_t *note_next(note_t *note, const mca_pml_fastpath_comm_t *pml_comm, ompi_communicator_t *comm)
{
    for (int rank = 0; rank < pml_comm->size; ++rank) {
        ompi_proc_t *proc = has_sent(pml_comm, rank) ? ompi_comm_peer_lookup(comm, rank) : NULL;

        if (NULL != proc) {
            note->name = proc->super.proc_name;
            note->sequence = pml_comm->members[rank]->expected;
            ++note;
        }
    }
    return note;
}

static note_t *note_dropped(note_t *note, const mca_pml_fastpath_match_link_t *list,
                            ompi_communicator_t *comm)
{
    for (mca_pml_fastpath_match_link_t *link = list->next; link != list; link = link->next) {
        mca_pml_fastpath_match_msg_t *msg = mca_pml_fastpath_match_msg(link, MCA_PML_FASTPATH_MATCH_ALL);
        ompi_proc_t *proc = ompi_comm_peer_lookup(comm, msg->src);

        if (NULL != proc) {
            note->name = proc->super.proc_name;
            note->sequence = mca_pml_fastpath_message_of(msg)->sequence;
            ++note;
        }
    }
    return note;
}

/* By name: most members have never been met, and a lookup would make a process of each. */
static bool is_member(const freed_t *freed, opal_process_name_t name)
{
    if (NULL == freed->members) {
        return 0 < freed->size && name.jobid == freed->first.jobid
               && name.vpid - freed->first.vpid < (opal_vpid_t) freed->size;
    }
    for (int rank = 0; rank < freed->size; ++rank) {
        if (0 == opal_compare_proc(freed->members[rank], name)) {
            return true;
        }
    }
    return false;
}

/* Notes about earlier communicators that somebody may still have. Members of this one cannot. */
static note_t *inherit_next(note_t *note, const freed_t *before, const freed_t *now)
{
    for (size_t i = 0; i < before->num_next; ++i) {
        opal_process_name_t name = before->notes[i].name;

        if (NULL == next_find(now->notes, now->num_next, name, i) && !is_member(now, name)) {
            *note++ = before->notes[i];
        }
    }
    return note;
}

static note_t *inherit_dropped(note_t *note, const freed_t *before, const note_t *inherited, size_t count)
{
    for (size_t i = before->num_next; i < before->num_next + before->num_dropped; ++i) {
        if (NULL != next_find(inherited, count, before->notes[i].name, 0)) {
            *note++ = before->notes[i];
        }
    }
    return note;
}

/* The process of that rank, if all are numbered as the members of most communicators are. */
static opal_process_name_t member_by_number(const freed_t *freed, int rank)
{
    opal_process_name_t name = freed->first;

    name.vpid += (opal_vpid_t) rank;
    return name;
}

/* Note who the members are. Without memory nobody is one. */
static void note_members(freed_t *now, const ompi_communicator_t *comm, int size)
{
    bool numbered = true;

    now->size = size;
    now->members = NULL;
    if (0 == size) {
        return;
    }
    now->first = ompi_group_get_proc_name(comm->c_remote_group, 0);
    for (int rank = 1; rank < size && numbered; ++rank) {
        numbered = 0
                   == opal_compare_proc(ompi_group_get_proc_name(comm->c_remote_group, rank),
                                        member_by_number(now, rank));
    }
    if (numbered) {
        return;
    }
    now->members = malloc((size_t) size * sizeof(now->members[0]));
    if (NULL == now->members) {
        now->size = 0;
        return;
    }
    for (int rank = 0; rank < size; ++rank) {
        now->members[rank] = ompi_group_get_proc_name(comm->c_remote_group, rank);
    }
}

bool mca_pml_fastpath_freed_sender(uint32_t ctx, int rank, opal_process_name_t *name)
{
    const freed_t *freed = freed_find(ctx);

    if (NULL == freed || 0 > rank || freed->size <= rank) {
        return false;
    }
    *name = NULL == freed->members ? member_by_number(freed, rank) : freed->members[rank];
    return true;
}

static freed_t *freed_new(const mca_pml_fastpath_comm_t *pml_comm, ompi_communicator_t *comm,
                          const freed_t *before)
{
    freed_t *now = malloc(sizeof(*now) + max_notes(pml_comm, before) * sizeof(now->notes[0]));
    const note_t *inherited;
    size_t num_inherited;
    note_t *note;

    if (NULL != now) {
        note_members(now, comm, pml_comm->size);
        note = note_next(now->notes, pml_comm, comm);
        now->num_next = (size_t) (note - now->notes);
        inherited = note;
        note = inherit_next(note, before, now);
        num_inherited = (size_t) (note - inherited);
        now->num_next += num_inherited;
        note = note_dropped(note, &pml_comm->matcher.all.unexpected, comm);
        note = note_dropped(note, &pml_comm->matcher.internal, comm);
        note = inherit_dropped(note, before, inherited, num_inherited);
        now->num_dropped = (size_t) (note - now->notes) - now->num_next;
    }
    return now;
}

/* Without memory a cancel of a send on it will be answered as if nobody had received the message. */
void mca_pml_fastpath_freed_remember(const mca_pml_fastpath_comm_t *pml_comm, ompi_communicator_t *comm)
{
    freed_t *before = freed_find(pml_comm->ctx);
    freed_t *now = freed_new(pml_comm, comm, NULL == before ? &none : before);

    if (NULL == now) {
        return;
    }
    if (OPAL_SUCCESS != opal_hash_table_set_value_uint32(&mca_pml_fastpath.freed, pml_comm->ctx, now)) {
        before = now;
    }
    freed_free(before);
}

void mca_pml_fastpath_freed_fini(void)
{
    uint32_t ctx;
    void *freed;
    void *node;
    int rc = opal_hash_table_get_first_key_uint32(&mca_pml_fastpath.freed, &ctx, &freed, &node);

    while (OPAL_SUCCESS == rc) {
        freed_free(freed);
        rc = opal_hash_table_get_next_key_uint32(&mca_pml_fastpath.freed, &ctx, &freed, node, &node);
    }
    (void) opal_hash_table_remove_all(&mca_pml_fastpath.freed);
}

/* ---- epochs ---- */

/* What there is a number for. */
typedef struct {
    opal_process_name_t name;
    uint32_t ctx;
} epoch_key_t;
_Static_assert(sizeof(opal_process_name_t) + sizeof(uint32_t) == sizeof(epoch_key_t),
               "all bytes are compared");

static uint32_t epoch_last(const epoch_key_t *key)
{
    void *last = NULL;

    (void) opal_hash_table_get_value_ptr(&mca_pml_fastpath.epochs, key, sizeof(*key), &last);
    return (uint32_t) (uintptr_t) last;
}

/* An id that only this process uses for its communicator never means another one. */
static bool is_numbered(const mca_pml_fastpath_comm_t *pml_comm, const ompi_communicator_t *comm)
{
    return FASTPATH_EARLY_INTERCOMMS && OMPI_COMM_IS_INTER(comm)
           && !mca_pml_fastpath_comm_has_extcid(pml_comm);
}

int mca_pml_fastpath_epoch_begin(const mca_pml_fastpath_comm_t *pml_comm, ompi_communicator_t *comm)
{
    if (OPAL_LIKELY(!is_numbered(pml_comm, comm))) {
        return OMPI_SUCCESS;
    }
    for (int rank = 0; rank < pml_comm->size; ++rank) {
        const epoch_key_t key = {.name = ompi_group_get_proc_name(comm->c_remote_group, rank),
                                 .ctx = pml_comm->ctx};
        void *next = (void *) (uintptr_t) (epoch_last(&key) + 1);

        if (OPAL_SUCCESS
            != opal_hash_table_set_value_ptr(&mca_pml_fastpath.epochs, &key, sizeof(key), next)) {
            return OMPI_ERR_OUT_OF_RESOURCE;
        }
    }
    return OMPI_SUCCESS;
}

uint32_t mca_pml_fastpath_epoch_number(ompi_communicator_t *comm, opal_process_name_t name)
{
    const mca_pml_fastpath_comm_t *pml_comm = mca_pml_fastpath_comm(comm);
    uint32_t number = 0;

    if (is_numbered(pml_comm, comm)) {
        const epoch_key_t key = {.name = name, .ctx = pml_comm->ctx};

        OPAL_THREAD_LOCK(&mca_pml_fastpath.lock);
        number = epoch_last(&key);
        OPAL_THREAD_UNLOCK(&mca_pml_fastpath.lock);
    }
    return number;
}

bool mca_pml_fastpath_epoch_is_new(const mca_pml_fastpath_cancel_hdr_t *cancel)
{
    const epoch_key_t key = {.name = cancel->hdr_name, .ctx = cancel->hdr_match.hdr_ctx};

    return cancel->hdr_epoch > epoch_last(&key);
}
