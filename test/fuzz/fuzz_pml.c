/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* pml/fastpath in a process of its own, in a communicator of three. The other two are played here, on a BTL
 * that is played as well: what the PML sends is looked at and answered, and every message to it may be
 * damaged.
 *
 * A case is some messages in both directions, of all protocols. In most cases one packet is damaged. Then
 *   - the PML says "corrupt message" and ends the job, or
 *   - every receive that completes has a message that was sent, in full, once, with the right status, and
 *     every piece of our messages that leaves has the right data.
 * Without damage everything has to complete. What a process tells of another's messages never counts. */

#include "fuzz_pml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TODO = 1024, SEEN = 128 };

/* Packets that valid peers would send now, and those that have been. */
static packet_t *todo[TODO], *seen[SEEN];
static unsigned n_todo, n_seen;
static int damage_in; /* packets until one is damaged; -1: none is */
static bool damaged, anything;

bool world_is_damaged(void)
{
    return damaged;
}

packet_t *packet_add(uint8_t type, const void *hdr, size_t hdr_size, message_t *message, uint64_t offset,
                     size_t length)
{
    packet_t *packet = malloc(sizeof(*packet) + hdr_size + length + MORE);

    packet->type = type;
    packet->hdr_size = hdr_size;
    packet->length = hdr_size + length;
    packet->message = message;
    memcpy(packet->bytes, hdr, hdr_size);
    for (size_t i = 0; i < length + MORE; i++) {
        packet->bytes[hdr_size + i] = NULL == message ? 0 : fuzz_byte(message->id, offset + i);
    }
    if (TODO == n_todo) {
        fuzz_fail("too much to send");
    }
    todo[n_todo++] = packet;
    fuzz_learn(packet->bytes, hdr_size);
    return packet;
}

/* What the PML leaves where it is arrives again: it leaves something only where receives look for that. There
 * is nothing that they could see here, so they do not. The header is in the first piece. */
static void arrive(const packet_t *packet)
{
    mca_pml_fastpath.use_immediate_recv = true;
    do {
        world_handed.choice = (mca_btl_fastsm_choice_t) fuzz_below(MCA_BTL_FASTSM_MAY_STAY + 1);
        world_handed.answer = MCA_BTL_FASTSM_TAKEN;
        world_arrive((mca_btl_base_tag_t) (MCA_BTL_TAG_PML + packet->type), packet->bytes, packet->length,
                     packet->hdr_size);
        if (MCA_BTL_FASTSM_TAKEN != world_handed.answer
            && (MCA_PML_FASTPATH_HDR_MATCH != packet->type
                || MCA_BTL_FASTSM_MUST_TAKE == world_handed.choice)) {
            fuzz_fail("it has no choice with this message");
        }
    } while (MCA_BTL_FASTSM_LEFT == world_handed.answer);
    mca_pml_fastpath.use_immediate_recv = false;
}

static void deliver(const packet_t *packet)
{
    const uint32_t passed = scene_passed();

    if (NULL != getenv("FP_FUZZ_VERBOSE")) {
        fprintf(stderr, "# to the PML: type %d, %zu bytes\n", packet->type, packet->length);
    }
    arrive(packet);
    if (scene_is_foreign(packet->type, packet->bytes) && passed != scene_passed()) {
        fuzz_fail("a PASSED of another process counts for rank 1");
    }
}

/* What a message that has been damaged would be, if it were meant. */
static void may_be(packet_t *packet, const packet_t *before)
{
    const mca_pml_fastpath_hdr_t *hdr = (const void *) packet->bytes, *was = (const void *) before->bytes;
    message_t *message = packet->message;

    if (MCA_PML_FASTPATH_HDR_PUT_DONE == before->type || MCA_PML_FASTPATH_HDR_HELPED == before->type
        || packet->type != before->type) {
        anything = true; /* that a PUT was done, or a HELP; that it was another packet */
    }
    if (NULL == message || packet->type != before->type) {
        return;
    }
    message->damaged = true;
    if (MCA_PML_FASTPATH_HDR_MATCH == packet->type) {
        message->other_length = packet->length - sizeof(hdr->hdr_match);
    } else if (MCA_PML_FASTPATH_HDR_MULTI == packet->type) {
        message->other_length = hdr->hdr_rndv.hdr_length;
    } else if (MCA_PML_FASTPATH_HDR_RNDV == packet->type || MCA_PML_FASTPATH_HDR_RGET == packet->type) {
        message->other_length = hdr->hdr_rndv.hdr_length;
        anything = anything || 0 != memcmp(&hdr->hdr_rndv.hdr_src_req, &was->hdr_rndv.hdr_src_req, 8)
                   || (MCA_PML_FASTPATH_HDR_RGET == packet->type
                       && hdr->hdr_rget.hdr_address != was->hdr_rget.hdr_address);
    }
}

static packet_t *copy_of(const packet_t *packet)
{
    const size_t size =
        sizeof(*packet) + (packet->length > packet->hdr_size ? packet->length : packet->hdr_size);
    packet_t *copy = malloc(size + MORE);

    memcpy(copy, packet, size);
    return copy;
}

static void damage(packet_t *packet)
{
    packet_t *before = copy_of(packet);

    damaged = true;
    switch (fuzz_below(8)) {
    case 0:
        packet->length = fuzz_length(packet->length, MORE - 8);
        break;
    case 1:
        packet->type = (uint8_t) (1 + fuzz_below(MCA_PML_FASTPATH_HDR_MAX - 1));
        if (fuzz_one_in(2)) {
            packet->bytes[0] = packet->type;
        }
        break;
    case 2:
        deliver(packet); /* twice */
        break;
    case 3:
        if (0 < n_seen) { /* an old one before it */
            deliver(seen[fuzz_below(n_seen < SEEN ? n_seen : SEEN)]);
        }
        break;
    default:
        for (uint64_t i = 1 + fuzz_below(2); 0 < i; i--) {
            fuzz_change(packet->bytes, packet->hdr_size);
        }
        break;
    }
    may_be(packet, before);
    free(before);
}

static packet_t *take(void)
{
    const unsigned at = fuzz_one_in(4) ? (unsigned) fuzz_below(n_todo) : 0;
    packet_t *packet = todo[at];

    memmove(&todo[at], &todo[at + 1], (--n_todo - at) * sizeof(todo[0]));
    return packet;
}

/* Everything that valid peers have to say, and one thing that they have not. */
static void exchange(void)
{
    while (0 < n_todo) {
        packet_t *packet = take();

        if (0 == damage_in--) {
            damage(packet);
        }
        deliver(packet);
        free(seen[n_seen % SEEN]);
        seen[n_seen++ % SEEN] = packet;
    }
}

static void forget(void)
{
    while (0 < n_todo) {
        free(todo[--n_todo]);
    }
    for (unsigned i = 0; i < SEEN; i++) {
        free(seen[i]);
        seen[i] = NULL;
    }
    n_seen = 0;
    damaged = anything = false;
    damage_in = fuzz_one_in(10) ? -1 : (int) fuzz_below(8);
}

static bool is_content(const receive_t *receive, const message_t *message, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (receive->buffer[i * receive->stride] != fuzz_byte(message->id, i)) {
            return false;
        }
    }
    return true;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Could this be what the receive has got? */
static bool fits(const receive_t *receive, const message_t *message, const ompi_status_public_t *status)
{
    const size_t count = status->_ucount, room = receive->room;
    const bool exact = status->MPI_TAG == message->tag && status->MPI_SOURCE == message->src;

    if (message->received || (!message->damaged && !exact) || !is_content(receive, message, count)) {
        return false;
    }
    if (message->damaged && count == least(room, message->other_length)) {
        return (message->other_length > room) == (MPI_ERR_TRUNCATE == status->MPI_ERROR);
    }
    return count == least(room, message->length)
           && (message->length > room) == (MPI_ERR_TRUNCATE == status->MPI_ERROR);
}

static void check_received(receive_t *receive)
{
    const ompi_status_public_t *status = &receive->request->req_status;

    for (size_t i = 0; 2 == receive->stride && i < receive->room; i++) {
        if (0xee != receive->buffer[2 * i + 1]) {
            fuzz_fail("a receive wrote into the gap behind element %zu", i);
        }
    }
    for (unsigned i = 0; i < 2 * n_messages; i++) { /* first that with its tag: short ones may look alike */
        message_t *message = &messages[i % n_messages];

        if ((n_messages <= i || status->MPI_TAG == message->tag) && fits(receive, message, status)) {
            message->received = true;
            return;
        }
    }
    if (!anything) {
        fuzz_fail("a receive of tag %d, %zu bytes, completed with what nobody has sent: source %d, tag %d, "
                  "%zu bytes, error %d",
                  receive->tag, receive->room, status->MPI_SOURCE, status->MPI_TAG, status->_ucount,
                  status->MPI_ERROR);
    }
    anything = false; /* once */
}

static void check(void)
{
    for (unsigned i = 0; i < n_receives; i++) {
        if (REQUEST_COMPLETE(receives[i].request) && !receives[i].request->req_status._cancelled) {
            check_received(&receives[i]);
        } else if (!damaged && !receives[i].message->cancelled) {
            fuzz_fail("a receive of tag %d does not complete", receives[i].tag);
        }
    }
    for (unsigned i = 0; i < n_sends && !damaged; i++) {
        if (!REQUEST_COMPLETE(sends[i].request)) {
            fuzz_fail("a send of %zu bytes does not complete", sends[i].size);
        }
    }
}

static void run(void)
{
    forget();
    world_begin();
    for (uint64_t i = 1 + fuzz_below(4); 0 < i; i--) {
        scene_any();
    }
    exchange();
    scene_post_late();
    exchange();
    check();
    world_end();
}

static const fuzz_target_t pml = {.name = "pml/fastpath", .start = world_start, .run = run};

int main(int argc, char **argv)
{
    return fuzz_main(argc, argv, &pml);
}
