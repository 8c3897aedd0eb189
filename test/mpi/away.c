/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Rank 0 is in MPI_Comm_disconnect or MPI_Comm_accept, where it waits in the runtime for rank 1.  Rank 1
 * comes there only when something has been done that needs rank 0: a message whose receive is posted
 * there, or a send taken back ("cancel": stock ob1 cannot). */

#include "support/fp_test.h"

enum { TAG = 143, PORT_TAG, LENGTH = 1000001 };

/* Until rank 0 is there, most probably: had it not gone yet, the rest were easier. */
static void let_it_go(void)
{
    fp_sleep_ms(300);
}

/* ------------------------------------------------- what rank 1 needs of rank 0 */

static void receive_posted(void (*away)(void))
{
    fp_message_t message;

    if (0 == fp_rank) {
        fp_irecv(&message, LENGTH, 1, TAG, 0, MPI_COMM_WORLD);
        away();
        fp_wait_recv(&message);
    } else {
        let_it_go();
        fp_send(&fp_modes[FP_SYNCHRONOUS], LENGTH, 0, TAG, 0, MPI_COMM_WORLD);
        away();
    }
}

static void send_taken_back(void (*away)(void))
{
    int word = 0;

    if (0 == fp_rank) {
        away();
    } else {
        MPI_Request request;

        let_it_go();
        FP(MPI_Isend(&word, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, &request));
        CHECK(fp_cancel(&request));
        away();
    }
}

/* ---------------------------------------------------------------- where it is */

static MPI_Comm inter;
static char port[MPI_MAX_PORT_NAME];

static void disconnect(void)
{
    FP(MPI_Comm_disconnect(&inter));
}

static void connect_ranks(void)
{
    if (0 == fp_rank) {
        FP(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter));
    } else {
        FP(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter));
    }
}

static void agree_on_port(void)
{
    if (0 == fp_rank) {
        FP(MPI_Open_port(MPI_INFO_NULL, port));
        FP(MPI_Send(port, sizeof(port), MPI_CHAR, 1, PORT_TAG, MPI_COMM_WORLD));
    } else {
        FP(MPI_Recv(port, sizeof(port), MPI_CHAR, 0, PORT_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
}

int main(int argc, char **argv)
{
    static void (*const needs[])(void (*away)(void)) = {receive_posted, send_taken_back};
    static const char *const names[] = {"a posted receive", "an answer to a cancel"};
    size_t count;

    fp_init(&argc, &argv, 2);
    if (4 < OMPI_MAJOR_VERSION) {
        fp_skip("Open MPI %d calls the runtime where nobody can put progress", OMPI_MAJOR_VERSION);
    }
    count = 1 < argc && 0 == strcmp(argv[1], "cancel") ? 2 : 1;
    if (1 >= fp_rank) {
        for (size_t n = 0; n < count; n++) {
            agree_on_port();
            fp_case("%s in MPI_Comm_accept", names[n]);
            needs[n](connect_ranks);
            fp_case("%s in MPI_Comm_disconnect", names[n]);
            needs[n](disconnect);
            if (0 == fp_rank) {
                FP(MPI_Close_port(port));
            }
        }
    }
    return fp_finish();
}
