/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* What a member finds in its mailbox, which others of its node write. Sound operations have their effect;
 * others are refused, and nothing but the window is touched. */

#include "fuzz_osc.h"

#include <stdio.h>
#include <string.h>

#include "ompi/mca/osc/fastpath/osc_fastpath_mail.h"

enum { MOST = MCA_OSC_FASTPATH_MAILBOX_BYTES };

/* A put, a get, or the sum of an integer. */
static mca_osc_fastpath_posted_t sound_one(int rank, size_t *place)
{
    const uint8_t ops[] = {MCA_OSC_FASTPATH_MAILBOX_PUT, MCA_OSC_FASTPATH_MAILBOX_GET,
                           MCA_OSC_FASTPATH_MAILBOX_COMPARE,
                           (uint8_t) mca_osc_fastpath_op_index(&ompi_mpi_op_replace.op)};
    const unsigned which = (unsigned) fuzz_below(sizeof(ops));
    mca_osc_fastpath_posted_t posted = {.op = ops[which], .length = (uint8_t) (1 + fuzz_below(MOST))};

    if (1 < which) {
        posted.element = (uint16_t) ompi_mpi_int.dt.id;
        posted.length = sizeof(int);
    }
    *place = fuzz_below(WINDOW - posted.length + 1);
    posted.at = (uint64_t) world_disp(rank, *place);
    for (unsigned i = 0; i < MOST; i++) {
        posted.data[i] = (unsigned char) fuzz_below(256);
    }
    memcpy(posted.compare, guarded(&members[rank].memory) + *place, posted.length);
    fuzz_learn(&posted, sizeof(posted));
    return posted;
}

static void damage(mca_osc_fastpath_posted_t *posted)
{
    for (uint64_t i = 1 + fuzz_below(3); 0 < i; i--) {
        if (fuzz_one_in(2)) {
            fuzz_change(posted, offsetof(mca_osc_fastpath_posted_t, data));
        } else {
            fuzz_change(posted, sizeof(*posted));
        }
    }
    if (fuzz_one_in(4)) { /* every kind and length, also such as there are not */
        posted->op = (uint8_t) fuzz_below(256);
        posted->length = (uint8_t) fuzz_below(fuzz_one_in(2) ? 256 : 24);
    }
    if (fuzz_one_in(4)) {
        posted->element = (uint16_t) fuzz_below(80);
    }
}

/* Is it an update of an int that has not an int's length? */
static bool is_cut(const mca_osc_fastpath_posted_t *posted)
{
    return MCA_OSC_FASTPATH_MAILBOX_PUT != posted->op && MCA_OSC_FASTPATH_MAILBOX_GET != posted->op
           && ompi_mpi_int.dt.id == posted->element && sizeof(int) != posted->length;
}

/* Have the member look. @return its answer */
static uint32_t answer(mca_osc_fastpath_module_t *module, uint32_t state)
{
    mca_osc_fastpath_mailbox_t *mailbox = &module->member->mailbox;

    mca_osc_fastpath_component.spin_count = 1;
    module->node.copy = true; /* as if others were on its node */
    mca_osc_fastpath_listen(module);
    atomic_store(&mailbox->state, state);
    (void) mca_osc_fastpath_look(NULL);
    mca_osc_fastpath_deafen(module);
    module->node.copy = false;
    return mca_osc_fastpath_mailbox_answer(mailbox);
}

/* A sound operation has been made. */
static void check_made(const mca_osc_fastpath_posted_t *posted, const uint8_t *before, const uint8_t *after,
                       size_t place, const mca_osc_fastpath_posted_t *reply)
{
    uint8_t want[WINDOW];

    memcpy(want, before, WINDOW);
    if (MCA_OSC_FASTPATH_MAILBOX_GET != posted->op) {
        memcpy(want + place, posted->data, posted->length);
    }
    if (0 != memcmp(want, after, WINDOW)) {
        fuzz_fail("an operation of the mailbox, %u, has left something else in the window", posted->op);
    }
    if (MCA_OSC_FASTPATH_MAILBOX_PUT != posted->op
        && 0 != memcmp(reply->data, before + place, posted->length)) {
        fuzz_fail("an operation of the mailbox, %u, has brought back something else", posted->op);
    }
}

/* Damaged or not, no help can be given here, for nobody is a COPY peer: all of it has to be refused. */
void help_case(void)
{
    mca_osc_fastpath_module_t *module = members[fuzz_below(RANKS)].module;
    mca_osc_fastpath_mailbox_t *mailbox = &module->member->help;
    mca_osc_fastpath_help_t help = {.address = (uintptr_t) guarded(&members[0].memory),
                                    .length = 1 + (uint32_t) fuzz_below(2 * WINDOW),
                                    .rank = (uint32_t) fuzz_below(RANKS + 2)};
    mca_osc_fastpath_posted_t posted = {.at = fuzz_below(WINDOW),
                                        .op = fuzz_one_in(2) ? MCA_OSC_FASTPATH_MAILBOX_HELP_PUT
                                                             : MCA_OSC_FASTPATH_MAILBOX_HELP_GET};

    memcpy(posted.data, &help, sizeof(help));
    if (fuzz_one_in(2)) {
        damage(&posted);
    }
    mailbox->posted = posted;
    mca_osc_fastpath_component.spin_count = 1;
    module->node.copy = true;
    mca_osc_fastpath_listen(module);
    mca_osc_fastpath_mailbox_post(mailbox);
    (void) mca_osc_fastpath_look(NULL);
    mca_osc_fastpath_deafen(module);
    module->node.copy = false;
    if (MCA_OSC_FASTPATH_MAILBOX_REFUSED != mca_osc_fastpath_mailbox_answer(mailbox)) {
        fuzz_fail("help with operation %u is not refused", posted.op);
    }
}

void mail_case(void)
{
    const int rank = (int) fuzz_below(RANKS);
    member_t *member = &members[rank];
    uint8_t *window = guarded(&member->memory);
    mca_osc_fastpath_mailbox_t *mailbox = &member->module->member->mailbox;
    const bool sound = fuzz_one_in(4), rings = !fuzz_one_in(16);
    const uint32_t state = rings ? MCA_OSC_FASTPATH_MAILBOX_POSTED : (uint32_t) fuzz_below(UINT32_MAX);
    uint8_t before[WINDOW];
    size_t place;
    uint32_t reply;
    mca_osc_fastpath_posted_t posted = sound_one(rank, &place);

    if (!sound) {
        damage(&posted);
    }
    memcpy(before, window, WINDOW);
    mailbox->posted = posted;
    reply = answer(member->module, state);
    if (MCA_OSC_FASTPATH_MAILBOX_POSTED == state && sound) {
        if (MCA_OSC_FASTPATH_MAILBOX_DONE != reply) {
            fuzz_fail("an operation of the mailbox, %u, is answered by %u", posted.op, reply);
        }
        check_made(&posted, before, window, place, &mailbox->posted);
    } else if (MCA_OSC_FASTPATH_MAILBOX_POSTED != state
                   ? state != reply
                   : MCA_OSC_FASTPATH_MAILBOX_DONE != reply && MCA_OSC_FASTPATH_MAILBOX_REFUSED != reply) {
        fuzz_fail("a mailbox in state %u is answered by %u", state, reply);
    } else if (MCA_OSC_FASTPATH_MAILBOX_DONE == reply && is_cut(&posted)) {
        fuzz_fail("an update, %u, of %u bytes of an element of others is made", posted.op, posted.length);
    } else if (MCA_OSC_FASTPATH_MAILBOX_DONE != reply && 0 != memcmp(before, window, WINDOW)) {
        fuzz_fail("an operation that is refused, %u, has changed the window", posted.op);
    }
    memcpy(member->shadow, window, WINDOW);
}
