/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 * What every MPI test program shares: checks that count and report, patterned
 * buffers with guard zones, the table of send modes and message sizes, and a
 * watchdog that turns a hang into a report of who waited where.
 *
 * A program is
 *
 *     fp_init(&argc, &argv, 2);
 *     fp_case("what is tried");
 *     FP(MPI_Send(...));
 *     CHECK(...);
 *     return fp_finish();
 *
 * Rank 0 prints "No errors" when no check failed anywhere; that and exit
 * status 0 make the test pass.  The error handler of MPI_COMM_WORLD and
 * MPI_COMM_SELF is MPI_ERRORS_RETURN: FP() checks every return code.
 */

#ifndef FP_TEST_H
#define FP_TEST_H

#include <inttypes.h>
#include <mpi.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Rank and size in MPI_COMM_WORLD. */
extern int fp_rank;
extern int fp_size;

/* ------------------------------------------------- start, end, where we are */

/** Starts MPI and the watchdog; ends the job unless it has MIN_SIZE ranks. */
void fp_init(int *argc, char ***argv, int min_size);

/** The same with a thread level; returns the level that MPI provides. */
int fp_init_thread(int *argc, char ***argv, int min_size, int required);

/** Sums up the failures of all ranks, prints the verdict, ends MPI.
 *  Returns main's exit status. */
int fp_finish(void);

/** The same without a message or collective before MPI_Finalize: each rank
 *  speaks for itself, through its exit status. */
int fp_finish_alone(void);

/** fp_finish() in a child: only the parent speaks, and a child that failed has said so. */
int fp_finish_child(void);

/** Ends the program as skipped.  Every rank calls it. */
void fp_skip(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/** Names what is tried now; failed checks and the watchdog print it.  Each
 *  thread has its own. */
void fp_case(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** Runs COUNT threads of BODY(index) with a case and a place of their own in the
 *  watchdog's report, and waits for them. */
void fp_run_threads(int count, void (*body)(int index));

/** Notes the call that this thread is about to make. */
void fp_at(const char *file, int line, const char *call);

/** Seconds on a clock that all processes of a node share. */
double fp_now(void);

/** Sleeps without entering MPI. */
void fp_sleep_ms(int ms);

/** Before fp_init(), in a program that calls fp_stay_outside(): no thread takes the signal before that. */
void fp_outside_init(void);
/** Stays outside MPI until another process sends SIGUSR1, at most 20 seconds. @return whether it has come */
bool fp_stay_outside(void);

/** @return milliseconds of processor time that this process has used so far */
double fp_used_ms(void);

/** @return how many descriptors this process has open, and a few more, always as many */
int fp_descriptors(void);

/** Waits until process PID, which the same mpirun has started as this one, has ended, and mpirun has seen to
 * that: Open MPI 4.1.4's loses a job that starts while another one ends; the new process then waits in
 * MPI_Init for ever. */
void fp_wait_for_end(int pid);

/** MPI_Comm_disconnect, after what the transport has refused has gone out: since Open MPI 5.0 that call waits
 * in the runtime without progress, with any PML, while the peer may wait for just this. */
void fp_disconnect(MPI_Comm *comm);

/* ------------------------------------------------------------------- checks */

/** Counts a check; a failed one is printed with the formatted text. */
bool fp_check(bool good, const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/** Return code RC of CALL has to be of error class WANT. */
bool fp_check_rc(int rc, int want, const char *file, int line, const char *call);

#define CHECK(condition) fp_check((condition), __FILE__, __LINE__, "%s", #condition)

#define CHECK_INT(got, want)                                                                                 \
    do {                                                                                                     \
        long long fp_got = (long long) (got), fp_want = (long long) (want);                                  \
        fp_check(fp_got == fp_want, __FILE__, __LINE__, "%s is %lld and not %lld", #got, fp_got, fp_want);   \
    } while (0)

/** Makes an MPI call, which must succeed. */
#define FP(call) FP_ERROR(MPI_SUCCESS, call)

/** Makes an MPI call, which must fail with error class WANT. */
#define FP_ERROR(want, call)                                                                                 \
    (fp_at(__FILE__, __LINE__, #call), fp_check_rc((call), (want), __FILE__, __LINE__, #call))

/** A status has this source and tag and counts BYTES of MPI_BYTE. */
#define CHECK_STATUS(status, source, tag, bytes)                                                             \
    fp_check_status((status), (source), (tag), (bytes), __FILE__, __LINE__)
bool fp_check_status(const MPI_Status *status, int source, int tag, size_t bytes, const char *file, int line);

/** The empty status of MPI 3.1 section 3.7.3. */
#define CHECK_EMPTY_STATUS(status)                                                                           \
    fp_check_status((status), MPI_ANY_SOURCE, MPI_ANY_TAG, 0, __FILE__, __LINE__)

/* ------------------------------------------------------------------ patterns */

/** The pattern of one message; any part that differs makes all bytes differ. */
uint64_t fp_key(int src, int dst, int tag, int sequence);

/** Fills LENGTH bytes with bytes OFFSET.. of the pattern KEY. */
void fp_fill_from(void *buffer, size_t length, uint64_t key, size_t offset);

/** Fills LENGTH bytes with the pattern KEY. */
void fp_fill(void *buffer, size_t length, uint64_t key);

/** Checks LENGTH bytes against bytes OFFSET.. of the pattern KEY. */
#define CHECK_DATA_FROM(buffer, length, key, offset)                                                         \
    fp_check_data((buffer), (length), (key), (offset), __FILE__, __LINE__)
#define CHECK_DATA(buffer, length, key) CHECK_DATA_FROM(buffer, length, key, 0)
bool fp_check_data(const void *buffer, size_t length, uint64_t key, size_t offset, const char *file,
                   int line);

/** Checks that LENGTH bytes are as fp_alloc or fp_poison left them. */
#define CHECK_POISON(buffer, length) fp_check_poison((buffer), (length), __FILE__, __LINE__)
bool fp_check_poison(const void *buffer, size_t length, const char *file, int line);
void fp_poison(void *buffer, size_t length);

/** Allocates LENGTH poisoned bytes with guard zones around them (LENGTH may be 0). */
void *fp_alloc(size_t length);

/** Allocates a buffer and fills it with the pattern KEY. */
void *fp_alloc_filled(size_t length, uint64_t key);

/** Checks the guard zones and frees the buffer. */
#define fp_free(buffer) fp_check_free((buffer), __FILE__, __LINE__)
void fp_check_free(void *buffer, const char *file, int line);

/** A small fast generator; the same seed gives the same numbers everywhere. */
typedef struct {
    uint64_t state;
} fp_random_t;
uint64_t fp_random(fp_random_t *generator);
/** A number from LOW to HIGH, both included. */
size_t fp_random_between(fp_random_t *generator, size_t low, size_t high);

/* ------------------------------------------------------- tables of test cases */

typedef int fp_send_fn(const void *, int, MPI_Datatype, int, int, MPI_Comm);
typedef int fp_isend_fn(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

/** A send mode with its three ways to be called. */
typedef struct {
    const char *name;
    fp_send_fn *send;
    fp_isend_fn *isend;
    fp_isend_fn *init;
    bool needs_receiver; /**< ready mode: the receive must be posted already */
    bool needs_buffer;   /**< buffered mode: a buffer must be attached */
} fp_mode_t;

enum { FP_STANDARD, FP_SYNCHRONOUS, FP_BUFFERED, FP_READY, FP_MODES };
extern const fp_mode_t fp_modes[FP_MODES];

/** Message sizes around every boundary of the data path, in rising order. */
extern const size_t fp_sizes[];
extern const int fp_size_count;

/** A few sizes, one for each protocol: none, inline, eager, rendezvous, large. */
extern const size_t fp_few_sizes[];
extern const int fp_few_size_count;

/* ---------------------------------------------------- messages with a pattern */

/** Sends LENGTH bytes patterned by (own rank, DST, TAG, SEQUENCE) in mode MODE. */
void fp_send(const fp_mode_t *mode, size_t length, int dst, int tag, int sequence, MPI_Comm comm);

/** Receives from a named source with a named tag and checks bytes and status. */
void fp_recv(size_t length, int src, int tag, int sequence, MPI_Comm comm);

/** A nonblocking message on its way: its buffer and what is expected of it. */
typedef struct {
    MPI_Request request;
    unsigned char *buffer;
    size_t capacity; /**< of the receive buffer */
    size_t length;   /**< of the message */
    int peer;        /**< rank of the other side */
    int tag;
    uint64_t key;
} fp_message_t;

/** Starts a nonblocking patterned send in mode MODE. */
void fp_isend(fp_message_t *message, const fp_mode_t *mode, size_t length, int dst, int tag, int sequence,
              MPI_Comm comm);

/** Starts a nonblocking receive of exactly the message that fp_isend sends. */
void fp_irecv(fp_message_t *message, size_t length, int src, int tag, int sequence, MPI_Comm comm);

/** Waits for a send, checks that its buffer is untouched, and frees it. */
void fp_wait_send(fp_message_t *message);

/** Waits for a receive, checks bytes and status, and frees the buffer. */
void fp_wait_recv(fp_message_t *message);

/** Whether the operation of that status was cancelled. */
bool fp_was_cancelled(const MPI_Status *status);
/** Cancel a request and wait for it. @return whether that worked */
bool fp_cancel(MPI_Request *request);

/** A zero-byte message that says "go on": to DST, or from SRC. */
void fp_signal(int dst, MPI_Comm comm);
void fp_await(int src, MPI_Comm comm);

#endif /* FP_TEST_H */
