/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Small operations that a target makes for an origin that the kernel copies for.
 *
 * The windows whose mailboxes this process looks at are in a ring, linked by module.next_listener and guarded
 * by component.lock where there are threads. Each look begins where the last one has ended, so that many
 * windows cost a call of progress no more than a few.
 */
#if !defined(_GNU_SOURCE)
#    define _GNU_SOURCE
#endif

#include "ompi_config.h"

#include <errno.h>

#include "compat/fastpath_ft_compat.h"
#include "opal/mca/common/fastpath/common_fastpath_copy.h"
#include "opal/mca/common/fastpath/common_fastpath_process.h"
#include "opal/mca/common/fastpath/common_fastpath_relax.h"

#include "osc_fastpath_mail.h"
#include "osc_fastpath_peer.h"
#include "osc_fastpath_regions.h"
#include "osc_fastpath_wait.h"
#include "osc_fastpath_wake.h"

/** windows that one look is for, at most */
#define WINDOWS 4

/* ------------------------------------------------------------------------------------------------ origin */

/* Fill in what is to be updated. @return whether it fits into a mailbox */
static bool describe_update(const mca_osc_fastpath_peer_t *peer, const mca_osc_fastpath_update_t *update,
                            mca_osc_fastpath_posted_t *posted)
{
    const mca_osc_fastpath_memory_t *memory = &update->memory;
    const ompi_datatype_t *element = update->element;
    const int op =
        NULL == update->op ? MCA_OSC_FASTPATH_MAILBOX_COMPARE : mca_osc_fastpath_op_index(update->op);

    if (MCA_OSC_FASTPATH_MAILBOX_BYTES < update->length || update->length != element->super.size || 0 > op
        || !mca_osc_fastpath_is_contiguous(memory->type, memory->count)
        || !mca_osc_fastpath_is_contiguous(element, 1)
        || (NULL == update->origin && &ompi_mpi_op_no_op.op != update->op)) {
        return false;
    }
    posted->at = (uintptr_t) memory->address + (uintptr_t) memory->type->super.true_lb + update->offset
                 - (uintptr_t) peer->base;
    posted->element = (uint16_t) element->id;
    posted->op = (uint8_t) op;
    posted->length = (uint8_t) update->length;
    if (&ompi_mpi_op_no_op.op != update->op) {
        memcpy(posted->data, update->origin, update->length);
    }
    if (NULL == update->op) {
        memcpy(posted->compare, update->compare, update->length);
    }
    return true;
}

uint32_t mca_osc_fastpath_await_answer(const mca_osc_fastpath_peer_t *peer,
                                       const mca_osc_fastpath_mailbox_t *mailbox)
{
    const uintptr_t at = (uintptr_t) peer->base + (uintptr_t) mailbox->posted.at;
    unsigned tries = 0;
    uint32_t answer;
    char byte;

    while (MCA_OSC_FASTPATH_MAILBOX_TAKEN == (answer = mca_osc_fastpath_mailbox_answer(mailbox))) {
        mca_osc_fastpath_backoff(&tries);
        if (0 == tries % 1024 && !mca_common_fastpath_process_copy(peer->pid, false, &byte, at, 1)
            && ESRCH == errno) {
            return mca_osc_fastpath_mailbox_answer(mailbox);
        }
    }
    return answer;
}

/* Look for an answer for a short while; who waits for others makes what they have posted. */
static uint32_t look_for_answer(mca_osc_fastpath_mailbox_t *mailbox, const mca_osc_fastpath_module_t *inside)
{
    for (unsigned spins = mca_osc_fastpath_component.spin_count; 0 < spins; --spins) {
        const uint32_t answer = mca_osc_fastpath_mailbox_answer(mailbox);

        if (MCA_OSC_FASTPATH_MAILBOX_POSTED != answer) {
            return answer;
        }
        mca_common_fastpath_relax();
        (void) mca_osc_fastpath_look(inside);
    }
    return MCA_OSC_FASTPATH_MAILBOX_POSTED;
}

/* Hand over what is in the mailbox. @return the answer; TAKEN: the target has died; another: taken back */
static uint32_t deliver_mail(mca_osc_fastpath_peer_t *peer, const mca_osc_fastpath_module_t *inside)
{
    mca_osc_fastpath_mailbox_t *mailbox = &peer->member->mailbox;
    uint32_t answer;

    mca_osc_fastpath_mailbox_post(mailbox);
    mca_osc_fastpath_wake(peer);
    answer = look_for_answer(mailbox, inside);
    if (MCA_OSC_FASTPATH_MAILBOX_POSTED == answer && mca_osc_fastpath_mailbox_withdraw(mailbox)) {
        mca_osc_fastpath_no_answer(&peer->mail);
        mca_osc_fastpath_count(MCA_OSC_FASTPATH_MAIL_WITHDRAWN);
        return MCA_OSC_FASTPATH_MAILBOX_IDLE;
    }
    answer = mca_osc_fastpath_await_answer(peer, mailbox);
    if (MCA_OSC_FASTPATH_MAILBOX_DONE == answer) {
        peer->mail.pause = 0;
        mca_osc_fastpath_count(MCA_OSC_FASTPATH_MAILED);
    }
    return answer;
}

/* What an answer means to the caller. @return whether the origin has nothing more to do */
static bool is_over(uint32_t answer, int *rc)
{
    *rc = MCA_OSC_FASTPATH_MAILBOX_TAKEN == answer ? MPI_ERR_PROC_FAILED : OMPI_SUCCESS;
    return MCA_OSC_FASTPATH_MAILBOX_DONE == answer || MCA_OSC_FASTPATH_MAILBOX_TAKEN == answer;
}

bool mca_osc_fastpath_mail(mca_osc_fastpath_peer_t *peer, const mca_osc_fastpath_update_t *update, int *rc)
{
    mca_osc_fastpath_posted_t *posted = &peer->member->mailbox.posted;
    uint32_t answer;

    if (!mca_osc_fastpath_is_tried(&peer->mail) || !describe_update(peer, update, posted)) {
        return false;
    }
    answer = deliver_mail(peer, NULL);
    if (MCA_OSC_FASTPATH_MAILBOX_DONE == answer && NULL != update->result) {
        memcpy(update->result, posted->data, update->length);
    }
    return is_over(answer, rc);
}

bool mca_osc_fastpath_mail_bytes(mca_osc_fastpath_peer_t *peer, bool put, void *here, const void *there,
                                 size_t length, mca_osc_fastpath_module_t *inside, int *rc)
{
    mca_osc_fastpath_posted_t *posted = &peer->member->mailbox.posted;
    uint32_t answer;

    if (MCA_OSC_FASTPATH_MAILBOX_BYTES < length || !mca_osc_fastpath_is_tried(&peer->mail)
        || !mca_osc_fastpath_trylock_word(&peer->member->accumulate, peer->module->rank)) {
        return false;
    }
    posted->at = (uintptr_t) there - (uintptr_t) peer->base;
    posted->op = put ? MCA_OSC_FASTPATH_MAILBOX_PUT : MCA_OSC_FASTPATH_MAILBOX_GET;
    posted->length = (uint8_t) length;
    if (put) {
        mca_common_fastpath_copy_small(posted->data, here, length);
    }
    answer = deliver_mail(peer, inside);
    if (MCA_OSC_FASTPATH_MAILBOX_DONE == answer && !put) {
        mca_common_fastpath_copy_small(here, posted->data, length);
    }
    mca_osc_fastpath_unlock_word(&peer->member->accumulate);
    return is_over(answer, rc);
}

/* ------------------------------------------------------------------------------------------------ target */

/* Where the element is, in this process. Another process has written this. @return NULL: not in the window */
static void *find_element(const mca_osc_fastpath_module_t *module, const mca_osc_fastpath_posted_t *posted,
                          uint32_t length)
{
    uint64_t end;

    if (__builtin_add_overflow(posted->at, length, &end)) {
        return NULL;
    }
    if (MPI_WIN_FLAVOR_DYNAMIC == module->flavor) {
        return mca_osc_fastpath_attached(module, (uintptr_t) posted->at, (uintptr_t) end, NULL)
                   ? (void *) (uintptr_t) posted->at
                   : NULL;
    }
    return end <= module->bytes ? (char *) module->base + posted->at : NULL;
}

/* A put or a get. The bytes of an integer go together where it lies at a multiple of its size. */
static bool copy_bytes(const mca_osc_fastpath_posted_t *posted, void *at, mca_osc_fastpath_mailbox_t *mailbox)
{
    if (0 == posted->length || sizeof(posted->data) < posted->length) {
        return false;
    }
    if (MCA_OSC_FASTPATH_MAILBOX_PUT == posted->op) {
        mca_common_fastpath_copy_small(at, posted->data, posted->length);
    } else {
        mca_common_fastpath_copy_small(mailbox->posted.data, at, posted->length);
    }
    return true;
}

/* @return whether it is an update that there is */
static bool parse_posted(const mca_osc_fastpath_posted_t *posted, mca_osc_fastpath_update_t *update)
{
    ompi_datatype_t *element = mca_osc_fastpath_predefined(posted->element);

    if (NULL == element || 0 == posted->length || sizeof(posted->data) < posted->length
        || posted->length != element->super.size || !mca_osc_fastpath_is_contiguous(element, 1)) {
        return false;
    }
    update->element = element;
    update->length = posted->length;
    if (MCA_OSC_FASTPATH_MAILBOX_COMPARE == posted->op) {
        return true;
    }
    update->op = mca_osc_fastpath_op(posted->op);
    return NULL != update->op && mca_osc_fastpath_op_defined(update->op, element);
}

/* The accumulate lock is the origin's, who waits. @return whether that has been made which is posted; if not,
 * nothing has been touched */
static bool make_posted(const mca_osc_fastpath_module_t *module, mca_osc_fastpath_mailbox_t *mailbox)
{
    const mca_osc_fastpath_posted_t posted = mailbox->posted; /* what is checked is what is used */
    _Alignas(16) unsigned char old[MCA_OSC_FASTPATH_MAILBOX_BYTES];
    mca_osc_fastpath_update_t update = {.origin = posted.data, .compare = posted.compare, .result = old};
    void *at = find_element(module, &posted, posted.length);

    if (NULL == at) {
        return false;
    }
    if (MCA_OSC_FASTPATH_MAILBOX_PUT == posted.op || MCA_OSC_FASTPATH_MAILBOX_GET == posted.op) {
        return copy_bytes(&posted, at, mailbox);
    }
    if (!parse_posted(&posted, &update)) {
        return false;
    }
    update.memory = (mca_osc_fastpath_memory_t){
        .address = (char *) at - update.element->super.true_lb, .type = update.element, .count = 1};
    if (OMPI_SUCCESS != mca_osc_fastpath_update(&update)) {
        return false;
    }
    memcpy(mailbox->posted.data, old, update.length);
    return true;
}

/* Copy a piece of a long put or get. The address is one of the origin's own. @return whether it is done */
static bool give_help(mca_osc_fastpath_module_t *module, mca_osc_fastpath_mailbox_t *mailbox)
{
    const mca_osc_fastpath_posted_t posted = mailbox->posted;
    const bool put = MCA_OSC_FASTPATH_MAILBOX_HELP_PUT == posted.op;
    const mca_osc_fastpath_peer_t *peer;
    mca_osc_fastpath_help_t help;
    void *at;

    memcpy(&help, posted.data, sizeof(help));
    at = find_element(module, &posted, help.length);
    if (NULL == at || (!put && MCA_OSC_FASTPATH_MAILBOX_HELP_GET != posted.op)
        || help.rank >= (uint32_t) module->size) {
        return false;
    }
    peer = mca_osc_fastpath_peer(module, (int) help.rank);
    return NULL != peer && MCA_OSC_FASTPATH_COPY == peer->access
           && mca_common_fastpath_process_copy(peer->pid, !put, at, help.address, help.length);
}

/* @return the operations made */
static int serve(mca_osc_fastpath_module_t *module, const mca_osc_fastpath_module_t *inside)
{
    mca_osc_fastpath_mailbox_t *mailbox = &module->member->mailbox;
    int made = 0;

    if (module != inside && !mca_osc_fastpath_try_enter(module)) { /* for what is attached to the window */
        mca_osc_fastpath_missed();
        return 0;
    }
    if (mca_osc_fastpath_mailbox_take(mailbox)) {
        mca_osc_fastpath_mailbox_reply(mailbox, make_posted(module, mailbox));
        made = 1;
    }
    if (mca_osc_fastpath_mailbox_take(&module->member->help)) {
        mca_osc_fastpath_mailbox_reply(&module->member->help, give_help(module, &module->member->help));
        ++made;
    }
    if (module != inside) {
        mca_osc_fastpath_leave(module);
    }
    if (NULL != mca_osc_fastpath_component.idle.ext) {
        *mca_osc_fastpath_component.idle.ext->arrived +=
            (unsigned long) made; /* who waits does not sleep then */
    }
    return made;
}

/* The next windows of the ring. Where there are threads, in component.lock. */
static int look_at_mailboxes(mca_osc_fastpath_component_t *component, const mca_osc_fastpath_module_t *inside)
{
    mca_osc_fastpath_module_t *const first = atomic_load_explicit(&component->listener, memory_order_relaxed);
    mca_osc_fastpath_module_t *module = first;
    int made = 0;

    for (int i = 0; i < WINDOWS && NULL != module; ++i) {
        if (OPAL_UNLIKELY(mca_osc_fastpath_mailbox_rings(&module->member->mailbox)
                          || mca_osc_fastpath_mailbox_rings(&module->member->help))) {
            made += serve(module, inside);
        }
        module = module->next_listener;
        if (module == first) {
            return made;
        }
    }
    atomic_store_explicit(&component->listener, module, memory_order_relaxed);
    return made;
}

int mca_osc_fastpath_look_at_some(const mca_osc_fastpath_module_t *inside)
{
    mca_osc_fastpath_component_t *component = &mca_osc_fastpath_component;
    int made;

    if (OPAL_LIKELY(!opal_using_threads())) {
        return look_at_mailboxes(component, inside);
    }
    if (!mca_common_fastpath_trylock(&component->lock)) {
        mca_osc_fastpath_missed();
        return 0; /* another thread looks, or does something else */
    }
    made = look_at_mailboxes(component, inside);
    mca_common_fastpath_unlock(&component->lock);
    if (0 < made) {
        mca_osc_fastpath_wake_threads();
    }
    return made;
}

void mca_osc_fastpath_listen(mca_osc_fastpath_module_t *module)
{
    mca_osc_fastpath_component_t *component = &mca_osc_fastpath_component;
    mca_osc_fastpath_module_t *after;

    if (!module->node.copy || 0 == component->spin_count) {
        return;
    }
    mca_common_fastpath_lock(&component->lock);
    after = atomic_load_explicit(&component->listener, memory_order_relaxed);
    module->next_listener = NULL == after ? module : after->next_listener;
    if (NULL == after) {
        atomic_store_explicit(&component->listener, module, memory_order_relaxed);
    } else {
        after->next_listener = module;
    }
    mca_common_fastpath_unlock(&component->lock);
}

void mca_osc_fastpath_deafen(mca_osc_fastpath_module_t *module)
{
    mca_osc_fastpath_component_t *component = &mca_osc_fastpath_component;
    mca_osc_fastpath_module_t *before = module;

    if (NULL == module->next_listener) {
        return;
    }
    mca_common_fastpath_lock(&component->lock);
    while (before->next_listener != module) {
        before = before->next_listener;
    }
    before->next_listener = module->next_listener;
    atomic_store_explicit(&component->listener, before == module ? NULL : before, memory_order_relaxed);
    module->next_listener = NULL;
    mca_common_fastpath_unlock(&component->lock);
}
