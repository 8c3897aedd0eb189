/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * MPI_Recv. While it has nothing else to do, a blocking receive looks where its message will be, and takes it
 * from there without a request: completely, or it leaves no trace and the ordinary path follows. recv_fast()
 * is the fast path, for the message that most receives wait for; recv_immediate() knows all others.
 *
 * That is right only while the message that btl/fastsm shows is the one that matching would give to this
 * receive: the next in turn from its sender, with nothing in the queues that comes before it on either side.
 * mca_pml_fastpath_none_before() makes sure of that under the communicator's lock, and
 * mca_pml_fastpath_accept() compares all that matters, sequence number included, under the same lock. Whoever
 * calls progress in between may move the message to the queues, so everything is asked again after it.
 *
 * Without threads a receive from anybody that has found a message in chunks may write what has come of it at
 * once. If the rest does not come it has to get that message all the same, so from then on it names its
 * sender (begun). That is the message that it gets: the next one of that sender's that counts, which fits it,
 * with none in the queues that fits, and no receive posted before.
 */
#include "ompi_config.h"

#include "opal/mca/common/fastpath/common_fastpath_convertor.h"

#include "pml_fastpath_awaited.h"
#include "pml_fastpath_blocks.h"
#include "pml_fastpath_counters.h"
#include "pml_fastpath_credit.h"
#include "pml_fastpath_pause.h"
#include "pml_fastpath_recvreq.h"
#include "pml_fastpath_take.h"

/* Calls of opal_progress after which a receive stops looking and waits like any other: debuggers see it
 * then, and a rank that waits for long need not do so in a hurry. */
#define ROUNDS 64

/* Take the next message of a member's if it is for a receive that named any. OMPI_ERR_NOT_FOUND when nothing
 * has come, OMPI_ERR_RESOURCE_BUSY when matching has to decide. */
static inline int take_next(mca_pml_fastpath_comm_t *pml_comm, mca_pml_fastpath_member_t *member, int src,
                            unsigned spins, mca_pml_fastpath_target_t *target)
{
    int rc = OMPI_ERR_RESOURCE_BUSY;

    OPAL_THREAD_LOCK(&pml_comm->lock);
    if (OPAL_LIKELY(mca_pml_fastpath_none_before(pml_comm, src, target->tag))) {
        rc = mca_pml_fastpath_take(pml_comm, member, src, spins, target);
    }
    OPAL_THREAD_UNLOCK(&pml_comm->lock);
    return rc;
}

/* Whether a message for a receive from whomever has come before. Receives that are posted matter when it is
 * known who is next. The communicator is locked. */
static inline bool queued_for_any(mca_pml_fastpath_comm_t *pml_comm, int tag)
{
    return NULL != mca_pml_fastpath_match_find(&pml_comm->matcher, MCA_PML_FASTPATH_ANY_SOURCE, tag);
}

/* take_next() from whomever. */
static inline int take_any(mca_pml_fastpath_comm_t *pml_comm, mca_pml_fastpath_member_t **member,
                           unsigned spins, mca_pml_fastpath_target_t *target)
{
    bool queued;
    int src, rc;

    OPAL_THREAD_LOCK(&pml_comm->lock);
    queued = queued_for_any(pml_comm, target->tag);
    OPAL_THREAD_UNLOCK(&pml_comm->lock);
    if (OPAL_UNLIKELY(queued)) {
        return OMPI_ERR_RESOURCE_BUSY;
    }
    rc = mca_pml_fastpath_find_sender(pml_comm, spins, member, &src);
    return OPAL_LIKELY(OMPI_SUCCESS == rc) ? take_next(pml_comm, *member, src, 1, target) : rc;
}

/* The member that a receive names, if its messages come through btl/fastsm; else NULL. */
static inline mca_pml_fastpath_member_t *find_named(ompi_communicator_t *comm, int src)
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

/* How often to poll in place of so many times. */
static inline unsigned spins_from(int src, unsigned spins)
{
    return MCA_PML_FASTPATH_ANY_SOURCE == src ? mca_pml_fastpath_spins_of_several(spins) : spins;
}

/* Poll so often. @return as wait_for() */
static inline int poll_for(mca_pml_fastpath_comm_t *pml_comm, mca_pml_fastpath_member_t **member, int src,
                           unsigned spins, mca_pml_fastpath_target_t *target)
{
    const unsigned polls = spins_from(src, spins);
    /* with threads others need the lock in between */
    const unsigned at_a_time = OPAL_UNLIKELY(opal_using_threads()) ? 1 : polls;
    int rc = OMPI_ERR_NOT_FOUND;

    for (unsigned polled = 0; OMPI_ERR_NOT_FOUND == rc && polled < polls; polled += at_a_time) {
        rc = MCA_PML_FASTPATH_ANY_SOURCE == src ? take_any(pml_comm, member, at_a_time, target)
                                                : take_next(pml_comm, *member, src, at_a_time, target);
    }
    return rc;
}

/* The same once more where processes share cores, if that is worth it. */
static __opal_attribute_noinline__ int poll_again(mca_pml_fastpath_comm_t *pml_comm,
                                                  mca_pml_fastpath_member_t **member, int src,
                                                  mca_pml_fastpath_target_t *target)
{
    const unsigned spins = mca_pml_fastpath_spin_again_shared();
    int rc = OMPI_ERR_NOT_FOUND;

    if (0 < spins) {
        rc = poll_for(pml_comm, member, src, spins, target);
        mca_pml_fastpath_spin_result(OMPI_ERR_NOT_FOUND != rc);
    }
    return rc;
}

/* Look for the message until it is there, something else is (OMPI_ERR_NOT_AVAILABLE), matching has to decide
 * (OMPI_ERR_RESOURCE_BUSY), the rounds have ended (OMPI_ERR_NOT_FOUND), or it need not come any more
 * (OMPI_ERROR). */
static inline int wait_for(ompi_communicator_t *comm, mca_pml_fastpath_member_t **member, int src,
                           mca_pml_fastpath_target_t *target)
{
    mca_pml_fastpath_comm_t *pml_comm = mca_pml_fastpath_comm(comm);

    for (unsigned round = 0; round < ROUNDS; ++round) {
        int rc = poll_for(pml_comm, member, src, mca_pml_fastpath_spin_count(), target);

        if (OMPI_ERR_NOT_FOUND == rc && OPAL_UNLIKELY(opal_progress_yield_when_idle)) {
            rc = poll_again(pml_comm, member, src, target);
        }
        if (OMPI_ERR_NOT_FOUND != rc) {
            return rc;
        }
        mca_pml_fastpath_pause(NULL);
        if (mca_pml_fastpath_ft() && MPI_SUCCESS != fastpath_source_error(comm, src, target->tag)) {
            return OMPI_ERROR; /* the ordinary path says which, or takes what has come in spite of that */
        }
    }
    return OMPI_ERR_NOT_FOUND;
}

/* A message of a member's has been received, without a request. */
static inline void finish_message(mca_pml_fastpath_member_t *member, const mca_pml_fastpath_target_t *target,
                                  ompi_status_public_t *status, bool threads)
{
    mca_pml_fastpath_count(MCA_PML_FASTPATH_RECVS_IMMEDIATE);
    mca_pml_fastpath_credit_consumed(member->peer, MCA_PML_FASTPATH_HDR_MATCH, target->length, threads);
    if (MPI_STATUS_IGNORE != status) {
        mca_pml_fastpath_status_set(status, target->word1, target->length);
    }
}

/* Receive without a request. Returns what wait_for() does; OMPI_ERR_UNREACH: btl/fastsm does not reach the
 * sender. */
static int recv_immediate(ompi_communicator_t *comm, int src, mca_pml_fastpath_target_t *target,
                          ompi_status_public_t *status)
{
    mca_pml_fastpath_member_t *member = NULL;
    int rc;

    target->undecided = opal_using_threads();
    if (MCA_PML_FASTPATH_ANY_SOURCE != src) {
        member = find_named(comm, src);
        if (OPAL_UNLIKELY(NULL == member)) {
            return OMPI_ERR_UNREACH;
        }
    }
    mca_pml_fastpath_awaited_begin_message();
    rc = wait_for(comm, &member, src, target);
    if (OPAL_LIKELY(OMPI_SUCCESS == rc)) {
        finish_message(member, target, status, opal_using_threads());
        mca_pml_fastpath_awaited_end_message(); /* else the ordinary path ends it */
    }
    return rc;
}

/* Data with gaps that loops unpack, and long: from where it has come to where it belongs. */
static __opal_attribute_noinline__ int recv_long_blocks(ompi_communicator_t *comm, int src,
                                                        mca_pml_fastpath_target_t *target,
                                                        const mca_pml_fastpath_blocks_t *blocks, void *buf,
                                                        ompi_status_public_t *status)
{
    mca_pml_fastpath_blocks_place_t to = {.blocks = blocks, .buf = buf};
    const mca_btl_fastsm_data_t data = {.move = mca_pml_fastpath_blocks_unpack_piece, .context = &to};

    target->data = &data;
    return recv_immediate(comm, src, target, status);
}

/* Such data that is short: by way of contiguous memory, so that it is taken from its slots without a call. */
static __opal_attribute_noinline__ int recv_short_blocks(ompi_communicator_t *comm, int src,
                                                         mca_pml_fastpath_target_t *target,
                                                         const mca_pml_fastpath_blocks_t *blocks, void *buf,
                                                         ompi_status_public_t *status)
{
    char packed[MCA_PML_FASTPATH_BLOCKS_SHORT];
    int rc;

    target->buffer = packed;
    rc = recv_immediate(comm, src, target, status);
    if (OPAL_LIKELY(OMPI_SUCCESS == rc)) {
        mca_pml_fastpath_blocks_unpack(blocks, buf, packed, 0, target->length);
    }
    return rc;
}

static int recv_blocks(ompi_communicator_t *comm, int src, mca_pml_fastpath_target_t *target,
                       const mca_pml_fastpath_blocks_t *blocks, void *buf, ompi_status_public_t *status)
{
    return MCA_PML_FASTPATH_BLOCKS_SHORT >= target->room
               ? recv_short_blocks(comm, src, target, blocks, buf, status)
               : recv_long_blocks(comm, src, target, blocks, buf, status);
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
static __opal_attribute_noinline__ int recv_convertor(ompi_communicator_t *comm, int src,
                                                      mca_pml_fastpath_target_t *target, void *buf,
                                                      size_t count, ompi_datatype_t *datatype,
                                                      ompi_status_public_t *status)
{
    opal_convertor_t convertor;
    const mca_btl_fastsm_data_t data = {.move = move_convertor,
                                        .context = &convertor,
                                        .whole =
                                            !mca_common_fastpath_convertor_takes_parts(&datatype->super)};
    int rc;

    /* all processes on a node have the same representation of data, so anybody's convertor will do */
    OBJ_CONSTRUCT(&convertor, opal_convertor_t);
    opal_convertor_copy_and_prepare_for_recv(ompi_mpi_local_convertor, &datatype->super, count, buf, 0,
                                             &convertor);
    target->data = &data;
    rc = recv_immediate(comm, src, target, status);
    opal_convertor_cleanup(&convertor);
    OBJ_DESTRUCT(&convertor);
    return rc;
}

/* recv_slots() for a message that is in buffers of its sender's, or synchronous. The target is another one: a
 * compiler that knows that somebody is shown the first one keeps it in memory. */
static __opal_attribute_noinline__ int recv_view(mca_pml_fastpath_comm_t *pml_comm,
                                                 mca_pml_fastpath_member_t *member, int src, void *buffer,
                                                 size_t room, int tag, ompi_status_public_t *status)
{
    mca_pml_fastpath_target_t target = {.tag = tag, .buffer = buffer, .room = room};

    if (OMPI_SUCCESS != mca_pml_fastpath_take_view(pml_comm, member, src, 1, &target)) {
        return target.begun ? OMPI_ERR_NOT_AVAILABLE : OMPI_ERR_NOT_FOUND;
    }
    finish_message(member, &target, status, false);
    return OMPI_SUCCESS;
}

/* The next message of a member's from its slots to the user's buffer, while there is one thread. Returns what
 * recv_fast does. */
static inline __opal_attribute_always_inline__ int recv_slots(mca_pml_fastpath_comm_t *pml_comm,
                                                              mca_pml_fastpath_member_t *member, int src,
                                                              unsigned spins, void *buffer, size_t room,
                                                              int tag, ompi_status_public_t *status)
{
    mca_pml_fastpath_target_t target = {.tag = tag, .buffer = buffer, .room = room};
    int rc;

    if (OPAL_UNLIKELY(!mca_pml_fastpath_member_has_slots(member))) {
        return OMPI_ERR_NOT_FOUND;
    }
    if (OPAL_UNLIKELY(!mca_pml_fastpath_none_before(pml_comm, src, tag))) {
        return OMPI_ERR_RESOURCE_BUSY;
    }
    rc = mca_pml_fastpath_take_slots(pml_comm, member, src, fastsm_fifo_await(member->peer->in, &spins),
                                     &target);
    if (OPAL_UNLIKELY(0 != rc)) {
        return FASTSM_SOMETHING_ELSE == rc ? recv_view(pml_comm, member, src, buffer, room, tag, status)
                                           : OMPI_ERR_NOT_FOUND;
    }
    finish_message(member, &target, status, false);
    return OMPI_SUCCESS;
}

/* Messages from one sender in a row, after which the next one is expected from it, too. */
#define ANY_STREAK 2

/* Polls of that sender's slot, to one of everybody's. */
#define ANY_SPINS 16

/* Messages from that sender, after which all slots are polled first. */
#define ANY_HITS 8

/* The same from whomever: any_src, if a message has come. */
static __opal_attribute_noinline__ int recv_slots_any(mca_pml_fastpath_comm_t *pml_comm, void *buffer,
                                                      size_t room, int tag, ompi_status_public_t *status)
{
    unsigned spins = spins_from(MCA_PML_FASTPATH_ANY_SOURCE, mca_pml_fastpath_spin_count());
    mca_pml_fastpath_member_t *member;
    int src, rc;

    if (OPAL_UNLIKELY(queued_for_any(pml_comm, tag))) {
        return OMPI_ERR_RESOURCE_BUSY;
    }
    if (OPAL_UNLIKELY(!mca_pml_fastpath.use_immediate_recv || NULL == mca_pml_fastpath.fastsm)) {
        return OMPI_ERR_NOT_FOUND;
    }
    do {
        if (OPAL_LIKELY(ANY_STREAK == pml_comm->any_streak && ANY_HITS > pml_comm->any_hits)) {
            rc = recv_slots(pml_comm, pml_comm->members[pml_comm->any_src], pml_comm->any_src,
                            1 < spins ? ANY_SPINS : 1, buffer, room, tag, status);
            if (OPAL_LIKELY(OMPI_SUCCESS == rc)) {
                ++pml_comm->any_hits;
                return OMPI_SUCCESS;
            }
            if (OPAL_UNLIKELY(OMPI_ERR_NOT_AVAILABLE == rc)) {
                return rc;
            }
        }
        rc = mca_pml_fastpath_find_sender(pml_comm, 1, &member, &src);
        pml_comm->any_hits = 0;
    } while (OMPI_ERR_NOT_FOUND == rc && 0 < --spins);
    if (OMPI_SUCCESS != rc) {
        return OMPI_ERR_NOT_FOUND;
    }
    if (src != pml_comm->any_src) {
        pml_comm->any_src = src;
        pml_comm->any_streak = 0;
    } else if (ANY_STREAK > pml_comm->any_streak) {
        ++pml_comm->any_streak;
    }
    return recv_slots(pml_comm, member, src, 1, buffer, room, tag, status);
}

/*
 * Receive a message that is contiguous, while there is one thread: it is taken from its slots, or from
 * buffers, and nothing is set up for it. Returns OMPI_SUCCESS; or, without a trace of the attempt and with
 * the message, if there is one, where it was, OMPI_ERR_RESOURCE_BUSY when matching has to see to it (a
 * message in the queues, or a receive that was posted earlier, may come first), else OMPI_ERR_NOT_FOUND: it
 * may be somewhere else, or something else, or come later. OMPI_ERR_NOT_AVAILABLE: the message has been
 * begun, and its rest does not come; from whomever, it is any_src's.
 */
static inline __opal_attribute_always_inline__ int recv_fast(void *buf, size_t count,
                                                             const ompi_datatype_t *datatype, int src,
                                                             int tag, ompi_communicator_t *comm,
                                                             ompi_status_public_t *status)
{
    mca_pml_fastpath_comm_t *pml_comm = mca_pml_fastpath_comm(comm);
    void *buffer = (char *) buf + datatype->super.true_lb;
    const size_t room = datatype->super.size * count;

    if (OPAL_UNLIKELY(opal_using_threads() || !fastpath_is_contiguous(buf, datatype, count))) {
        return OMPI_ERR_NOT_FOUND;
    }
    return OPAL_LIKELY(MCA_PML_FASTPATH_ANY_SOURCE != src)
               ? recv_slots(pml_comm, pml_comm->members[src], src, mca_pml_fastpath_spin_count(), buffer,
                            room, tag, status)
               : recv_slots_any(pml_comm, buffer, room, tag, status);
}

/* Why a receive has not been immediate, by what recv_immediate says. */
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

/* What recv_fast has not received, whose datatype is kept. */
static inline __opal_attribute_always_inline__ int recv_rest_kept(void *buf, size_t count,
                                                                  ompi_datatype_t *datatype, int src, int tag,
                                                                  ompi_communicator_t *comm,
                                                                  ompi_status_public_t *status)
{
    mca_pml_fastpath_target_t target = {.tag = tag, .room = datatype->super.size * count};
    mca_pml_fastpath_blocks_t blocks;
    int rc = OMPI_ERR_NOT_SUPPORTED;

    if (OPAL_LIKELY(mca_pml_fastpath.use_immediate_recv && NULL != mca_pml_fastpath.fastsm)) {
        if (OPAL_LIKELY(mca_pml_fastpath.use_immediate && fastpath_is_contiguous(buf, datatype, count))) {
            target.buffer = (char *) buf + datatype->super.true_lb;
            rc = recv_immediate(comm, src, &target, status);
        } else if (mca_pml_fastpath.use_immediate
                   && mca_pml_fastpath_blocks_of(buf, &datatype->super, &blocks)) {
            rc = recv_blocks(comm, src, &target, &blocks, buf, status);
        } else {
            rc = recv_convertor(comm, src, &target, buf, count, datatype, status);
        }
    }
    if (OPAL_LIKELY(OMPI_SUCCESS == rc)) {
        return rc;
    }
    if (OPAL_UNLIKELY(target.begun)) {
        src = mca_pml_fastpath_match_word1_src(target.word1);
    }
    mca_pml_fastpath_count(reason(rc));
    return mca_pml_fastpath_recv_ordinary(buf, count, datatype, src, tag, comm, status);
}

/* With threads another one may free the datatype meanwhile (MPI-4.0, section 5.1.9), or the communicator
 * (section 7.4.3), which the requests of ordinary receives keep, but nothing else does. */
static __opal_attribute_noinline__ int recv_rest_threads(void *buf, size_t count, ompi_datatype_t *datatype,
                                                         int src, int tag, ompi_communicator_t *comm,
                                                         ompi_status_public_t *status)
{
    int rc;

    OMPI_DATATYPE_RETAIN(datatype);
    OBJ_RETAIN(comm);
    rc = recv_rest_kept(buf, count, datatype, src, tag, comm, status);
    OBJ_RELEASE(comm);
    OMPI_DATATYPE_RELEASE(datatype);
    return rc;
}

/* What recv_fast has not received. Threads are asked for here, where messages that are found do not come. */
static __opal_attribute_noinline__ int recv_rest(void *buf, size_t count, ompi_datatype_t *datatype, int src,
                                                 int tag, ompi_communicator_t *comm,
                                                 ompi_status_public_t *status)
{
    return OPAL_UNLIKELY(opal_using_threads())
               ? recv_rest_threads(buf, count, datatype, src, tag, comm, status)
               : recv_rest_kept(buf, count, datatype, src, tag, comm, status);
}

/* MPI_Recv, which has been counted. */
static inline __opal_attribute_always_inline__ int recv_counted(void *buf, size_t count,
                                                                ompi_datatype_t *datatype, int src, int tag,
                                                                ompi_communicator_t *comm,
                                                                ompi_status_public_t *status)
{
    const int rc = recv_fast(buf, count, datatype, src, tag, comm, status);

    if (OPAL_LIKELY(OMPI_SUCCESS == rc)) {
        return rc;
    }
    if (OMPI_ERR_NOT_AVAILABLE == rc && MCA_PML_FASTPATH_ANY_SOURCE == src) {
        src = mca_pml_fastpath_comm(comm)->any_src;
    }
    if (OMPI_ERR_RESOURCE_BUSY != rc) {
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
