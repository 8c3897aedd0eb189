/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * MPI_Recv. While it has nothing else to do, a blocking receive looks where its message will be, and takes it
 * from there without a request: completely, or it leaves no trace and the ordinary path follows. recv_slot()
 * is the shortest way, for the message that most receives wait for; recv_at_once() knows all others.
 *
 * That is right only while the message that btl/fastsm shows is the one that matching would give to this
 * receive: the next in turn from its sender, with nothing in the queues that comes before it on either side.
 * mca_pml_fastpath_next_is_ours() makes sure of that under the communicator's lock, and recvi compares all
 * that matters, sequence number included, under the same lock. Whoever calls progress in between may move the
 * message to the queues, so everything is asked again after it.
 */
#include "ompi_config.h"

#include "opal/mca/common/fastpath/common_fastpath_convertor.h"

#include "pml_fastpath_blocks.h"
#include "pml_fastpath_counters.h"
#include "pml_fastpath_credit.h"
#include "pml_fastpath_recvreq.h"
#include "pml_fastpath_take.h"

/* Calls of opal_progress after which a receive stops looking and waits like any other: debuggers see it
 * then, and a rank that waits for long need not do so in a hurry. */
#define ROUNDS 64

/* What a receive asks for. */
typedef struct {
    ompi_communicator_t *comm;
    void *buffer;                      /* where the data goes */
    const mca_btl_fastsm_data_t *data; /* takes its place; or NULL */
    size_t room;                       /* bytes */
    int src;
    int tag;
} recv_args_t;

/* Take the next message of a member's if it is for (src, tag). OMPI_ERR_NOT_FOUND when nothing has come,
 * OMPI_ERR_RESOURCE_BUSY when matching has to decide. */
static inline int take(const recv_args_t *args, mca_pml_fastpath_member_t *member, int src, int tag,
                       unsigned spins, mca_pml_fastpath_match_hdr_t *hdr, size_t *length)
{
    mca_pml_fastpath_comm_t *pml_comm = mca_pml_fastpath_comm(args->comm);
    int rc = OMPI_ERR_RESOURCE_BUSY;

    OPAL_THREAD_LOCK(&pml_comm->lock);
    if (OPAL_LIKELY(mca_pml_fastpath_next_is_ours(pml_comm, member, src, tag))) {
        /* between two attempts, another thread may post a receive */
        const bool undecided = MCA_PML_FASTPATH_ANY_SOURCE == args->src || opal_using_threads();

        rc = mca_pml_fastpath_take(pml_comm, member, src, tag, spins, args->buffer, args->data, args->room,
                                   undecided, hdr, length);
    }
    OPAL_THREAD_UNLOCK(&pml_comm->lock);
    return rc;
}

/* Take the next message of anybody's. */
static inline int take_any(const recv_args_t *args, unsigned spins, mca_pml_fastpath_member_t **member,
                           mca_pml_fastpath_match_hdr_t *hdr, size_t *length)
{
    const int rc =
        mca_pml_fastpath_find_sender(mca_pml_fastpath_comm(args->comm), args->tag, spins, member, hdr);

    return OPAL_LIKELY(OMPI_SUCCESS == rc) ? take(args, *member, hdr->hdr_src, hdr->hdr_tag, 1, hdr, length)
                                           : rc;
}

/* Whether a message has come earlier that a receive from whomever has to take first. */
static inline bool queued_for_any(const recv_args_t *args)
{
    mca_pml_fastpath_comm_t *pml_comm = mca_pml_fastpath_comm(args->comm);
    bool queued;

    OPAL_THREAD_LOCK(&pml_comm->lock);
    queued =
        0 != pml_comm->matcher.posted
        || NULL != mca_pml_fastpath_match_find(&pml_comm->matcher, MCA_PML_FASTPATH_ANY_SOURCE, args->tag);
    OPAL_THREAD_UNLOCK(&pml_comm->lock);
    return queued;
}

/* The member that a receive names, if its messages come through btl/fastsm; else NULL. */
static inline mca_pml_fastpath_member_t *find_member(ompi_communicator_t *comm, int src)
{
    mca_pml_fastpath_member_t *member = mca_pml_fastpath_comm(comm)->members[src];

    if (OPAL_UNLIKELY(NULL == member || NULL == member->peer || NULL == member->peer->endpoint)) {
        const ompi_proc_t *proc = ompi_comm_peer_lookup(comm, src);

        if (!OPAL_PROC_ON_LOCAL_NODE(proc->super.proc_flags)) {
            return NULL; /* no reason to reach out for it */
        }
        member = mca_pml_fastpath_member_reach(comm, src);
    }
    return OPAL_LIKELY(NULL != member && NULL != member->peer->ext) ? member : NULL;
}

/* How often to poll before everything else progresses. */
static inline unsigned spin_count_for(int src)
{
    const unsigned spins = mca_pml_fastpath_spin_count();

    return MCA_PML_FASTPATH_ANY_SOURCE == src ? 1 + spins / 8 /* each at several slots */ : spins;
}

/* Look for the message until it is there, something else is (OMPI_ERR_NOT_AVAILABLE), matching has to decide
 * (OMPI_ERR_RESOURCE_BUSY), patience ends (OMPI_ERR_NOT_FOUND), or it need not come any more (OMPI_ERROR). */
static inline int wait_for(const recv_args_t *args, mca_pml_fastpath_member_t **member,
                           mca_pml_fastpath_match_hdr_t *hdr, size_t *length)
{
    const bool any = MCA_PML_FASTPATH_ANY_SOURCE == args->src;

    for (unsigned round = 0; round < ROUNDS; ++round) {
        const unsigned spins = spin_count_for(args->src);
        /* with threads others need the lock from look to look */
        const unsigned at_a_time = OPAL_UNLIKELY(opal_using_threads()) ? 1 : spins;
        int rc = any && queued_for_any(args) ? OMPI_ERR_RESOURCE_BUSY : OMPI_ERR_NOT_FOUND;

        for (unsigned look = 0; OMPI_ERR_NOT_FOUND == rc && look < spins; look += at_a_time) {
            rc = any ? take_any(args, at_a_time, member, hdr, length)
                     : take(args, *member, args->src, args->tag, at_a_time, hdr, length);
        }
        if (OMPI_ERR_NOT_FOUND != rc) {
            return rc;
        }
        mca_pml_fastpath_spin_expired();
        (void) opal_progress();
        if (mca_pml_fastpath_ft() && MPI_SUCCESS != fastpath_source_error(args->comm, args->src, args->tag)) {
            return OMPI_ERROR; /* the ordinary path says which, or takes what has come in spite of that */
        }
    }
    return OMPI_ERR_NOT_FOUND;
}

/* A message has been received at once. */
static inline void finish(uint64_t word1, size_t length, ompi_status_public_t *status)
{
    mca_pml_fastpath_count(MCA_PML_FASTPATH_RECVS_IMMEDIATE);
    if (MPI_STATUS_IGNORE != status) {
        mca_pml_fastpath_status_set(status, word1, length);
    }
}

/* OMPI_SUCCESS, OMPI_ERR_UNREACH when its sender is not one of btl/fastsm's, or what wait_for says. Receives
 * the bytes of the message. */
static inline int recv_at_once(const recv_args_t *args, size_t *length, ompi_status_public_t *status)
{
    mca_pml_fastpath_member_t *member = NULL;
    mca_pml_fastpath_match_hdr_t hdr;
    int rc;

    if (MCA_PML_FASTPATH_ANY_SOURCE != args->src) {
        member = find_member(args->comm, args->src);
        if (OPAL_UNLIKELY(NULL == member)) {
            return OMPI_ERR_UNREACH;
        }
    }
    rc = wait_for(args, &member, &hdr, length);
    if (OPAL_LIKELY(OMPI_SUCCESS == rc)) {
        mca_pml_fastpath_credit_consumed(member->peer, MCA_PML_FASTPATH_HDR_MATCH, *length);
        finish(mca_pml_fastpath_match_word1(hdr.hdr_src, hdr.hdr_tag), *length, status);
    }
    return rc;
}

/* Data that is equal blocks at equal distances, in the user's memory. */
typedef struct {
    const mca_pml_fastpath_blocks_t *blocks;
    void *buf;
} blocks_place_t;

static void move_blocks(void *context, void *piece, size_t offset, size_t length)
{
    const blocks_place_t *place = context;

    mca_pml_fastpath_blocks_unpack(place->blocks, place->buf, piece, offset, length);
}

/* Such data that is long: from where it has come to where it belongs. */
static __opal_attribute_noinline__ int recv_long_blocks(recv_args_t *args,
                                                        const mca_pml_fastpath_blocks_t *blocks, void *buf,
                                                        ompi_status_public_t *status)
{
    blocks_place_t place = {.blocks = blocks, .buf = buf};
    const mca_btl_fastsm_data_t data = {.move = move_blocks, .context = &place};
    size_t length;

    args->data = &data;
    return recv_at_once(args, &length, status);
}

/* Such data that is short: by way of contiguous memory, so that it is taken from its slot without a call. */
static __opal_attribute_noinline__ int recv_short_blocks(recv_args_t *args,
                                                         const mca_pml_fastpath_blocks_t *blocks, void *buf,
                                                         ompi_status_public_t *status)
{
    char packed[MCA_PML_FASTPATH_BLOCKS_SHORT];
    size_t length;
    int rc;

    args->buffer = packed;
    rc = recv_at_once(args, &length, status);
    if (OPAL_LIKELY(OMPI_SUCCESS == rc)) {
        mca_pml_fastpath_blocks_unpack(blocks, buf, packed, 0, length);
    }
    return rc;
}

static int recv_blocks(recv_args_t *args, const mca_pml_fastpath_blocks_t *blocks, void *buf,
                       ompi_status_public_t *status)
{
    return MCA_PML_FASTPATH_BLOCKS_SHORT >= args->room ? recv_short_blocks(args, blocks, buf, status)
                                                       : recv_long_blocks(args, blocks, buf, status);
}

static void move_convertor(void *context, void *piece, size_t offset, size_t length)
{
    struct iovec iov = {.iov_base = (IOVBASE_TYPE *) piece, .iov_len = length};
    opal_convertor_t *convertor = context;
    uint32_t iov_count = 1;

    mca_common_fastpath_convertor_seek(convertor, offset);
    (void) opal_convertor_unpack(convertor, &iov, &iov_count, &length);
}

/* Any other data that is not contiguous. */
static __opal_attribute_noinline__ int recv_convertor(recv_args_t *args, void *buf, size_t count,
                                                      ompi_datatype_t *datatype, ompi_status_public_t *status)
{
    opal_convertor_t convertor;
    const mca_btl_fastsm_data_t data = {.move = move_convertor,
                                        .context = &convertor,
                                        .whole =
                                            !mca_common_fastpath_convertor_takes_parts(&datatype->super)};
    size_t length;
    int rc;

    /* all processes on a node have the same representation of data, so anybody's convertor will do */
    OBJ_CONSTRUCT(&convertor, opal_convertor_t);
    opal_convertor_copy_and_prepare_for_recv(ompi_mpi_local_convertor, &datatype->super, count, buf, 0,
                                             &convertor);
    args->data = &data;
    rc = recv_at_once(args, &length, status);
    opal_convertor_cleanup(&convertor);
    OBJ_DESTRUCT(&convertor);
    return rc;
}

/* take_slot() for a message that is not in one slot: in several, or in a buffer of its sender's. The slots'
 * pattern is made once more: a compiler that knows that somebody is shown the first one keeps it in memory. */
static __opal_attribute_noinline__ int take_long(mca_pml_fastpath_member_t *member, void *buffer, size_t room,
                                                 int src, int tag, ompi_communicator_t *comm, bool anybody,
                                                 ompi_status_public_t *status)
{
    mca_pml_fastpath_comm_t *pml_comm = mca_pml_fastpath_comm(comm);
    mca_btl_fastsm_pattern_t pattern;
    uint64_t words[2];
    ptrdiff_t length;

    mca_pml_fastpath_pattern_init(&pattern, pml_comm, src, tag, member->expected);
    pattern.undecided = anybody;
    length = member->peer->ext->recvi(member->peer->btl_endpoint, &pattern, 1, buffer, NULL, room, words);
    if (OPAL_UNLIKELY(0 > length)) {
        return OMPI_ERR_NOT_FOUND;
    }
    (void) mca_pml_fastpath_advance(member);
    mca_pml_fastpath_credit_consumed(member->peer, MCA_PML_FASTPATH_HDR_MATCH, (size_t) length);
    finish(words[1], (size_t) length, status);
    return OMPI_SUCCESS;
}

/* The next message of a member's from its slot to the user's buffer, while there is one thread. What
 * recv_slot returns. */
static inline __opal_attribute_always_inline__ int take_slot(mca_pml_fastpath_member_t *member, void *buf,
                                                             size_t count, const ompi_datatype_t *datatype,
                                                             int src, int tag, ompi_communicator_t *comm,
                                                             bool anybody, unsigned spins,
                                                             ompi_status_public_t *status)
{
    mca_pml_fastpath_comm_t *pml_comm = mca_pml_fastpath_comm(comm);
    mca_btl_fastsm_pattern_t pattern;
    uint64_t words[2];
    ptrdiff_t length;

    if (OPAL_UNLIKELY(!mca_pml_fastpath_member_has_slots(member))) {
        return OMPI_ERR_NOT_FOUND;
    }
    if (OPAL_UNLIKELY(!mca_pml_fastpath_next_is_ours(pml_comm, member, src, tag))) {
        return OMPI_ERR_RESOURCE_BUSY;
    }
    mca_pml_fastpath_pattern_init(&pattern, pml_comm, src, tag, member->expected);
    length =
        fastsm_fifo_receive_slot(member->peer->in, &pattern, spins, (char *) buf + datatype->super.true_lb,
                                 datatype->super.size * count, words);
    if (OPAL_UNLIKELY(0 > length)) {
        return FASTSM_SOMETHING_ELSE == length
                   ? take_long(member, (char *) buf + datatype->super.true_lb, datatype->super.size * count,
                               src, tag, comm, anybody, status)
                   : OMPI_ERR_NOT_FOUND;
    }
    (void) mca_pml_fastpath_advance(member);
    mca_pml_fastpath_credit_consumed(member->peer, MCA_PML_FASTPATH_HDR_MATCH, (size_t) length);
    finish(words[1], (size_t) length, status);
    return OMPI_SUCCESS;
}

/* Messages from one sender in a row, after which the next one is expected from it, too. */
#define ANY_STREAK 2

/* Looks at that sender's slot, to one at everybody's. */
#define ANY_LOOKS 16

/* Messages from that sender, after which everybody is looked at first. */
#define ANY_HITS 8

/* The same from whomever. */
static __opal_attribute_noinline__ int take_slot_any(void *buf, size_t count, const ompi_datatype_t *datatype,
                                                     int tag, ompi_communicator_t *comm,
                                                     ompi_status_public_t *status)
{
    mca_pml_fastpath_comm_t *pml_comm = mca_pml_fastpath_comm(comm);
    unsigned spins = spin_count_for(MCA_PML_FASTPATH_ANY_SOURCE);
    mca_pml_fastpath_member_t *member;
    mca_pml_fastpath_match_hdr_t hdr;
    int rc;

    if (OPAL_UNLIKELY(
            0 != pml_comm->matcher.posted
            || NULL != mca_pml_fastpath_match_find(&pml_comm->matcher, MCA_PML_FASTPATH_ANY_SOURCE, tag))) {
        return OMPI_ERR_RESOURCE_BUSY;
    }
    if (OPAL_UNLIKELY(!mca_pml_fastpath.use_recvi || NULL == mca_pml_fastpath.fastsm)) {
        return OMPI_ERR_NOT_FOUND;
    }
    do {
        if (OPAL_LIKELY(ANY_STREAK == pml_comm->any_streak && ANY_HITS > pml_comm->any_hits)
            && OMPI_SUCCESS
                   == take_slot(pml_comm->members[pml_comm->any_src], buf, count, datatype, pml_comm->any_src,
                                tag, comm, true, 1 < spins ? ANY_LOOKS : 1, status)) {
            ++pml_comm->any_hits;
            return OMPI_SUCCESS;
        }
        rc = mca_pml_fastpath_find_sender(pml_comm, tag, 1, &member, &hdr);
        pml_comm->any_hits = 0;
    } while (OMPI_ERR_NOT_FOUND == rc && 0 < --spins);
    if (OMPI_SUCCESS != rc) {
        return OMPI_ERR_NOT_FOUND;
    }
    if (hdr.hdr_src != pml_comm->any_src) {
        pml_comm->any_src = hdr.hdr_src;
        pml_comm->any_streak = 0;
    } else if (ANY_STREAK > pml_comm->any_streak) {
        ++pml_comm->any_streak;
    }
    return take_slot(member, buf, count, datatype, hdr.hdr_src, hdr.hdr_tag, comm, true, 1, status);
}

/*
 * Receive a short message that is contiguous, while there is one thread: it is taken from its slot,
 * and nothing is set up for it. Returns OMPI_SUCCESS; or, without a trace of the attempt and with the
 * message, if there is one, where it was, OMPI_ERR_RESOURCE_BUSY when matching has to see to it (a message in
 * the queues, or a receive that was posted earlier, may come first), else OMPI_ERR_NOT_FOUND: it may be
 * somewhere else, or something else, or come later.
 */
static inline __opal_attribute_always_inline__ int recv_slot(void *buf, size_t count,
                                                             const ompi_datatype_t *datatype, int src,
                                                             int tag, ompi_communicator_t *comm,
                                                             ompi_status_public_t *status)
{
    if (OPAL_UNLIKELY(opal_using_threads() || !fastpath_is_contiguous(datatype, count))) {
        return OMPI_ERR_NOT_FOUND;
    }
    return OPAL_LIKELY(MCA_PML_FASTPATH_ANY_SOURCE != src)
               ? take_slot(mca_pml_fastpath_comm(comm)->members[src], buf, count, datatype, src, tag, comm,
                           false, spin_count_for(src), status)
               : take_slot_any(buf, count, datatype, tag, comm, status);
}

/* Why a receive has not been served at once, by what recv_at_once says. */
static mca_pml_fastpath_counter_t reason(int rc)
{
    switch (rc) {
    case OMPI_ERR_RESOURCE_BUSY:
        return MCA_PML_FASTPATH_RECVS_QUEUED;
    case OMPI_ERR_NOT_FOUND:
        return MCA_PML_FASTPATH_RECVS_SPIN_EXPIRED;
    case OMPI_ERR_NOT_AVAILABLE:
        return MCA_PML_FASTPATH_RECVS_OTHER_MESSAGE;
    case OMPI_ERR_UNREACH:
        return MCA_PML_FASTPATH_RECVS_NO_RECVI;
    default:
        return MCA_PML_FASTPATH_RECVS_OTHER;
    }
}

/* What recv_slot has not received. */
static __opal_attribute_noinline__ int recv_rest(void *buf, size_t count, ompi_datatype_t *datatype, int src,
                                                 int tag, ompi_communicator_t *comm,
                                                 ompi_status_public_t *status)
{
    recv_args_t args = {
        .comm = comm, .data = NULL, .room = datatype->super.size * count, .src = src, .tag = tag};
    mca_pml_fastpath_blocks_t blocks;
    size_t length;
    int rc = OMPI_ERR_NOT_SUPPORTED;

    if (OPAL_LIKELY(mca_pml_fastpath.use_recvi && NULL != mca_pml_fastpath.fastsm)) {
        if (OPAL_LIKELY(mca_pml_fastpath.use_immediate && fastpath_is_contiguous(datatype, count))) {
            args.buffer = (char *) buf + datatype->super.true_lb;
            rc = recv_at_once(&args, &length, status);
        } else if (mca_pml_fastpath.use_immediate && mca_pml_fastpath_blocks_of(datatype, &blocks)) {
            rc = recv_blocks(&args, &blocks, buf, status);
        } else {
            rc = recv_convertor(&args, buf, count, datatype, status);
        }
    }
    if (OPAL_LIKELY(OMPI_SUCCESS == rc)) {
        return rc;
    }
    mca_pml_fastpath_count(reason(rc));
    return mca_pml_fastpath_recv_ordinary(buf, count, datatype, src, tag, comm, status);
}

/* MPI_Recv, which has been counted. */
static inline __opal_attribute_always_inline__ int recv_counted(void *buf, size_t count,
                                                                ompi_datatype_t *datatype, int src, int tag,
                                                                ompi_communicator_t *comm,
                                                                ompi_status_public_t *status)
{
    const int rc = recv_slot(buf, count, datatype, src, tag, comm, status);

    if (OPAL_LIKELY(OMPI_SUCCESS == rc)) {
        return rc;
    }
    if (OMPI_ERR_NOT_FOUND == rc) {
        return recv_rest(buf, count, datatype, src, tag, comm, status);
    }
    mca_pml_fastpath_count(MCA_PML_FASTPATH_RECVS_QUEUED);
    return mca_pml_fastpath_recv_ordinary(buf, count, datatype, src, tag, comm, status);
}

/* The same when it is time to look at the clock. What is due comes after the message: progress would take
 * that out of its slot, into the queues, and whoever has to wait for it makes progress anyway. */
static __opal_attribute_noinline__ int recv_paced(void *buf, size_t count, ompi_datatype_t *datatype, int src,
                                                  int tag, ompi_communicator_t *comm,
                                                  ompi_status_public_t *status)
{
    const bool due = mca_pml_fastpath_pace_begin();
    const int rc = recv_counted(buf, count, datatype, src, tag, comm, status);

    mca_pml_fastpath_pace_end(due);
    return rc;
}

int mca_pml_fastpath_recv(void *buf, size_t count, ompi_datatype_t *datatype, int src, int tag,
                          ompi_communicator_t *comm, ompi_status_public_t *status)
{
    return OPAL_UNLIKELY(mca_pml_fastpath_pace_count())
               ? recv_paced(buf, count, datatype, src, tag, comm, status)
               : recv_counted(buf, count, datatype, src, tag, comm, status);
}

int mca_pml_fastpath_recv_ft(void *buf, size_t count, ompi_datatype_t *datatype, int src, int tag,
                             ompi_communicator_t *comm, ompi_status_public_t *status)
{
    if (OPAL_UNLIKELY(MPI_SUCCESS != fastpath_comm_error(comm, tag))) {
        mca_pml_fastpath_count(MCA_PML_FASTPATH_RECVS_OTHER);
        return mca_pml_fastpath_recv_ordinary(buf, count, datatype, src, tag, comm, status);
    }
    return mca_pml_fastpath_recv(buf, count, datatype, src, tag, comm, status);
}
