/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Matching: set-up, the table of queues, whatever involves a wildcard.  The header draws the structure.
 */

#include "ompi/mca/pml/fastpath/pml_fastpath_match.h"

#include <stdlib.h>

typedef mca_pml_fastpath_matcher_t matcher_t;
typedef mca_pml_fastpath_match_link_t link_t;
typedef mca_pml_fastpath_match_post_t post_t;
typedef mca_pml_fastpath_match_msg_t msg_t;
typedef mca_pml_fastpath_match_queue_t queue_t;

enum {
    EXACT = MCA_PML_FASTPATH_MATCH_EXACT,
    BY_SOURCE = MCA_PML_FASTPATH_MATCH_BY_SOURCE,
    BY_TAG = MCA_PML_FASTPATH_MATCH_BY_TAG,
    ALL = MCA_PML_FASTPATH_MATCH_ALL,
    FIRST_SHIFT = 64 - 6, /* the table starts with 64 buckets */
    LONG_CHAIN = 16       /* at most half as many queues as buckets: no chance that so many meet */
};

/* The table is full when half as many queues as buckets are in it. */
#define MATCH_BUCKETS(shift) ((size_t) 1 << (64 - (shift)))
#define MATCH_LIMIT(shift)   (MATCH_BUCKETS(shift) / 2)

static void queue_list_init(link_t *list)
{
    list->next = list;
    list->prev = list;
}

static void queue_init(queue_t *queue, uint64_t key)
{
    queue->key = key;
    queue->next = NULL;
    queue_list_init(&queue->posted);
    queue_list_init(&queue->unexpected);
}

int mca_pml_fastpath_matcher_init(matcher_t *m)
{
    *m = (matcher_t){.multiplier = MCA_PML_FASTPATH_MATCH_MULTIPLIER,
                     .shift = FIRST_SHIFT,
                     .limit = MATCH_LIMIT(FIRST_SHIFT)};
    queue_init(&m->all, mca_pml_fastpath_match_key(MCA_PML_FASTPATH_ANY_SOURCE, MCA_PML_FASTPATH_ANY_TAG));
    queue_list_init(&m->internal);
    m->last = &m->all;
    m->bucket = calloc(MATCH_BUCKETS(m->shift), sizeof(*m->bucket));
    return NULL != m->bucket ? 0 : -1;
}

static void free_chain(queue_t *queue)
{
    while (NULL != queue) {
        queue_t *next = queue->next;

        free(queue);
        queue = next;
    }
}

void mca_pml_fastpath_matcher_fini(matcher_t *m)
{
    for (size_t i = 0; NULL != m->bucket && i < MATCH_BUCKETS(m->shift); ++i) {
        free_chain(m->bucket[i]);
    }
    free_chain(m->spare);
    free(m->bucket);
    m->bucket = NULL;
    m->spare = NULL;
}

/* Takes every empty queue out of the table.  Costs a walk over it, and makes room for as many new keys. */
static void sweep_table(matcher_t *m)
{
    for (size_t i = 0; i < MATCH_BUCKETS(m->shift); ++i) {
        queue_t **where = &m->bucket[i];

        while (NULL != *where) {
            queue_t *queue = *where;

            if (mca_pml_fastpath_match_empty(&queue->posted)
                && mca_pml_fastpath_match_empty(&queue->unexpected)) {
                *where = queue->next;
                queue->next = m->spare;
                m->spare = queue;
                --m->queues;
            } else {
                where = &queue->next;
            }
        }
    }
    m->last = &m->all; /* the last one found may be gone */
}

static void insert_queue(matcher_t *m, queue_t *queue)
{
    size_t at = mca_pml_fastpath_match_hash(m, queue->key);

    queue->next = m->bucket[at];
    m->bucket[at] = queue;
}

/* Doubles the table.  Without memory for it the chains get longer instead: slower, not wrong. */
static void grow_table(matcher_t *m)
{
    size_t buckets = MATCH_BUCKETS(m->shift);
    queue_t **old = m->bucket;
    queue_t **bucket = calloc(2 * buckets, sizeof(*bucket));

    m->limit *= 2;
    if (NULL == bucket) {
        return;
    }
    m->bucket = bucket;
    --m->shift;
    for (size_t i = 0; i < buckets; ++i) {
        while (NULL != old[i]) {
            queue_t *queue = old[i];

            old[i] = queue->next;
            insert_queue(m, queue);
        }
    }
    free(old);
}

/* Spreads the queues by another multiplier.  Costs a walk over the table, so not again before as many new
 * keys. */
static void rehash(matcher_t *m)
{
    queue_t *all = NULL;

    for (size_t i = 0; i < MATCH_BUCKETS(m->shift); ++i) {
        while (NULL != m->bucket[i]) {
            queue_t *queue = m->bucket[i];

            m->bucket[i] = queue->next;
            queue->next = all;
            all = queue;
        }
    }
    /* a step of a generator whose numbers have nothing in common that a program's keys could have with them
     */
    m->multiplier = (m->multiplier * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407)) | 1;
    while (NULL != all) {
        queue_t *queue = all;

        all = queue->next;
        insert_queue(m, queue);
    }
    m->rehash_after = m->queues;
}

static bool is_long(const queue_t *chain)
{
    unsigned int length = 0;

    while (NULL != chain && length < LONG_CHAIN) {
        chain = chain->next;
        ++length;
    }
    return LONG_CHAIN == length;
}

queue_t *mca_pml_fastpath_match_queue_new(matcher_t *m, uint64_t key)
{
    queue_t *queue;

    if (m->queues >= m->limit) {
        sweep_table(m);
        if (m->queues > m->limit / 2) {
            grow_table(m);
        }
    }
    if (m->rehash_after > 0) {
        --m->rehash_after;
    } else if (is_long(m->bucket[mca_pml_fastpath_match_hash(m, key)])) {
        rehash(m);
    }
    queue = m->spare;
    if (NULL != queue) {
        m->spare = queue->next;
    } else {
        queue = malloc(sizeof(*queue));
        if (NULL == queue) {
            return NULL;
        }
    }
    queue_init(queue, key);
    insert_queue(m, queue);
    ++m->queues;
    m->last = queue;
    return queue;
}

/* A receive takes its place in its queue. */
static int enter_queue(matcher_t *m, post_t *post)
{
    const unsigned int kind = mca_pml_fastpath_match_kind(post->src, post->tag);
    queue_t *queue = &m->all;

    if (ALL != kind) {
        queue = mca_pml_fastpath_match_queue(m, mca_pml_fastpath_match_key(post->src, post->tag));
        if (NULL == queue) {
            return -1;
        }
    }
    mca_pml_fastpath_match_enter(m, queue, post);
    if (EXACT != kind) {
        ++m->posted_wild;
        ++m->posted_kind[kind];
    }
    return 0;
}

int mca_pml_fastpath_match_post_slow(matcher_t *m, post_t *post, int32_t src, int32_t tag)
{
    if (NULL != m->lone) {
        if (0 != enter_queue(m, m->lone)) {
            return -1;
        }
        m->lone = NULL;
    }
    post->src = src;
    post->tag = tag;
    if (0 != enter_queue(m, post)) {
        return -1;
    }
    post->queued = true;
    ++m->posted;
    return 0;
}

/* The earlier of a receive (or NULL) and the first receive posted under a key of this kind. */
static post_t *earlier(matcher_t *m, post_t *best, unsigned int kind, int32_t src, int32_t tag)
{
    queue_t *queue = &m->all;
    post_t *post;

    if (EXACT != kind && 0 == m->posted_kind[kind]) {
        return best;
    }
    if (ALL != kind) {
        queue = mca_pml_fastpath_match_lookup(m, mca_pml_fastpath_match_key(src, tag));
    }
    if (NULL == queue || mca_pml_fastpath_match_empty(&queue->posted)) {
        return best;
    }
    post = (post_t *) (void *) queue->posted.next;
    return NULL == best || post->order < best->order ? post : best;
}

post_t *mca_pml_fastpath_match_peek_slow(matcher_t *m, int32_t src, int32_t tag)
{
    post_t *best = earlier(m, NULL, EXACT, src, tag);

    best = earlier(m, best, BY_TAG, MCA_PML_FASTPATH_ANY_SOURCE, tag);
    if (tag >= 0) {
        best = earlier(m, best, BY_SOURCE, src, MCA_PML_FASTPATH_ANY_TAG);
        best = earlier(m, best, ALL, MCA_PML_FASTPATH_ANY_SOURCE, MCA_PML_FASTPATH_ANY_TAG);
    }
    return best;
}

bool mca_pml_fastpath_match_posted_before_slow(matcher_t *m, int32_t src, int32_t tag)
{
    return MCA_PML_FASTPATH_ANY_TAG == tag || NULL != mca_pml_fastpath_match_peek(m, src, tag);
}

void mca_pml_fastpath_match_unindex(msg_t *msg)
{
    if (0 != (msg->indexed & 1u << BY_SOURCE)) {
        mca_pml_fastpath_match_unlink(&msg->link[BY_SOURCE]);
    }
    if (0 != (msg->indexed & 1u << BY_TAG)) {
        mca_pml_fastpath_match_unlink(&msg->link[BY_TAG]);
    }
    msg->indexed = 0;
}

static bool index_one(matcher_t *m, msg_t *msg, unsigned int kind, int32_t src, int32_t tag)
{
    queue_t *queue = mca_pml_fastpath_match_queue(m, mca_pml_fastpath_match_key(src, tag));

    if (NULL == queue) {
        return false;
    }
    mca_pml_fastpath_match_append(&queue->unexpected, &msg->link[kind]);
    msg->indexed |= 1u << kind;
    return true;
}

/* Enters a message in the queues of these kinds, as far as it can be found there.  All or nothing. */
bool mca_pml_fastpath_match_index(matcher_t *m, msg_t *msg, uint32_t kinds)
{
    uint32_t before = msg->indexed;

    if (0 != (kinds & 1u << BY_SOURCE) && msg->tag >= 0
        && !index_one(m, msg, BY_SOURCE, msg->src, MCA_PML_FASTPATH_ANY_TAG)) {
        return false;
    }
    if (0 != (kinds & 1u << BY_TAG) && !index_one(m, msg, BY_TAG, MCA_PML_FASTPATH_ANY_SOURCE, msg->tag)) {
        if (0 != (msg->indexed & ~before)) {
            mca_pml_fastpath_match_unlink(&msg->link[BY_SOURCE]);
            msg->indexed = before;
        }
        return false;
    }
    return true;
}

/* Enters the messages of one list (linked as ALL) in the queues of one kind. */
static bool index_list(matcher_t *m, const link_t *list, unsigned int kind)
{
    for (link_t *link = list->next; link != list; link = link->next) {
        if (!mca_pml_fastpath_match_index(m, mca_pml_fastpath_match_msg(link, ALL), 1u << kind)) {
            return false;
        }
    }
    return true;
}

static void unindex_list(const link_t *list, unsigned int kind)
{
    for (link_t *link = list->next; link != list; link = link->next) {
        msg_t *msg = mca_pml_fastpath_match_msg(link, ALL);

        if (0 != (msg->indexed & 1u << kind)) {
            mca_pml_fastpath_match_unlink(&msg->link[kind]);
            msg->indexed &= ~(1u << kind);
        }
    }
}

/* From now on messages are entered under this kind of key, those already here as well. */
static bool start_index(matcher_t *m, unsigned int kind)
{
    if (!index_list(m, &m->all.unexpected, kind) || !index_list(m, &m->internal, kind)) {
        unindex_list(&m->all.unexpected, kind);
        unindex_list(&m->internal, kind);
        return false;
    }
    m->indexed |= 1u << kind;
    return true;
}

/* Without memory for an index: look at one message after the other. */
static msg_t *scan(const matcher_t *m, int32_t src, int32_t tag)
{
    const link_t *list = tag >= 0 || MCA_PML_FASTPATH_ANY_TAG == tag ? &m->all.unexpected : &m->internal;

    for (link_t *link = list->next; link != list; link = link->next) {
        msg_t *msg = mca_pml_fastpath_match_msg(link, ALL);

        if ((MCA_PML_FASTPATH_ANY_SOURCE == src || msg->src == src)
            && (MCA_PML_FASTPATH_ANY_TAG == tag || msg->tag == tag)) {
            return msg;
        }
    }
    return NULL;
}

msg_t *mca_pml_fastpath_match_find_slow(matcher_t *m, int32_t src, int32_t tag)
{
    unsigned int kind = mca_pml_fastpath_match_kind(src, tag);
    queue_t *queue = &m->all;

    if (ALL != kind) {
        if (0 == (m->indexed & 1u << kind) && !start_index(m, kind)) {
            return scan(m, src, tag);
        }
        queue = mca_pml_fastpath_match_lookup(m, mca_pml_fastpath_match_key(src, tag));
    }
    if (NULL == queue || mca_pml_fastpath_match_empty(&queue->unexpected)) {
        return NULL;
    }
    return mca_pml_fastpath_match_msg(queue->unexpected.next, kind);
}

static int compare_order(const void *a, const void *b)
{
    const post_t *x = *(post_t *const *) a;
    const post_t *y = *(post_t *const *) b;

    return (x->order > y->order) - (x->order < y->order);
}

/* Puts the receives of one queue at the end of an array, or hands them to fn if there is no array. */
static size_t collect(const queue_t *queue, post_t **array, size_t count, void (*fn)(post_t *, void *),
                      void *ctx)
{
    for (link_t *link = queue->posted.next; link != &queue->posted; link = link->next) {
        if (NULL == array) {
            fn((post_t *) (void *) link, ctx);
        } else {
            array[count++] = (post_t *) (void *) link;
        }
    }
    return count;
}

void mca_pml_fastpath_match_each_posted(matcher_t *m, void (*fn)(post_t *, void *), void *ctx)
{
    post_t **array;
    size_t count;

    if (NULL != m->lone) {
        fn(m->lone, ctx);
        return;
    }
    array = 0 != m->posted ? malloc(m->posted * sizeof(*array)) : NULL;
    count = collect(&m->all, array, 0, fn, ctx);
    for (size_t i = 0; i < MATCH_BUCKETS(m->shift); ++i) {
        for (const queue_t *queue = m->bucket[i]; NULL != queue; queue = queue->next) {
            count = collect(queue, array, count, fn, ctx);
        }
    }
    if (NULL != array) {
        qsort(array, count, sizeof(*array), compare_order);
        for (size_t i = 0; i < count; ++i) {
            fn(array[i], ctx);
        }
        free(array);
    }
}

static void each_message(const link_t *list, void (*fn)(msg_t *, void *), void *ctx)
{
    for (link_t *link = list->next; link != list; link = link->next) {
        fn(mca_pml_fastpath_match_msg(link, ALL), ctx);
    }
}

void mca_pml_fastpath_match_each_unexpected(matcher_t *m, void (*fn)(msg_t *, void *), void *ctx)
{
    each_message(&m->all.unexpected, fn, ctx);
    each_message(&m->internal, fn, ctx);
}
