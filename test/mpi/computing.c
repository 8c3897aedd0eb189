/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* A rank that computes between calls of MPI none of which has to wait, and what others need of it meanwhile.
 *
 * Rank 0 computes. Between two times it makes one call, whose message is there already, or leaves at once:
 * rank 1 sees to that. Meanwhile ranks 2 and 3 do something that needs rank 0's progress. Of the calls nearly
 * all have to let it happen, which is counted, and rank 2 has to come to its end. What they tell each other
 * about that goes by a page of memory, and not by MPI.
 *
 * How the job runs is said: nothing; "threads" for MPI_THREAD_MULTIPLE; "every" for progress_interval 0,
 * where every call has to let others go on; "elsewhere" where rank 1's messages do not come by btl/fastsm,
 * but by progress, several at a time, so that no number of calls can be given. */

#include "ompi_config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "opal/runtime/opal_progress.h"

#include "support/fp_test.h"

enum {
    COMPUTES,
    FEEDER,
    OTHER,
    THIRD,
    RANKS,

    TAG = 71, /* of what rank 1 sends */
    LAST_TAG,
    LONG_TAG,
    PATH_TAG,

    FEW = 80,  /* calls that are made in any case */
    LATE = 35, /* of them, those that may come before it is noticed that calls follow each other slowly */
    MANY = 2000000, /* calls in which rank 2 must have come to its end, however seldom it runs */
    QUEUED =
        400,   /* messages that have come unexpectedly; if rank 2 is slower, it ends without being watched */
    AHEAD = 4, /* messages that rank 1 sends ahead */
    LONG = 1 << 20,
    BLOCK = 64
};

/* What ranks 0 to 2 tell each other. */
typedef struct {
    _Atomic long wanted; /* messages that rank 0 has asked for; rank 1 may send some more */
    _Atomic long sent;   /* that it has sent */
    _Atomic long given;  /* messages that rank 0 has sent to it */
    _Atomic long taken;  /* that it has received */
    _Atomic bool go;     /* rank 0 is about to compute */
    _Atomic bool stop;   /* it wants no more */
    _Atomic bool done;   /* rank 2 has come to its end */
} page_t;

static page_t *page;
static MPI_Comm feed_comm, other_comm, pair_comm, three_comm;
static MPI_Win window = MPI_WIN_NULL;

/* Calls that need not let anything happen; and whether our functions wait for requests. */
static int late;
static bool own_waits;

/* Calls of opal_progress. */
static unsigned long progressed;

static int on_progress(void)
{
    ++progressed;
    return 0;
}

static void nap(long microseconds)
{
    const struct timespec time = {.tv_nsec = 1000 * microseconds};

    nanosleep(&time, NULL);
}

/* A page that all ranks have. Those on hosts that test/support/hosts makes share this directory, and not that
 * for temporary files. */
static void share_page(void)
{
    char path[4096] = "";
    int fd = -1;

    if (COMPUTES == fp_rank) {
        CHECK(NULL != getcwd(path, sizeof(path) - 32));
        strcat(path, "/computing-XXXXXX");
        fd = mkstemp(path);
        fp_check(0 <= fd && 0 == ftruncate(fd, sizeof(page_t)), __FILE__, __LINE__, "%s: %s", path,
                 strerror(errno));
    }
    FP(MPI_Bcast(path, sizeof(path), MPI_CHAR, COMPUTES, MPI_COMM_WORLD));
    if (COMPUTES != fp_rank) {
        fd = open(path, O_RDWR);
    }
    page = mmap(NULL, sizeof(page_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    fp_check(MAP_FAILED != page, __FILE__, __LINE__, "%s: %s", path, strerror(errno));
    close(fd);
    FP(MPI_Barrier(MPI_COMM_WORLD));
    if (COMPUTES == fp_rank) {
        CHECK_INT(unlink(path), 0);
    }
}

/* ------------------------------------------------------------- what rank 0 does */

/* Makes sure that the next message is there, without MPI. */
static void expect_message(void)
{
    const long number = atomic_fetch_add(&page->wanted, 1) + 1;

    fp_at(__FILE__, __LINE__, "a message, outside MPI");
    while (number > atomic_load(&page->sent)) {
        nap(20);
    }
}

/* Makes sure that the next send finds room. */
static void expect_room(void)
{
    fp_at(__FILE__, __LINE__, "room, outside MPI");
    while (atomic_load(&page->given) >= atomic_load(&page->taken) + AHEAD) {
        nap(20);
    }
}

static void call_recv(void)
{
    int value;

    FP(MPI_Recv(&value, 1, MPI_INT, FEEDER, TAG, feed_comm, MPI_STATUS_IGNORE));
}

static void call_any_source(void)
{
    int value;

    FP(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, TAG, feed_comm, MPI_STATUS_IGNORE));
}

static void call_long_recv(void)
{
    int values[300];

    FP(MPI_Recv(values, 300, MPI_INT, FEEDER, TAG, feed_comm, MPI_STATUS_IGNORE));
}

static void call_wait(void)
{
    MPI_Request request;
    int value;

    FP(MPI_Irecv(&value, 1, MPI_INT, FEEDER, TAG, feed_comm, &request));
    FP(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void call_waitall(void)
{
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int value;

    FP(MPI_Irecv(&value, 1, MPI_INT, FEEDER, TAG, feed_comm, &requests[1]));
    FP(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
}

static void call_test(void)
{
    MPI_Request request;
    int value, flag = 0;

    FP(MPI_Irecv(&value, 1, MPI_INT, FEEDER, TAG, feed_comm, &request));
    while (!flag) {
        FP(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
    }
}

static void call_send(void)
{
    const int value = 0;

    FP(MPI_Send(&value, 1, MPI_INT, FEEDER, TAG, feed_comm));
    atomic_fetch_add(&page->given, 1);
}

static void call_isend(void)
{
    const int value = 0;
    MPI_Request request;

    FP(MPI_Isend(&value, 1, MPI_INT, FEEDER, TAG, feed_comm, &request));
    FP(MPI_Wait(&request, MPI_STATUS_IGNORE));
    atomic_fetch_add(&page->given, 1);
}

static void call_sendrecv(void)
{
    const int value = 0;
    int other;

    FP(MPI_Sendrecv(&value, 1, MPI_INT, FEEDER, TAG, &other, 1, MPI_INT, FEEDER, TAG, feed_comm,
                    MPI_STATUS_IGNORE));
    atomic_fetch_add(&page->given, 1);
}

static void call_iprobe(void)
{
    int flag = 0;

    FP(MPI_Iprobe(FEEDER, TAG, feed_comm, &flag, MPI_STATUS_IGNORE));
    CHECK(flag);
}

/* The others that complete requests, of a receive whose message is there. */
enum { WAITANY, WAITSOME, TESTALL, TESTANY, TESTSOME };

static void complete(int how)
{
    MPI_Request request;
    int value, index, flag = 0;

    FP(MPI_Irecv(&value, 1, MPI_INT, FEEDER, TAG, feed_comm, &request));
    while (!flag) {
        flag = 1;
        switch (how) {
        case WAITANY:
            FP(MPI_Waitany(1, &request, &index, MPI_STATUS_IGNORE));
            break;
        case WAITSOME:
            FP(MPI_Waitsome(1, &request, &flag, &index, MPI_STATUSES_IGNORE));
            break;
        case TESTALL:
            FP(MPI_Testall(1, &request, &flag, MPI_STATUSES_IGNORE));
            break;
        case TESTANY:
            FP(MPI_Testany(1, &request, &index, &flag, MPI_STATUS_IGNORE));
            break;
        default:
            FP(MPI_Testsome(1, &request, &flag, &index, MPI_STATUSES_IGNORE));
        }
    }
}

static void call_waitany(void)
{
    complete(WAITANY);
}

static void call_waitsome(void)
{
    complete(WAITSOME);
}

static void call_testall(void)
{
    complete(TESTALL);
}

static void call_testany(void)
{
    complete(TESTANY);
}

static void call_testsome(void)
{
    complete(TESTSOME);
}

static void call_mrecv(void)
{
    MPI_Message message;
    int value;

    FP(MPI_Mprobe(FEEDER, TAG, feed_comm, &message, MPI_STATUS_IGNORE));
    FP(MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE));
}

static void run_persistent(MPI_Request *request)
{
    FP(MPI_Start(request));
    FP(MPI_Wait(request, MPI_STATUS_IGNORE));
    FP(MPI_Request_free(request));
}

static void call_persistent_recv(void)
{
    MPI_Request request;
    int value;

    FP(MPI_Recv_init(&value, 1, MPI_INT, FEEDER, TAG, feed_comm, &request));
    run_persistent(&request);
}

static void call_persistent_send(void)
{
    const int value = 0;
    MPI_Request request;

    FP(MPI_Send_init(&value, 1, MPI_INT, FEEDER, TAG, feed_comm, &request));
    run_persistent(&request);
    atomic_fetch_add(&page->given, 1);
}

/* A kind of call. */
typedef struct {
    const char *name;
    void (*call)(void);
    bool receives; /* a message of rank 1's */
    bool sends;    /* one to it */
    bool waits;    /* what is complete before it is waited for is counted by our waits only */
    int queued;    /* messages that have to be in the queue for it */
} way_t;

static const way_t ways[] = {
    {.name = "MPI_Recv", .call = call_recv, .receives = true},
    {.name = "MPI_Recv from MPI_ANY_SOURCE", .call = call_any_source, .receives = true},
    {.name = "MPI_Irecv, MPI_Wait", .call = call_wait, .receives = true},
    {.name = "MPI_Irecv, MPI_Test", .call = call_test, .receives = true},
    {.name = "MPI_Recv, unexpected", .call = call_recv, .queued = QUEUED},
    {.name = "MPI_Send", .call = call_send, .sends = true},
    {.name = "MPI_Sendrecv", .call = call_sendrecv, .receives = true, .sends = true},
    /* the rest is tried with the first kind of traffic only */
    {.name = "MPI_Recv, longer", .call = call_long_recv, .receives = true},
    {.name = "MPI_Isend, MPI_Wait", .call = call_isend, .sends = true, .waits = true},
    {.name = "MPI_Irecv, MPI_Waitall", .call = call_waitall, .receives = true},
    {.name = "MPI_Irecv, MPI_Waitany", .call = call_waitany, .receives = true},
    {.name = "MPI_Irecv, MPI_Waitsome", .call = call_waitsome, .receives = true},
    {.name = "MPI_Irecv, MPI_Testall", .call = call_testall, .receives = true},
    {.name = "MPI_Irecv, MPI_Testany", .call = call_testany, .receives = true},
    {.name = "MPI_Irecv, MPI_Testsome", .call = call_testsome, .receives = true},
    {.name = "MPI_Iprobe, unexpected", .call = call_iprobe, .queued = 1},
    {.name = "MPI_Mprobe, MPI_Mrecv, unexpected", .call = call_mrecv, .queued = QUEUED},
    {.name = "MPI_Start, MPI_Wait, receive", .call = call_persistent_recv, .receives = true},
    {.name = "MPI_Start, MPI_Wait, send", .call = call_persistent_send, .sends = true, .waits = true}};

enum { WAYS = sizeof(ways) / sizeof(ways[0]), WAYS_WITH_ALL = 7 };

/* Computes and calls until rank 2 has come to its end. */
static void compute(const way_t *way)
{
    int most = 1 < way->queued ? way->queued : MANY;
    int calls = 0, with = 0, least;

    if (way->waits && !own_waits) {
        most = FEW;
    }
    while (calls < FEW || (calls < most && !atomic_load(&page->done))) {
        unsigned long before;

        nap(500);
        if (way->receives) {
            expect_message();
        }
        if (way->sends) {
            expect_room();
        }
        before = progressed;
        way->call();
        with += before < progressed;
        ++calls;
    }
    if (way->waits && !own_waits) {
        return; /* nor would stock ob1 let anything happen */
    }
    if (MANY == most) {
        CHECK(atomic_load(&page->done));
    }
    if (own_waits) {
        least = calls - late;
    } else { /* what makes progress then may take all that has been sent ahead */
        least = calls / (2 * AHEAD);
    }
    fp_check(with >= least, __FILE__, __LINE__, "progress in %d of %d calls", with, calls);
}

/* Rank 1 sends no more. What it has sent ahead, and what nobody has asked for, is received. */
static void drain(void)
{
    MPI_Status status = {.MPI_TAG = TAG};
    int values[300];

    atomic_store(&page->stop, true);
    while (LAST_TAG != status.MPI_TAG) {
        FP(MPI_Recv(values, 300, MPI_INT, FEEDER, MPI_ANY_TAG, feed_comm, &status));
    }
}

/* Rank 1: messages as they are wanted, and those of rank 0's. */
static void feed(const way_t *way)
{
    const int count = call_long_recv == way->call ? 300 : 1;
    int values[300] = {0};

    for (int i = 0; i < way->queued; i++) {
        FP(MPI_Send(values, 1, MPI_INT, COMPUTES, TAG, feed_comm));
    }
    FP(MPI_Send(values, 0, MPI_INT, COMPUTES, LAST_TAG, feed_comm)); /* what was before is in the queue now */
    while (!atomic_load(&page->stop) || atomic_load(&page->taken) < atomic_load(&page->given)) {
        if (way->receives && atomic_load(&page->sent) < atomic_load(&page->wanted) + AHEAD
            && !atomic_load(&page->stop)) {
            FP(MPI_Send(values, count, MPI_INT, COMPUTES, TAG, feed_comm));
            atomic_fetch_add(&page->sent, 1);
        } else if (atomic_load(&page->taken) < atomic_load(&page->given)) {
            FP(MPI_Recv(values, 1, MPI_INT, COMPUTES, TAG, feed_comm, MPI_STATUS_IGNORE));
            atomic_fetch_add(&page->taken, 1);
        } else {
            nap(50);
        }
    }
    FP(MPI_Send(values, 0, MPI_INT, COMPUTES, LAST_TAG, feed_comm));
}

/* -------------------------------------------------- what others need rank 0 for */

/* Something that needs rank 0: it begins it, and ends it when rank 2 has ended its part. */
typedef struct {
    MPI_Request request;
    unsigned char *buffer;
    MPI_Datatype type;
} need_t;

static void long_begin(need_t *need, MPI_Comm comm, MPI_Datatype type, size_t extent)
{
    need->type = type;
    need->buffer = fp_alloc(extent);
    FP(MPI_Irecv(need->buffer, MPI_BYTE == type ? LONG : 1, type, OTHER, LONG_TAG, comm, &need->request));
}

static void long_other(MPI_Comm comm, size_t length)
{
    fp_send(&fp_modes[FP_SYNCHRONOUS], length, COMPUTES, LONG_TAG, 0, comm);
}

static void rendezvous_begin(need_t *need)
{
    long_begin(need, MPI_COMM_WORLD, MPI_BYTE, LONG);
}

static void rendezvous_other(void)
{
    long_other(MPI_COMM_WORLD, LONG);
}

/* With gaps, so it is streamed, piece by piece. */
static void streamed_begin(need_t *need)
{
    MPI_Datatype type;

    FP(MPI_Type_vector(LONG / BLOCK, BLOCK, 2 * BLOCK, MPI_BYTE, &type));
    FP(MPI_Type_commit(&type));
    long_begin(need, MPI_COMM_WORLD, type, 2 * LONG);
}

/* A short one of another communicator. */
static void other_comm_begin(need_t *need)
{
    long_begin(need, other_comm, MPI_BYTE, LONG);
}

static void other_comm_other(void)
{
    long_other(other_comm, BLOCK);
}

static void long_end(need_t *need)
{
    const uint64_t key = fp_key(OTHER, COMPUTES, LONG_TAG, 0);
    MPI_Status status;
    int count;

    FP(MPI_Wait(&need->request, &status));
    FP(MPI_Get_count(&status, MPI_BYTE, &count));
    if (MPI_BYTE == need->type) {
        CHECK_DATA(need->buffer, (size_t) count, key);
    } else {
        for (size_t i = 0; i < LONG / BLOCK; i++) {
            CHECK_DATA_FROM(need->buffer + 2 * BLOCK * i, BLOCK, key, BLOCK * i);
        }
        FP(MPI_Type_free(&need->type));
    }
    fp_free(need->buffer);
}

/* Of three processes, so it takes two steps, the second of which rank 0 begins when the first has ended. */
static void barrier_begin(need_t *need)
{
    FP(MPI_Ibarrier(three_comm, &need->request));
}

static void barrier_other(void)
{
    MPI_Request request;

    FP(MPI_Ibarrier(three_comm, &request));
    FP(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void barrier_end(need_t *need)
{
    FP(MPI_Wait(&need->request, MPI_STATUS_IGNORE));
}

static void epoch_begin(need_t *need)
{
    (void) need;
}

static void epoch_other(void)
{
    static int value;

    ++value;
    FP(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window));
    FP(MPI_Accumulate(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_REPLACE, window));
    FP(MPI_Win_unlock(0, window));
}

typedef struct {
    const char *name;
    void (*begin)(need_t *need);
    void (*other)(void); /* rank 2 */
    void (*end)(need_t *need);
    bool third; /* rank 3 does the same */
} traffic_t;

static const traffic_t traffics_table[] = {
    {.name = "rendezvous", .begin = rendezvous_begin, .other = rendezvous_other, .end = long_end},
    {.name = "streamed", .begin = streamed_begin, .other = rendezvous_other, .end = long_end},
    {.name = "other communicator", .begin = other_comm_begin, .other = other_comm_other, .end = long_end},
    {.name = "MPI_Ibarrier",
     .begin = barrier_begin,
     .other = barrier_other,
     .end = barrier_end,
     .third = true},
    {.name = "passive target", .begin = epoch_begin, .other = epoch_other, .end = epoch_begin}};

enum { TRAFFICS = sizeof(traffics_table) / sizeof(traffics_table[0]) };

static void try(const way_t *way, const traffic_t *traffic)
{
    need_t need;
    int value;

    fp_case("%s, while others need %s", way->name, traffic->name);
    if (COMPUTES == fp_rank) {
        memset((void *) page, 0, sizeof(*page));
        traffic->begin(&need);
    }
    FP(MPI_Barrier(MPI_COMM_WORLD));
    if (COMPUTES == fp_rank) {
        FP(MPI_Recv(&value, 1, MPI_INT, FEEDER, LAST_TAG, feed_comm, MPI_STATUS_IGNORE));
        atomic_store(&page->go, true);
        compute(way);
        drain();
        traffic->end(&need);
    } else if (FEEDER == fp_rank) {
        feed(way);
    } else if (OTHER == fp_rank || traffic->third) {
        fp_at(__FILE__, __LINE__, "rank 0, outside MPI");
        while (!atomic_load(&page->go)) {
            nap(50);
        }
        traffic->other();
        if (OTHER == fp_rank) {
            atomic_store(&page->done, true);
        }
    }
    FP(MPI_Barrier(MPI_COMM_WORLD));
}

static void make_comms(bool windows)
{
    static int value;

    FP(MPI_Comm_dup(MPI_COMM_WORLD, &feed_comm));
    FP(MPI_Comm_dup(MPI_COMM_WORLD, &other_comm));
    FP(MPI_Comm_split(MPI_COMM_WORLD, COMPUTES == fp_rank || OTHER == fp_rank ? 0 : MPI_UNDEFINED, fp_rank,
                      &pair_comm));
    FP(MPI_Comm_split(MPI_COMM_WORLD, FEEDER == fp_rank ? MPI_UNDEFINED : 0, fp_rank, &three_comm));
    if (windows && MPI_COMM_NULL != pair_comm) {
        FP(MPI_Win_create(&value, sizeof(value), 1, MPI_INFO_NULL, pair_comm, &window));
    }
}

static void free_comms(void)
{
    if (MPI_WIN_NULL != window) {
        FP(MPI_Win_free(&window));
    }
    if (MPI_COMM_NULL != three_comm) {
        FP(MPI_Comm_free(&three_comm));
    }
    if (MPI_COMM_NULL != pair_comm) {
        FP(MPI_Comm_free(&pair_comm));
    }
    FP(MPI_Comm_free(&other_comm));
    FP(MPI_Comm_free(&feed_comm));
}

int main(int argc, char **argv)
{
    const bool threads = 1 < argc && 0 == strcmp("threads", argv[1]);
    const char *options;
    int traffics = threads ? TRAFFICS - 1 : TRAFFICS; /* windows may be refused then */

    (void) fp_init_thread(&argc, &argv, RANKS, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
    options = 1 < argc ? argv[1] : "";
    late = 0 == strcmp("every", options) ? 0 : LATE;
    own_waits = 0 != strcmp("elsewhere", options);
    share_page();
    make_comms(!threads);
    opal_progress_register(on_progress);
    for (int way = 0; way < WAYS; way++) {
        for (int traffic = 0; traffic < (way < WAYS_WITH_ALL ? traffics : 1); traffic++) {
            try(&ways[way], &traffics_table[traffic]);
        }
    }
    opal_progress_unregister(on_progress);
    free_comms();
    munmap(page, sizeof(*page));
    return fp_finish();
}
