/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Messages between a transport's eager limit and its multi-eager limit: by every kind of send, to every kind
 * of receive, with their content, and with what the sender counts of messages that went in eager fragments.
 *
 * multi_eager EAGER LIMIT [HOW]: both limits, as the command line sets them (testlist). HOW: "threads" for
 * MPI_THREAD_MULTIPLE, and two threads of each side; "credit" where pml_fastpath_unexpected_limit is 1 MiB;
 * "refused" where transports refuse at random. With one rank all messages are to itself. */

#include <fcntl.h>
#include <unistd.h>

#include "support/fp_counters.h"

enum {
    TAG = 83,
    WORD_TAG,
    TURN_TAG, /* and those above, one for each thread */
    MATCH_HEADER = 16,
    LESS = 5000,      /* bytes by which receives are too short */
    CREDIT = 1 << 20, /* pml_fastpath_unexpected_limit, if HOW says so */
    GAPS_LOOKED_AT = 32,
    CANCELS = 120,
    LATE_MESSAGES = 4,
    WINDOW = 40,
    THREADS = 2,
    TURNS = 12,
    ROUNDS = 12,
    PATIENCE = 20000 /* milliseconds */
};

static size_t eager, limit;
static int peer; /* of ranks 0 and 1 */

enum { MULTI, KEPT };
static const char *const names[] = {"pml_fastpath_messages_multi_eager", "pml_fastpath_kept_bytes"};

typedef enum { SEND, SSEND, RSEND, BSEND, ISEND, GAPS_SEND, SEND_INIT, SENDS } send_t;
static const char *const send_names[SENDS] = {"send",  "ssend",          "rsend",    "bsend",
                                              "isend", "send from gaps", "send_init"};

typedef enum { POSTED, LATE, PROBED, MATCHED, ANY, GAPS, SHORT, SHORT_LATE, NONE, RECEIVES } receive_t;
static const char *const receive_names[RECEIVES] = {
    "posted",  "late",  "after a probe",  "after a matched probe", "from anybody",
    "to gaps", "short", "short and late", "into nothing"};

/* Does a message of this length go in eager fragments? */
static bool is_multi(size_t length)
{
    return eager - MATCH_HEADER < length && length <= limit;
}

static MPI_Datatype gaps_of(size_t length)
{
    MPI_Datatype type;

    FP(MPI_Type_vector((int) length, 1, 2, MPI_BYTE, &type));
    FP(MPI_Type_commit(&type));
    return type;
}

/* ---- every send to every receive ---- */

/* A send of any kind, started; the buffer it is from, and the datatype. */
typedef struct {
    unsigned char *buffer;
    MPI_Datatype type;
    MPI_Request request;
} sent_t;

static void start_gaps(sent_t *sent, size_t length, int sequence)
{
    unsigned char *data = fp_alloc_filled(length, fp_key(fp_rank, peer, TAG, sequence));

    sent->type = gaps_of(length);
    sent->buffer = fp_alloc(2 * length);
    for (size_t i = 0; i < length; i++) {
        sent->buffer[2 * i] = data[i];
    }
    fp_free(data);
    FP(MPI_Isend(sent->buffer, 1, sent->type, peer, TAG, MPI_COMM_WORLD, &sent->request));
}

static void start_send(sent_t *sent, send_t how, size_t length, int sequence)
{
    static const int modes[] = {[SEND] = FP_STANDARD,
                                [SSEND] = FP_SYNCHRONOUS,
                                [RSEND] = FP_READY,
                                [BSEND] = FP_BUFFERED,
                                [ISEND] = FP_STANDARD};

    sent->type = MPI_DATATYPE_NULL;
    if (GAPS_SEND == how) {
        start_gaps(sent, length, sequence);
        return;
    }
    sent->buffer = fp_alloc_filled(length, fp_key(fp_rank, peer, TAG, sequence));
    if (SEND_INIT == how) {
        FP(MPI_Send_init(sent->buffer, (int) length, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &sent->request));
        FP(MPI_Start(&sent->request));
    } else if (ISEND == how || fp_rank == peer) {
        FP(fp_modes[modes[how]].isend(sent->buffer, (int) length, MPI_BYTE, peer, TAG, MPI_COMM_WORLD,
                                      &sent->request));
    } else {
        sent->request = MPI_REQUEST_NULL;
        FP(fp_modes[modes[how]].send(sent->buffer, (int) length, MPI_BYTE, peer, TAG, MPI_COMM_WORLD));
    }
    if (BSEND == how && MPI_REQUEST_NULL == sent->request) {
        fp_poison(sent->buffer, length); /* it is ours again */
    }
}

static void finish_send(sent_t *sent)
{
    FP(MPI_Wait(&sent->request, MPI_STATUS_IGNORE));
    if (MPI_REQUEST_NULL != sent->request) {
        FP(MPI_Request_free(&sent->request));
    }
    if (MPI_DATATYPE_NULL != sent->type) {
        FP(MPI_Type_free(&sent->type));
    }
    fp_free(sent->buffer);
}

/* A receive that is posted; room for the message in elements of the datatype. */
typedef struct {
    unsigned char *buffer;
    size_t room;
    MPI_Datatype type;
    MPI_Request request;
} receiving_t;

static void start_receive(receiving_t *receiving, receive_t how, size_t length)
{
    const int src = ANY == how ? MPI_ANY_SOURCE : peer;

    receiving->room = SHORT == how || SHORT_LATE == how ? length - LESS : NONE == how ? 0 : length;
    receiving->type = MPI_DATATYPE_NULL;
    if (GAPS == how) {
        receiving->type = gaps_of(length);
        receiving->buffer = fp_alloc(2 * length);
        FP(MPI_Irecv(receiving->buffer, 1, receiving->type, src, TAG, MPI_COMM_WORLD, &receiving->request));
        return;
    }
    receiving->buffer = fp_alloc(length);
    if (MATCHED == how) {
        MPI_Message message;
        MPI_Status status;

        FP(MPI_Mprobe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &message, &status));
        CHECK_STATUS(&status, peer, TAG, length);
        FP(MPI_Imrecv(receiving->buffer, (int) length, MPI_BYTE, &message, &receiving->request));
        return;
    }
    if (PROBED == how) {
        MPI_Status status;

        FP(MPI_Probe(peer, TAG, MPI_COMM_WORLD, &status));
        CHECK_STATUS(&status, peer, TAG, length);
    }
    FP(MPI_Irecv(receiving->buffer, (int) receiving->room, MPI_BYTE, src, TAG, MPI_COMM_WORLD,
                 &receiving->request));
}

static void finish_receive(receiving_t *receiving, size_t length, int sequence)
{
    const uint64_t key = fp_key(peer, fp_rank, TAG, sequence);
    MPI_Status status;

    FP_ERROR(receiving->room < length ? MPI_ERR_TRUNCATE : MPI_SUCCESS,
             MPI_Wait(&receiving->request, &status));
    CHECK_INT(status.MPI_SOURCE, peer);
    CHECK_INT(status.MPI_TAG, TAG);
    if (MPI_DATATYPE_NULL != receiving->type) {
        unsigned char *data = fp_alloc(length);

        for (size_t i = 0; i < length; i++) {
            data[i] = receiving->buffer[2 * i];
            if (GAPS_LOOKED_AT > i) {
                CHECK_POISON(receiving->buffer + 2 * i + 1, 1);
            }
        }
        CHECK_DATA(data, length, key);
        fp_free(data);
        FP(MPI_Type_free(&receiving->type));
    } else {
        CHECK_DATA(receiving->buffer, receiving->room, key);
        CHECK_POISON(receiving->buffer + receiving->room, length - receiving->room);
    }
    fp_free(receiving->buffer);
}

static bool is_late(receive_t how)
{
    return LATE == how || PROBED == how || MATCHED == how || SHORT_LATE == how;
}

/* Let a late receive be late: all of its message has left by then, perhaps. */
static void let_come(void)
{
    int flag;

    for (int i = 0; i < 100; i++) {
        FP(MPI_Iprobe(peer, WORD_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    }
}

static void count_check(const fp_counts_t *before, unsigned long least, unsigned long most)
{
    const unsigned long now = fp_counter(MULTI) - before->value[MULTI];

    fp_check(least <= now && now <= most, __FILE__, __LINE__,
             "%lu messages in eager fragments, and not %lu to %lu", now, least, most);
}

static void one(send_t how, receive_t to, size_t length, int sequence)
{
    const bool sends = 0 == fp_rank, receives = fp_rank == 1 || fp_rank == peer;
    const fp_counts_t before = fp_counters_now();
    receiving_t receiving;
    sent_t sent;

    if ((RSEND == how && is_late(to)) || ((SHORT == to || SHORT_LATE == to) && LESS > length)) {
        return;
    }
    fp_case("%s, %s, %zu bytes", send_names[how], receive_names[to], length);
    if (receives && !is_late(to)) {
        start_receive(&receiving, to, length);
    }
    if (receives && !sends) {
        fp_signal(0, MPI_COMM_WORLD);
    }
    if (sends) {
        if (!receives) {
            fp_await(1, MPI_COMM_WORLD);
        }
        start_send(&sent, how, length, sequence);
    }
    if (receives && is_late(to)) {
        let_come();
        start_receive(&receiving, to, length);
    }
    if (receives) {
        finish_receive(&receiving, length, sequence);
        if (!sends) {
            fp_signal(0, MPI_COMM_WORLD);
        }
    }
    if (sends) {
        finish_send(&sent);
        if (!receives) {
            fp_await(1, MPI_COMM_WORLD); /* a buffered one may wait for room until then */
        }
        count_check(&before, is_multi(length) && SSEND != how ? 1 : 0,
                    is_multi(length) && SSEND != how ? 1 : 0);
    }
}

static void kinds(void)
{
    const size_t lengths[] = {eager - MATCH_HEADER,
                              eager - MATCH_HEADER + 1,
                              eager,
                              2 * eager,
                              5 * eager + 3,
                              limit / 2 + 1,
                              limit,
                              limit + 1};
    const int room = (int) (2 * limit + MPI_BSEND_OVERHEAD);
    void *attached = malloc((size_t) room);
    int size, sequence = 0;

    FP(MPI_Buffer_attach(attached, room));
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        for (int how = 0; how < SENDS; how++) {
            for (int to = 0; to < RECEIVES; to++) {
                one((send_t) how, (receive_t) to, lengths[i], ++sequence);
            }
        }
    }
    FP(MPI_Buffer_detach(&attached, &size));
    free(attached);
}

/* ---- many at a time ---- */

/* Windows in both directions, of all lengths, received in another order than sent. */
static void windows(void)
{
    fp_message_t out[WINDOW], in[WINDOW];
    fp_random_t random = {.state = 7};

    fp_case("windows");
    for (int i = 0; i < WINDOW; i++) {
        const size_t length = fp_random_between(&random, 1, limit / 2);

        fp_isend(&out[i], &fp_modes[FP_STANDARD], length, peer, TAG + i, i, MPI_COMM_WORLD);
        in[i].length = length;
    }
    for (int i = WINDOW - 1; i >= 0; i--) {
        fp_irecv(&in[i], in[i].length, peer, TAG + i, i, MPI_COMM_WORLD);
    }
    for (int i = 0; i < WINDOW; i++) {
        fp_wait_recv(&in[i]);
    }
    for (int i = 0; i < WINDOW; i++) {
        fp_wait_send(&out[i]);
    }
}

/* One thread of each side, in turns. */
static void turns(int index)
{
    fp_case("thread %d", index);
    for (int i = 0; i < TURNS; i++) {
        const size_t length = 1 + limit / TURNS * (size_t) (i + 1) / 2;

        if (fp_rank == i % 2) {
            fp_send(&fp_modes[FP_STANDARD], length, peer, TURN_TAG + index, i, MPI_COMM_WORLD);
        } else {
            fp_recv(length, peer, TURN_TAG + index, i, MPI_COMM_WORLD);
        }
    }
}

/* ---- taking sends back ---- */

/* More messages than there is credit for: what they cost comes back. A message that follows is found. */
static void cancels(void)
{
    const fp_counts_t before = fp_counters_now();
    unsigned char *buffer = fp_alloc(limit);
    MPI_Request request;

    fp_case("cancels");
    for (int i = 0; 0 == fp_rank && i < CANCELS; i++) {
        FP(MPI_Isend(buffer, (int) limit, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &request));
        CHECK(fp_cancel(&request));
    }
    if (0 == fp_rank) {
        count_check(&before, CANCELS, CANCELS);
        fp_signal(peer, MPI_COMM_WORLD);
        fp_send(&fp_modes[FP_STANDARD], limit, peer, TAG, 1, MPI_COMM_WORLD);
    } else {
        fp_await(peer, MPI_COMM_WORLD);
        fp_recv(limit, peer, TAG, 1, MPI_COMM_WORLD);
    }
    fp_free(buffer);
}

/* Messages for a communicator that their receiver has freed: nothing is kept of them, nor of their fragments,
 * whichever came first. */
static void too_late(void)
{
    unsigned char *buffer = fp_alloc(limit);
    MPI_Request request;
    MPI_Comm comm;

    fp_case("too late");
    FP(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    if (0 == fp_rank) {
        fp_await(1, MPI_COMM_WORLD);
        for (int i = 0; i < LATE_MESSAGES; i++) {
            FP(MPI_Isend(buffer, (int) limit, MPI_BYTE, 1, TAG, comm, &request));
            CHECK(fp_cancel(&request));
        }
        fp_signal(1, MPI_COMM_WORLD);
        fp_await(1, MPI_COMM_WORLD); /* what comes next would be kept there */
    }
    FP(MPI_Comm_free(&comm));
    if (1 == fp_rank) {
        fp_signal(0, MPI_COMM_WORLD);
        fp_await(0, MPI_COMM_WORLD);
        for (int waited = 0; 0 != fp_counter(KEPT) && PATIENCE / 10 > waited; waited++) {
            let_come();
            fp_sleep_ms(1);
        }
        CHECK_INT(fp_counter(KEPT), 0);
        fp_signal(0, MPI_COMM_WORLD);
    }
    fp_free(buffer);
}

/* ---- nobody waits for fragments but their receive ---- */

static void make_file(const char *path)
{
    close(open(path, O_CREAT | O_WRONLY, 0600));
}

static void await_file(const char *path)
{
    for (int waited = 0; 0 != access(path, F_OK) && PATIENCE > waited; waited++) {
        fp_sleep_ms(1);
    }
    CHECK(0 == access(path, F_OK));
}

/* Rank 0 sends and leaves MPI with some of the fragments, having been refused; rank 1 talks to rank 2.
 * @return whether the message was incomplete meanwhile */
static bool talk_meanwhile(const char *path, int round)
{
    fp_message_t message;
    int complete = 1;

    if (0 == fp_rank) {
        fp_await(1, MPI_COMM_WORLD);
        fp_isend(&message, &fp_modes[FP_STANDARD], limit, 1, TAG, round, MPI_COMM_WORLD);
        await_file(path);
        fp_wait_send(&message);
    } else if (1 == fp_rank) {
        fp_irecv(&message, limit, 0, TAG, round, MPI_COMM_WORLD);
        fp_signal(0, MPI_COMM_WORLD);
        for (int i = 0; i < TURNS; i++) {
            fp_send(&fp_modes[FP_STANDARD], limit / TURNS * (size_t) i, 2, WORD_TAG, i, MPI_COMM_WORLD);
            fp_recv(limit / TURNS * (size_t) i, 2, WORD_TAG, i, MPI_COMM_WORLD);
        }
        FP(MPI_Request_get_status(message.request, &complete, MPI_STATUS_IGNORE));
        make_file(path);
        fp_wait_recv(&message);
    } else if (2 == fp_rank) {
        for (int i = 0; i < TURNS; i++) {
            fp_recv(limit / TURNS * (size_t) i, 1, WORD_TAG, i, MPI_COMM_WORLD);
            fp_send(&fp_modes[FP_STANDARD], limit / TURNS * (size_t) i, 1, WORD_TAG, i, MPI_COMM_WORLD);
        }
    }
    FP(MPI_Barrier(MPI_COMM_WORLD));
    if (0 == fp_rank) {
        (void) unlink(path);
    }
    FP(MPI_Barrier(MPI_COMM_WORLD));
    return 0 == complete;
}

static void others_go_on(void)
{
    char path[256] = "";
    int incomplete = 0;

    fp_case("a message that is not here whole");
    if (0 == fp_rank) {
        CHECK(NULL != getcwd(path, sizeof(path) - 32));
        snprintf(path + strlen(path), 32, "/multi_eager-%ld", (long) getpid());
    }
    FP(MPI_Bcast(path, sizeof(path), MPI_CHAR, 0, MPI_COMM_WORLD));
    for (int i = 0; i < ROUNDS; i++) {
        incomplete += talk_meanwhile(path, i) ? 1 : 0;
    }
    if (1 == fp_rank) {
        CHECK(0 < incomplete);
    }
}

/* ---- credit ---- */

/* Of many messages that nobody receives, as many go in fragments as may wait at the receiver, which keeps no
 * more than that; afterwards it keeps nothing. It may owe a quarter of the credit from then on. */
static void credit(int round)
{
    const size_t length = limit / 2;
    const size_t cost = length + length / 16 + 160;
    const fp_counts_t before = fp_counters_now();
    fp_message_t messages[WINDOW];

    fp_case("credit, round %d", round);
    for (int i = 0; 0 == fp_rank && i < WINDOW; i++) {
        fp_isend(&messages[i], &fp_modes[FP_STANDARD], length, peer, TAG, i, MPI_COMM_WORLD);
    }
    if (0 == fp_rank) {
        count_check(&before, (0 == round ? CREDIT : CREDIT - CREDIT / 4) / cost, CREDIT / cost);
        FP(MPI_Send(NULL, 0, MPI_BYTE, peer, WORD_TAG, MPI_COMM_WORLD));
        for (int i = 0; i < WINDOW; i++) {
            fp_wait_send(&messages[i]);
        }
        fp_await(1, MPI_COMM_WORLD);
        return;
    }
    FP(MPI_Recv(NULL, 0, MPI_BYTE, peer, WORD_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    fp_sleep_ms(20);
    let_come();
    CHECK(fp_counter(KEPT) <= CREDIT + WINDOW * 160);
    for (int i = 0; i < WINDOW; i++) {
        fp_recv(length, peer, TAG, i, MPI_COMM_WORLD);
    }
    CHECK_INT(fp_counter(KEPT), 0);
    fp_signal(0, MPI_COMM_WORLD);
}

static void run(const char *how)
{
    if (0 == strcmp("threads", how)) {
        fp_run_threads(THREADS, turns);
    }
    if (0 == strcmp("credit", how)) {
        for (int i = 0; i < 3; i++) {
            credit(i);
        }
        return;
    }
    kinds();
    windows();
    if (1 < fp_size) {
        cancels();
    }
}

int main(int argc, char **argv)
{
    const char *how = 3 < argc ? argv[3] : "";
    const bool threads = 0 == strcmp("threads", how);
    const int level = threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;

    if (3 > argc) {
        fprintf(stderr, "multi_eager: say the limits\n");
        return 1;
    }
    eager = strtoul(argv[1], NULL, 0);
    limit = strtoul(argv[2], NULL, 0);
    if (threads && MPI_THREAD_MULTIPLE > fp_init_thread(&argc, &argv, 2, level)) {
        fp_skip("no MPI_THREAD_MULTIPLE");
    } else if (!threads) {
        fp_init(&argc, &argv, 1);
    }
    peer = 1 == fp_size ? 0 : 1 - fp_rank;
    fp_counters_open(level, names, 2);
    if (1 >= fp_rank) {
        run(how);
    }
    if (1 < fp_size) {
        too_late();
    }
    if (0 == strcmp("refused", how) && 2 < fp_size) {
        others_go_on();
    }
    fp_counters_close();
    return fp_finish();
}
