/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* The PML's dump, which a developer calls from a debugger, names the receives
 * that wait for messages and the messages that wait: for receives, for others before
 * them, and for their communicator. */

#include "ompi_config.h"

#include "fastpath_ompi_compat.h"

#include "ompi/communicator/communicator.h"
#include "ompi/mca/pml/pml.h"

#include "support/fp_test.h"

#include <unistd.h>

enum { RECEIVES = 3, MESSAGES = 3, TAG = 40, NEVER_SENT = 70, LARGE = 1 << 20 };

static int buffers[RECEIVES][100];
static const int counts[RECEIVES] = {1, 20, 100};
static const size_t lengths[MESSAGES] = {0, 100, LARGE};

/** What the dump of a communicator writes to standard error. */
static void dump(MPI_Comm comm, char *text, size_t size)
{
    FILE *file = tmpfile();
    int saved = dup(STDERR_FILENO);
    size_t length;

    CHECK(NULL != file && saved >= 0);
    fflush(stderr);
    dup2(fileno(file), STDERR_FILENO);
    CHECK_INT(mca_pml.pml_dump(comm, 1), OMPI_SUCCESS);
    fflush(stderr);
    dup2(saved, STDERR_FILENO);
    close(saved);
    rewind(file);
    length = fread(text, 1, size - 1, file);
    text[length] = '\0';
    fclose(file);
}

static void has(const char *text, const char *line)
{
    fp_check(NULL != strstr(text, line), __FILE__, __LINE__, "the dump has no '%s' in:\n%s", line, text);
}

/** How often a word is there. */
static int times(const char *text, const char *word)
{
    int n = 0;

    for (; NULL != (text = strstr(text, word)); text += strlen(word)) {
        n++;
    }
    return n;
}

static void receiver(MPI_Comm comm)
{
    static char text[1 << 16];
    char line[200], *buffer = fp_alloc(LARGE);
    MPI_Request requests[RECEIVES];

    for (int i = 0; i < RECEIVES; i++) {
        int source = 1 == i ? MPI_ANY_SOURCE : 1;

        FP(MPI_Irecv(buffers[i], counts[i], MPI_INT, source, NEVER_SENT + i, comm, &requests[i]));
    }
    FP(MPI_Recv(NULL, 0, MPI_CHAR, 1, TAG + MESSAGES, comm, MPI_STATUS_IGNORE)); /* behind the others */
    dump(comm, text, sizeof(text));
    has(text, "3 posted, 3 unexpected");
    CHECK_INT(times(text, "  posted: "), RECEIVES);
    CHECK_INT(times(text, "  unexpected: "), MESSAGES);
    for (int i = 0; i < RECEIVES; i++) {
        snprintf(line, sizeof(line), "source %d tag %d buffer %p count %d\n", 1 == i ? MPI_ANY_SOURCE : 1,
                 NEVER_SENT + i, (void *) buffers[i], counts[i]);
        has(text, line);
    }
    for (int i = 0; i < MESSAGES; i++) {
        snprintf(line, sizeof(line), "  unexpected: source 1 tag %d sequence ", TAG + i);
        has(text, line);
        snprintf(line, sizeof(line), " bytes %zu\n", lengths[i]);
        has(text, line);
    }

    for (int i = 0; i < RECEIVES; i++) {
        FP(MPI_Cancel(&requests[i]));
        FP(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
    }
    for (int i = 0; i < MESSAGES; i++) {
        FP(MPI_Recv(buffer, LARGE, MPI_CHAR, 1, TAG + i, comm, MPI_STATUS_IGNORE));
    }
    dump(comm, text, sizeof(text));
    has(text, "0 posted, 0 unexpected");
    CHECK_INT(times(text, "posted: ") + times(text, "unexpected: "), 0);
    fp_free(buffer);
}

static void sender(MPI_Comm comm)
{
    MPI_Request requests[MESSAGES];
    char *buffer = fp_alloc(LARGE);

    for (int i = 0; i < MESSAGES; i++) {
        FP(MPI_Isend(buffer, (int) lengths[i], MPI_CHAR, 0, TAG + i, comm, &requests[i]));
    }
    FP(MPI_Send(NULL, 0, MPI_CHAR, 0, TAG + MESSAGES, comm));
    FP(MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE));
    fp_free(buffer);
}

/* A communicator that the PML has not been told of, and one that has been made known anew, so that
 * its first message never comes: rank 0 pretends. */
static void lost_messages(void)
{
    static char text[1 << 16];
    MPI_Comm unknown, behind;
    char line[200];
    void *known;

    FP(MPI_Comm_dup(MPI_COMM_WORLD, &unknown));
    FP(MPI_Comm_dup(MPI_COMM_WORLD, &behind));
    if (0 == fp_rank) {
        known = unknown->c_pml_comm;
        unknown->c_pml_comm = NULL;
        fp_recv(10, 1, TAG, 0, behind);
        CHECK_INT(mca_pml.pml_add_comm(behind), OMPI_SUCCESS);
        fp_signal(1, MPI_COMM_WORLD);
        fp_await(1, MPI_COMM_WORLD);
        dump(behind, text, sizeof(text));
        has(text, "  rank 1: last sent 0, next expected 1, 2 early, 0 withdrawn\n");
        has(text, "    early: tag 41 sequence 2, 27 bytes with its header\n");
        has(text, "    early: tag 42 sequence 3, 28 bytes with its header\n");
        has(text,
            "process: 2 pending messages, 0 refused, 0 late, unexpected messages take 0 bytes, at most ");
        snprintf(line, sizeof(line),
                 "  pending message: message communicator %u source 1 tag 43 sequence 1, 29 bytes",
                 (unsigned) fastpath_comm_cid(unknown));
        has(text, line);
        snprintf(line, sizeof(line),
                 "  pending message: message communicator %u source 1 tag 44 sequence 2, ",
                 (unsigned) fastpath_comm_cid(unknown));
        has(text, line);
        dump(unknown, text, sizeof(text)); /* says what it can */
        has(text, "process: 2 pending messages");
        CHECK_INT(mca_pml.pml_add_comm(unknown), OMPI_SUCCESS);
        OBJ_RELEASE(*(opal_object_t **) &known);
        fp_recv(13, 1, TAG + 3, 0, unknown);
        fp_recv(LARGE, 1, TAG + 4, 0, unknown);
        dump(unknown, text, sizeof(text));
        has(text, "process: 0 pending messages");
        has(text, " bytes of credit with it, ");
    } else if (1 == fp_rank) {
        fp_send(&fp_modes[FP_STANDARD], 10, 0, TAG, 0, behind);
        fp_await(0, MPI_COMM_WORLD);
        fp_send(&fp_modes[FP_STANDARD], 11, 0, TAG + 1, 0, behind);
        fp_send(&fp_modes[FP_STANDARD], 12, 0, TAG + 2, 0, behind);
        fp_send(&fp_modes[FP_STANDARD], 13, 0, TAG + 3, 0, unknown);
        fp_message_t large;
        fp_isend(&large, &fp_modes[FP_STANDARD], LARGE, 0, TAG + 4, 0, unknown);
        fp_signal(0, MPI_COMM_WORLD);
        fp_wait_send(&large);
    }
    FP(MPI_Comm_free(&behind));
    FP(MPI_Comm_free(&unknown));
}

int main(int argc, char **argv)
{
    MPI_Comm comm;

    fp_init(&argc, &argv, 2);
    FP(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    fp_case("three receives, three messages");
    if (0 == fp_rank) {
        receiver(comm);
    } else if (1 == fp_rank) {
        sender(comm);
    }
    fp_case("messages that wait for others or for their communicator");
    lost_messages(); /* with ids that were never used: what comes for a freed one does not wait */
    FP(MPI_Comm_free(&comm));
    return fp_finish();
}
