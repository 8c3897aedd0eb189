/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Small updates that a target makes for an origin that the kernel copies for.
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
#include "opal/mca/common/fastpath/common_fastpath_process.h"
#include "opal/mca/common/fastpath/common_fastpath_relax.h"

#include "osc_fastpath_mail.h"
#include "osc_fastpath_regions.h"
#include "osc_fastpath_wait.h"

/** windows that one look is for, at most */
#define WINDOWS 4
/** updates that an origin makes itself before it tries the mailbox again, at most */
#define MOST_SKIPPED 63u

/* ------------------------------------------------------------------------------------------------ origin */

/* Fill in what is to be updated. @return whether it fits into a mailbox */
static bool describe(const mca_osc_fastpath_peer_t *peer, const mca_osc_fastpath_update_t *update,
                     mca_osc_fastpath_posted_t *posted)
{
    const mca_osc_fastpath_memory_t *memory = &update->memory;
    const ompi_datatype_t *element = update->element;
    const int op =
        NULL == update->op ? MCA_OSC_FASTPATH_MAILBOX_COMPARE : ompi_osc_fastpath_op_index(update->op);

    if (MCA_OSC_FASTPATH_MAILBOX_BYTES < update->length || update->length != element->super.size || 0 > op
        || !fastpath_is_contiguous(memory->type, memory->count) || !fastpath_is_contiguous(element, 1)
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

/* Does the process live whose memory an update is about? */
static bool is_alive(const mca_osc_fastpath_peer_t *peer, const mca_osc_fastpath_update_t *update)
{
    const uintptr_t at = (uintptr_t) update->memory.address + (uintptr_t) update->memory.type->super.true_lb;
    char byte;

    return mca_common_fastpath_process_copy(peer->pid, false, &byte, at + update->offset, 1)
           || ESRCH != errno;
}

/* The target is some instructions from its answer, unless it does not run or has died. */
static uint32_t await_answer(const mca_osc_fastpath_peer_t *peer, const mca_osc_fastpath_update_t *update)
{
    const mca_osc_fastpath_mailbox_t *mailbox = &peer->member->mailbox;
    unsigned tries = 0;
    uint32_t answer;

    while (MCA_OSC_FASTPATH_MAILBOX_TAKEN == (answer = mca_osc_fastpath_mailbox_answer(mailbox))) {
        ompi_osc_fastpath_backoff(&tries);
        if (0 == tries % 1024 && !is_alive(peer, update)) {
            return mca_osc_fastpath_mailbox_answer(mailbox);
        }
    }
    return answer;
}

/* Look for an answer for a short while; who waits for an update makes those of others. */
static uint32_t look_for_answer(mca_osc_fastpath_mailbox_t *mailbox)
{
    for (unsigned looks = mca_osc_fastpath_component.looks; 0 < looks; --looks) {
        const uint32_t answer = mca_osc_fastpath_mailbox_answer(mailbox);

        if (MCA_OSC_FASTPATH_MAILBOX_POSTED != answer) {
            return answer;
        }
        mca_common_fastpath_relax();
        (void) mca_osc_fastpath_look();
    }
    return MCA_OSC_FASTPATH_MAILBOX_POSTED;
}

/* Try the mailbox less and less often while nobody answers. */
static void no_answer(mca_osc_fastpath_peer_t *peer)
{
    const unsigned next = 2u * peer->mail.pause + 1;

    peer->mail.pause = (uint8_t) (MOST_SKIPPED < next ? MOST_SKIPPED : next);
    peer->mail.skip = peer->mail.pause;
    mca_osc_fastpath_count(MCA_OSC_FASTPATH_MAIL_WITHDRAWN);
}

bool ompi_osc_fastpath_mail(mca_osc_fastpath_peer_t *peer, const mca_osc_fastpath_update_t *update, int *rc)
{
    mca_osc_fastpath_mailbox_t *mailbox = &peer->member->mailbox;
    uint32_t answer;

    if (0 < peer->mail.skip) {
        --peer->mail.skip;
        return false;
    }
    if (0 == mca_osc_fastpath_component.looks || !describe(peer, update, &mailbox->posted)) {
        return false;
    }
    mca_osc_fastpath_mailbox_post(mailbox);
    answer = look_for_answer(mailbox);
    if (MCA_OSC_FASTPATH_MAILBOX_POSTED == answer && mca_osc_fastpath_mailbox_withdraw(mailbox)) {
        no_answer(peer);
        return false;
    }
    answer = await_answer(peer, update);
    *rc = MCA_OSC_FASTPATH_MAILBOX_TAKEN == answer ? MPI_ERR_PROC_FAILED : OMPI_SUCCESS;
    if (MCA_OSC_FASTPATH_MAILBOX_DONE == answer) {
        if (NULL != update->result) {
            memcpy(update->result, mailbox->posted.data, update->length);
        }
        peer->mail.pause = 0;
        mca_osc_fastpath_count(MCA_OSC_FASTPATH_MAILED);
    }
    return MCA_OSC_FASTPATH_MAILBOX_REFUSED != answer;
}

/* ------------------------------------------------------------------------------------------------ target */

/* Where the element is, in this process. Another process has written this. @return NULL: not in the window */
static void *find(const mca_osc_fastpath_module_t *module, const mca_osc_fastpath_posted_t *posted)
{
    uint64_t end;

    if (__builtin_add_overflow(posted->at, posted->length, &end)) {
        return NULL;
    }
    if (MPI_WIN_FLAVOR_DYNAMIC == module->flavor) {
        return ompi_osc_fastpath_attached(module, (uintptr_t) posted->at, (uintptr_t) end)
                   ? (void *) (uintptr_t) posted->at
                   : NULL;
    }
    return end <= module->bytes ? (char *) module->base + posted->at : NULL;
}

/* Is it an update that there is? */
static bool parse(const mca_osc_fastpath_posted_t *posted, mca_osc_fastpath_update_t *update)
{
    ompi_datatype_t *element = ompi_osc_fastpath_predefined(posted->element);

    if (NULL == element || 0 == posted->length || sizeof(posted->data) < posted->length
        || posted->length != element->super.size || !fastpath_is_contiguous(element, 1)) {
        return false;
    }
    update->element = element;
    update->length = posted->length;
    if (MCA_OSC_FASTPATH_MAILBOX_COMPARE == posted->op) {
        return true;
    }
    update->op = ompi_osc_fastpath_op(posted->op);
    return NULL != update->op && ompi_osc_fastpath_op_defined(update->op, element);
}

/* The accumulate lock is the origin's, who waits. @return whether the update has been made; if not, nothing
 * has been touched */
static bool make_update(const mca_osc_fastpath_module_t *module, mca_osc_fastpath_mailbox_t *mailbox)
{
    const mca_osc_fastpath_posted_t posted = mailbox->posted; /* what is checked is what is used */
    _Alignas(16) unsigned char old[MCA_OSC_FASTPATH_MAILBOX_BYTES];
    mca_osc_fastpath_update_t update = {.origin = posted.data, .compare = posted.compare, .result = old};
    void *at = find(module, &posted);

    if (NULL == at || !parse(&posted, &update)) {
        return false;
    }
    update.memory = (mca_osc_fastpath_memory_t){
        .address = (char *) at - update.element->super.true_lb, .type = update.element, .count = 1};
    if (OMPI_SUCCESS != ompi_osc_fastpath_update(&update)) {
        return false;
    }
    memcpy(mailbox->posted.data, old, update.length);
    return true;
}

/* @return the updates made */
static int serve(mca_osc_fastpath_module_t *module)
{
    mca_osc_fastpath_mailbox_t *mailbox = &module->member->mailbox;
    int made = 0;

    if (!mca_osc_fastpath_try_enter(module)) { /* for what is attached to the window */
        return 0;
    }
    if (mca_osc_fastpath_mailbox_take(mailbox)) {
        mca_osc_fastpath_mailbox_reply(mailbox, make_update(module, mailbox));
        made = 1;
    }
    mca_osc_fastpath_leave(module);
    return made;
}

/* The next windows of the ring. Where there are threads, in component.lock. */
static int look(mca_osc_fastpath_component_t *component)
{
    mca_osc_fastpath_module_t *const first = atomic_load_explicit(&component->listener, memory_order_relaxed);
    mca_osc_fastpath_module_t *module = first;
    int made = 0;

    for (int i = 0; i < WINDOWS && NULL != module; ++i) {
        if (OPAL_UNLIKELY(mca_osc_fastpath_mailbox_rings(&module->member->mailbox))) {
            made += serve(module);
        }
        module = module->next_listener;
        if (module == first) {
            return made;
        }
    }
    atomic_store_explicit(&component->listener, module, memory_order_relaxed);
    return made;
}

int ompi_osc_fastpath_look(void)
{
    mca_osc_fastpath_component_t *component = &mca_osc_fastpath_component;
    int made;

    if (OPAL_LIKELY(!opal_using_threads())) {
        return look(component);
    }
    if (!mca_common_fastpath_trylock(&component->lock)) {
        return 0; /* another thread looks, or does something else */
    }
    made = look(component);
    mca_common_fastpath_unlock(&component->lock);
    return made;
}

void ompi_osc_fastpath_listen(mca_osc_fastpath_module_t *module)
{
    mca_osc_fastpath_component_t *component = &mca_osc_fastpath_component;
    mca_osc_fastpath_module_t *after;

    if (!module->node.copy || 0 == component->looks) {
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

void ompi_osc_fastpath_deafen(mca_osc_fastpath_module_t *module)
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
