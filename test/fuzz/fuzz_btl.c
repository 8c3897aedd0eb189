/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* btl/fastsm in a process of its own, whose segment and those of its peers are private memory: nothing but
 * what ends in a segment lies within reach, and sanitizers see what lies beyond. Three peers are played here,
 * two of the job and one of another: they send messages of all kinds with the BTL's own functions, and then
 * something is written over, as a peer could: slots, references, the ring, doorbells, positions, answers to
 * questions.
 *
 * The BTL then reports damage, or every message of the peers that are undamaged comes, in order and as it was
 * sent, and whatever else is delivered lies where a message may lie. In some cases another thread changes a
 * slot's header again and again while it is read. */

#include "opal_config.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opal/mca/btl/base/base.h"

#include "opal/mca/btl/fastsm/btl_fastsm.h"
#include "opal/mca/btl/fastsm/btl_fastsm_deep.h"
#include "opal/mca/btl/fastsm/btl_fastsm_dynamic.h"
#include "opal/mca/btl/fastsm/btl_fastsm_endpoint.h"
#include "opal/mca/btl/fastsm/btl_fastsm_move.h"
#include "opal/mca/btl/fastsm/btl_fastsm_peek.h"
#include "opal/mca/btl/fastsm/btl_fastsm_peers.h"
#include "opal/mca/btl/fastsm/btl_fastsm_progress.h"

#include "fuzz.h"

enum { ME, FIRST, SECOND, LATE, PEERS, TAG = 200, MOST = 64, LATE_INDEX = 1 };
enum {
    HEADER = MCA_BTL_FASTSM_HEADER_BYTES,
    CHUNK = 448,
    EAGER = CHUNK + 64,
    BUFFERS = 16,
    MOST_CHUNKS = 6,
    WIDEST = 3
};
enum { MOST_IN_ONE = 401, MOST_BYTES = HEADER + MOST_CHUNKS * CHUNK };

/* A message that is on its way. */
typedef struct {
    uint32_t id;
    size_t length;
} sent_t;

/* The message whose chunks are on their way. */
typedef struct {
    uint32_t id;
    size_t length; /* bytes; 0: there is none */
    size_t done;   /* bytes that have been sent */
    uint32_t count, next;
    uint32_t widths[MOST_CHUNKS]; /* buffers of each */
} chunks_t;

/* A peer, and how it sends. */
typedef struct {
    mca_btl_fastsm_endpoint_t *endpoint;
    char *segment;
    fastsm_fifo_sender_t out;
    fastsm_ring_sender_t ring;
    uint32_t n_buffers;
    chunks_t chunks;
    sent_t sent[MOST];
    uint32_t first, end; /* of those that have not come */
    bool damaged;
} peer_t;

static peer_t peers[PEERS];
static mca_btl_fastsm_layout_t layout;
static mca_btl_fastsm_dynamic_t *dynamic;
static mca_btl_fastsm_slot_t *last_slot; /* that somebody has filled */
static uint32_t last_id;
static unsigned sum; /* of all bytes that are of no known message, so that they are read */

/* ---- what the BTL must not do itself here ---- */

void __wrap_mca_btl_fastsm_corrupt(mca_btl_fastsm_endpoint_t *endpoint, const char *what,
                                   unsigned long value);
void __wrap_mca_btl_fastsm_fatal(opal_proc_t *proc, char *info);

void __wrap_mca_btl_fastsm_corrupt(mca_btl_fastsm_endpoint_t *endpoint, const char *what, unsigned long value)
{
    for (int i = FIRST; i < PEERS; i++) {
        if (endpoint == peers[i].endpoint && !peers[i].damaged) {
            fuzz_fail("peer %d has done nothing, but is reported: %s %lu", i, what, value);
        }
    }
    if (!endpoint->connected) {
        fuzz_fail("damage is reported of a peer that nothing is read of any more: %s %lu", what, value);
    }
    if (fuzz_one_in(2)) {
        fuzz_clean();
    }
    endpoint->connected = endpoint->readable = false; /* the job goes on without it */
}

void __wrap_mca_btl_fastsm_fatal(opal_proc_t *proc, char *info)
{
    (void) proc;
    fuzz_fail("the job ends: %s", info);
}

/* ---- the layer above ---- */

/* Whose next message is this? */
static void take(const uint8_t *data, size_t length)
{
    for (int i = FIRST; i < PEERS; i++) {
        const sent_t *next = &peers[i].sent[peers[i].first % MOST];
        bool same = peers[i].first != peers[i].end && next->length == length;

        for (size_t j = 0; same && j < length; j++) {
            same = data[j] == fuzz_byte(next->id, j);
        }
        if (same) {
            ++peers[i].first;
            return;
        }
    }
    for (size_t j = 0; j < length; j++) {
        sum += data[j];
    }
    for (int i = FIRST; i < PEERS; i++) {
        if (peers[i].damaged) {
            return;
        }
    }
    fuzz_fail("%zu bytes come that nobody has sent", length);
}

/* What lies in our own segment is one slot's. */
static void check_place(const char *data, size_t length)
{
    const char *base = mca_btl_fastsm_component.base;

    if (base <= data && data < base + layout.total && length > MCA_BTL_FASTSM_HEAD_DATA) {
        fuzz_fail("%zu bytes are delivered from a slot", length);
    }
}

static void arrived(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag, mca_btl_base_descriptor_t *descriptor,
                    void *cbdata)
{
    static uint8_t data[MCA_BTL_FASTSM_CHUNKS_MAX * CHUNK + HEADER];
    const mca_btl_base_segment_t *segments = descriptor->des_segments;
    size_t length = 0;

    (void) btl;
    (void) tag;
    (void) cbdata;
    for (size_t i = 0; i < descriptor->des_segment_count; i++) {
        check_place(segments[i].seg_addr.pval, segments[i].seg_len);
        if (1 < descriptor->des_segment_count) {
            if (length + segments[i].seg_len > sizeof(data)) {
                fuzz_fail("a message in chunks of more than %zu bytes", sizeof(data));
            }
            memcpy(data + length, segments[i].seg_addr.pval, segments[i].seg_len);
            length += segments[i].seg_len;
        }
    }
    if (1 < descriptor->des_segment_count) {
        take(data, length);
    } else {
        take(segments->seg_addr.pval, segments->seg_len);
    }
}

static void error(mca_btl_base_module_t *btl, int32_t flags, opal_proc_t *proc, char *info)
{
    (void) btl;
    (void) flags;
    (void) proc;
    fuzz_fail("the error callback: %s", info);
}

/* ---- the process ---- */

static char *segment(void)
{
    char *memory = aligned_alloc(4096, (layout.total + 4095) / 4096 * 4096);

    return memory;
}

static void start(int *argc, char ***argv)
{
    mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;
    const mca_btl_fastsm_layout_params_t params = {.n_local = LATE,
                                                   .fifo_depth = 16,
                                                   .bell_stride = 1,
                                                   .position_stride = 8,
                                                   .eager_count = BUFFERS,
                                                   .eager_size = EAGER,
                                                   .max_count = 1,
                                                   .max_size = 1024,
                                                   .ring_depth = 16,
                                                   .dynamic_peers = 4,
                                                   .deep_fifos = 2,
                                                   .deep_fifo_depth = 32};

    (void) argc;
    (void) argv;
    opal_init_util(argc, argv);
    if (0 != mca_btl_fastsm_layout(&params, &layout)) {
        fuzz_fail("no layout");
    }
    component->layout = layout;
    component->n_local = LATE;
    component->dynamic_peers = params.dynamic_peers;
    component->poll_max = 8;
    component->deep_fifo_after = 8;
    component->inline_slots = 8;
    component->me.local_index = ME;
    component->base = segment();
    mca_btl_fastsm_module.error_cb = error;
    mca_btl_base_active_message_trigger[TAG].cbfunc = arrived;
    for (int i = FIRST; i < PEERS; i++) {
        peers[i].segment = segment();
    }
}

static void describe(mca_btl_fastsm_endpoint_t *endpoint, char *base)
{
    endpoint->base = base;
    endpoint->size = layout.total;
    endpoint->layout = layout;
    endpoint->pid = 1;
    endpoint->connected = true;
    endpoint->move.limit = 4;
}

static void begin_dynamic(void)
{
    mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;
    mca_btl_fastsm_admission_t *admission =
        (mca_btl_fastsm_admission_t *) (component->base
                                        + mca_btl_fastsm_layout_admission(&layout, LATE_INDEX));
    const uint8_t nonce[MCA_BTL_FASTSM_NONCE_SIZE] = {7};

    dynamic = OBJ_NEW(mca_btl_fastsm_dynamic_t);
    mca_btl_fastsm_endpoint_construct(&dynamic->endpoint, LATE);
    mca_btl_fastsm_read_nothing(&dynamic->endpoint);
    dynamic->endpoint.dynamic = dynamic;
    dynamic->admission = fastsm_admission_id(LATE_INDEX, 1);
    dynamic->pieces_length = 0;
    dynamic->parted = dynamic->gone = false;
    describe(&dynamic->endpoint, peers[LATE].segment);
    peers[LATE].endpoint = &dynamic->endpoint;
    opal_list_append(&component->dynamic_list, &dynamic->super);
    component->admitted[LATE_INDEX].generation = 1;
    atomic_store(&component->admitted[LATE_INDEX].peer, dynamic);
    component->n_dynamic = 1;
    component->deferred = 1;
    fastsm_admission_admit(admission, nonce, dynamic->admission);
    fastsm_ring_sender_init(&dynamic->ring, dynamic->endpoint.base, &layout);
    fastsm_ring_sender_init(&peers[LATE].ring, component->base, &layout);
}

/* As after so many laps. */
static void begin_local(int i, uint32_t position)
{
    mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;
    peer_t *peer = &peers[i];

    peer->endpoint = &component->peers[i];
    describe(peer->endpoint, peer->segment);
    fastsm_fifo_sender_init(&peer->out, component->base, &layout, (uint32_t) i);
    peer->out.write_pos = peer->out.read_pos = peer->endpoint->in.read_pos = position;
    fastsm_store_read_pos(peer->out.shared_read_pos, position);
    atomic_store(peer->endpoint->in.expected, (uint8_t) position);
    fastsm_store_bell(peer->out.bell, (uint8_t) position);
    for (uint32_t j = 2; 0 != position && j <= peer->out.depth; j += 2) {
        fastsm_store_other_sequence(fastsm_fifo_slot(peer->out.slots, peer->out.depth, position - j),
                                    position - j + 1);
    }
    fastsm_fifo_sender_init(&peer->endpoint->out, peer->segment, &layout, ME);
    mca_btl_fastsm_list_peer(peer->endpoint);
}

static void begin(void)
{
    mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;

    free(component->peers);
    free((void *) component->bell_expected);
    free(component->admitted);
    free(component->deep);
    memset(component->base, 0, layout.total);
    OBJ_CONSTRUCT(&component->lock, opal_mutex_t);
    OBJ_CONSTRUCT(&component->dynamic_lock, opal_mutex_t);
    OBJ_CONSTRUCT(&component->active, opal_list_t);
    OBJ_CONSTRUCT(&component->done, opal_list_t);
    OBJ_CONSTRUCT(&component->dynamic_list, opal_list_t);
    component->n_connected = component->bells_skipped = 0;
    atomic_store(&component->n_recent, 0);
    if (OPAL_SUCCESS != mca_btl_fastsm_endpoints_init() || OPAL_SUCCESS != mca_btl_fastsm_deep_init()
        || OPAL_SUCCESS != mca_btl_fastsm_dynamic_init()) {
        fuzz_fail("no memory");
    }
    for (int i = FIRST; i < PEERS; i++) {
        memset(peers[i].segment, 0, layout.total);
        peers[i].first = peers[i].end = peers[i].n_buffers = 0;
        peers[i].damaged = false;
        peers[i].chunks.length = 0;
    }
    begin_local(FIRST, 2 * (uint32_t) fuzz_below(40));
    begin_local(SECOND, 0 == fuzz_below(2) ? 0 : UINT32_MAX - 1 - 2 * (uint32_t) fuzz_below(20));
    begin_dynamic();
    last_slot = NULL;
    last_id = 0;
}

/* ---- what peers do ---- */

static size_t some_length(void)
{
    static const size_t most[] = {1, 25, 57, 200, 400};

    return fuzz_below(most[fuzz_below(sizeof(most) / sizeof(most[0]))]);
}

static void fill_from(void *to, uint32_t id, size_t from, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        ((uint8_t *) to)[i] = fuzz_byte(id, from + i);
    }
}

static void fill(void *to, uint32_t id, size_t length)
{
    fill_from(to, id, 0, length);
}

/* The next buffer of a peer's pool, where it has one that has not been used. */
static bool take_buffer(peer_t *peer, uint64_t *offset)
{
    if (BUFFERS == peer->n_buffers) {
        return false;
    }
    *offset = layout.eager_pool + EAGER * (uint64_t) peer->n_buffers++ + MCA_BTL_FASTSM_EAGER_LEAD;
    return true;
}

static bool put_reference(peer_t *peer, uint32_t id, size_t length, mca_btl_fastsm_pool_ref_t *reference)
{
    uint64_t offset;

    if (!take_buffer(peer, &offset)) {
        return false;
    }
    reference->place = mca_btl_fastsm_place(offset, length);
    fill(reference->header, id, sizeof(reference->header));
    fill(peer->segment + offset, id, length);
    return true;
}

/* The next chunk of the message that is on its way; false: there is no room, because of damage. */
static bool send_chunk(peer_t *peer)
{
    chunks_t *chunks = &peer->chunks;
    const uint32_t width = chunks->widths[chunks->next];
    const size_t rest = chunks->length - chunks->done;
    const size_t bytes = rest < width * (size_t) CHUNK ? rest : width * (size_t) CHUNK;
    mca_btl_fastsm_slot_t *head = fastsm_fifo_reserve(&peer->out, 1);
    mca_btl_fastsm_pool_ref_t reference = {.place = 0};
    uint64_t offset, unused;

    if (NULL == head || !take_buffer(peer, &offset)) {
        return false;
    }
    for (uint32_t i = 1; i < width; ++i) {
        if (!take_buffer(peer, &unused)) { /* those lie side by side */
            return false;
        }
    }
    fill_from(peer->segment + offset + HEADER, chunks->id, chunks->done, bytes);
    if (0 == chunks->next) {
        fill(peer->segment + offset, chunks->id, HEADER);
        fill(reference.header, chunks->id, HEADER);
        reference.place = mca_btl_fastsm_place(offset, chunks->length);
        fastsm_fifo_describe(head, mca_btl_fastsm_split(chunks->count, width), TAG,
                             MCA_BTL_FASTSM_SLOT_POOL | MCA_BTL_FASTSM_SLOT_CHUNKS);
    } else {
        reference.place = mca_btl_fastsm_place(offset + HEADER, bytes);
        fastsm_fifo_describe(head, sizeof(reference), TAG, MCA_BTL_FASTSM_SLOT_POOL);
    }
    memcpy(head->u.head.data, &reference, sizeof(reference));
    fastsm_fifo_commit(&peer->out, head, 1);
    if (NULL == last_slot || fuzz_one_in(2)) { /* what is damaged may be any of them */
        last_slot = head;
    }
    chunks->done += bytes;
    if (++chunks->next == chunks->count) {
        chunks->length = 0;
    }
    return true;
}

/* Goes on with the message in chunks, a few of them or to its end: its sender may be stopped in between. */
static void send_chunks(peer_t *peer, bool all)
{
    while (0 != peer->chunks.length) {
        if (!send_chunk(peer)) {
            if (!peer->damaged) {
                fuzz_fail("no room for a chunk");
            }
            peer->chunks.length = 0;
        }
        if (!all && fuzz_one_in(4)) {
            break;
        }
    }
}

/* Chunks of one buffer or several, at least two. */
static bool begin_chunks(peer_t *peer, uint32_t id, size_t length)
{
    const uint32_t buffers = (uint32_t) ((length - HEADER + CHUNK - 1) / CHUNK);
    chunks_t chunks = {.id = id, .length = length, .done = HEADER};

    for (uint32_t left = buffers; 0 < left; left -= chunks.widths[chunks.count++]) {
        const uint32_t most = 0 == chunks.count ? left - 1 : left;

        chunks.widths[chunks.count] = (uint32_t) (1 + fuzz_below(most < WIDEST ? most : WIDEST));
    }
    if (peer->n_buffers + buffers > BUFFERS || !fastsm_fifo_room(&peer->out, chunks.count)) {
        return false;
    }
    peer->chunks = chunks;
    return send_chunk(peer);
}

static bool send_local(peer_t *peer, uint32_t id, size_t length)
{
    mca_btl_fastsm_pool_ref_t reference;
    uint8_t data[MOST_IN_ONE];
    const bool pool = fuzz_one_in(4) && put_reference(peer, id, length, &reference);
    const uint32_t halves = pool ? 1 : fastsm_fifo_halves(length);
    mca_btl_fastsm_slot_t *head = fastsm_fifo_reserve(&peer->out, halves);

    if (NULL == head) {
        return false;
    }
    fastsm_fifo_describe(head, pool ? sizeof(reference) : length, TAG, pool ? MCA_BTL_FASTSM_SLOT_POOL : 0);
    if (pool) {
        memcpy(head->u.head.data, &reference, sizeof(reference));
    } else {
        fill(data, id, length);
        fastsm_fifo_fill(&peer->out, head, NULL, 0, data, length);
    }
    fastsm_fifo_commit(&peer->out, head, halves);
    last_slot = head;
    return true;
}

static bool send_slot(peer_t *peer, const void *data, size_t length, uint8_t flags)
{
    uint32_t pos;
    mca_btl_fastsm_slot_t *slot = fastsm_ring_reserve(&peer->ring, &pos);

    if (NULL == slot) {
        return false;
    }
    slot->u.ring.length = (uint16_t) length;
    slot->u.ring.tag = TAG;
    slot->u.ring.flags = flags;
    slot->u.ring.admission = dynamic->admission;
    memcpy(slot->u.ring.data, data, length);
    fastsm_ring_commit(&peer->ring, slot, pos);
    last_slot = slot;
    return true;
}

static bool send_dynamic(peer_t *peer, uint32_t id, size_t length)
{
    mca_btl_fastsm_pool_ref_t reference;
    uint8_t data[MOST_IN_ONE];
    size_t at = 0;

    if (fuzz_one_in(4) && put_reference(peer, id, length, &reference)) {
        return send_slot(peer, &reference, sizeof(reference), MCA_BTL_FASTSM_SLOT_POOL);
    }
    fill(data, id, length);
    do {
        const size_t piece = length - at < MCA_BTL_FASTSM_RING_DATA ? length - at : MCA_BTL_FASTSM_RING_DATA;

        if (!send_slot(peer, data + at, piece, at + piece < length ? MCA_BTL_FASTSM_SLOT_MORE : 0)) {
            peer->damaged = true; /* a real one goes on later */
            return false;
        }
        at += piece;
    } while (at < length);
    return true;
}

static void send_message(void)
{
    const int i = FIRST + (int) fuzz_below(PEERS - FIRST);
    peer_t *peer = &peers[i];
    const uint32_t id = ++last_id;
    const bool chunks = LATE != i && fuzz_one_in(4);
    const size_t length = chunks ? HEADER + CHUNK + 1 + fuzz_below((MOST_CHUNKS - 1) * CHUNK)
                                 : some_length() + (FIRST != i); /* that of no bytes says not whose it is */

    if (0 != peer->chunks.length) {
        send_chunks(peer, false);
        return;
    }
    if (LATE == i ? send_dynamic(peer, id, length)
        : chunks  ? begin_chunks(peer, id, length)
                  : send_local(peer, id, length)) {
        peer->sent[peer->end++ % MOST] = (sent_t){.id = id, .length = length};
        fuzz_learn(last_slot, sizeof(*last_slot));
        send_chunks(peer, false);
    }
}

/* Whoever asks for a deeper FIFO moves there. */
static void ask(void)
{
    peer_t *peer = &peers[FIRST + fuzz_below(LATE - FIRST)];
    const mca_btl_fastsm_want_t want = {.serial = 1 + (uint32_t) fuzz_below(65535)};
    mca_btl_fastsm_slot_t *head =
        0 == peer->chunks.length ? fastsm_fifo_reserve(&peer->out, 1) : NULL; /* nothing comes in between */

    if (NULL != head) {
        const bool asks = fuzz_one_in(2);

        fastsm_fifo_describe(head, sizeof(want), 0,
                             asks ? MCA_BTL_FASTSM_SLOT_WANT : MCA_BTL_FASTSM_SLOT_CONTINUE);
        memcpy(head->u.head.data, &want, sizeof(want));
        fastsm_fifo_commit(&peer->out, head, 1);
        peer->damaged = peer->damaged || !asks; /* it has not been told where */
        last_slot = head;
    }
}

/* ---- what is damaged ---- */

static peer_t *owner_of(const void *address)
{
    const char *place = address;

    for (int i = FIRST; i < LATE; i++) {
        const char *slots = (const char *) peers[i].out.slots;

        if (slots <= place && place < slots + mca_btl_fastsm_layout_fifo_size(&layout, (uint32_t) i)) {
            return &peers[i];
        }
    }
    return NULL;
}

static void all_damaged(void)
{
    for (int i = FIRST; i < PEERS; i++) {
        peers[i].damaged = true;
    }
}

/* Damage in a FIFO is its sender's; in the ring, and in what all write, anybody's. */
static void write_over(void *place, size_t size)
{
    peer_t *owner = owner_of(place);

    if (NULL == owner) {
        all_damaged();
    } else {
        owner->damaged = true;
    }
    fuzz_change(place, size);
}

/* Where a reference leads, if the last slot has one: anywhere, or to where the segment ends. */
static void damage_place(void)
{
    peer_t *owner = NULL == last_slot ? NULL : owner_of(last_slot);

    if (NULL != owner && fuzz_one_in(2)) {
        const uint64_t place =
            mca_btl_fastsm_place(layout.total - 16 * fuzz_below(2 * CHUNK / 16), fuzz_below(2 * CHUNK));

        owner->damaged = true;
        memcpy(last_slot->u.head.data, &place, sizeof(place));
    } else if (NULL != last_slot) {
        write_over(last_slot->u.head.data, 8);
    }
}

static void damage(void)
{
    mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;

    switch (fuzz_below(7)) {
    case 2:
        damage_place();
        break;
    case 0:
        write_over(component->base + fuzz_below(layout.total - 8) / 8 * 8, 8);
        break;
    case 1:
        write_over(component->base + layout.bells, 64);
        break;
    default:
        if (NULL != last_slot) { /* mostly its header, or a reference */
            write_over((char *) last_slot + (fuzz_one_in(4) ? 0 : 4), fuzz_one_in(2) ? 4 : 28);
        }
        break;
    }
}

/* ---- what the BTL does ---- */

/* As a caller does that looks at a message before it takes it, or leaves it. */
static ptrdiff_t receive_view(peer_t *peer, void *data, size_t room, uint64_t header[2])
{
    const bool undecided = fuzz_one_in(2);
    mca_btl_fastsm_view_t view;
    bool taken;

    if (OPAL_SUCCESS != mca_btl_fastsm_peek(peer->endpoint, 1, &view)) {
        return OPAL_ERR_NOT_AVAILABLE;
    }
    fastsm_read_once(header, view.header, 16);
    taken = TAG == view.tag && view.length - 16 <= room
            && mca_btl_fastsm_view_move(&view, data, NULL, view.length - 16, undecided);
    mca_btl_fastsm_release(&view, taken);
    return taken ? (ptrdiff_t) view.length - 16 : OPAL_ERR_NOT_AVAILABLE;
}

/* As a caller does that looks at slots itself. */
static ptrdiff_t receive_slot(peer_t *peer, void *data, size_t room, uint64_t header[2])
{
    fastsm_fifo_receiver_t *in = &peer->endpoint->in;
    const mca_btl_fastsm_slot_t *slot = fastsm_fifo_peek(in);
    const ptrdiff_t length = fastsm_fifo_see(in, slot, TAG, header);

    if (0 > length || (size_t) length > room) {
        return OPAL_ERR_NOT_AVAILABLE;
    }
    fastsm_fifo_copy(data, slot, (size_t) length);
    fastsm_fifo_release_message(in, (size_t) length);
    return length;
}

static void receive(void)
{
    peer_t *peer = &peers[FIRST + fuzz_below(LATE - FIRST)];
    const size_t room = fuzz_below(fuzz_one_in(2) ? 500 : MOST_BYTES + 100);
    uint8_t *data = malloc(16 + room);
    uint64_t header[2];
    ptrdiff_t length;

    length = fuzz_one_in(2) || NULL == mca_btl_fastsm_receiver(peer->endpoint)
                 ? receive_view(peer, data + 16, room, header)
                 : receive_slot(peer, data + 16, room, header);
    if (0 <= length) {
        memcpy(data, header, 16);
        if ((size_t) length > room) {
            fuzz_fail("%td bytes are received into %zu", length, room);
        }
        take(data, 16 + (size_t) length);
    }
    free(data);
}

static void consume(void)
{
    uint64_t header[2];

    switch (fuzz_below(5)) {
    case 0:
        receive();
        break;
    case 1:
        (void) mca_btl_fastsm_scan(&mca_btl_fastsm_module.super, 1, header);
        break;
    case 2:
        (void) mca_btl_fastsm_poll(peers[FIRST + fuzz_below(LATE - FIRST)].endpoint, 1);
        break;
    default:
        (void) mca_btl_fastsm_component_progress();
        break;
    }
}

/* We have asked a peer for a deeper FIFO, and what it says to that is damaged; then we send. */
static void answered(void)
{
    const uint64_t place = mca_btl_fastsm_layout_read_pos(&layout, ME);
    mca_btl_fastsm_endpoint_t *endpoint = peers[FIRST].endpoint;
    mca_btl_fastsm_read_pos_t *answer = (mca_btl_fastsm_read_pos_t *) (peers[FIRST].segment + place);

    endpoint->move.state = MCA_BTL_FASTSM_MOVE_ASKED;
    endpoint->move.serial = 5;
    answer->assignment = 5 << 16 | (uint32_t) fuzz_below(4);
    peers[FIRST].damaged = true;
    fuzz_change(answer, sizeof(*answer));
    for (int i = 0; i < 8; i++) {
        mca_btl_fastsm_slot_t *head;

        mca_btl_fastsm_move(endpoint);
        if (0 != (answer->value & 1)) {
            fuzz_change(answer, sizeof(answer->value));
        }
        head = fastsm_fifo_reserve(&endpoint->out, 1 + (uint32_t) fuzz_below(2));
        if (NULL != head) {
            fastsm_fifo_describe(head, 8, TAG, 0);
            memset(head->u.head.data, 1, 8);
            fastsm_fifo_commit(&endpoint->out, head, 1);
        }
    }
}

/* ---- another thread ---- */

static struct {
    pthread_t thread;
    pid_t of;
    pthread_mutex_t lock; /* of word: no case meets the thread of the last one */
    uint32_t *word;
    uint32_t values[2];
} racer = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void *race(void *unused)
{
    (void) unused;
    for (unsigned i = 0;; i++) {
        bool idle;

        pthread_mutex_lock(&racer.lock);
        idle = NULL == racer.word;
        if (!idle) {
            __atomic_store_n(racer.word, racer.values[i % 2], __ATOMIC_RELAXED);
        }
        pthread_mutex_unlock(&racer.lock);
        if (idle) {
            usleep(20);
        }
    }
    return NULL;
}

static void race_set(uint32_t *word)
{
    pthread_mutex_lock(&racer.lock);
    racer.word = word;
    pthread_mutex_unlock(&racer.lock);
}

/* A slot's header changes between what it was and something else while it is looked at. */
static void race_begin(void)
{
    peer_t *owner = NULL == last_slot ? NULL : owner_of(last_slot);
    uint32_t *word;

    if (NULL == owner) {
        return;
    }
    if (racer.of != getpid()) {
        racer.of = getpid();
        pthread_create(&racer.thread, NULL, race, NULL);
    }
    owner->damaged = true;
    word = (uint32_t *) (void *) &last_slot->u.head;
    race_set(NULL);
    racer.values[0] = *word;
    fuzz_change(word, sizeof(*word));
    racer.values[1] = *word;
    race_set(word);
}

/* ---- a case ---- */

static void check(void)
{
    for (int i = FIRST; i < PEERS; i++) {
        if (!peers[i].damaged && peers[i].first != peers[i].end) {
            fuzz_fail("%u messages of peer %d do not come", peers[i].end - peers[i].first, i);
        }
    }
}

static void run(void)
{
    const bool sound = fuzz_one_in(10);

    race_set(NULL);
    begin();
    for (uint64_t i = 2 + fuzz_below(6); 0 < i; i--) {
        for (uint64_t j = fuzz_below(4); 0 < j; j--) {
            send_message();
        }
        if (!sound && fuzz_one_in(6)) {
            ask();
        }
        if (!sound && fuzz_one_in(3)) {
            damage();
        }
        if (!sound && fuzz_one_in(32)) {
            race_begin();
        }
        consume();
    }
    if (!sound && fuzz_one_in(8)) {
        answered();
    }
    for (int i = FIRST; i < LATE; i++) {
        send_chunks(&peers[i], true);
    }
    for (int i = 0; i < 40; i++) {
        (void) mca_btl_fastsm_component_progress();
    }
    check();
}

static const fuzz_target_t btl = {.name = "btl/fastsm", .start = start, .run = run};

int main(int argc, char **argv)
{
    return fuzz_main(argc, argv, &btl);
}
