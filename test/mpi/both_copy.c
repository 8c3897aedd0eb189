/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Long messages whose sender waits in a blocking call, so that both sides copy: by every kind of send, to
 * every kind of receive, with their content, and with what the receiver counts of messages that were copied
 * so.
 *
 * How the job runs is said: nothing; "threads" for MPI_THREAD_MULTIPLE, and two threads of each side;
 * "never" where no message is copied so; "some" where it is chance which are; "slow" and "quick" where
 * filling chunks may take next to no time (btl_fastsm_chunk_time), and any; "shared" where processes share
 * cores. */

#include <fcntl.h>
#include <unistd.h>

#include "support/fp_counters.h"

enum {
    TAG = 81,
    TURN_TAG,         /* and those above, one for each thread */
    LIMIT = 16 << 10, /* pml_fastpath_help_limit */
    SURE = 300000,    /* longer messages than that are in no case in the buffers of their sender */
    LESS = 5000,      /* bytes by which receives are too short */
    MOST_GAPS = 400000,
    THREADS = 2,
    TURNS = 10,
    PATIENCE = 20000 /* milliseconds */
};

static const size_t lengths[] = {LIMIT - 1, LIMIT,   128 << 10,    (256 << 10) + 1,
                                 300001,    1 << 20, (4 << 20) + 3};

/* Those of the sender, and those of the receiver. */
static const char *const names[] = {FP_SEND_COUNTERS, "pml_fastpath_messages_helped",
                                    "pml_fastpath_messages_streamed"};
enum { HELPED = FP_SENDS, STREAMED, COUNTERS };

static enum { EXACT, NEVER, SOME } counts;

typedef enum { SEND, SSEND, RSEND, GAPS_SEND, ISEND, SSEND_INIT, SENDS } send_t;
static const char *const send_names[SENDS] = {"send",           "ssend", "rsend",
                                              "send from gaps", "isend", "ssend_init"};

typedef enum { POSTED, LATE, ANY, GAPS, SHORT, RECEIVES } receive_t;
static const char *const receive_names[RECEIVES] = {"posted", "late", "from anybody", "to gaps", "short"};

static unsigned long helped(void)
{
    return fp_counter(HELPED);
}

static unsigned long streamed(void)
{
    return fp_counter(STREAMED);
}

static unsigned long sends(void)
{
    unsigned long sum = 0;

    for (int i = 0; i < FP_SENDS; i++) {
        sum += fp_counter(i);
    }
    return sum;
}

/* The receiver has counted, since, LEAST to MOST of these messages. */
static void check_count(unsigned long now, unsigned long least, unsigned long most)
{
    least = EXACT == counts ? least : 0;
    most = EXACT == counts ? most : NEVER == counts ? 0 : 1;
    fp_check(least <= now && now <= most, __FILE__, __LINE__, "%lu messages were copied by both sides", now);
}

/* Both copied, half of the message each. */
static void check_helped(unsigned long before, unsigned long least, unsigned long most)
{
    check_count(helped() - before, least, most);
}

/* Messages that were copied by both: by the kernel, half of each or all of it, or by way of fragments. */
static unsigned long both(void)
{
    return helped() + streamed();
}

static void check_both(unsigned long before, unsigned long least, unsigned long most)
{
    check_count(both() - before, least, most);
}

static MPI_Datatype gaps_of(size_t length)
{
    MPI_Datatype type;

    FP(MPI_Type_vector((int) length, 1, 2, MPI_BYTE, &type));
    FP(MPI_Type_commit(&type));
    return type;
}

static void send_gaps(size_t length, int sequence)
{
    MPI_Datatype type = gaps_of(length);
    unsigned char *buffer = fp_alloc(2 * length),
                  *data = fp_alloc_filled(length, fp_key(0, 1, TAG, sequence));

    for (size_t i = 0; i < length; i++) {
        buffer[2 * i] = data[i];
    }
    FP(MPI_Send(buffer, 1, type, 1, TAG, MPI_COMM_WORLD));
    FP(MPI_Type_free(&type));
    fp_free(buffer);
    fp_free(data);
}

static void send_init(size_t length, int sequence)
{
    unsigned char *buffer = fp_alloc_filled(length, fp_key(0, 1, TAG, sequence));
    MPI_Request request;

    FP(MPI_Ssend_init(buffer, (int) length, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request));
    FP(MPI_Start(&request));
    FP(MPI_Wait(&request, MPI_STATUS_IGNORE));
    FP(MPI_Request_free(&request));
    fp_free(buffer);
}

static void send_so(send_t how, size_t length, int sequence)
{
    static const int modes[] = {[SEND] = FP_STANDARD, [SSEND] = FP_SYNCHRONOUS, [RSEND] = FP_READY};
    fp_message_t message;

    switch (how) {
    case GAPS_SEND:
        send_gaps(length, sequence);
        break;
    case ISEND:
        fp_isend(&message, &fp_modes[FP_STANDARD], length, 1, TAG, sequence, MPI_COMM_WORLD);
        fp_wait_send(&message);
        break;
    case SSEND_INIT:
        send_init(length, sequence);
        break;
    default:
        fp_send(&fp_modes[modes[how]], length, 1, TAG, sequence, MPI_COMM_WORLD);
        break;
    }
}

static void receive_gaps(size_t length, int sequence)
{
    MPI_Datatype type = gaps_of(length);
    unsigned char *buffer = fp_alloc(2 * length), *data = fp_alloc(length);
    MPI_Request request;

    FP(MPI_Irecv(buffer, 1, type, 0, TAG, MPI_COMM_WORLD, &request));
    fp_signal(0, MPI_COMM_WORLD);
    FP(MPI_Wait(&request, MPI_STATUS_IGNORE));
    FP(MPI_Type_free(&type));
    for (size_t i = 0; i < length; i++) {
        data[i] = buffer[2 * i];
    }
    CHECK_DATA(data, length, fp_key(0, 1, TAG, sequence));
    fp_free(data);
    fp_free(buffer);
}

/* Into a buffer of another length than the message's. */
static void receive_into(size_t length, size_t capacity, int src, int sequence)
{
    const size_t got = length < capacity ? length : capacity, behind = 10000;
    unsigned char *buffer = fp_alloc(capacity + behind);
    MPI_Request request;
    MPI_Status status;

    FP(MPI_Irecv(buffer, (int) capacity, MPI_BYTE, src, TAG, MPI_COMM_WORLD, &request));
    fp_signal(0, MPI_COMM_WORLD);
    FP_ERROR(length <= capacity ? MPI_SUCCESS : MPI_ERR_TRUNCATE, MPI_Wait(&request, &status));
    CHECK_INT(status.MPI_SOURCE, 0);
    CHECK_DATA(buffer, got, fp_key(0, 1, TAG, sequence));
    CHECK_POISON(buffer + got, capacity + behind - got);
    fp_free(buffer);
}

static void receive_so(receive_t how, size_t length, int sequence)
{
    switch (how) {
    case LATE:
        fp_signal(0, MPI_COMM_WORLD);
        FP(MPI_Probe(0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        fp_recv(length, 0, TAG, sequence, MPI_COMM_WORLD);
        break;
    case GAPS:
        receive_gaps(length, sequence);
        break;
    default:
        receive_into(length, SHORT == how ? length - LESS : length, ANY == how ? MPI_ANY_SOURCE : 0,
                     sequence);
        break;
    }
}

static void one(send_t how, receive_t to, size_t length, int sequence)
{
    const bool waits = SEND == how || SSEND == how || RSEND == how;
    const bool can = GAPS_SEND != how && GAPS != to && LIMIT <= (SHORT == to ? length - LESS : length);
    const unsigned long before = both();

    if ((RSEND == how && LATE == to) || ((GAPS == to || GAPS_SEND == how) && MOST_GAPS < length)) {
        return;
    }
    fp_case("%s, %s, %zu bytes", send_names[how], receive_names[to], length);
    if (0 == fp_rank) {
        fp_await(1, MPI_COMM_WORLD);
        send_so(how, length, sequence);
    } else {
        receive_so(to, length, sequence);
        check_both(before, can && SURE < length && waits ? 1 : 0, can ? 1 : 0);
    }
}

static void both_ways(size_t length, int sequence)
{
    const int peer = 1 - fp_rank;
    unsigned char *out = fp_alloc_filled(length, fp_key(fp_rank, peer, TAG, sequence));
    unsigned char *in = fp_alloc(length);
    const unsigned long before = both();
    MPI_Status status;

    fp_case("both ways, %zu bytes", length);
    FP(MPI_Sendrecv(out, (int) length, MPI_BYTE, peer, TAG, in, (int) length, MPI_BYTE, peer, TAG,
                    MPI_COMM_WORLD, &status));
    CHECK_STATUS(&status, peer, TAG, length);
    CHECK_DATA(in, length, fp_key(peer, fp_rank, TAG, sequence));
    check_both(before, SURE < length ? 1 : 0, LIMIT <= length ? 1 : 0);
    fp_free(in);
    fp_free(out);
}

/* Both ways at once by nonblocking calls, for which both wait. */
static void both_ways_nonblocking(size_t length, int sequence)
{
    const unsigned long before = both();
    fp_message_t in, out;
    MPI_Request requests[2];

    fp_case("both ways, nonblocking, %zu bytes", length);
    fp_irecv(&in, length, 1 - fp_rank, TAG, sequence, MPI_COMM_WORLD);
    fp_isend(&out, &fp_modes[FP_STANDARD], length, 1 - fp_rank, TAG, sequence, MPI_COMM_WORLD);
    requests[0] = in.request;
    requests[1] = out.request;
    FP(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK_DATA(in.buffer, length, fp_key(1 - fp_rank, fp_rank, TAG, sequence));
    check_both(before, 0, LIMIT <= length ? 1 : 0);
    fp_free(in.buffer);
    fp_free(out.buffer);
}

/* Several sends that are waited for together, some of them short, with receives that come in their order. */
static void window(int sequence)
{
    enum { WINDOW = 24, SHORT_LENGTH = 100 };
    unsigned char *buffers[WINDOW];
    MPI_Request requests[WINDOW];

    fp_case("a window");
    for (int i = 0; i < WINDOW; i++) {
        const size_t length = 0 == i % 5 ? SHORT_LENGTH : lengths[i % 5];

        if (0 == fp_rank) {
            buffers[i] = fp_alloc_filled(length, fp_key(0, 1, TAG, sequence + i));
            FP(MPI_Isend(buffers[i], (int) length, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &requests[i]));
        } else {
            fp_recv(length, 0, TAG, sequence + i, MPI_COMM_WORLD);
        }
    }
    if (0 == fp_rank) {
        FP(MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE));
        for (int i = 0; i < WINDOW; i++) {
            fp_free(buffers[i]);
        }
    }
}

/* A sender that waits for its request copies, too: that a receiver that is late finds it so is very likely.
 */
static void comes_to_wait(size_t length, int sequence)
{
    int found = 0;

    fp_case("the sender comes to wait, %zu bytes", length);
    for (int waited = 0; !found && PATIENCE > waited; waited += 10) {
        const unsigned long before = both();

        if (0 == fp_rank) {
            send_so(ISEND, length, sequence);
            FP(MPI_Recv(&found, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        } else {
            fp_sleep_ms(10);
            fp_recv(length, 0, TAG, sequence, MPI_COMM_WORLD);
            found = before != both();
            FP(MPI_Send(&found, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD));
        }
    }
    CHECK(found);
}

/* Who finds a message before it waits reads all of it while the sender reads what it was sent itself, for
 * longer: that it does so when this one looks is very likely. */
static void each_reads(size_t length, int sequence)
{
    const size_t longer = (size_t) 16 << 20;
    const int peer = 1 - fp_rank;
    int found = 0;

    fp_case("each reads what it receives, %zu bytes", length);
    for (int round = 0; !found && PATIENCE / 100 > round; round++) {
        const size_t mine = 0 == fp_rank ? length : longer, others = 0 == fp_rank ? longer : length;
        const unsigned long before = helped();
        fp_message_t in, out;

        if (0 == fp_rank) {
            fp_irecv(&in, others, peer, TAG, sequence, MPI_COMM_WORLD);
            fp_isend(&out, &fp_modes[FP_STANDARD], mine, peer, TAG, sequence, MPI_COMM_WORLD);
            fp_signal(peer, MPI_COMM_WORLD);
        } else {
            fp_await(peer, MPI_COMM_WORLD);
            fp_isend(&out, &fp_modes[FP_STANDARD], mine, peer, TAG, sequence, MPI_COMM_WORLD);
            fp_sleep_ms(1);
            fp_irecv(&in, others, peer, TAG, sequence, MPI_COMM_WORLD);
        }
        fp_wait_recv(&in);
        found = before == helped();
        fp_wait_send(&out);
        FP(MPI_Bcast(&found, 1, MPI_INT, 1, MPI_COMM_WORLD));
    }
    CHECK(found);
}

/* A file that rank 0 makes when its send is done, as rank 1 is outside MPI meanwhile. */
static void name_file(char path[256])
{
    if (0 == fp_rank) {
        CHECK(NULL != getcwd(path, 256 - 32));
        snprintf(path + strlen(path), 32, "/both_copy-%ld", (long) getpid());
        FP(MPI_Send(path, 256, MPI_CHAR, 1, TAG, MPI_COMM_WORLD));
    } else {
        FP(MPI_Recv(path, 256, MPI_CHAR, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
}

/* Outside MPI, until the other rank has made the file.  Whether it has, in so many milliseconds. */
static bool file_comes(const char *path, int patience)
{
    for (int waited = 0; 0 != access(path, F_OK) && patience > waited; ++waited) {
        fp_sleep_ms(1);
    }
    return 0 == access(path, F_OK);
}

/* A sender is done when both have copied, though its receiver calls MPI no more than once. */
static void receiver_away(size_t length, int sequence)
{
    char path[256] = "";
    fp_message_t message;

    fp_case("the receiver is away, %zu bytes", length);
    name_file(path);
    if (0 == fp_rank) {
        fp_send(&fp_modes[FP_SYNCHRONOUS], length, 1, TAG, sequence, MPI_COMM_WORLD);
        close(open(path, O_CREAT | O_WRONLY, 0600));
        return;
    }
    FP(MPI_Probe(0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    fp_irecv(&message, length, 0, TAG, sequence, MPI_COMM_WORLD);
    CHECK(file_comes(path, PATIENCE));
    fp_wait_recv(&message);
    (void) unlink(path);
}

/* A receiver has its message though the sender, which does not wait for it, calls MPI no more. */
static void sender_away(size_t length, int sequence)
{
    char path[256] = "";
    fp_message_t message;

    fp_case("the sender is away, %zu bytes", length);
    name_file(path);
    if (0 != fp_rank) {
        fp_await(0, MPI_COMM_WORLD);
        fp_recv(length, 0, TAG, sequence, MPI_COMM_WORLD);
        close(open(path, O_CREAT | O_WRONLY, 0600));
        return;
    }
    fp_isend(&message, &fp_modes[FP_STANDARD], length, 1, TAG, sequence, MPI_COMM_WORLD);
    fp_signal(1, MPI_COMM_WORLD);
    CHECK(file_comes(path, PATIENCE));
    fp_wait_send(&message);
    (void) unlink(path);
}

/* The same by a persistent request that its process has waited for before: that was another round. */
static void waits_no_more(size_t length)
{
    enum { ROUNDS = 2 };
    unsigned char *buffer = fp_alloc(length);
    MPI_Request request = MPI_REQUEST_NULL;

    if (0 == fp_rank) {
        FP(MPI_Send_init(buffer, (int) length, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request));
    }
    for (int round = 0; round < ROUNDS; round++) {
        char path[256] = "";

        fp_case("the sender waits in round 0, and this is %d, %zu bytes", round, length);
        name_file(path);
        if (0 != fp_rank) {
            fp_await(0, MPI_COMM_WORLD);
            fp_sleep_ms(0 == round ? 20 : 0);
            fp_recv(length, 0, TAG, round, MPI_COMM_WORLD);
            close(open(path, O_CREAT | O_WRONLY, 0600));
            continue;
        }
        fp_fill(buffer, length, fp_key(0, 1, TAG, round));
        FP(MPI_Start(&request));
        fp_signal(1, MPI_COMM_WORLD);
        CHECK(0 == round || file_comes(path, PATIENCE));
        FP(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK(0 != round || file_comes(path, PATIENCE));
        (void) unlink(path);
    }
    if (0 == fp_rank) {
        FP(MPI_Request_free(&request));
    }
    fp_free(buffer);
}

/* One thread of each side, in turns. */
static void turns(int index)
{
    fp_case("thread %d", index);
    for (int i = 0; i < TURNS; i++) {
        if (fp_rank == i % 2) {
            fp_send(&fp_modes[FP_SYNCHRONOUS], lengths[4 + i % 3], 1 - fp_rank, TURN_TAG + index, i,
                    MPI_COMM_WORLD);
        } else {
            fp_recv(lengths[4 + i % 3], 1 - fp_rank, TURN_TAG + index, i, MPI_COMM_WORLD);
        }
    }
}

/* Both send to each other and work on what they get: no side copies for the other one. */
static void reduction(int count)
{
    double *mine = fp_alloc((size_t) count * sizeof(*mine)), *all = fp_alloc((size_t) count * sizeof(*all));
    const unsigned long before = helped();
    int wrong = 0;

    fp_case("a reduction of %d numbers", count);
    for (int i = 0; i < count; i++) {
        mine[i] = (1 + fp_rank) * (double) i;
    }
    FP(MPI_Allreduce(mine, all, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
    for (int i = 0; i < count; i++) {
        wrong += 3 * (double) i != all[i];
    }
    CHECK_INT(wrong, 0);
    check_helped(before, 0, 0);
    fp_free(all);
    fp_free(mine);
}

/* Where processes share cores a sender that waits for receives, too, does not help. */
static void waits_for_both(size_t length)
{
    enum { COUNT = 500 };
    const unsigned long before = helped();

    fp_case("the sender comes to wait for a receive, too, %zu bytes", length);
    for (int i = 0; i < COUNT; i++) {
        fp_message_t message, answer;
        MPI_Request requests[2];

        if (0 == fp_rank) {
            fp_irecv(&answer, 1, 1, TAG, i, MPI_COMM_WORLD);
            fp_isend(&message, &fp_modes[FP_STANDARD], length, 1, TAG, i, MPI_COMM_WORLD);
            requests[0] = message.request;
            requests[1] = answer.request;
            FP(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
            fp_free(message.buffer);
            fp_free(answer.buffer);
        } else {
            fp_sleep_ms(1);
            fp_recv(length, 0, TAG, i, MPI_COMM_WORLD);
            fp_send(&fp_modes[FP_STANDARD], 1, 0, TAG, i, MPI_COMM_WORLD);
        }
    }
    CHECK(before == helped());
}

/* Behind those that are away, which count on room for a message that answers. */
static void nonblocking(bool threads, int sequence)
{
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        both_ways_nonblocking(lengths[i], ++sequence);
        if (EXACT == counts) {
            sender_away(lengths[i], ++sequence);
            waits_no_more(lengths[i]);
        }
        if (EXACT == counts && !threads && SURE < lengths[i]) {
            comes_to_wait(lengths[i], ++sequence);
            each_reads(lengths[i], ++sequence);
        }
    }
    window(sequence + 1);
}

static void run(bool threads)
{
    const int count = (int) (sizeof(lengths) / sizeof(lengths[0]));
    unsigned long before;
    int sequence = 0;

    for (int i = 0; i < count; i++) {
        for (int how = 0; how < SENDS; how++) {
            for (int to = 0; to < RECEIVES; to++) {
                one((send_t) how, (receive_t) to, lengths[i], ++sequence);
            }
        }
        both_ways(lengths[i], ++sequence);
        if (EXACT == counts) {
            receiver_away(lengths[i], ++sequence);
        }
    }
    nonblocking(threads, sequence);
    reduction(150000);
    before = helped();
    if (threads) {
        fp_run_threads(THREADS, turns);
        check_helped(before, THREADS * TURNS / 2, THREADS * TURNS / 2);
    }
}

/* Messages that would go in chunks, were it not for the time that it takes to fill them. One in 67 does so in
 * any case, and the first one, which tells how long that is. Those for which there is no room do not. */
static void in_time(bool slow)
{
    enum { COUNT = 200, MOST_OTHERS = 2 * COUNT / 5 };
    const size_t length = slow ? 8 * LIMIT : 4 * LIMIT;
    const unsigned long before = both(), sends_before = sends();

    for (int mode = FP_STANDARD; mode <= FP_SYNCHRONOUS; mode += FP_SYNCHRONOUS - FP_STANDARD) {
        fp_case("%s, filling chunks may take %s", fp_modes[mode].name, slow ? "no time" : "any time");
        for (int i = 0; i < COUNT; i++) {
            if (0 == fp_rank) {
                fp_await(1, MPI_COMM_WORLD); /* the last one has been read */
                fp_send(&fp_modes[mode], length, 1, TAG, i, MPI_COMM_WORLD);
            } else {
                fp_signal(0, MPI_COMM_WORLD);
                fp_recv(length, 0, TAG, i, MPI_COMM_WORLD);
            }
        }
    }
    if (0 == fp_rank) {
        CHECK_INT(sends() - sends_before, 2 * COUNT);
    } else if (1 == fp_rank) {
        check_both(before, slow ? 2 * COUNT - MOST_OTHERS : 0, slow ? 2 * COUNT : MOST_OTHERS);
    }
}

/* Who has sent its message of an exchange and leaves MPI does not hold up the other one, where that is
 * running, as it is in most cases. It sends when the other one has posted its receive and has nothing to do
 * before it sends as well: a receive that finds the message reads it at once, and what is sent later waits for
 * the next call. */
static void leaves_exchange(void)
{
    enum { MOST = 40, FREE = 8, MOMENT = 500 };
    const size_t length = lengths[6];
    fp_message_t message;
    int not_held_up = 0;

    for (int i = 0; i < MOST && FREE > not_held_up; i++) {
        char path[256] = "";

        fp_case("rank 0 leaves exchange %d", i);
        name_file(path);
        fp_irecv(&message, length, 1 - fp_rank, TAG, i, MPI_COMM_WORLD);
        if (0 != fp_rank) {
            fp_signal(0, MPI_COMM_WORLD);
        } else {
            fp_await(1, MPI_COMM_WORLD);
        }
        fp_send(&fp_modes[FP_STANDARD], length, 1 - fp_rank, TAG, i, MPI_COMM_WORLD);
        if (0 != fp_rank) {
            close(open(path, O_CREAT | O_WRONLY, 0600));
        } else {
            not_held_up += file_comes(path, MOMENT);
        }
        fp_wait_recv(&message);
        FP(MPI_Bcast(&not_held_up, 1, MPI_INT, 0, MPI_COMM_WORLD));
        (void) unlink(path);
    }
    CHECK_INT(not_held_up, FREE);
}

/* Of messages one way, too, whichever is sooner: so both are tried, by a process that waits for its receive.
 */
static void one_way_both_ways(void)
{
    const unsigned long helped_before = helped(), streamed_before = streamed();
    int found = 0;

    for (int i = 0; !found && PATIENCE > i; i++) {
        one(SEND, POSTED, lengths[4 + i % 3], i);
        found = helped_before != helped() && streamed_before != streamed();
        FP(MPI_Bcast(&found, 1, MPI_INT, 1, MPI_COMM_WORLD));
    }
    CHECK(found);
}

/* Both ways at once, messages are streamed or written by their senders, whichever was sooner: so both are
 * tried, by a process that waits for its send when the other one's message comes. */
static void exchanges_both_ways(void)
{
    const unsigned long helped_before = helped(), streamed_before = streamed();
    int found = 0;

    for (int i = 0; !found && PATIENCE > i; i++) {
        both_ways(lengths[4 + i % 3], i);
        found = helped_before != helped() && streamed_before != streamed();
        FP(MPI_Allreduce(MPI_IN_PLACE, &found, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD));
    }
    CHECK(found);
}

/* One side decides how the messages of an exchange go, and the other one follows it. */
static void exchanges_go_alike(void)
{
    enum { COUNT = 400 };
    int unlike = 0, either = 0;

    for (int i = 0; i < COUNT; i++) {
        const unsigned long before = streamed();
        int deltas[2], own;

        both_ways_nonblocking(lengths[5], i);
        own = (int) (streamed() - before);
        FP(MPI_Allgather(&own, 1, MPI_INT, deltas, 1, MPI_INT, MPI_COMM_WORLD));
        unlike += deltas[0] != deltas[1];
        either += 0 < deltas[0] || 0 < deltas[1];
    }
    CHECK(0 < either);
    CHECK(unlike < COUNT / 4); /* now and then one of them comes late, and reads all of it */
}

/* Messages that would fit into buffers of their sender leave so, or as longer ones when the sender expects
 * one itself, by turns, until it is known which is sooner. */
static void short_exchanges_both_ways(void)
{
    enum { COUNT = 2000, LEAST = 64 };
    const unsigned long before = fp_counter(FP_SENDS_LONG);
    unsigned long others;

    for (int i = 0; i < COUNT; i++) {
        both_ways_nonblocking(lengths[2], i);
    }
    others = fp_counter(FP_SENDS_LONG) - before;
    CHECK(LEAST <= others && others <= COUNT - LEAST);
}

int main(int argc, char **argv)
{
    const char *how = 1 < argc ? argv[1] : "";
    const bool threads = 0 == strcmp("threads", how);

    counts = 0 == strcmp("never", how) ? NEVER : 0 == strcmp("some", how) ? SOME : EXACT;
    if (threads) {
        if (MPI_THREAD_MULTIPLE > fp_init_thread(&argc, &argv, 2, MPI_THREAD_MULTIPLE)) {
            fp_skip("no MPI_THREAD_MULTIPLE");
        }
    } else {
        fp_init(&argc, &argv, 2);
    }
    fp_counters_open(threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, names, COUNTERS);
    if (0 == strcmp("slow", how) || 0 == strcmp("quick", how)) {
        one_way_both_ways();
        exchanges_both_ways();
        exchanges_go_alike();
        short_exchanges_both_ways();
        leaves_exchange();
        in_time(0 == strcmp("slow", how));
    } else if (0 == strcmp("shared", how)) {
        waits_for_both(lengths[5]);
        comes_to_wait(lengths[5], 1);
    } else if (1 >= fp_rank) {
        run(threads);
    }
    fp_counters_close();
    return fp_finish();
}
