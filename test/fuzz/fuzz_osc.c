/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* osc/fastpath with three members of a window in one process, each of which makes real MPI calls and takes
 * itself for a process of its own. What one sends to another is a valid packet or reply, until one of them is
 * damaged on its way.
 *
 * A case is one or two epochs of all members. Then nothing may have been written but the windows and the
 * buffers of operations, whatever has been damaged: a message that makes no sense is dropped, an operation
 * outside the window is an error at its origin, and calls that wait for what does not come are told so here.
 * Mailboxes may have anything in them, too. Without damage, in a tenth of the cases, no call returns an
 * error, no message is reported, and windows and buffers have what the operations make in the order of each
 * origin. So it is where a packet comes again, but for the report. */

#include "fuzz_osc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TODO = 512, SEEN = 64, MORE = GUARD };

/* A packet or a reply on its way. */
typedef struct {
    int to;
    size_t length;
    uint8_t *bytes;
} packet_t;

/* Data that is to be written into a member's memory. */
typedef struct {
    void *from;
    uint64_t to;
    size_t length;
    mca_btl_base_rdma_completion_fn_t done;
    void *data;
} writing_t;

static writing_t writings[TODO];
static unsigned n_writings;
static bool closed;

static packet_t todo[TODO], seen[SEEN];
static unsigned n_todo, n_seen;
static int damage_in; /* packets until one is damaged; -1: none is */
static bool damaged, repeated, reported;

bool case_damaged(void)
{
    return damaged;
}

void case_reported(unsigned rank, const char *reason)
{
    if (!damaged && !repeated) {
        fuzz_fail("a sound message of rank %u is reported: %s", rank, reason);
    }
    reported = true;
}

void case_give_up(void)
{
    damaged = true;
}

void case_returned(int rc, const char *call)
{
    if (MPI_ERR_LASTCODE < rc) {
        fuzz_fail("%s returns %d, which is no error of MPI", call, rc);
    }
    if (OMPI_SUCCESS != rc && !damaged) {
        fuzz_fail("%s returns %d, though nothing is damaged", call, rc);
    }
}

void case_heard(int rank, mca_btl_base_tag_t tag, const void *bytes, size_t length)
{
    if (MCA_OSC_FASTPATH_TAG != tag || TODO == n_todo) {
        fuzz_fail("%u messages are under way, the last with tag %u", n_todo, tag);
    }
    todo[n_todo++] = (packet_t){.to = rank, .length = length, .bytes = world_translate(rank, bytes, length)};
    fuzz_learn(bytes, length < 128 ? length : 128);
}

static void arrive(const packet_t *packet)
{
    if (NULL != getenv("FP_FUZZ_VERBOSE")) {
        const mca_osc_fastpath_hdr_t *hdr = (const void *) packet->bytes;

        fprintf(stderr, "# %u to %d: type %u, sequence %u, flags %#x, %zu bytes\n", hdr->rank, packet->to,
                hdr->type, hdr->sequence, hdr->flags, packet->length);
    }
    world_arrive(MCA_OSC_FASTPATH_TAG, packet->bytes, packet->length, 0);
}

static void change_length(packet_t *packet)
{
    mca_osc_fastpath_hdr_t *hdr = (void *) packet->bytes;

    packet->length = fuzz_length(packet->length, MORE - 8);
    if (fuzz_one_in(2) && sizeof(*hdr) <= packet->length) {
        hdr->length = (uint32_t) (packet->length - sizeof(*hdr)); /* so that what is cut is inside */
    }
}

/* The header, the first operation or entry, or anything. */
static void change_bytes(packet_t *packet)
{
    const size_t header = sizeof(mca_osc_fastpath_hdr_t), rest = packet->length - header;
    const size_t first = rest < sizeof(mca_osc_fastpath_op_hdr_t) ? rest : sizeof(mca_osc_fastpath_op_hdr_t);

    if (0 == rest || fuzz_one_in(3)) {
        fuzz_change(packet->bytes, header);
    } else if (fuzz_one_in(3)) {
        fuzz_change(packet->bytes + header, rest);
    } else {
        fuzz_change(packet->bytes + header, first);
    }
}

/* Another kind of the first operation, another of its small numbers. */
static void change_kind(packet_t *packet)
{
    if (sizeof(mca_osc_fastpath_hdr_t) + 4 <= packet->length) {
        packet->bytes[sizeof(mca_osc_fastpath_hdr_t) + fuzz_below(4)] = (uint8_t) fuzz_below(48);
    }
}

static void change_receiver(packet_t *packet)
{
    packet->to = (int) fuzz_below(RANKS);
    ((mca_osc_fastpath_hdr_t *) (void *) packet->bytes)->window = members[packet->to].id;
}

/* What has come before comes again. Packets are numbered, so nothing else changes. */
static void repeat(const packet_t *packet)
{
    const mca_osc_fastpath_hdr_t *hdr = (const void *) packet->bytes;

    if (MCA_OSC_FASTPATH_PACKET == hdr->type) {
        repeated = true;
    } else {
        damaged = true;
    }
    arrive(packet);
}

static void damage(packet_t *packet)
{
    const uint64_t how = fuzz_below(10);

    damaged = damaged || 1 < how;
    switch (how) {
    case 0:
        repeat(packet);
        break;
    case 1:
        if (0 < n_seen) {
            repeat(&seen[fuzz_below(n_seen < SEEN ? n_seen : SEEN)]);
        }
        break;
    case 2:
        change_length(packet);
        break;
    case 3:
        change_receiver(packet);
        break;
    case 4:
        change_kind(packet);
        break;
    default:
        for (uint64_t i = 1 + fuzz_below(2); 0 < i; i--) {
            change_bytes(packet);
        }
        break;
    }
}

/* What a BTL does with an address that damage has made is not looked at. */
static void write_one(void)
{
    const unsigned at = (unsigned) fuzz_below(n_writings);
    const writing_t writing = writings[at];
    const int status = fuzz_one_in(8) ? OPAL_ERROR : OPAL_SUCCESS;

    writings[at] = writings[--n_writings];
    if (scene_awaits(writing.to, writing.length)) {
        if (OPAL_SUCCESS == status) {
            memcpy((void *) (uintptr_t) writing.to, writing.from, writing.length);
        }
    } else if (!damaged) {
        fuzz_fail("%zu bytes are written where nobody waits for them", writing.length);
    }
    writing.done(&world_btl, NULL, writing.from, NULL, NULL, writing.data, status);
}

int case_put(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint, void *from, uint64_t to,
             mca_btl_base_registration_handle_t *handle, mca_btl_base_registration_handle_t *remote_handle,
             size_t length, int flags, int order, mca_btl_base_rdma_completion_fn_t done, void *context,
             void *data)
{
    (void) btl;
    (void) endpoint;
    (void) handle;
    (void) remote_handle;
    (void) flags;
    (void) order;
    (void) context;
    if (closed || TODO == n_writings || fuzz_one_in(8)) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    writings[n_writings++] =
        (writing_t){.from = from, .to = to, .length = length, .done = done, .data = data};
    if (fuzz_one_in(4)) {
        write_one();
    }
    return OMPI_SUCCESS;
}

void case_close(void)
{
    closed = true;
    while (0 < n_writings) {
        write_one();
    }
}

/* Mostly in order. */
bool case_deliver(void)
{
    unsigned at;
    packet_t packet;

    if (0 < n_writings && (0 == n_todo || fuzz_one_in(2))) {
        write_one();
        return true;
    }
    if (0 == n_todo) {
        return false;
    }
    at = fuzz_one_in(4) ? (unsigned) fuzz_below(n_todo) : 0;
    packet = todo[at];
    memmove(&todo[at], &todo[at + 1], (--n_todo - at) * sizeof(todo[0]));
    if (0 == damage_in--) {
        damage(&packet);
    }
    arrive(&packet);
    free(seen[n_seen % SEEN].bytes);
    seen[n_seen++ % SEEN] = packet;
    return true;
}

static void forget(void)
{
    while (0 < n_todo) {
        free(todo[--n_todo].bytes);
    }
    for (unsigned i = 0; i < SEEN; i++) {
        free(seen[i].bytes);
        seen[i].bytes = NULL;
    }
    n_seen = 0;
    damaged = repeated = reported = closed = false;
    damage_in = fuzz_one_in(10) ? -1 : (int) fuzz_below(16);
}

static void run(void)
{
    forget();
    world_begin();
    for (uint64_t i = 1 + fuzz_below(2); 0 < i; i--) {
        scene_epoch();
    }
    if (!damaged && fuzz_one_in(4)) {
        mail_case();
        help_case();
    }
    world_end();
    scene_end();
    if (reported) {
        fuzz_clean();
    }
}

static const fuzz_target_t osc = {.name = "osc/fastpath", .start = world_start, .run = run, .cases = 1000000};

int main(int argc, char **argv)
{
    return fuzz_main(argc, argv, &osc);
}
