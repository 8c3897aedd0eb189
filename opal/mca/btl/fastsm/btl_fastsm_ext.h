/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * What btl/fastsm offers beyond mca_btl_base_module_t.
 *
 * The base module cannot grow out of tree, so the extension follows it in
 * the derived module.  A caller that holds any mca_btl_base_module_t asks
 * mca_btl_fastsm_ext() for it and must be content with NULL.  Nothing here
 * knows about MPI.
 */

#ifndef MCA_BTL_FASTSM_EXT_H
#define MCA_BTL_FASTSM_EXT_H

#include "opal_config.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "opal/mca/btl/base/base.h"
#include "opal/mca/btl/btl.h"

#include "opal/mca/btl/fastsm/btl_fastsm_inline.h"

/** the bytes "fastsmX1" as a little-endian number */
#define MCA_BTL_FASTSM_EXT_MAGIC UINT64_C(0x31586d7374736166)
/** Raised whenever a member of the extension changes its meaning, or anything in btl_fastsm_inline.h. */
#ifndef MCA_BTL_FASTSM_ABI
#    define MCA_BTL_FASTSM_ABI 31u
#endif

/**
 * btl_sendi for a header of MCA_BTL_FASTSM_HEADER_BYTES and without a convertor: sends header and payload at
 * once and completely, or not at all.  All that it is given travels in registers.
 *
 * @param endpoint      one of fastsm's
 * @param word0, word1  the header, as its 8-byte halves lie in memory
 * @param payload       contiguous, or NULL when payload_size is 0
 * @param payload_size  bytes; with the header at most sendi_limit of the extension
 * @param tag           active message tag
 * @return              OPAL_SUCCESS, or OPAL_ERR_OUT_OF_RESOURCE when there is no room
 */
typedef int (*mca_btl_fastsm_sendi_fn_t)(struct mca_btl_base_endpoint_t *endpoint, uint64_t word0,
                                         uint64_t word1, const void *payload, size_t payload_size,
                                         mca_btl_base_tag_t tag);

/**
 * A number that a message takes while it leaves.  It does so with its endpoint's lock held, when its data is
 * in this process's private or shared memory and nothing can refuse it any more.  So the peer gets messages
 * in the order of their numbers, and a number that is taken is always sent, whatever the threads of this
 * process wait for.
 */
typedef struct {
    _Atomic uint32_t *last; /**< the last number taken; belongs to the caller, one endpoint only uses it */
    size_t offset;          /**< where in the message the lower 16 bits go, in the host's byte order */
    uint32_t number;        /**< receives it */
} mca_btl_fastsm_stamp_t;

/**
 * Take the next number.  The endpoint is locked.
 *
 * @param last  mca_btl_fastsm_stamp_t.last
 * @return      the number
 */
static inline uint32_t mca_btl_fastsm_next_number(_Atomic uint32_t *last)
{
    const uint32_t number = atomic_load_explicit(last, memory_order_relaxed) + 1;

    /* not an atomic addition: the lock keeps others out, and its release is what orders this */
    atomic_store_explicit(last, number, memory_order_relaxed);
    return number;
}

/**
 * Number a message.  The endpoint is locked.
 *
 * @param stamp    says where; or NULL: the message has no number
 * @param message  its beginning
 */
static inline void mca_btl_fastsm_stamp(mca_btl_fastsm_stamp_t *stamp, void *message)
{
    if (NULL != stamp) {
        const uint32_t number = mca_btl_fastsm_next_number(stamp->last);
        const uint16_t bits = (uint16_t) number;

        memcpy((char *) message + stamp->offset, &bits, sizeof(bits));
        stamp->number = number;
    }
}

/**
 * mca_btl_fastsm_sendi_fn_t for a message that is numbered.  Refused, it takes no number.  With several
 * threads the payload is copied before anything is locked, so that memory that cannot be read yet makes
 * nobody else wait.
 *
 * @param stamp  its offset is within the header
 */
typedef int (*mca_btl_fastsm_sendi_numbered_fn_t)(struct mca_btl_base_endpoint_t *endpoint, uint64_t word0,
                                                  uint64_t word1, const void *payload, size_t payload_size,
                                                  mca_btl_base_tag_t tag, mca_btl_fastsm_stamp_t *stamp);

/** A message's data that is not contiguous in its process's memory. */
typedef struct {
    /**
     * Moves a part of it: from a sender's memory to `piece`, or from `piece` to a receiver's memory. Parts
     * come in order; a receiver may be told to begin again.
     *
     * @param offset  in the message's data, bytes
     * @param length  bytes, more than 0
     */
    void (*move)(void *context, void *piece, size_t offset, size_t length);
    void *context; /**< the caller's */
    bool whole;    /**< it can be moved in one piece only */
} mca_btl_fastsm_data_t;

/**
 * mca_btl_fastsm_sendi_numbered_fn_t for such data, which goes straight to where the peer reads it.
 *
 * @param size   bytes of data; with the header more than what is inline
 * @param stamp  or NULL: the message has its number
 */
typedef int (*mca_btl_fastsm_sendi_data_fn_t)(struct mca_btl_base_endpoint_t *endpoint, uint64_t word0,
                                              uint64_t word1, const mca_btl_fastsm_data_t *data, size_t size,
                                              mca_btl_base_tag_t tag, mca_btl_fastsm_stamp_t *stamp);

/** A message that has come, where it is: in its slots, or in buffers of its sender's. */
typedef struct {
    struct mca_btl_base_endpoint_t *endpoint; /**< its sender */
    fastsm_fifo_receiver_t *in;               /**< the FIFO that it is in */
    const mca_btl_fastsm_slot_t *head;        /**< its first slot */
    /** its first MCA_BTL_FASTSM_HEADER_BYTES; in the slot, whose line is here already */
    const char *header;
    /** the message in one piece; or its beginning, where it takes several slots or chunks */
    const char *data;
    size_t length;   /**< bytes, at least MCA_BTL_FASTSM_HEADER_BYTES */
    uint32_t halves; /**< that it takes */
    uint8_t tag;     /**< its active message tag */
    size_t chunk;    /**< bytes of the first of its chunks, of which the last may still be on their way; 0: it
                        is in one piece */
} mca_btl_fastsm_view_t;

_Static_assert(8 != sizeof(void *) || 64 == sizeof(mca_btl_fastsm_view_t),
               "a view has changed, so MCA_BTL_FASTSM_ABI has to");

/**
 * Copies the beginning of a message that is not in chunks: the extension's move() is for those, and sooner
 * for what is longer than MCA_COMMON_FASTPATH_COPY_LONG.
 *
 * @param to      receives what follows the first MCA_BTL_FASTSM_HEADER_BYTES
 * @param length  bytes, at most those that follow
 */
static inline void mca_btl_fastsm_view_copy(const mca_btl_fastsm_view_t *view, void *to, size_t length)
{
    if (2 < view->halves) {
        fastsm_fifo_copy(to, view->head, length);
    } else {
        mca_common_fastpath_copy(to, view->data + MCA_BTL_FASTSM_HEADER_BYTES, length);
    }
}

/** What the kernel lets two processes do with each other's memory. */
typedef struct {
    bool wanted;  /**< it has been asked: parameter btl_fastsm_single_copy */
    bool reads;   /**< we can read the peer's */
    bool smsc;    /**< and do that by the host's module */
    bool writes;  /**< we can write to it */
    bool is_read; /**< it can read ours, or has not said yet that it cannot */
    int error;    /**< errno of why we cannot read it, or 0 */
} mca_btl_fastsm_copies_t;

/** No longer takes messages from a FIFO: see mca_btl_fastsm_begin_consuming(). */
static inline void mca_btl_fastsm_end_consuming(fastsm_fifo_receiver_t *fifo)
{
    /* C2.  Partner: C1. */
    atomic_store_explicit(&fifo->consuming, 0, memory_order_release);
}

/**
 * Ends what the extension's peek() has begun.
 *
 * @param taken  the message has been: what it takes is handed back to its sender.  Otherwise it is left where
 *               it is, for the next one that looks
 */
static inline void mca_btl_fastsm_release(const mca_btl_fastsm_view_t *view, bool taken)
{
    if (taken) {
        fastsm_fifo_release(view->in, view->halves);
    }
    mca_btl_fastsm_end_consuming(view->in);
}

/** What a callback may do with the message that it has been called for, where there is one thread. */
typedef enum {
    MCA_BTL_FASTSM_MUST_TAKE =
        0,                   /**< it has to be taken: it is in a ring, messages of others are behind it */
    MCA_BTL_FASTSM_MAY_END,  /**< others need not be handed up in this look at the FIFO */
    MCA_BTL_FASTSM_MAY_STAY, /**< nor this one, because something has been taken since the last look: of two
                                looks one takes something */
} mca_btl_fastsm_choice_t;

/** And what it has done. */
typedef enum {
    MCA_BTL_FASTSM_TAKEN = 0, /**< it has dealt with it: who says nothing says this */
    MCA_BTL_FASTSM_KEPT,      /**< it has copied it, for later */
    MCA_BTL_FASTSM_KEPT_LAST, /**< likewise, and the look ends */
    MCA_BTL_FASTSM_LEFT, /**< nothing: the message stays where it is, in the way of those behind it, until the
                            next look finds it */
} mca_btl_fastsm_answer_t;

/** A message that is handed up. */
typedef struct {
    mca_btl_fastsm_choice_t choice; /**< until the callback lets others progress */
    mca_btl_fastsm_answer_t answer; /**< set by the callback if it has a choice; TAKEN otherwise */
} mca_btl_fastsm_handed_t;

/**
 * The extension: constant after the component's init, owned by the module.
 */
typedef struct {
    uint64_t magic;   /**< MCA_BTL_FASTSM_EXT_MAGIC */
    uint32_t abi;     /**< MCA_BTL_FASTSM_ABI */
    uint32_t size;    /**< sizeof(mca_btl_fastsm_ext_t) */

    /**
     * Says that a caller that knows fastsm is going to use it, so that it
     * accepts peers although the btl list does not name it.  To be called
     * before the first btl_add_procs; calling it again does nothing.  Whoever
     * does so asks refused() after adding processes of other jobs.
     */
    void (*confirm)(mca_btl_base_module_t *btl);

    /** longest message of sendi and sendi_numbered, in bytes with the header; from btl_add_procs on */
    size_t sendi_limit;
    /** buffers of the pool that has fewer, from btl_add_procs on, 0 until then: who keeps one while it fills
     * it leaves another one to the rest of the process.  Fewer when there is no memory for more. */
    volatile uint32_t buffers;
    mca_btl_fastsm_sendi_fn_t sendi;
    mca_btl_fastsm_sendi_numbered_fn_t sendi_numbered;
    mca_btl_fastsm_sendi_data_fn_t sendi_data;

    /**
     * Whether sendi of so many bytes would take long, because that many have to be copied or the peer's core
     * is far away, while both sides can copy the message, each a part (write()).  Known from what it took
     * lately, less what the kernel takes for a page of each chunk; now and then the answer is no in any case,
     * so that it is known what it takes now.
     */
    bool (*chunks_are_slow)(struct mca_btl_base_endpoint_t *endpoint, size_t size);

    /**
     * Whether chunks take longer than the kernel for a message of so many bytes that goes to the peer while
     * another one may come from there: each process fills chunks and empties others then, and waits for none.
     * From some hundred KiB on that is measured: a message that is asked for should be sent so; shorter ones
     * go in chunks.  If it does, the next message to this peer is taken for this one, and is not refused
     * because the peer has not read those before.  Without threads only.
     *
     * @param alone  no other one that the kernel copies is under way
     */
    bool (*exchange_is_slow)(struct mca_btl_base_endpoint_t *endpoint, size_t size, bool alone);

    /** btl_send of a message that is numbered.  Never refused. */
    int (*send_numbered)(struct mca_btl_base_endpoint_t *endpoint, mca_btl_base_descriptor_t *descriptor,
                         mca_btl_base_tag_t tag, mca_btl_fastsm_stamp_t *stamp);

    /**
     * The sending end of an endpoint's FIFO, for callers that want to put their short messages there
     * themselves, with fastsm_fifo_has_slot() and fastsm_fifo_send_slot() and nothing else, so that there is
     * no call on their way.  What they find no room for goes to sendi.  With several threads they hold its
     * lock over both, and take no other one meanwhile; they do not touch a user's memory then, and number the
     * message by mca_btl_fastsm_next_number().
     *
     * @return  constant while the endpoint exists; or NULL: every message has to go to sendi
     */
    fastsm_fifo_sender_t *(*sender)(struct mca_btl_base_endpoint_t *endpoint);

    /**
     * How many processes of other jobs, since the start, fastsm should have
     * served and could not.  A help text has then said why.  They believe
     * that they are served, so talking to them another way is no remedy.
     */
    uint32_t (*refused)(mca_btl_base_module_t *btl);

    /**
     * The receiving end of an endpoint's FIFO, for callers that want to take messages in slots from
     * there themselves, with fastsm_fifo_see(), _copy() and _release_message(), and nothing else, so that
     * there is no call on their way.  What those do not take may be something for peek.  Only while
     * opal_using_threads() says that there is one thread.
     *
     * @return  constant while the endpoint exists; or NULL: there is no such end now, or peek has to be
     * called
     */
    fastsm_fifo_receiver_t *(*receiver)(struct mca_btl_base_endpoint_t *endpoint);

    /**
     * Says what the next message from one sender is, past the callback for its tag.  On success nobody else
     * looks at that sender's messages until mca_btl_fastsm_release() is called, which has to be soon, and
     * from the same function: who takes the message copies what is wanted of it before.
     *
     * @param endpoint  one of fastsm's
     * @param spins     how often to look before giving up, at least 1
     * @param view      receives what it is
     * @return          OPAL_SUCCESS; OPAL_ERR_NOT_FOUND when nothing has come; OPAL_ERR_NOT_AVAILABLE: it is
     *                  fastsm's own, or makes no sense, or somebody else is at it
     */
    int (*peek)(struct mca_btl_base_endpoint_t *endpoint, unsigned spins, mca_btl_fastsm_view_t *view);

    /**
     * Copies the beginning of a message, or moves all of its data.  For a message in chunks it waits.
     *
     * @param to         receives what follows the first MCA_BTL_FASTSM_HEADER_BYTES
     * @param data       takes the place of to; or NULL
     * @param length     bytes, at most those that follow; with data, all of them.  If some are left out, all
     *                   chunks have come when it returns true
     * @param undecided  the receive may yet get another message, or none: nothing is written unless all
     *                   chunks have come
     * @return           false when they do not come soon, because their sender has lost its processor, or
     *                   make no sense, or data cannot be moved in parts.  Then the message has to be left
     *                   where it is, and unless the receive was undecided, a part of it may have been written
     */
    bool (*move)(const mca_btl_fastsm_view_t *view, void *to, const mca_btl_fastsm_data_t *data,
                 size_t length, bool undecided);

    /**
     * Finds a sender whose next message has come, without touching it.
     *
     * @param spins   how often to look at all senders before giving up, at least 1
     * @param header  receives what the message begins with: MCA_BTL_FASTSM_HEADER_BYTES
     * @return        its endpoint, or NULL: nothing has come, or something that peek does not show
     */
    struct mca_btl_base_endpoint_t *(*scan)(mca_btl_base_module_t *btl, unsigned spins, void *header);

    /**
     * Delivers what has come from one sender, or from all of them, as progress does, and no more than that: a
     * callback may leave some.
     *
     * @param endpoint  the sender, or NULL: one round of progress for all, as also for one of another job
     * @param spins     how often to look at that sender before giving up, at least 1
     * @return          messages delivered, or 1 when one is there and has been left; 0 when nothing has come
     *                  or another thread is at it
     */
    int (*poll)(struct mca_btl_base_endpoint_t *endpoint, unsigned spins);

    /**
     * Writes into a peer's memory, at once.
     *
     * @param endpoint  one of fastsm's
     * @param remote    address in that process
     * @return          whether all of it has been written; if not, the kernel forbids it, or the process is
     * gone
     */
    bool (*write)(struct mca_btl_base_endpoint_t *endpoint, const void *local, uint64_t remote, size_t size);

    /** Says what may be done with the peer's memory and with ours. */
    void (*copies)(struct mca_btl_base_endpoint_t *endpoint, mca_btl_fastsm_copies_t *copies);

    /** places for names of operations that this process waits for */
    uint32_t await_max;

    /**
     * Says to all peers that this process is in a call that waits, and that a part of this operation may be
     * left to it.  Only while one thread does so.
     *
     * @param place  below await_max, which names nothing
     * @param name   of the operation, the caller's; neither 0 nor UINT64_MAX
     */
    void (*await)(mca_btl_base_module_t *btl, uint32_t place, uint64_t name);

    /**
     * Takes that back, before the call returns or when the operation needs nobody's help.
     *
     * @param name  what await() said at that place
     * @return      whether a peer has claimed the operation: it counts on this process to do its part
     */
    bool (*await_end)(mca_btl_base_module_t *btl, uint32_t place, uint64_t name);

    /**
     * Claims an operation of a peer's, if that peer says so of it.
     *
     * @return  whether it does its part now: it has not taken that back, and nobody has claimed it before
     */
    bool (*claim)(struct mca_btl_base_endpoint_t *endpoint, uint64_t name);

    /**
     * @return  whether that peer just now copies from or to another process's memory, by the BTL's get or by
     *          write(): what it is asked for begins later.  Not known of a process with threads
     */
    bool (*is_copying)(struct mca_btl_base_endpoint_t *endpoint);

    /**
     * The process behind an endpoint has failed, and the job goes on.  What it
     * sent before is still delivered.  What waits for it counts as sent: its
     * callbacks come from progress.
     */
    void (*failed)(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint);

    /**
     * Says whether a process of another job has ended without leaving MPI.  Nothing else says so: shared
     * memory stays as it is.  Costs a system call.  While another thread checks such processes it returns
     * false.
     *
     * @param endpoint  one of fastsm's, of a process of whatever job
     */
    bool (*died)(struct mca_btl_base_endpoint_t *endpoint);

    /**
     * Says which processes share this machine with us, as far as fastsm reaches them, of whatever job. Those
     * in another PID namespace, whose numbers mean somebody else here, are left out.
     *
     * @param pids  receives their numbers, up to `most`
     * @return      how many there are; may be too few once when another thread is at work on such processes
     */
    size_t (*pids)(pid_t *pids, size_t most);

    /** Says whether an endpoint's process is one of those, now or once it is connected. */
    bool (*has_pid)(const struct mca_btl_base_endpoint_t *endpoint);

    /**
     * Grows with each message that progress delivers, or finds and leaves, and with each callback, of
     * whatever process and layer. Callers add what they let progress themselves.
     */
    volatile unsigned long *arrived;

    /**
     * Grows when a look at what has come leaves something out, because another thread is looking at that.
     * What has come meanwhile may be found by neither.  Callers add their own.
     */
    _Atomic unsigned long *missed;

    /** The message that a callback is called for. */
    mca_btl_fastsm_handed_t *handed;

    /**
     * Where an endpoint's process says that it sleeps; NULL: this one.  Who has stored something elsewhere
     * that it may wait for calls fastsm_wake_if_asleep() with that.
     *
     * @return  NULL: it is not known now
     */
    _Atomic uint32_t *(*asleep)(struct mca_btl_base_endpoint_t *endpoint);

    /**
     * Says to all peers that this process is going to sleep.  Then the caller looks once more for everything
     * that it waits for, lets everything progress, and if nothing has come calls sleep().  Costs each core
     * that one of fastsm's processes runs on some half us.
     *
     * With several threads each announces for itself.  What is completed for a thread by another one that
     * then calls fastsm_wake_if_asleep() with asleep(NULL) ends its sleep, too, as messages do that progress
     * delivers.  A look at which `missed` has grown does not count.
     *
     * @return  for sleep(); 0: a message of some peer, or of another process of the job on this node, would
     *          not end a sleep, and nothing has been said
     */
    uint32_t (*announce_sleep)(mca_btl_base_module_t *btl);

    /**
     * Sleeps until a peer sends something, if nobody has since announce_sleep(); at the most for some time. A
     * signal ends it, too.
     *
     * @param word  what announce_sleep() has returned, in this thread
     * @param time  nanoseconds, less than a second
     * @return      whether it is still announced, so that sleep() may be called again without that: no
     *              message has come
     */
    bool (*sleep)(mca_btl_base_module_t *btl, uint32_t word, uint64_t time);
} mca_btl_fastsm_ext_t;

/**
 * The part of the module that a caller from outside may know.  The private
 * part follows it (btl_fastsm.h).
 */
typedef struct {
    mca_btl_base_module_t super;
    mca_btl_fastsm_ext_t ext;
} mca_btl_fastsm_public_module_t;

/** Whether a BTL module is fastsm's, of whatever version. */
static inline bool mca_btl_fastsm_is(const mca_btl_base_module_t *btl)
{
    return 0 == strcmp(btl->btl_component->btl_version.mca_component_name, "fastsm");
}

/**
 * Finds the extension of a BTL module.
 *
 * @param btl  any BTL module
 * @return     its extension, or NULL when the module is not fastsm or is one
 *             that was built with another version of this header
 */
static inline const mca_btl_fastsm_ext_t *mca_btl_fastsm_ext(mca_btl_base_module_t *btl)
{
    const mca_btl_fastsm_ext_t *ext;

    if (!mca_btl_fastsm_is(btl)) {
        return NULL;
    }

    ext = &((mca_btl_fastsm_public_module_t *) btl)->ext;
    if (MCA_BTL_FASTSM_EXT_MAGIC != ext->magic || MCA_BTL_FASTSM_ABI != ext->abi
        || sizeof(*ext) != ext->size) {
        return NULL;
    }

    return ext;
}

/**
 * Finds fastsm's module among those of this process.
 *
 * @param btl  receives it, or NULL
 * @return     its extension, or NULL: there is none that mca_btl_fastsm_ext() knows
 */
static inline const mca_btl_fastsm_ext_t *mca_btl_fastsm_find(mca_btl_base_module_t **btl)
{
    mca_btl_base_selected_module_t *selected;

    OPAL_LIST_FOREACH(selected, &mca_btl_base_modules_initialized, mca_btl_base_selected_module_t)
    {
        const mca_btl_fastsm_ext_t *ext = mca_btl_fastsm_ext(selected->btl_module);

        if (NULL != ext) {
            *btl = selected->btl_module;
            return ext;
        }
    }
    *btl = NULL;
    return NULL;
}

#endif /* MCA_BTL_FASTSM_EXT_H */
