/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * MPI message matching in constant time.
 *
 * One matcher per communicator.  It is a pure data structure: no MPI, no Open MPI objects, no lock (the
 * caller holds the communicator's matching lock).  Receives and messages bring their own links, so the
 * matcher allocates only queues, and those it recycles.
 *
 * A queue belongs to one key (source, tag), either of which may be a wildcard.  It holds two lists: the
 * receives that were posted with exactly this key, and the unexpected messages that a receive with this key
 * would match:
 *
 *      bucket[hash(key)]
 *           |
 *        queue (2, 7) ----> queue (5, ANY) ----> NULL              matcher.all = queue (ANY, ANY)
 *           |                  |                                       |
 *           |- posted:         |- posted:     order 4                  |- posted:     order 3 <-> order 9
 *           |                  |                                       |
 *           `- unexpected:     `- unexpected: C <-> D                  `- unexpected: A <-> B <-> C <-> D
 *              A <-> B
 *
 * - A receive sits in one queue.  An arriving message (s, t) takes the receive with the lowest order among
 *   the heads of (s, t), (ANY, t), (s, ANY) and (ANY, ANY); kinds of which nothing is posted are not looked
 *   up.
 * - A message (s, t) sits in (s, t) and in (ANY, ANY), and in (s, ANY) and (ANY, t) as soon as somebody on
 *   this communicator has looked for that kind: programs without such receives do not pay for them.  The
 *   first look of each kind enters the messages already there (once in the life of the matcher); all other
 *   operations take constant time.
 * - A wildcard tag matches tags >= 0 only.  Negative tags are Open MPI's own traffic: such messages are never
 *   in (s, ANY), and in place of (ANY, ANY) they are in matcher.internal.
 * - All lists are circular with the head in the queue: removing needs neither the queue nor a branch.
 * - A receive without wildcards that is posted while no other one is, is in no queue: matcher.lone.
 *   It takes its place as soon as another one is posted.  So programs that wait for one message at a
 *   time need no queues.
 *
 * Queues that ran empty stay in the table, because the same key mostly comes back.  When the table is full
 * the empty ones are taken out first, and it grows only if that freed less than half: a million different
 * tags used one after the other need no more memory than a few.
 *
 * Keys of a program may meet in one bucket, whatever the hash.  When a chain gets long, all queues are spread
 * by another multiplier, under which they do not.
 */

#ifndef MCA_PML_FASTPATH_MATCH_H
#define MCA_PML_FASTPATH_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MCA_PML_FASTPATH_ANY_SOURCE (-1)
#define MCA_PML_FASTPATH_ANY_TAG    (-1)

/** Kinds of keys; also the index of a message's links. */
enum {
    MCA_PML_FASTPATH_MATCH_EXACT = 0,
    MCA_PML_FASTPATH_MATCH_BY_SOURCE = 1, /**< the tag is the wildcard */
    MCA_PML_FASTPATH_MATCH_BY_TAG = 2,    /**< the source is the wildcard */
    MCA_PML_FASTPATH_MATCH_ALL = 3,
    MCA_PML_FASTPATH_MATCH_KINDS = 4
};

/** Counters of posted receives per source, folded: a power of two. */
#define MCA_PML_FASTPATH_MATCH_FOLD 64

typedef struct mca_pml_fastpath_match_link_t {
    struct mca_pml_fastpath_match_link_t *next;
    struct mca_pml_fastpath_match_link_t *prev;
} mca_pml_fastpath_match_link_t;

/** Embedded in a receive request.  All fields belong to the matcher while queued is true. */
typedef struct mca_pml_fastpath_match_post_t {
    mca_pml_fastpath_match_link_t link; /**< first member: a link of a posted list is a receive */
    uint64_t order;                     /**< position among all receives ever posted to this matcher */
    int32_t src;
    int32_t tag;
    bool queued; /**< in the matcher; the owner sets it to false when creating the request */
} mca_pml_fastpath_match_post_t;

/** Embedded in an unexpected message.  All fields belong to the matcher between store and take. */
typedef struct mca_pml_fastpath_match_msg_t {
    mca_pml_fastpath_match_link_t link[MCA_PML_FASTPATH_MATCH_KINDS];
    int32_t src;
    int32_t tag;
    uint32_t indexed; /**< bit per kind: also linked BY_SOURCE, BY_TAG */
} mca_pml_fastpath_match_msg_t;

/** Everything known under one key. */
typedef struct mca_pml_fastpath_match_queue_t {
    uint64_t key;
    struct mca_pml_fastpath_match_queue_t *next; /**< in the bucket, or in the list of spare queues */
    mca_pml_fastpath_match_link_t posted;
    mca_pml_fastpath_match_link_t unexpected;
} mca_pml_fastpath_match_queue_t;

/** The matcher of one communicator.  Must not be moved.  Others may read posted and unexpected. */
typedef struct mca_pml_fastpath_matcher_t {
    mca_pml_fastpath_match_post_t *lone; /**< the only receive waiting, if it is in no queue */
    size_t posted;                       /**< receives waiting */
    size_t unexpected;                   /**< messages waiting */
    size_t posted_wild;                  /**< of these with a wildcard */
    /** these by kind of key; those without a wildcard are not counted */
    size_t posted_kind[MCA_PML_FASTPATH_MATCH_KINDS];
    uint64_t order;                          /**< order of the next receive */
    mca_pml_fastpath_match_queue_t *last;    /**< queue of the last lookup that found one, never NULL */
    mca_pml_fastpath_match_queue_t **bucket; /**< 2^(64 - shift) chains */
    uint64_t multiplier;                     /**< of the hash; odd */
    unsigned int shift;                      /**< takes a bucket's index from a hash */
    uint32_t indexed;                        /**< bit per kind: messages are entered BY_SOURCE, BY_TAG */
    size_t queues;                           /**< in the table, empty ones included */
    size_t limit;                            /**< queues at which the table is swept or grown */
    size_t rehash_after;                     /**< so many new keys before chains are looked at again */
    mca_pml_fastpath_match_queue_t *spare;   /**< queues out of the table, for the next new key */
    mca_pml_fastpath_match_queue_t all;      /**< (ANY, ANY), not in the table */
    mca_pml_fastpath_match_link_t internal;  /**< messages with negative tags, linked as ALL */
    /** receives waiting, by source modulo the size; but for the lone one */
    uint32_t posted_from[MCA_PML_FASTPATH_MATCH_FOLD];
} mca_pml_fastpath_matcher_t;

/** Sets up an empty matcher.  Returns 0, or -1 when memory is short (nothing to undo). */
int mca_pml_fastpath_matcher_init(mca_pml_fastpath_matcher_t *m);

/** Releases the matcher's own memory.  Receives and messages still inside belong to the caller, as ever. */
void mca_pml_fastpath_matcher_fini(mca_pml_fastpath_matcher_t *m);

/** Calls fn for every posted receive, in order of posting (in any order without memory).  fn only reads. */
void mca_pml_fastpath_match_each_posted(mca_pml_fastpath_matcher_t *m,
                                        void (*fn)(mca_pml_fastpath_match_post_t *post, void *ctx),
                                        void *ctx);

/** Calls fn for every unexpected message in the order of arrival, internal ones last.  fn only reads. */
void mca_pml_fastpath_match_each_unexpected(mca_pml_fastpath_matcher_t *m,
                                            void (*fn)(mca_pml_fastpath_match_msg_t *msg, void *ctx),
                                            void *ctx);

/* The slow halves of the inline functions below; not to be called directly. */

/** mca_pml_fastpath_match_post() where others are posted, of another source or tag. @return what that does */
int mca_pml_fastpath_match_post_slow(mca_pml_fastpath_matcher_t *m, mca_pml_fastpath_match_post_t *post,
                                     int32_t src, int32_t tag);
/** Makes the queue of a key that has none. @return NULL: no memory */
mca_pml_fastpath_match_queue_t *mca_pml_fastpath_match_queue_new(mca_pml_fastpath_matcher_t *m, uint64_t key);
/** mca_pml_fastpath_match_peek() where receives with wildcards are posted. */
mca_pml_fastpath_match_post_t *mca_pml_fastpath_match_peek_slow(mca_pml_fastpath_matcher_t *m, int32_t src,
                                                                int32_t tag);
/** mca_pml_fastpath_match_find() with a wildcard. */
mca_pml_fastpath_match_msg_t *mca_pml_fastpath_match_find_slow(mca_pml_fastpath_matcher_t *m, int32_t src,
                                                               int32_t tag);
/** mca_pml_fastpath_match_posted_before() where mca_pml_fastpath_match_posted_for() does not rule it out. */
bool mca_pml_fastpath_match_posted_before_slow(mca_pml_fastpath_matcher_t *m, int32_t src, int32_t tag);
/** Puts a message into the indices of these kinds. @return false: no memory, and it is in none of them */
bool mca_pml_fastpath_match_index(mca_pml_fastpath_matcher_t *m, mca_pml_fastpath_match_msg_t *msg,
                                  uint32_t kinds);
/** Takes a message out of all indices that it is in. */
void mca_pml_fastpath_match_unindex(mca_pml_fastpath_match_msg_t *msg);

/** @return what stands for a source and a tag, or wildcards, in an index */
static inline uint64_t mca_pml_fastpath_match_key(int32_t src, int32_t tag)
{
    return (uint64_t) (uint32_t) src << 32 | (uint32_t) tag;
}

/** @return the kind of index by which a receive with these is found */
static inline unsigned int mca_pml_fastpath_match_kind(int32_t src, int32_t tag)
{
    return (MCA_PML_FASTPATH_ANY_TAG == tag ? MCA_PML_FASTPATH_MATCH_BY_SOURCE : 0)
           | (MCA_PML_FASTPATH_ANY_SOURCE == src ? MCA_PML_FASTPATH_MATCH_BY_TAG : 0);
}

/** The first multiplier: the golden ratio (upper half, meets the tag) and the square root of two (lower half,
 * meets the source), so that runs of tags and of sources both spread evenly over the upper bits. */
#define MCA_PML_FASTPATH_MATCH_MULTIPLIER UINT64_C(0x9e3779b96a09e667)

/** @return the index's slot where the search for a key begins */
static inline size_t mca_pml_fastpath_match_hash(const mca_pml_fastpath_matcher_t *m, uint64_t key)
{
    return (size_t) (key * m->multiplier >> m->shift);
}

/** @return whether nothing is on a list */
static inline bool mca_pml_fastpath_match_empty(const mca_pml_fastpath_match_link_t *list)
{
    return list == list->next;
}

/** Puts something that is on no list at the end of one. */
static inline void mca_pml_fastpath_match_append(mca_pml_fastpath_match_link_t *list,
                                                 mca_pml_fastpath_match_link_t *link)
{
    link->next = list;
    link->prev = list->prev;
    list->prev->next = link;
    list->prev = link;
}

/** Takes something off its list; its own links are as they were. */
static inline void mca_pml_fastpath_match_unlink(mca_pml_fastpath_match_link_t *link)
{
    link->prev->next = link->next;
    link->next->prev = link->prev;
}

/** The message whose link of this kind this is. */
static inline mca_pml_fastpath_match_msg_t *mca_pml_fastpath_match_msg(mca_pml_fastpath_match_link_t *link,
                                                                       unsigned int kind)
{
    return (mca_pml_fastpath_match_msg_t *) (void *) (link - kind);
}

/** The queue of a key, or NULL if there is none. */
static inline mca_pml_fastpath_match_queue_t *mca_pml_fastpath_match_lookup(mca_pml_fastpath_matcher_t *m,
                                                                            uint64_t key)
{
    mca_pml_fastpath_match_queue_t *queue = m->last;

    if (key == queue->key) {
        return queue;
    }
    queue = m->bucket[mca_pml_fastpath_match_hash(m, key)];
    while (NULL != queue && key != queue->key) {
        queue = queue->next;
    }
    if (NULL != queue) {
        m->last = queue;
    }
    return queue;
}

/** The queue of a key, made if there is none.  NULL when memory is short.  Empty queues do not survive the
 * next call. */
static inline mca_pml_fastpath_match_queue_t *mca_pml_fastpath_match_queue(mca_pml_fastpath_matcher_t *m,
                                                                           uint64_t key)
{
    mca_pml_fastpath_match_queue_t *queue = mca_pml_fastpath_match_lookup(m, key);

    return NULL != queue ? queue : mca_pml_fastpath_match_queue_new(m, key);
}

/* Puts a receive behind those of its queue. */
static inline void mca_pml_fastpath_match_enter(mca_pml_fastpath_matcher_t *m,
                                                mca_pml_fastpath_match_queue_t *queue,
                                                mca_pml_fastpath_match_post_t *post)
{
    post->order = m->order++;
    mca_pml_fastpath_match_append(&queue->posted, &post->link);
    /* receives from any source are counted somewhere, too: while there are any, this counter is not asked */
    ++m->posted_from[(uint32_t) post->src % MCA_PML_FASTPATH_MATCH_FOLD];
}

/* Fills in what identifies a receive, which is posted from here on. */
static inline void mca_pml_fastpath_match_fill(mca_pml_fastpath_matcher_t *m,
                                               mca_pml_fastpath_match_post_t *post, int32_t src, int32_t tag)
{
    post->src = src;
    post->tag = tag;
    post->queued = true;
    ++m->posted;
}

/* Whether the queue that was asked for last is that of (src, tag), without a wildcard. */
static inline bool mca_pml_fastpath_match_is_last(const mca_pml_fastpath_matcher_t *m, int32_t src,
                                                  int32_t tag)
{
    return mca_pml_fastpath_match_key(src, tag) == m->last->key
           && MCA_PML_FASTPATH_MATCH_EXACT == mca_pml_fastpath_match_kind(src, tag);
}

/**
 * Whether the last receive that was posted has the same (src, tag), no wildcard, and still waits.
 * May say false where it is.
 */
static inline bool mca_pml_fastpath_match_posted_same(const mca_pml_fastpath_matcher_t *m, int32_t src,
                                                      int32_t tag)
{
    return mca_pml_fastpath_match_is_last(m, src, tag) && !mca_pml_fastpath_match_empty(&m->last->posted);
}

/** Appends a receive to the queue that was asked for last, which is that of its (src, tag).  There is no lone
 * one. */
static inline void mca_pml_fastpath_match_post_same(mca_pml_fastpath_matcher_t *m,
                                                    mca_pml_fastpath_match_post_t *post, int32_t src,
                                                    int32_t tag)
{
    mca_pml_fastpath_match_fill(m, post, src, tag);
    mca_pml_fastpath_match_enter(m, m->last, post);
}

/**
 * Appends a posted receive where that takes no call: if it is the only one, and has no wildcard.  The caller
 * has looked for an unexpected message first.  Returns false when nothing has been done.
 */
static inline bool mca_pml_fastpath_match_post_lone(mca_pml_fastpath_matcher_t *m,
                                                    mca_pml_fastpath_match_post_t *post, int32_t src,
                                                    int32_t tag)
{
    if (0 != m->posted || MCA_PML_FASTPATH_MATCH_EXACT != mca_pml_fastpath_match_kind(src, tag)) {
        return false;
    }
    m->lone = post;
    mca_pml_fastpath_match_fill(m, post, src, tag);
    return true;
}

/**
 * Appends a posted receive.  src and tag may be wildcards.  The caller has looked for an unexpected message
 * first. Returns 0, or -1 when memory is short (the receive is not queued then).
 */
static inline int mca_pml_fastpath_match_post(mca_pml_fastpath_matcher_t *m,
                                              mca_pml_fastpath_match_post_t *post, int32_t src, int32_t tag)
{
    if (mca_pml_fastpath_match_post_lone(m, post, src, tag)) {
        return 0;
    }
    if (NULL == m->lone && mca_pml_fastpath_match_is_last(m, src, tag)) {
        mca_pml_fastpath_match_post_same(m, post, src, tag);
        return 0;
    }
    return mca_pml_fastpath_match_post_slow(m, post, src, tag);
}

/** Removes a posted receive.  It must be queued. */
static inline void mca_pml_fastpath_match_cancel(mca_pml_fastpath_matcher_t *m,
                                                 mca_pml_fastpath_match_post_t *post)
{
    post->queued = false;
    --m->posted;
    if (NULL != m->lone) {
        m->lone = NULL;
        return;
    }
    mca_pml_fastpath_match_unlink(&post->link);
    --m->posted_from[(uint32_t) post->src % MCA_PML_FASTPATH_MATCH_FOLD];
    if (0 != m->posted_wild) {
        const unsigned int kind = mca_pml_fastpath_match_kind(post->src, post->tag);

        if (MCA_PML_FASTPATH_MATCH_EXACT != kind) {
            --m->posted_wild;
            --m->posted_kind[kind];
        }
    }
}

/**
 * Whether anything posted can match a message from src, whatever its tag.  May say true where it is false
 * (sources share counters, negative tags are not told apart), never the other way round.
 */
static inline bool mca_pml_fastpath_match_posted_for(const mca_pml_fastpath_matcher_t *m, int32_t src)
{
    if (0 == m->posted) {
        return false;
    }
    return NULL != m->lone ? src == m->lone->src
                           : 0
                                 != (m->posted_kind[MCA_PML_FASTPATH_MATCH_BY_TAG]
                                     | m->posted_kind[MCA_PML_FASTPATH_MATCH_ALL]
                                     | m->posted_from[(uint32_t) src % MCA_PML_FASTPATH_MATCH_FOLD]);
}

/** The earliest posted receive that matches a message (src, tag), not removed, or NULL. */
static inline mca_pml_fastpath_match_post_t *mca_pml_fastpath_match_peek(mca_pml_fastpath_matcher_t *m,
                                                                         int32_t src, int32_t tag)
{
    mca_pml_fastpath_match_queue_t *queue;

    if (NULL != m->lone) {
        return src == m->lone->src && tag == m->lone->tag ? m->lone : NULL;
    }
    if (0 == m->posted) {
        return NULL;
    }
    if (0 != m->posted_wild) {
        return mca_pml_fastpath_match_peek_slow(m, src, tag);
    }
    queue = mca_pml_fastpath_match_lookup(m, mca_pml_fastpath_match_key(src, tag));
    if (NULL == queue || mca_pml_fastpath_match_empty(&queue->posted)) {
        return NULL;
    }
    return (mca_pml_fastpath_match_post_t *) (void *) queue->posted.next;
}

/**
 * Whether anything posted can match a message from src that a receive (src, tag) matches, too.  src is no
 * wildcard.  May say true where it is false if tag is one, never the other way round.
 */
static inline bool mca_pml_fastpath_match_posted_before(mca_pml_fastpath_matcher_t *m, int32_t src,
                                                        int32_t tag)
{
    return mca_pml_fastpath_match_posted_for(m, src)
           && mca_pml_fastpath_match_posted_before_slow(m, src, tag);
}

/** Finds, removes and returns the earliest posted receive that matches an arriving message (src, tag), or
 * NULL. */
static inline mca_pml_fastpath_match_post_t *mca_pml_fastpath_match_arrive(mca_pml_fastpath_matcher_t *m,
                                                                           int32_t src, int32_t tag)
{
    mca_pml_fastpath_match_post_t *post = mca_pml_fastpath_match_peek(m, src, tag);

    if (NULL != post) {
        mca_pml_fastpath_match_cancel(m, post);
    }
    return post;
}

/**
 * Appends an unexpected message (src >= 0, tag not the wildcard) for which match_arrive found no receive.
 * Returns 0, or -1 when memory is short (the message is in no queue then).
 */
static inline int mca_pml_fastpath_match_store(mca_pml_fastpath_matcher_t *m,
                                               mca_pml_fastpath_match_msg_t *msg, int32_t src, int32_t tag)
{
    mca_pml_fastpath_match_queue_t *queue =
        mca_pml_fastpath_match_queue(m, mca_pml_fastpath_match_key(src, tag));

    if (NULL == queue) {
        return -1;
    }
    msg->src = src;
    msg->tag = tag;
    msg->indexed = 0;
    mca_pml_fastpath_match_append(&queue->unexpected, &msg->link[MCA_PML_FASTPATH_MATCH_EXACT]);
    if (0 != m->indexed && !mca_pml_fastpath_match_index(m, msg, m->indexed)) {
        mca_pml_fastpath_match_unlink(&msg->link[MCA_PML_FASTPATH_MATCH_EXACT]);
        return -1;
    }
    mca_pml_fastpath_match_append(tag >= 0 ? &m->all.unexpected : &m->internal,
                                  &msg->link[MCA_PML_FASTPATH_MATCH_ALL]);
    ++m->unexpected;
    return 0;
}

/** The unexpected message that arrived first of those a receive (src, tag) matches, not removed, or NULL. */
static inline mca_pml_fastpath_match_msg_t *mca_pml_fastpath_match_find(mca_pml_fastpath_matcher_t *m,
                                                                        int32_t src, int32_t tag)
{
    mca_pml_fastpath_match_queue_t *queue;

    if (0 == m->unexpected) {
        return NULL;
    }
    if (MCA_PML_FASTPATH_MATCH_EXACT != mca_pml_fastpath_match_kind(src, tag)) {
        return mca_pml_fastpath_match_find_slow(m, src, tag);
    }
    queue = mca_pml_fastpath_match_lookup(m, mca_pml_fastpath_match_key(src, tag));
    if (NULL == queue || mca_pml_fastpath_match_empty(&queue->unexpected)) {
        return NULL;
    }
    return mca_pml_fastpath_match_msg(queue->unexpected.next, MCA_PML_FASTPATH_MATCH_EXACT);
}

/** Removes an unexpected message.  It must be stored. */
static inline void mca_pml_fastpath_match_take(mca_pml_fastpath_matcher_t *m,
                                               mca_pml_fastpath_match_msg_t *msg)
{
    mca_pml_fastpath_match_unlink(&msg->link[MCA_PML_FASTPATH_MATCH_EXACT]);
    mca_pml_fastpath_match_unlink(&msg->link[MCA_PML_FASTPATH_MATCH_ALL]);
    if (0 != msg->indexed) {
        mca_pml_fastpath_match_unindex(msg);
    }
    --m->unexpected;
}

#endif /* MCA_PML_FASTPATH_MATCH_H */
