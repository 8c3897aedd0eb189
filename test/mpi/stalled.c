/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* MPI_THREAD_MULTIPLE: one thread's data lies in memory that cannot be read yet, as if a page had to come
 * from a slow disk. Meanwhile another thread sends more messages to the same process than 16 bits can count.
 * They arrive, and in the end everything has come in order and with the right bytes. The page is one without
 * access; the handler of its fault waits and then gives access. */

#include "support/fp_test.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <time.h>

enum { MANY = 70000, FEW = 2000, OTHER = 1, STALLED = 2, AREA = 64 * 1024, ELEMENT = 8 };

/* What the data of the message that stalls looks like. */
typedef struct {
    const char *name;
    int elements;
    int stride; /* bytes from one element to the next */
    bool odd;   /* at changing distances: nothing but a convertor can pack it */
} shape_t;

static const shape_t shapes[] = {
    {"8 bytes", 1, 8, false},         {"40 bytes", 5, 8, false},        {"several slots", 40, 8, false},
    {"a pool buffer", 375, 8, false}, {"a short vector", 4, 32, false}, {"a vector", 100, 24, false},
    {"an index list", 100, 24, true},
};
enum { SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

enum { BY_SEND, BY_ISEND, BY_BSEND, BY_START, WAYS };
static const char *const way_names[WAYS] = {"MPI_Send", "MPI_Isend", "MPI_Bsend", "MPI_Start"};

static char *area;
static pthread_t staller;
static atomic_bool stalled, may_go, foreign, done;
static const shape_t *shape;
static MPI_Datatype type;
static int way, many;

static void pause_a_little(void)
{
    const struct timespec pause = {.tv_nsec = 100 * 1000};

    nanosleep(&pause, NULL);
}

static void on_fault(int signal_number, siginfo_t *info, void *context)
{
    const char *address = info->si_addr;

    (void) context;
    if (address < area || address >= area + AREA) {
        signal(signal_number, SIG_DFL);
        return;
    }
    if (pthread_equal(pthread_self(), staller)) {
        atomic_store(&stalled, true);
        while (!atomic_load(&may_go)) {
            pause_a_little();
        }
    } else {
        atomic_store(&foreign, true);
    }
    mprotect(area, AREA, PROT_READ | PROT_WRITE);
}

static int place_of(int element)
{
    return element * shape->stride + (shape->odd && 0 == element % 3 ? ELEMENT : 0);
}

static MPI_Datatype make_type(void)
{
    MPI_Datatype made;

    if (shape->odd) {
        int *places = malloc((size_t) shape->elements * sizeof(places[0]));

        for (int i = 0; i < shape->elements; i++) {
            places[i] = place_of(i);
        }
        FP(MPI_Type_create_indexed_block(shape->elements, ELEMENT, places, MPI_BYTE, &made));
        free(places);
    } else {
        FP(MPI_Type_vector(shape->elements, ELEMENT, shape->stride, MPI_BYTE, &made));
    }
    FP(MPI_Type_commit(&made));
    return made;
}

static uint64_t key_of(int sequence)
{
    return fp_key(0, 1, STALLED, sequence);
}

/* Thread 0: as soon as the other one stalls, everything else. */
static void send_many(void)
{
    while (!atomic_load(&stalled) && !atomic_load(&done)) {
        pause_a_little();
    }
    for (uint64_t number = 0; number < (uint64_t) many; number++) {
        FP(MPI_Send(&number, sizeof(number), MPI_BYTE, 1, OTHER, MPI_COMM_WORLD));
    }
    atomic_store(&may_go, true);
}

static void send_stalled(void)
{
    MPI_Request request = MPI_REQUEST_NULL;

    switch (way) {
    case BY_SEND:
        FP(MPI_Send(area, 1, type, 1, STALLED, MPI_COMM_WORLD));
        return;
    case BY_BSEND:
        FP(MPI_Bsend(area, 1, type, 1, STALLED, MPI_COMM_WORLD));
        return;
    case BY_ISEND:
        FP(MPI_Isend(area, 1, type, 1, STALLED, MPI_COMM_WORLD, &request));
        FP(MPI_Wait(&request, MPI_STATUS_IGNORE));
        return;
    default:
        FP(MPI_Send_init(area, 1, type, 1, STALLED, MPI_COMM_WORLD, &request));
        FP(MPI_Start(&request));
        FP(MPI_Wait(&request, MPI_STATUS_IGNORE));
        FP(MPI_Request_free(&request));
    }
}

/* Thread 1: one message that stalls, between two that do not. */
static void stall(void)
{
    staller = pthread_self();
    fp_send(&fp_modes[FP_STANDARD], 16, 1, STALLED, 0, MPI_COMM_WORLD);
    mprotect(area, AREA, PROT_NONE);
    send_stalled();
    atomic_store(&done, true);
    fp_send(&fp_modes[FP_STANDARD], 16, 1, STALLED, 2, MPI_COMM_WORLD);
}

static void sender(int index)
{
    fp_case("thread %d, %s of %s", index, way_names[way], shape->name);
    (0 == index ? send_many : stall)();
}

static void send_all(void)
{
    fp_fill(area, AREA, key_of(1));
    atomic_store(&stalled, false);
    atomic_store(&may_go, false);
    atomic_store(&foreign, false);
    atomic_store(&done, false);
    fp_run_threads(2, sender);
    CHECK(atomic_load(&stalled));
    CHECK(!atomic_load(&foreign)); /* nobody else has waited for that memory */
}

static void receive_stalled(void)
{
    unsigned char *got = fp_alloc((size_t) (shape->elements * ELEMENT));
    unsigned char *want = fp_alloc_filled(AREA, key_of(1));
    MPI_Status status;
    bool good = true;

    FP(MPI_Recv(got, shape->elements * ELEMENT, MPI_BYTE, 0, STALLED, MPI_COMM_WORLD, &status));
    CHECK_STATUS(&status, 0, STALLED, (size_t) (shape->elements * ELEMENT));
    for (int i = 0; i < shape->elements; i++) {
        good = good && 0 == memcmp(got + i * ELEMENT, want + place_of(i), ELEMENT);
    }
    CHECK(good);
    fp_free(want);
    fp_free(got);
}

static void receive_all(void)
{
    bool in_order = true;

    for (uint64_t number = 0; number < (uint64_t) many; number++) {
        uint64_t got = UINT64_MAX;

        FP(MPI_Recv(&got, sizeof(got), MPI_BYTE, 0, OTHER, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        if (in_order && got != number) { /* one report is enough */
            CHECK_INT(got, number);
            in_order = false;
        }
    }
    fp_recv(16, 0, STALLED, 0, MPI_COMM_WORLD);
    receive_stalled();
    fp_recv(16, 0, STALLED, 2, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    static char attached[AREA];
    void *detached;
    int size;

    if (MPI_THREAD_MULTIPLE != fp_init_thread(&argc, &argv, 2, MPI_THREAD_MULTIPLE)) {
        fp_skip("no MPI_THREAD_MULTIPLE");
    }
    area = mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(MAP_FAILED != area);
    sigaction(SIGSEGV, &action, NULL);
    FP(MPI_Buffer_attach(attached, sizeof(attached)));
    for (way = 0; way < WAYS; way++) {
        for (int i = 0; i < SHAPES; i++) {
            shape = &shapes[i];
            many = BY_SEND == way ? MANY : FEW;
            fp_case("%s of %s", way_names[way], shape->name);
            type = make_type();
            if (0 == fp_rank) {
                send_all();
            } else if (1 == fp_rank) {
                receive_all();
            }
            FP(MPI_Type_free(&type));
            FP(MPI_Barrier(MPI_COMM_WORLD));
        }
    }
    FP(MPI_Buffer_detach(&detached, &size));
    munmap(area, AREA);
    return fp_finish();
}
