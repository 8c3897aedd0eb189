/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* What the peers of fuzz_pml.c say: messages of their own, and answers to what they hear. Their handles are
 * numbers that say what they mean. */

#include "fuzz_pml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ompi/mca/pml/fastpath/pml_fastpath_comm.h"
#include "ompi/mca/pml/fastpath/pml_fastpath_multi.h"

enum { MOST = 16, FIRST_TAG = 100, PIECE = 200 };

/** Handles and addresses of the peers'. The lower half is an index, or for addresses a place. */
#define REQUEST_IN  UINT64_C(0x5100000000)
#define REQUEST_OUT UINT64_C(0x5200000000)
#define RDMA_OUT    UINT64_C(0x5300000000)
#define MEMORY(id)  (UINT64_C(0x6000000000) + ((uint64_t) (id) << 24))

message_t messages[MOST];
receive_t receives[MOST];
send_t sends[MOST];
unsigned n_messages, n_receives, n_sends;

static uint16_t last_seq[RANKS];
static uint32_t last_multi[RANKS];
static ompi_datatype_t *gappy;

void scene_forget(void)
{
    for (unsigned i = 0; i < n_receives; i++) {
        free(receives[i].buffer);
    }
    for (unsigned i = 0; i < n_sends; i++) {
        free(sends[i].buffer);
        free(sends[i].sink);
    }
    n_messages = n_receives = n_sends = 0;
    memset(last_seq, 0, sizeof(last_seq));
    memset(last_multi, 0, sizeof(last_multi));
    if (NULL == gappy) {
        ompi_datatype_create_resized(&ompi_mpi_byte.dt, 0, 2, &gappy);
        ompi_datatype_commit(&gappy);
    }
}

bool scene_get(uint64_t address, void *to, size_t size)
{
    for (unsigned i = 0; i < n_messages; i++) {
        const uint64_t offset = address - MEMORY(messages[i].id);

        if (address >= MEMORY(messages[i].id) && offset < 1 << 24) {
            for (size_t j = 0; j < size; j++) {
                ((uint8_t *) to)[j] = fuzz_byte(messages[i].id, offset + j);
            }
            return true;
        }
    }
    return false;
}

bool scene_put(uint64_t address, const void *from, size_t size)
{
    for (unsigned i = 0; i < n_sends; i++) {
        const uint64_t sink = (uint64_t) (uintptr_t) sends[i].sink;

        if (address >= sink && address - sink <= sends[i].size && size <= sends[i].size - (address - sink)) {
            memcpy((void *) (uintptr_t) address, from, size);
            return true;
        }
    }
    return false;
}

static size_t some_size(void)
{
    static const size_t most[] = {1, 24, 112, 241, 600, 3000, 12000};

    return fuzz_below(most[fuzz_below(sizeof(most) / sizeof(most[0]))]);
}

/* ---- messages of the peers' ---- */

static void match_hdr(mca_pml_fastpath_match_hdr_t *hdr, uint8_t type, const message_t *message)
{
    *hdr = (mca_pml_fastpath_match_hdr_t){.hdr_type = type,
                                          .hdr_flags = fuzz_one_in(4) ? MCA_PML_FASTPATH_HDR_FLAG_TELL : 0,
                                          .hdr_seq = message->seq,
                                          .hdr_ctx = mca_pml_fastpath_comm(world_comm)->ctx,
                                          .hdr_src = message->src,
                                          .hdr_tag = message->tag};
}

/* A message in eager fragments; a quarter of all packets overtakes others. */
static void say_multi(message_t *message)
{
    const opal_process_name_t name = world_procs[message->src]->super.proc_name;
    const uint64_t id = mca_pml_fastpath_multi_id(name, ++last_multi[message->src]);
    mca_pml_fastpath_multi_hdr_t first = {.hdr_rndv = {.hdr_length = message->length, .hdr_src_req = id},
                                          .hdr_name = name};
    uint64_t at = fuzz_below(message->length + 1);

    match_hdr(&first.hdr_rndv.hdr_match, MCA_PML_FASTPATH_HDR_MULTI, message);
    packet_add(MCA_PML_FASTPATH_HDR_MULTI, &first, sizeof(first), message, 0, at);
    while (at < message->length) {
        const mca_pml_fastpath_multi_frag_hdr_t hdr = {
            .hdr_type = MCA_PML_FASTPATH_HDR_MULTI_FRAG, .hdr_name = name, .hdr_id = id, .hdr_offset = at};
        uint64_t piece = 1 + fuzz_below(PIECE * 3);

        piece = piece < message->length - at ? piece : message->length - at;
        packet_add(MCA_PML_FASTPATH_HDR_MULTI_FRAG, &hdr, sizeof(hdr), message, at, piece);
        at += piece;
    }
}

static void say_message(message_t *message)
{
    static const uint8_t handle[16];
    mca_pml_fastpath_hdr_t hdr;
    uint8_t whole[sizeof(hdr.hdr_rget) + sizeof(handle)] = {0};

    memset(&hdr, 0, sizeof(hdr));
    if (message->length <= 240 && !fuzz_one_in(3)) {
        match_hdr(&hdr.hdr_match, MCA_PML_FASTPATH_HDR_MATCH, message);
        hdr.hdr_match.hdr_flags |= fuzz_one_in(4) ? MCA_PML_FASTPATH_HDR_FLAG_SYNC : 0;
        packet_add(MCA_PML_FASTPATH_HDR_MATCH, &hdr, sizeof(hdr.hdr_match), message, 0, message->length);
        return;
    }
    if (fuzz_one_in(3)) {
        say_multi(message);
        return;
    }
    hdr.hdr_rget.hdr_address = MEMORY(message->id);
    hdr.hdr_rndv.hdr_length = message->length;
    hdr.hdr_rndv.hdr_src_req = REQUEST_IN + message->id;
    if (0 < message->length && fuzz_one_in(3)) {
        match_hdr(&hdr.hdr_match, MCA_PML_FASTPATH_HDR_RGET, message);
        hdr.hdr_match.hdr_flags |= fuzz_one_in(2) ? MCA_PML_FASTPATH_HDR_FLAG_WAITS : 0;
        hdr.hdr_match.hdr_flags |= fuzz_one_in(3) ? MCA_PML_FASTPATH_HDR_FLAG_STREAM : 0;
        hdr.hdr_match.hdr_flags |= fuzz_one_in(3) ? MCA_PML_FASTPATH_HDR_FLAG_KERNEL : 0;
        memcpy(whole, &hdr.hdr_rget, sizeof(hdr.hdr_rget));
        packet_add(MCA_PML_FASTPATH_HDR_RGET, whole,
                   sizeof(hdr.hdr_rget) + (world_registers ? sizeof(handle) : 0), message, 0, 0);
    } else {
        size_t eager = fuzz_below((message->length < 100 ? message->length : 100) + 1);

        match_hdr(&hdr.hdr_match, MCA_PML_FASTPATH_HDR_RNDV, message);
        hdr.hdr_match.hdr_flags |= fuzz_one_in(3) ? 0 : MCA_PML_FASTPATH_HDR_FLAG_CONTIG;
        packet_add(MCA_PML_FASTPATH_HDR_RNDV, &hdr, sizeof(hdr.hdr_rndv), message, 0, eager);
    }
}

static void say_cancel(message_t *message)
{
    mca_pml_fastpath_cancel_hdr_t hdr = {.hdr_sequence = message->seq,
                                         .hdr_src_req = REQUEST_IN + message->id,
                                         .hdr_name = world_procs[message->src]->super.proc_name};

    message->cancelled = true;
    match_hdr(&hdr.hdr_match, MCA_PML_FASTPATH_HDR_CANCEL, message);
    packet_add(MCA_PML_FASTPATH_HDR_CANCEL, &hdr, sizeof(hdr), NULL, 0, 0);
}

static void post(message_t *message)
{
    receive_t *receive = &receives[n_receives++];

    receive->message = message;
    receive->tag = message->tag;
    receive->stride = fuzz_one_in(3) ? 2 : 1;
    receive->room = fuzz_one_in(4) ? some_size() : message->length + fuzz_below(10);
    receive->buffer = malloc(receive->room * receive->stride);
    memset(receive->buffer, 0xee, receive->room * receive->stride);
    if (OMPI_SUCCESS
        != mca_pml_fastpath_irecv(
            receive->buffer, receive->room, 1 == receive->stride ? &ompi_mpi_byte.dt : gappy,
            fuzz_one_in(3) ? MPI_ANY_SOURCE : message->src, message->tag, world_comm, &receive->request)) {
        fuzz_fail("no receive");
    }
}

static bool is_posted(const message_t *message)
{
    for (unsigned i = 0; i < n_receives; i++) {
        if (receives[i].message == message) {
            return true;
        }
    }
    return false;
}

void scene_post_late(void)
{
    for (unsigned i = 0; i < n_messages; i++) {
        if (!is_posted(&messages[i])) {
            post(&messages[i]);
        }
    }
}

static void scene_message(void)
{
    message_t *message = &messages[n_messages];

    memset(message, 0, sizeof(*message));
    message->id = 1 + n_messages++;
    message->src = 1 + (int) fuzz_below(RANKS - 1);
    message->tag = FIRST_TAG + (int) message->id;
    message->seq = ++last_seq[message->src];
    message->length = message->other_length = some_size();
    if (fuzz_one_in(2)) {
        post(message);
    }
    say_message(message);
    if (fuzz_one_in(10)) {
        say_cancel(message);
    }
}

/* ---- messages of ours ---- */

static void scene_send(void)
{
    send_t *send = &sends[n_sends];
    mca_pml_base_send_mode_t mode =
        fuzz_one_in(3) ? MCA_PML_BASE_SEND_SYNCHRONOUS : MCA_PML_BASE_SEND_STANDARD;

    send->id = 0x1000 + n_sends++;
    send->tag = FIRST_TAG + (int) send->id;
    send->size = some_size();
    send->buffer = malloc(send->size);
    send->sink = calloc(1, send->size + 1);
    send->request = NULL;
    for (size_t i = 0; i < send->size; i++) {
        send->buffer[i] = fuzz_byte(send->id, i);
    }
    if (OMPI_SUCCESS
        != mca_pml_fastpath_isend(send->buffer, send->size, &ompi_mpi_byte.dt,
                                  1 + (int) fuzz_below(RANKS - 1), send->tag, mode, world_comm,
                                  &send->request)) {
        fuzz_fail("no send");
    }
    if (fuzz_one_in(6)) {
        (void) ompi_request_cancel(send->request);
    }
}

static send_t *send_of(int tag)
{
    const unsigned i = (unsigned) tag - FIRST_TAG - 0x1000;

    return i < n_sends ? &sends[i] : NULL;
}

static bool is_data(const send_t *send, uint64_t offset, const uint8_t *data, size_t length)
{
    if (offset > send->size || length > send->size - offset) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        if (data[i] != fuzz_byte(send->id, offset + i)) {
            return false;
        }
    }
    return true;
}

static void check_data(const send_t *send, uint64_t offset, const uint8_t *data, size_t length)
{
    if (!is_data(send, offset, data, length)) {
        fuzz_fail("%zu bytes from %llu on of a message of %zu leave as others", length,
                  (unsigned long long) offset, send->size);
    }
}

/* Whose it is the receiver finds out, by the handle that it gave. */
static void check_frag(uint64_t offset, const uint8_t *data, size_t length)
{
    for (unsigned i = 0; i < n_sends; i++) {
        if (is_data(&sends[i], offset, data, length)) {
            return;
        }
    }
    fuzz_fail("%zu bytes leave, from %llu on, of no message", length, (unsigned long long) offset);
}

static void say_put(const send_t *send, uint64_t handle, uint8_t flags, uint64_t offset, uint64_t length,
                    uint64_t wanted)
{
    const mca_pml_fastpath_put_hdr_t hdr = {.hdr_type = MCA_PML_FASTPATH_HDR_PUT,
                                            .hdr_flags = flags,
                                            .hdr_handle_size = world_registers ? 16 : 0,
                                            .hdr_src_req = handle,
                                            .hdr_dst_req = REQUEST_OUT + send->id,
                                            .hdr_rdma = RDMA_OUT + send->id,
                                            .hdr_address = (uint64_t) (uintptr_t) send->sink + offset,
                                            .hdr_offset = offset,
                                            .hdr_length = length,
                                            .hdr_wanted = wanted};
    uint8_t whole[sizeof(hdr) + 16] = {0};

    memcpy(whole, &hdr, sizeof(hdr));
    packet_add(MCA_PML_FASTPATH_HDR_PUT, whole, sizeof(hdr) + hdr.hdr_handle_size, NULL, 0, 0);
}

static void say_ack(const send_t *send, uint64_t handle, uint8_t flags, uint64_t offset, uint64_t length,
                    uint64_t wanted)
{
    const mca_pml_fastpath_ack_hdr_t hdr = {.hdr_type = MCA_PML_FASTPATH_HDR_ACK,
                                            .hdr_flags = flags,
                                            .hdr_src_req = handle,
                                            .hdr_dst_req = REQUEST_OUT + send->id,
                                            .hdr_offset = offset,
                                            .hdr_length = length,
                                            .hdr_wanted = wanted};

    packet_add(MCA_PML_FASTPATH_HDR_ACK, &hdr, sizeof(hdr), NULL, 0, 0);
}

/* Ask for the rest of a message, or for a part of it, in some pieces. */
static void ask(const send_t *send, uint64_t handle, uint64_t eager, bool put)
{
    uint64_t wanted = send->size - eager, at = eager, end;
    uint8_t flags = MCA_PML_FASTPATH_HDR_FLAG_FIRST;

    wanted = fuzz_one_in(4) ? fuzz_below(wanted + 1) : wanted;
    end = eager + wanted;
    do {
        const uint64_t length = end == at || fuzz_one_in(2) ? end - at : 1 + fuzz_below(end - at);

        if (put && 0 < length && fuzz_one_in(2)) {
            say_put(send, handle, flags, at, length, wanted);
        } else {
            say_ack(send, handle, flags, at, length, wanted);
        }
        flags = 0;
        at += length;
    } while (at < end);
}

static void say_done(uint8_t type, uint8_t flags, uint64_t id)
{
    const mca_pml_fastpath_done_hdr_t hdr = {.hdr_type = type, .hdr_flags = flags, .hdr_id = id};

    packet_add(type, &hdr, sizeof(hdr), NULL, 0, 0);
}

static void heard_rndv(const send_t *send, const mca_pml_fastpath_hdr_t *hdr, size_t length)
{
    const size_t hdr_size = sizeof(hdr->hdr_rndv);

    check_data(send, 0, (const uint8_t *) hdr + hdr_size, length - hdr_size);
    ask(send, hdr->hdr_rndv.hdr_src_req, length - hdr_size,
        0 != (MCA_PML_FASTPATH_HDR_FLAG_CONTIG & hdr->hdr_match.hdr_flags));
}

static void say_help(const send_t *send, uint64_t handle, uint64_t offset)
{
    const mca_pml_fastpath_help_hdr_t hdr = {.hdr_type = MCA_PML_FASTPATH_HDR_HELP,
                                             .hdr_src_req = handle,
                                             .hdr_dst_req = REQUEST_OUT + send->id,
                                             .hdr_address = (uint64_t) (uintptr_t) send->sink + offset,
                                             .hdr_offset = offset,
                                             .hdr_length = send->size - offset};

    packet_add(MCA_PML_FASTPATH_HDR_HELP, &hdr, sizeof(hdr), NULL, 0, 0);
}

/* Read the first bytes, have the others written, and what cannot be read streamed. The answer may overtake
 * HELP. */
static void share(const send_t *send, uint64_t handle)
{
    const uint64_t own = fuzz_below(send->size), unread = fuzz_one_in(3) ? fuzz_below(own + 1) : own;
    const bool first = fuzz_one_in(2);

    if (first) {
        say_help(send, handle, own);
    }
    if (unread == own) {
        say_done(MCA_PML_FASTPATH_HDR_GET_DONE, MCA_PML_FASTPATH_HDR_FLAG_HELP, handle);
    } else {
        say_ack(send, handle, MCA_PML_FASTPATH_HDR_FLAG_FIRST | MCA_PML_FASTPATH_HDR_FLAG_HELP, unread,
                own - unread, own - unread);
    }
    if (!first) {
        say_help(send, handle, own);
    }
}

static void heard_rget(const send_t *send, const mca_pml_fastpath_hdr_t *hdr)
{
    check_data(send, 0, (const uint8_t *) (uintptr_t) hdr->hdr_rget.hdr_address, send->size);
    if (0 != (MCA_PML_FASTPATH_HDR_FLAG_WAITS & hdr->hdr_match.hdr_flags) && fuzz_one_in(2)) {
        share(send, hdr->hdr_rndv.hdr_src_req);
    } else if (fuzz_one_in(3)) {
        ask(send, hdr->hdr_rndv.hdr_src_req, 0, false);
    } else {
        say_done(MCA_PML_FASTPATH_HDR_GET_DONE, 0, hdr->hdr_rndv.hdr_src_req);
    }
}

/* ---- answers to the peers' messages ---- */

static message_t *message_of(uint64_t request)
{
    const uint64_t i = request - REQUEST_IN - 1;

    return request > REQUEST_IN && i < n_messages ? &messages[i] : NULL;
}

static void say_frags(message_t *message, uint64_t dst_req, uint64_t offset, uint64_t length)
{
    while (0 < length) {
        const mca_pml_fastpath_frag_hdr_t hdr = {
            .hdr_type = MCA_PML_FASTPATH_HDR_FRAG, .hdr_dst_req = dst_req, .hdr_offset = offset};
        uint64_t piece = 1 + fuzz_below(PIECE * 3);

        piece = piece < length ? piece : length;
        packet_add(MCA_PML_FASTPATH_HDR_FRAG, &hdr, sizeof(hdr), message, offset, piece);
        offset += piece;
        length -= piece;
    }
}

/* A real sender would end the job as well, already where its message ends. A length that has been damaged may
 * say any number, and receivers of data with gaps ask for all of it. */
static message_t *named_or_end(uint64_t request, uint64_t offset, uint64_t length)
{
    message_t *message = message_of(request);

    if (NULL == message || offset + length > (uint64_t) 1 << 16) {
        fuzz_clean();
    }
    return message;
}

static void heard_put(const mca_pml_fastpath_put_hdr_t *hdr)
{
    message_t *message = named_or_end(hdr->hdr_src_req, hdr->hdr_offset, hdr->hdr_length);

    if (fuzz_one_in(6)) {
        say_done(MCA_PML_FASTPATH_HDR_PUT_DONE, MCA_PML_FASTPATH_HDR_FLAG_FAILED, hdr->hdr_rdma);
        say_frags(message, hdr->hdr_dst_req, hdr->hdr_offset, hdr->hdr_length);
        return;
    }
    for (uint64_t i = 0; i < hdr->hdr_length; i++) {
        ((uint8_t *) (uintptr_t) hdr->hdr_address)[i] = fuzz_byte(message->id, hdr->hdr_offset + i);
    }
    say_done(MCA_PML_FASTPATH_HDR_PUT_DONE, 0, hdr->hdr_rdma);
}

static void heard_help(const mca_pml_fastpath_help_hdr_t *hdr)
{
    message_t *message = named_or_end(hdr->hdr_src_req, hdr->hdr_offset, hdr->hdr_length);

    if (fuzz_one_in(4)) {
        say_done(MCA_PML_FASTPATH_HDR_HELPED, MCA_PML_FASTPATH_HDR_FLAG_FAILED, hdr->hdr_dst_req);
        say_frags(message, hdr->hdr_dst_req, hdr->hdr_offset, hdr->hdr_length);
        return;
    }
    for (uint64_t i = 0; i < hdr->hdr_length; i++) {
        ((uint8_t *) (uintptr_t) hdr->hdr_address)[i] = fuzz_byte(message->id, hdr->hdr_offset + i);
    }
    say_done(MCA_PML_FASTPATH_HDR_HELPED, 0, hdr->hdr_dst_req);
}

/* A receive has matched a synchronous message. */
static void say_matched(int peer, const mca_pml_fastpath_match_hdr_t *message)
{
    const mca_pml_fastpath_match_hdr_t hdr = {.hdr_type = MCA_PML_FASTPATH_HDR_MATCHED,
                                              .hdr_seq = message->hdr_seq,
                                              .hdr_ctx = message->hdr_ctx,
                                              .hdr_src = peer,
                                              .hdr_tag = message->hdr_seq};

    packet_add(MCA_PML_FASTPATH_HDR_MATCHED, &hdr, sizeof(hdr), NULL, 0, 0);
}

void scene_heard(int peer, uint8_t type, const void *bytes, size_t length)
{
    const mca_pml_fastpath_hdr_t *hdr = bytes;
    const send_t *send = send_of(hdr->hdr_match.hdr_tag);

    if (NULL != getenv("FP_FUZZ_VERBOSE")) {
        fprintf(stderr, "# to process %d: type %d, %zu bytes\n", peer, type, length);
    }
    fuzz_learn(bytes, length < sizeof(*hdr) ? length : sizeof(*hdr));
    if (MCA_PML_FASTPATH_HDR_MATCH == type) {
        check_data(send, 0, (const uint8_t *) bytes + sizeof(hdr->hdr_match),
                   length - sizeof(hdr->hdr_match));
        if (0 != (MCA_PML_FASTPATH_HDR_FLAG_SYNC & hdr->hdr_match.hdr_flags)) {
            say_matched(peer, &hdr->hdr_match);
        }
    } else if (MCA_PML_FASTPATH_HDR_RNDV == type) {
        heard_rndv(send, hdr, length);
    } else if (MCA_PML_FASTPATH_HDR_RGET == type) {
        heard_rget(send, hdr);
    } else if (MCA_PML_FASTPATH_HDR_FRAG == type) {
        check_frag(hdr->hdr_frag.hdr_offset, (const uint8_t *) bytes + sizeof(hdr->hdr_frag),
                   length - sizeof(hdr->hdr_frag));
    } else if (MCA_PML_FASTPATH_HDR_MULTI == type) {
        check_data(send, 0, (const uint8_t *) bytes + sizeof(hdr->hdr_multi),
                   length - sizeof(hdr->hdr_multi));
    } else if (MCA_PML_FASTPATH_HDR_MULTI_FRAG == type) {
        check_frag(hdr->hdr_multi_frag.hdr_offset, (const uint8_t *) bytes + sizeof(hdr->hdr_multi_frag),
                   length - sizeof(hdr->hdr_multi_frag));
    } else if (MCA_PML_FASTPATH_HDR_CANCEL == type) {
        say_done(MCA_PML_FASTPATH_HDR_CANCELLED, 0, hdr->hdr_cancel.hdr_src_req);
    } else if (MCA_PML_FASTPATH_HDR_ACK == type) {
        say_frags(named_or_end(hdr->hdr_ack.hdr_src_req, hdr->hdr_ack.hdr_offset, hdr->hdr_ack.hdr_length),
                  hdr->hdr_ack.hdr_dst_req, hdr->hdr_ack.hdr_offset, hdr->hdr_ack.hdr_length);
    } else if (MCA_PML_FASTPATH_HDR_PUT == type) {
        heard_put(&hdr->hdr_put);
    } else if (MCA_PML_FASTPATH_HDR_HELP == type) {
        heard_help(&hdr->hdr_help);
    }
}

/* ---- the rest ---- */

bool scene_is_foreign(uint8_t type, const void *bytes)
{
    const mca_pml_fastpath_hdr_t *hdr = bytes;

    return MCA_PML_FASTPATH_HDR_PASSED == type && 1 == hdr->hdr_match.hdr_src
           && 0 != opal_compare_proc(hdr->hdr_passed.hdr_name, world_procs[1]->super.proc_name);
}

uint32_t scene_passed(void)
{
    const mca_pml_fastpath_member_t *member = mca_pml_fastpath_comm(world_comm)->members[1];

    return NULL == member ? 0 : member->passed;
}

static void scene_control(void)
{
    mca_pml_fastpath_credit_hdr_t credit = {.hdr_type = MCA_PML_FASTPATH_HDR_CREDIT,
                                            .hdr_name = world_procs[1]->super.proc_name,
                                            .hdr_bytes = 1 + fuzz_below(1000)};
    mca_pml_fastpath_leave_hdr_t leave = {.hdr_type = MCA_PML_FASTPATH_HDR_LEAVE,
                                          .hdr_name = {.jobid = 77, .vpid = 1}};
    mca_pml_fastpath_known_hdr_t known = {.hdr_type = MCA_PML_FASTPATH_HDR_KNOWN,
                                          .hdr_src = 1,
                                          .hdr_ctx = MCA_PML_FASTPATH_CTX_OWN + 1,
                                          .hdr_their_ctx = MCA_PML_FASTPATH_CTX_OWN + 1};
    mca_pml_fastpath_passed_hdr_t passed = {.hdr_match = {.hdr_type = MCA_PML_FASTPATH_HDR_PASSED,
                                                          .hdr_seq = (uint16_t) fuzz_below(4),
                                                          .hdr_ctx = mca_pml_fastpath_comm(world_comm)->ctx,
                                                          .hdr_src = 0 == fuzz_below(4) ? -1 : 1},
                                            .hdr_name = world_procs[1]->super.proc_name};

    if (fuzz_one_in(4)) { /* of a communicator that had the same id, in which rank 1 was another process */
        passed.hdr_name = world_procs[2]->super.proc_name;
    }
    switch (fuzz_below(4)) {
    case 0:
        packet_add(MCA_PML_FASTPATH_HDR_CREDIT, &credit, sizeof(credit), NULL, 0, 0);
        break;
    case 1:
        packet_add(MCA_PML_FASTPATH_HDR_LEAVE, &leave, sizeof(leave), NULL, 0, 0);
        break;
    case 2:
        packet_add(MCA_PML_FASTPATH_HDR_PASSED, &passed, sizeof(passed), NULL, 0, 0);
        break;
    default:
        packet_add(MCA_PML_FASTPATH_HDR_KNOWN, &known, sizeof(known), NULL, 0, 0);
        break;
    }
}

void scene_any(void)
{
    if (MOST == n_messages || MOST == n_sends) {
        return;
    }
    switch (fuzz_below(7)) {
    case 0:
        scene_control();
        break;
    case 1:
    case 2:
        scene_send();
        break;
    default:
        scene_message();
        break;
    }
}
