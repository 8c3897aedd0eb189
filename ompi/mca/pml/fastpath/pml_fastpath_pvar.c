/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * MPI_T performance variables. The queues are walked when somebody asks: only the
 * memory of unexpected messages is counted as they come and go.
 */
#include "ompi_config.h"

#include "opal/mca/common/fastpath/common_fastpath_pvar.h"

#include "pml_fastpath_comm.h"
#include "pml_fastpath_counters.h"
#include "pml_fastpath_kept.h"

/* What is summed up over a queue, by rank. */
typedef struct {
    int size;
    unsigned *counts; /* of one of these two */
    size_t *bytes;
} sums_t;

static void count_posted(mca_pml_fastpath_match_post_t *post, void *ctx)
{
    sums_t *sums = ctx;

    if (0 <= post->src && post->src < sums->size) { /* receives from any source belong to no rank */
        ++sums->counts[post->src];
    }
}

static void count_unexpected(mca_pml_fastpath_match_msg_t *msg, void *ctx)
{
    sums_t *sums = ctx;

    if (NULL != sums->counts) {
        ++sums->counts[msg->src];
    } else {
        sums->bytes[msg->src] += mca_pml_fastpath_message_payload(mca_pml_fastpath_message_of(msg));
    }
}

static int get_posted(const mca_base_pvar_t *pvar, void *value, void *comm)
{
    mca_pml_fastpath_comm_t *pml_comm = mca_pml_fastpath_comm(comm);
    sums_t sums = {.size = pml_comm->size, .counts = value};

    (void) pvar;
    memset(value, 0, (size_t) sums.size * sizeof(sums.counts[0]));
    OPAL_THREAD_LOCK(&pml_comm->lock);
    mca_pml_fastpath_match_each_posted(&pml_comm->matcher, count_posted, &sums);
    OPAL_THREAD_UNLOCK(&pml_comm->lock);
    return OMPI_SUCCESS;
}

static int get_unexpected(const mca_base_pvar_t *pvar, void *value, void *comm)
{
    mca_pml_fastpath_comm_t *pml_comm = mca_pml_fastpath_comm(comm);
    bool bytes = MCA_BASE_VAR_TYPE_UNSIGNED_LONG == pvar->type;
    sums_t sums = {.size = pml_comm->size, .counts = bytes ? NULL : value, .bytes = bytes ? value : NULL};

    memset(value, 0, (size_t) sums.size * (bytes ? sizeof(sums.bytes[0]) : sizeof(sums.counts[0])));
    OPAL_THREAD_LOCK(&pml_comm->lock);
    mca_pml_fastpath_match_each_unexpected(&pml_comm->matcher, count_unexpected, &sums);
    OPAL_THREAD_UNLOCK(&pml_comm->lock);
    return OMPI_SUCCESS;
}

static int get_early(const mca_base_pvar_t *pvar, void *value, void *comm)
{
    mca_pml_fastpath_comm_t *pml_comm = mca_pml_fastpath_comm(comm);
    bool bytes = MCA_BASE_VAR_TYPE_UNSIGNED_LONG == pvar->type;

    memset(value, 0, (size_t) pml_comm->size * (bytes ? sizeof(unsigned long) : sizeof(unsigned)));
    OPAL_THREAD_LOCK(&pml_comm->lock);
    for (int rank = 0; rank < pml_comm->size; ++rank) {
        mca_pml_fastpath_parked_t *parked;

        if (NULL == pml_comm->members[rank]) {
            continue;
        }
        OPAL_LIST_FOREACH(parked, &pml_comm->members[rank]->early, mca_pml_fastpath_parked_t)
        {
            if (bytes) {
                ((unsigned long *) value)[rank] += parked->size;
            } else {
                ++((unsigned *) value)[rank];
            }
        }
    }
    OPAL_THREAD_UNLOCK(&pml_comm->lock);
    return OMPI_SUCCESS;
}

static int get_credit(const mca_base_pvar_t *pvar, void *value, void *comm)
{
    mca_pml_fastpath_comm_t *pml_comm = mca_pml_fastpath_comm(comm);

    (void) pvar;
    for (int rank = 0; rank < pml_comm->size; ++rank) {
        const mca_pml_fastpath_member_t *member = pml_comm->members[rank];
        int64_t credit =
            NULL == member || NULL == member->peer ? (int64_t) mca_pml_fastpath.window : member->peer->credit;

        credit = 0 == mca_pml_fastpath.window ? INT64_MAX : credit;
        ((unsigned long *) value)[rank] = 0 < credit ? (unsigned long) credit : 0;
    }
    return OMPI_SUCCESS;
}

static int get_kept(const mca_base_pvar_t *pvar, void *value, void *object)
{
    size_t most = 0;
    size_t kept = mca_pml_fastpath.enabled ? mca_pml_fastpath_messages_kept(&most) : 0;

    (void) object;
    *(unsigned long *) value = mca_base_pvar_is_watermark(pvar) ? most : kept;
    return OMPI_SUCCESS;
}

static int get_spare(const mca_base_pvar_t *pvar, void *value, void *object)
{
    (void) pvar;
    (void) object;
    *(unsigned long *) value = mca_pml_fastpath.enabled ? mca_pml_fastpath_kept_spare() : 0;
    return OMPI_SUCCESS;
}

static int get_pending(const mca_base_pvar_t *pvar, void *value, void *object)
{
    mca_pml_fastpath_parked_t *parked;
    unsigned long bytes = 0;
    unsigned length = 0;

    (void) object;
    if (mca_pml_fastpath.enabled) {
        OPAL_THREAD_LOCK(&mca_pml_fastpath.lock);
        OPAL_LIST_FOREACH(parked, &mca_pml_fastpath.pending, mca_pml_fastpath_parked_t)
        {
            ++length;
            bytes += parked->size;
        }
        OPAL_THREAD_UNLOCK(&mca_pml_fastpath.lock);
    }
    if (MCA_BASE_VAR_TYPE_UNSIGNED_LONG == pvar->type) {
        *(unsigned long *) value = bytes;
    } else {
        *(unsigned *) value = length;
    }
    return OMPI_SUCCESS;
}

/* One value for each rank of the communicator (of its remote group, for an intercommunicator). */
static int per_rank(mca_base_pvar_t *pvar, mca_base_pvar_event_t event, void *comm, int *count)
{
    (void) pvar;
    if (MCA_BASE_PVAR_HANDLE_BIND == event) {
        *count = mca_pml_fastpath_comm(comm)->size;
    }
    return OMPI_SUCCESS;
}

#define UINT  MCA_BASE_VAR_TYPE_UNSIGNED_INT
#define ULONG MCA_BASE_VAR_TYPE_UNSIGNED_LONG

static const struct {
    const char *name;
    const char *text;
    int class;
    mca_base_var_type_t type;
    int bind;
    mca_base_get_value_fn_t get; /* or NULL: the number is there as it is */
    volatile void *number;
} pvars[] = {
    {"posted_recvq_length", "Receives posted for each peer of a communicator and not matched",
     MPI_T_PVAR_CLASS_SIZE, UINT, MPI_T_BIND_MPI_COMM, .get = get_posted},
    {"unexpected_msgq_length", "Messages from each peer of a communicator that no receive has matched",
     MPI_T_PVAR_CLASS_SIZE, UINT, MPI_T_BIND_MPI_COMM, .get = get_unexpected},
    {"unexpected_msgq_bytes", "Bytes of data that these messages keep here", MPI_T_PVAR_CLASS_SIZE, ULONG,
     MPI_T_BIND_MPI_COMM, .get = get_unexpected},
    {"early_msgq_length", "Messages from each peer of a communicator that wait for an earlier one",
     MPI_T_PVAR_CLASS_SIZE, UINT, MPI_T_BIND_MPI_COMM, .get = get_early},
    {"early_msgq_bytes", "Bytes that these messages take, headers included", MPI_T_PVAR_CLASS_SIZE, ULONG,
     MPI_T_BIND_MPI_COMM, .get = get_early},
    {"credit", "Bytes that may be sent to each peer of a communicator before it has asked for them",
     MPI_T_PVAR_CLASS_LEVEL, ULONG, MPI_T_BIND_MPI_COMM, .get = get_credit},
    {"kept_bytes", "Memory that the unexpected messages of all communicators take, records included",
     MPI_T_PVAR_CLASS_SIZE, ULONG, MPI_T_BIND_NO_OBJECT, .get = get_kept},
    {"kept_bytes_most", "The most that kept_bytes has been", MPI_T_PVAR_CLASS_HIGHWATERMARK, ULONG,
     MPI_T_BIND_NO_OBJECT, .get = get_kept},
    {"spare_bytes", "Memory of messages that have been received, for unexpected ones to come",
     MPI_T_PVAR_CLASS_SIZE, ULONG, MPI_T_BIND_NO_OBJECT, .get = get_spare},
    {"pending_comm_msgq_length", "Messages of communicators that this process does not know yet",
     MPI_T_PVAR_CLASS_SIZE, UINT, MPI_T_BIND_NO_OBJECT, .get = get_pending},
    {"pending_comm_msgq_bytes", "Bytes that these messages take, headers included", MPI_T_PVAR_CLASS_SIZE,
     ULONG, MPI_T_BIND_NO_OBJECT, .get = get_pending},
    {"freed_comm_messages", "Messages that were dropped because their communicator had been freed here",
     MPI_T_PVAR_CLASS_COUNTER, ULONG, MPI_T_BIND_NO_OBJECT, .number = &mca_pml_fastpath.late},
    {"refused_length", "Messages of this process that wait until a transport has room for them",
     MPI_T_PVAR_CLASS_SIZE, UINT, MPI_T_BIND_NO_OBJECT, .number = &mca_pml_fastpath.num_retries},
};
_Static_assert(sizeof(unsigned long) == sizeof(size_t), "bytes are counted in size_t");
_Static_assert(sizeof(unsigned long) == sizeof(mca_pml_fastpath.late)
                   && sizeof(unsigned) == sizeof(mca_pml_fastpath.num_retries),
               "Open MPI reads them by their types");

/* Those of sends are a cache line: threads that send and threads that receive do not share one. */
_Alignas(64) unsigned long mca_pml_fastpath_counters[MCA_PML_FASTPATH_COUNTERS];
_Static_assert(64 == MCA_PML_FASTPATH_RECVS_IMMEDIATE * sizeof(mca_pml_fastpath_counters[0]),
               "so many are of sends");

/* What is counted while messages pass, by counter. */
static const struct {
    const char *name;
    const char *text;
} counters[MCA_PML_FASTPATH_COUNTERS] = {
    [MCA_PML_FASTPATH_SENDS_IMMEDIATE] =
        {"sends_immediate", "Sends whose message was handed to a transport whole, before a request was made"},
    [MCA_PML_FASTPATH_SENDS_QUEUED] =
        {"sends_queued", "Sends that were not tried immediately: others to the same process waited for room"},
    [MCA_PML_FASTPATH_SENDS_LONG] =
        {"sends_long", "Sends that were not tried immediately: longer than the transport's eager limit, or "
                       "sooner copied by the kernel"},
    [MCA_PML_FASTPATH_SENDS_NO_CREDIT] =
        {"sends_no_credit",
         "Sends that were not tried immediately: too many messages wait at the receiver (unexpected_limit)"},
    [MCA_PML_FASTPATH_SENDS_NO_ROOM] =
        {"sends_no_room", "Sends that the transport refused to send immediately for want of room"},
    [MCA_PML_FASTPATH_SENDS_NO_SENDI] = {"sends_no_sendi",
                                         "Sends by a transport without sendi, longer than 2048 bytes, or "
                                         "with threads or fault tolerance"},
    [MCA_PML_FASTPATH_SENDS_MODE] = {"sends_mode", "Sends that were not tried immediately: synchronous"},
    [MCA_PML_FASTPATH_SENDS_OTHER] = {"sends_other",
                                      "Sends that were not tried immediately: use_immediate_send is off, "
                                      "or the communicator's number at the receiver is "
                                      "not known yet"},

    [MCA_PML_FASTPATH_RECVS_IMMEDIATE] =
        {"recvs_immediate", "MPI_Recv that took its message from where it arrived, without a request"},
    [MCA_PML_FASTPATH_RECVS_QUEUED] =
        {"recvs_queued",
         "MPI_Recv that left it to matching: a message that waited in the queues, or a receive "
         "that was posted earlier, might come first"},
    [MCA_PML_FASTPATH_RECVS_SPIN_EXPIRED] = {"recvs_spin_expired",
                                             "MPI_Recv whose message did not come while it looked for it"},
    [MCA_PML_FASTPATH_RECVS_OTHER_MESSAGE] =
        {"recvs_other_message", "MPI_Recv that found another message before its own, or a long one"},
    [MCA_PML_FASTPATH_RECVS_NO_RECVI] = {"recvs_no_recvi",
                                         "MPI_Recv from a process that btl/fastsm does not reach"},
    [MCA_PML_FASTPATH_RECVS_OTHER] =
        {"recvs_other", "MPI_Recv that did not look: use_immediate_recv is off, or no btl/fastsm"},

    [MCA_PML_FASTPATH_IRECVS_IMMEDIATE] =
        {"irecvs_immediate", "MPI_Irecv that took its message from where it arrived, complete immediately"},
    [MCA_PML_FASTPATH_IRECVS_QUEUED] =
        {"irecvs_queued",
         "MPI_Irecv that left it to matching: a message that waited in the queues, or a receive "
         "that was posted earlier, might come first"},
    [MCA_PML_FASTPATH_IRECVS_POSTED] = {"irecvs_posted", "MPI_Irecv that came before any message: posted"},
    [MCA_PML_FASTPATH_IRECVS_OTHER_MESSAGE] =
        {"irecvs_other_message", "MPI_Irecv that found another message before its own, or a long one"},
    [MCA_PML_FASTPATH_IRECVS_NO_RECVI] =
        {"irecvs_no_recvi", "MPI_Irecv from a process that btl/fastsm does not reach, or has not "
                            "heard of yet"},
    [MCA_PML_FASTPATH_IRECVS_DATA] = {"irecvs_data",
                                      "MPI_Irecv that did not look: its buffer is not contiguous"},
    [MCA_PML_FASTPATH_IRECVS_OTHER] =
        {"irecvs_other", "MPI_Irecv that did not look: use_immediate_recv or use_immediate_data is off, no "
                         "btl/fastsm, or a communicator that has failed"},

    [MCA_PML_FASTPATH_WAITS_IMMEDIATE] =
        {"waits_immediate", "Messages for posted receives that a wait took from where they arrived"},
    [MCA_PML_FASTPATH_WAITS_OTHER_MESSAGE] = {"waits_other_message",
                                              "Messages that a wait found there and left to matching"},
    [MCA_PML_FASTPATH_WAITS_SPIN_EXPIRED] =
        {"waits_spin_expired", "Waits for a receive whose message did not come while they looked for it"},
    [MCA_PML_FASTPATH_WAITS_ELSEWHERE] =
        {"waits_elsewhere", "Waits that had no sender to look at: for sends, MPI_ANY_SOURCE, one of several "
                            "requests, other transports, or with several threads"},

    [MCA_PML_FASTPATH_WAITS_SPINS] =
        {"waits_spins", "Times that a wait found nothing, let everything progress and kept its core"},
    [MCA_PML_FASTPATH_WAITS_YIELDS] =
        {"waits_yields", "Times that a wait found nothing, let everything progress and gave its core away"},
    [MCA_PML_FASTPATH_WAITS_SLEEPS] = {"waits_sleeps", "Times that a wait slept"},
    [MCA_PML_FASTPATH_WAITS_WOKEN] = {"waits_woken", "Of these, those that a message ended"},
    [MCA_PML_FASTPATH_WAITS_TIME_ASLEEP] = {"waits_time_asleep", "Nanoseconds that waits have slept"},

    [MCA_PML_FASTPATH_UNEXPECTED] = {"unexpected_messages",
                                     "Messages that came before a receive for them, and were kept"},
    [MCA_PML_FASTPATH_COMMS_SEARCHED] = {"comms_searched",
                                         "Messages whose communicator was not the first in its list of those "
                                         "with the same lower bits of the id"},
    [MCA_PML_FASTPATH_HELPED] = {"messages_helped",
                                 "Messages received of which the sender has copied a part"},
    [MCA_PML_FASTPATH_STREAMED] = {"messages_streamed",
                                   "Messages received that were offered to be read, and streamed from there "
                                   "on because both processes waited and that is sooner"},
    [MCA_PML_FASTPATH_MULTI] = {"messages_multi_eager",
                                "Messages sent in several eager fragments (multi_eager_limits)"},
};

void mca_pml_fastpath_pvar_register(const mca_base_component_t *component)
{
    for (size_t i = 0; i < sizeof(pvars) / sizeof(pvars[0]); ++i) {
        bool bound = MPI_T_BIND_MPI_COMM == pvars[i].bind;

        (void) mca_base_component_pvar_register(
            component, pvars[i].name, pvars[i].text, OPAL_INFO_LVL_4, pvars[i].class, pvars[i].type, NULL,
            pvars[i].bind, MCA_BASE_PVAR_FLAG_READONLY | MCA_BASE_PVAR_FLAG_CONTINUOUS, pvars[i].get, NULL,
            bound ? per_rank : NULL, (void *) pvars[i].number);
    }
    for (size_t i = 0; i < MCA_PML_FASTPATH_COUNTERS; ++i) {
        mca_common_fastpath_pvar_register(component, counters[i].name, counters[i].text,
                                          MCA_BASE_PVAR_CLASS_COUNTER, &mca_pml_fastpath_counters[i]);
    }
}
