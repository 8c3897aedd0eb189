/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* MPI_T counters of receives that take their message from where it arrives, and of those that do not, by
 * reason; so this is also where it is tried that they do, from MPI_ANY_SOURCE, too.
 *
 * Rank 1 receives. It is outside MPI while rank 0 sends, so that messages are in their slots, and in no
 * queue, when it comes back. What is looked for there depends on how the job runs, so that is said: nothing;
 * "threads" for the same with MPI_THREAD_MULTIPLE; "off" where receives do not look (use_immediate_recv 0, or
 * no btl/fastsm); "convertor" with use_immediate_data 0. */

#include "ompi_config.h"

#include "opal/runtime/opal_progress.h"

#include "support/fp_counters.h"

enum { TAG = 61, AWAY_TAG, FIRST_TAG, SECOND_TAG, PATIENCE = 200 };

/* In the order of names[]. */
enum {
    RECVS_IMMEDIATE,
    RECVS_QUEUED,
    RECVS_SPIN_EXPIRED,
    RECVS_OTHER_MESSAGE,
    RECVS_NO_RECVI,
    RECVS_OTHER,
    IRECVS_IMMEDIATE,
    IRECVS_QUEUED,
    IRECVS_POSTED,
    IRECVS_OTHER_MESSAGE,
    IRECVS_NO_RECVI,
    IRECVS_DATA,
    IRECVS_OTHER,
    WAITS_IMMEDIATE,
    WAITS_OTHER_MESSAGE,
    WAITS_SPIN_EXPIRED,
    WAITS_ELSEWHERE,
    UNEXPECTED,
    COUNTERS
};

static const char *const names[COUNTERS] = {
    "pml_fastpath_recvs_immediate",      "pml_fastpath_recvs_queued",    "pml_fastpath_recvs_spin_expired",
    "pml_fastpath_recvs_other_message",  "pml_fastpath_recvs_no_recvi",  "pml_fastpath_recvs_other",
    "pml_fastpath_irecvs_immediate",     "pml_fastpath_irecvs_queued",   "pml_fastpath_irecvs_posted",
    "pml_fastpath_irecvs_other_message", "pml_fastpath_irecvs_no_recvi", "pml_fastpath_irecvs_data",
    "pml_fastpath_irecvs_other",         "pml_fastpath_waits_immediate", "pml_fastpath_waits_other_message",
    "pml_fastpath_waits_spin_expired",   "pml_fastpath_waits_elsewhere", "pml_fastpath_unexpected_messages"};

/* In slots; in one buffer, and in several of them, where data may go there without a convertor. */
static const size_t lengths[] = {0, 8, 40, 41, 1000, 4000, 16000};
enum { LENGTHS = sizeof(lengths) / sizeof(lengths[0]), LENGTHS_SLOTS = LENGTHS - 2 };

/* As what receives count whose message is there. */
static int recv_there = RECVS_IMMEDIATE, irecv_there = IRECVS_IMMEDIATE;
static bool threads;

/* A receive of whatever kind that matches a message. */
typedef struct {
    MPI_Request request;
    MPI_Datatype type; /* MPI_BYTE, or a vector */
    int count;
    unsigned char *buffer;
    size_t length; /* of the message */
    int src, tag;  /* asked for */
} receive_t;

static receive_t prepare(size_t length, bool gaps, int src, int tag)
{
    receive_t receive = {.type = MPI_BYTE,
                         .count = (int) length,
                         .buffer = fp_alloc(2 * length),
                         .length = length,
                         .src = src,
                         .tag = tag};

    if (gaps) {
        FP(MPI_Type_vector((int) length, 1, 2, MPI_BYTE, &receive.type));
        FP(MPI_Type_commit(&receive.type));
        receive.count = 1;
    }
    return receive;
}

/* The message has come, with that tag. */
static void finish(receive_t *receive, const MPI_Status *status, int tag)
{
    const uint64_t key = fp_key(0, 1, tag, 0);

    CHECK_STATUS(status, 0, tag, receive->length);
    if (MPI_BYTE == receive->type) {
        CHECK_DATA(receive->buffer, receive->length, key);
    } else {
        for (size_t i = 0; i < receive->length; i++) {
            CHECK_DATA_FROM(receive->buffer + 2 * i, 1, key, i);
        }
        FP(MPI_Type_free(&receive->type));
    }
    fp_free(receive->buffer);
}

static void blocking(size_t length, bool gaps, int src, int tag, int sent_tag)
{
    receive_t receive = prepare(length, gaps, src, tag);
    MPI_Status status;

    FP(MPI_Recv(receive.buffer, receive.count, receive.type, src, tag, MPI_COMM_WORLD, &status));
    finish(&receive, &status, sent_tag);
}

static receive_t start(size_t length, bool gaps, int src, int tag)
{
    receive_t receive = prepare(length, gaps, src, tag);

    FP(MPI_Irecv(receive.buffer, receive.count, receive.type, src, tag, MPI_COMM_WORLD, &receive.request));
    return receive;
}

static void complete(receive_t *receive, int sent_tag)
{
    MPI_Status status;

    FP(MPI_Wait(&receive->request, &status));
    finish(receive, &status, sent_tag);
}

/* Rank 1 is outside MPI until rank 0, which is to send something, calls it back. Nothing else comes from rank
 * 0 meanwhile, nor until the next time: it waits to be asked. */
static void leave_when_asked(fp_away_t *away)
{
    if (0 == fp_rank) {
        fp_await(1, MPI_COMM_WORLD);
    } else if (1 == fp_rank) {
        fp_signal(0, MPI_COMM_WORLD);
    }
    fp_leave(away, 1, AWAY_TAG);
}

/* Rank 0 sends messages of these tags while rank 1 is outside MPI. */
static void arrive(size_t length, int first_tag, int second_tag)
{
    fp_away_t away;

    leave_when_asked(&away);
    if (0 == fp_rank) {
        fp_send(&fp_modes[FP_STANDARD], length, 1, first_tag, 0, MPI_COMM_WORLD);
        if (0 != second_tag) {
            fp_send(&fp_modes[FP_STANDARD], length, 1, second_tag, 0, MPI_COMM_WORLD);
        }
        fp_come_back(&away);
    }
}

/* The message is there. */
static void there(size_t length, bool gaps, int src, int tag)
{
    fp_counts_t before;
    receive_t receive;

    fp_case("%zu bytes%s are there, source %d, tag %d", length, gaps ? " with gaps" : "", src, tag);
    arrive(length, TAG, 0);
    if (1 == fp_rank) {
        before = fp_counters_now();
        blocking(length, gaps, src, tag, TAG);
        CHECK_COUNTED(&before, COUNTERS, recv_there);
    }
    arrive(length, TAG, 0);
    if (1 == fp_rank) {
        before = fp_counters_now();
        receive = start(length, gaps, src, tag);
        CHECK_COUNTED(&before, COUNTERS, gaps ? IRECVS_DATA : irecv_there);
        complete(&receive, TAG);
    }
}

/* Another message is before it, and has to be kept. */
static void behind_another(void)
{
    fp_counts_t before;
    receive_t receive;

    fp_case("behind another message, blocking");
    arrive(8, FIRST_TAG, SECOND_TAG);
    if (1 == fp_rank) {
        before = fp_counters_now();
        blocking(8, false, 0, SECOND_TAG, SECOND_TAG);
        CHECK_COUNTED(&before, COUNTERS, RECVS_OTHER_MESSAGE, UNEXPECTED);
        before = fp_counters_now();
        blocking(8, false, 0, FIRST_TAG, FIRST_TAG);
        CHECK_COUNTED(&before, COUNTERS, RECVS_QUEUED);
    }
    fp_case("behind another message, nonblocking");
    arrive(8, FIRST_TAG, SECOND_TAG);
    if (1 == fp_rank) {
        fp_counts_t counts;

        before = fp_counters_now();
        receive = start(8, false, 0, SECOND_TAG);
        CHECK_COUNTED(&before, COUNTERS, IRECVS_OTHER_MESSAGE);
        before = fp_counters_now();
        complete(&receive, SECOND_TAG);
        counts = fp_counters_since(&before);
        if (threads) {
            CHECK_INT(counts.value[WAITS_ELSEWHERE], 1);
        } else { /* the first look at it may leave it there */
            CHECK(1 <= counts.value[WAITS_OTHER_MESSAGE] && 2 >= counts.value[WAITS_OTHER_MESSAGE]);
        }
        CHECK_INT(counts.value[UNEXPECTED], 1);
        before = fp_counters_now();
        receive = start(8, false, 0, FIRST_TAG);
        CHECK_COUNTED(&before, COUNTERS, IRECVS_QUEUED);
        complete(&receive, FIRST_TAG);
    }
}

/* Receives that come first, and the waits for them. */
static void ahead(void)
{
    receive_t receives[2] = {{0}, {0}};
    fp_counts_t before;

    fp_case("receives ahead");
    if (1 == fp_rank) {
        before = fp_counters_now();
        receives[0] = start(8, false, 0, FIRST_TAG);
        CHECK_COUNTED(&before, COUNTERS, IRECVS_POSTED);
        receives[1] = start(8, false, 0, SECOND_TAG);
        CHECK_COUNTED(&before, COUNTERS, IRECVS_POSTED, IRECVS_QUEUED);
    }
    arrive(8, FIRST_TAG, SECOND_TAG);
    if (1 == fp_rank) {
        before = fp_counters_now();
        complete(&receives[0], FIRST_TAG);
        CHECK_COUNTED(&before, COUNTERS, threads ? WAITS_ELSEWHERE : WAITS_IMMEDIATE);
        complete(&receives[1], SECOND_TAG);
        if (!threads) { /* else the first wait may have seen to it */
            CHECK_COUNTED(&before, COUNTERS, WAITS_IMMEDIATE, WAITS_IMMEDIATE);
        }
    }
}

/* Progress brings the message of a receive. The one behind it stays where it is, so that its receive takes it
 * from there. With threads it is kept. */
static void left_behind(size_t length)
{
    receive_t receive = {0};
    fp_counts_t before;

    fp_case("%zu bytes, behind a message that is waited for", length);
    if (1 == fp_rank) {
        receive = start(length, false, 0, FIRST_TAG);
    }
    arrive(length, FIRST_TAG, SECOND_TAG);
    if (1 == fp_rank) {
        before = fp_counters_now();
        opal_progress();
        CHECK_INT(fp_counters_since(&before).value[UNEXPECTED], threads ? 1 : 0);
        before = fp_counters_now(); /* a wait for the first one could make progress before */
        blocking(length, false, 0, SECOND_TAG, SECOND_TAG);
        CHECK_COUNTED(&before, COUNTERS, threads ? RECVS_QUEUED : RECVS_IMMEDIATE);
        complete(&receive, FIRST_TAG);
    }
}

/* MPI_Irecv finds it there, too, though the first message came late. */
static void left_looked(size_t length)
{
    receive_t receives[2] = {{0}, {0}};
    fp_counts_t before;

    fp_case("%zu bytes, behind a message that is waited for, nonblocking", length);
    if (1 == fp_rank) {
        receives[0] = start(length, false, 0, FIRST_TAG);
    }
    arrive(length, FIRST_TAG, SECOND_TAG);
    if (1 == fp_rank) {
        opal_progress();
        before = fp_counters_now();
        receives[1] = start(length, false, 0, SECOND_TAG);
        CHECK_COUNTED(&before, COUNTERS, threads ? IRECVS_QUEUED : IRECVS_IMMEDIATE);
        complete(&receives[0], FIRST_TAG);
        complete(&receives[1], SECOND_TAG);
    }
}

/* After a receive that has taken its message, progress leaves the next one where it is, once. */
static void left_taken(size_t length)
{
    fp_counts_t before;

    fp_case("%zu bytes, behind a message that has been received", length);
    arrive(length, FIRST_TAG, SECOND_TAG);
    if (1 == fp_rank) {
        blocking(length, false, 0, FIRST_TAG, FIRST_TAG);
        before = fp_counters_now();
        opal_progress();
        CHECK_INT(fp_counters_since(&before).value[UNEXPECTED], threads ? 1 : 0);
        opal_progress();
        CHECK_INT(fp_counters_since(&before).value[UNEXPECTED], 1);
        blocking(length, false, 0, SECOND_TAG, SECOND_TAG);
    }
}

/* The next call of progress keeps it, or what is behind it would never come. */
static void left_once(void)
{
    receive_t receive = {0};
    fp_counts_t before;

    fp_case("behind a message that is waited for, progress again");
    if (1 == fp_rank) {
        receive = start(8, false, 0, FIRST_TAG);
    }
    arrive(8, FIRST_TAG, SECOND_TAG);
    if (1 == fp_rank) {
        before = fp_counters_now();
        opal_progress();
        opal_progress();
        CHECK_INT(fp_counters_since(&before).value[UNEXPECTED], 1);
        complete(&receive, FIRST_TAG);
        blocking(8, false, 0, SECOND_TAG, SECOND_TAG);
    }
}

/* A receive that is posted does not keep another one, of another tag, from its message. */
static void beside(int src, int posted_src)
{
    receive_t receive = {0};
    fp_counts_t before;

    fp_case("receive from %d beside one from %d", src, posted_src);
    if (1 == fp_rank) {
        receive = start(8, false, posted_src, SECOND_TAG);
    }
    arrive(8, FIRST_TAG, SECOND_TAG);
    if (1 == fp_rank) {
        before = fp_counters_now();
        blocking(8, false, src, FIRST_TAG, FIRST_TAG);
        CHECK_COUNTED(&before, COUNTERS, RECVS_IMMEDIATE);
        complete(&receive, SECOND_TAG);
    }
}

/* A probe leaves a message where it has arrived, so that its receive takes it from there. One for a message
 * behind it finds that, too, at the first call, and brings both into the queues. */
static void probed(size_t length, int src)
{
    fp_counts_t before;
    MPI_Status status;
    int flag = 0;

    fp_case("%zu bytes, probed from %d", length, src);
    arrive(length, FIRST_TAG, SECOND_TAG);
    if (1 == fp_rank) {
        before = fp_counters_now();
        FP(MPI_Iprobe(src, FIRST_TAG, MPI_COMM_WORLD, &flag, &status));
        CHECK_INT(flag, 1);
        CHECK_STATUS(&status, 0, FIRST_TAG, length);
        FP(MPI_Probe(src, FIRST_TAG, MPI_COMM_WORLD, &status));
        CHECK_STATUS(&status, 0, FIRST_TAG, length);
        blocking(length, false, src, FIRST_TAG, FIRST_TAG);
        if (!threads) {
            CHECK_COUNTED(&before, COUNTERS, RECVS_IMMEDIATE);
        }
        blocking(length, false, src, SECOND_TAG, SECOND_TAG);
    }
    arrive(length, FIRST_TAG, SECOND_TAG);
    if (1 == fp_rank) {
        FP(MPI_Iprobe(src, SECOND_TAG, MPI_COMM_WORLD, &flag, &status));
        CHECK_INT(flag, 1);
        CHECK_STATUS(&status, 0, SECOND_TAG, length);
        blocking(length, false, src, FIRST_TAG, FIRST_TAG);
        blocking(length, false, src, SECOND_TAG, SECOND_TAG);
    }
}

/* Who waits calls progress again and again: after so many calls it has given up looking. */
static fp_away_t sender;
static int calls;

static int on_progress(void)
{
    if (PATIENCE == ++calls) {
        fp_come_back(&sender);
    }
    return 0;
}

/* The message is sent when the receive has looked for it in vain. */
static void in_vain(bool waits)
{
    receive_t receive = {0};
    fp_counts_t before;

    fp_case("%s in vain", waits ? "a wait" : "a receive");
    fp_leave(&sender, 0, AWAY_TAG);
    if (0 == fp_rank) {
        fp_send(&fp_modes[FP_STANDARD], 8, 1, TAG, 0, MPI_COMM_WORLD);
    } else if (1 == fp_rank) {
        if (waits) {
            receive = start(8, false, 0, TAG);
        }
        calls = 0;
        before = fp_counters_now();
        opal_progress_register(on_progress);
        if (waits) {
            complete(&receive, TAG);
            CHECK_COUNTED(&before, COUNTERS, threads ? WAITS_ELSEWHERE : WAITS_SPIN_EXPIRED);
        } else {
            blocking(8, false, 0, TAG, TAG);
            CHECK_COUNTED(&before, COUNTERS, RECVS_SPIN_EXPIRED);
        }
        opal_progress_unregister(on_progress);
    }
}

/* A receive whose message is there: whether it looked for that. */
static bool looked(void)
{
    bool at_once = false;

    arrive(8, TAG, 0);
    if (1 == fp_rank) {
        const fp_counts_t before = fp_counters_now();
        receive_t receive = start(8, false, 0, TAG);

        at_once = 0 < fp_counters_since(&before).value[IRECVS_IMMEDIATE];
        complete(&receive, TAG);
    }
    FP(MPI_Bcast(&at_once, 1, MPI_C_BOOL, 1, MPI_COMM_WORLD));
    return at_once;
}

/* After a message that came late, MPI_Irecv looks only when some have been there before they were waited
 * for. With threads it always looks. It does for once, too, when progress has left a message from there
 * meanwhile, of those by which the ranks arrange this: then once more. */
static void expected(void)
{
    int receives, tries = 0;

    do {
        fp_case("messages that are expected to be there");
        in_vain(true);
        receives = 0;
        while (!looked() && ++receives < 100) {
        }
        CHECK(receives < 100);
    } while (0 == receives && !threads && ++tries < 20);
    CHECK((0 == receives) == threads);
    CHECK(looked());
}

/* Where progress is made up for in calls that follow each other fast, it keeps one message, or some short
 * ones. Here that is because the clock has been looked at so often. */
static void made_up(size_t length, unsigned long keeps)
{
    enum { MESSAGES = 20, PROBES = 1000000 };
    unsigned long kept = 0;
    fp_away_t away;

    fp_case("%zu bytes, progress that is made up for", length);
    leave_when_asked(&away);
    if (0 == fp_rank) {
        for (int i = 0; i < MESSAGES; i++) {
            fp_send(&fp_modes[FP_STANDARD], length, 1, TAG, i, MPI_COMM_WORLD);
        }
        fp_come_back(&away);
    } else if (1 == fp_rank) {
        const fp_counts_t before = fp_counters_now();

        for (int probes = 0; 0 == kept && probes < PROBES; probes++) {
            int flag = 0;

            FP(MPI_Iprobe(0, TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
            CHECK_INT(flag, 1);
            kept = fp_counters_since(&before).value[UNEXPECTED];
        }
        CHECK_INT(kept, threads ? MESSAGES : keeps);
        for (int i = 0; i < MESSAGES; i++) {
            fp_recv(length, 0, TAG, i, MPI_COMM_WORLD);
        }
    }
}

/* Messages of a process to itself are btl/self's. */
static void from_oneself(void)
{
    fp_case("from oneself");
    if (1 == fp_rank) {
        fp_counts_t before = fp_counters_now();
        fp_message_t message;

        fp_irecv(&message, 8, 1, TAG, 0, MPI_COMM_WORLD);
        CHECK_COUNTED(&before, COUNTERS, IRECVS_NO_RECVI);
        fp_send(&fp_modes[FP_STANDARD], 8, 1, TAG, 0, MPI_COMM_WORLD);
        fp_wait_recv(&message);
    }
}

/* What counts in one way or another wherever receives look for their messages. */
static void wherever(void)
{
    for (size_t i = 0; i < LENGTHS_SLOTS; i++) {
        there(lengths[i], false, 0, TAG);
        there(lengths[i], false, MPI_ANY_SOURCE, TAG);
        there(lengths[i], false, 0, MPI_ANY_TAG);
        there(lengths[i], false, MPI_ANY_SOURCE, MPI_ANY_TAG);
    }
    there(8, true, 0, TAG);
    there(8, true, MPI_ANY_SOURCE, TAG);
}

/* And what counts where they look for them where they arrive. */
static void where_they_arrive(void)
{
    behind_another();
    ahead();
    for (size_t i = 0; i < LENGTHS; i++) {
        left_behind(lengths[i]);
        left_looked(lengths[i]);
        left_taken(lengths[i]);
    }
    left_once();
    made_up(8, 20);
    made_up(1000, 5);
    made_up(4096, 1);
    for (int i = 0; i < 4; i++) {
        beside(i & 1 ? 0 : MPI_ANY_SOURCE, i & 2 ? 0 : MPI_ANY_SOURCE);
    }
    for (size_t i = 0; i < LENGTHS; i++) {
        probed(lengths[i], 0);
        probed(lengths[i], MPI_ANY_SOURCE);
    }
    in_vain(false);
    in_vain(true);
    expected();
    from_oneself();
}

int main(int argc, char **argv)
{
    const char *options = "";
    int level = MPI_THREAD_SINGLE;

    threads = 1 < argc && 0 == strcmp("threads", argv[1]);
    if (threads) {
        level = MPI_THREAD_MULTIPLE;
    }
    (void) fp_init_thread(&argc, &argv, 2, level);
    options = 1 < argc ? argv[1] : options;
    if (0 == strcmp("off", options)) {
        recv_there = RECVS_OTHER;
        irecv_there = IRECVS_OTHER;
    } else if (0 == strcmp("convertor", options)) {
        irecv_there = IRECVS_OTHER;
    }
    fp_counters_open(level, names, COUNTERS);
    wherever();
    if (0 == strcmp("", options) || threads) {
        where_they_arrive();
    }
    fp_counters_close();
    return fp_finish();
}
