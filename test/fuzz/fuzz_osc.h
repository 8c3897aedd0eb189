/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * osc/fastpath under fuzz_osc.c: three members of one window, all of them in this process.
 */
#ifndef FUZZ_OSC_H
#define FUZZ_OSC_H

#include "fuzz_world.h"

#include "ompi/mca/osc/fastpath/osc_fastpath.h"

/** bytes of a window, and around memory that nobody may write beside */
enum { WINDOW = 3072, GUARD = 128 };

/** Memory with guards around it. */
typedef struct {
    uint8_t *all; /**< malloc'ed: guard, bytes, guard */
    size_t size;  /**< without guards */
} guarded_t;

/** A member of the window. */
typedef struct {
    ompi_win_t *win;
    ompi_communicator_t *comm;
    mca_osc_fastpath_module_t *module; /**< until it is freed */
    uint32_t id;                       /**< of the window, to this member */
    guarded_t memory;
    uint8_t *shadow; /**< what the window has to be, where nothing is damaged */
    bool busy;       /**< within a call */
    struct mca_osc_fastpath_peer_t *last_locked; /**< the component's, while it is in a call */
} member_t;

extern member_t members[RANKS];

/** @return the first byte of guarded memory, which holds `fill` */
uint8_t *guarded_new(guarded_t *memory, size_t size, uint8_t fill);
/** @return its first byte */
static inline uint8_t *guarded(const guarded_t *memory)
{
    return memory->all + GUARD;
}
/** Look at the guards and free it. */
void guarded_free(guarded_t *memory, const char *what);

/* fuzz_osc.c */

/** Something has been damaged in this case: errors are to be expected. */
bool case_damaged(void);
/** The component reports damage. */
void case_reported(unsigned rank, const char *reason);
/** Expect errors from now on. */
void case_give_up(void);
/** An MPI call has returned that. Only where something is damaged it may be an error. */
void case_returned(int rc, const char *call);
/** The BTL has got that for a member. */
void case_heard(int rank, mca_btl_base_tag_t tag, const void *bytes, size_t length);
/** A member's BTL is to write into another one's memory. Its arguments and return value are a BTL's. */
int case_put(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint, void *from, uint64_t to,
             mca_btl_base_registration_handle_t *handle, mca_btl_base_registration_handle_t *remote_handle,
             size_t length, int flags, int order, mca_btl_base_rdma_completion_fn_t done, void *context,
             void *data);
/** The windows are freed next: all that is to be written is, and no more is taken. */
void case_close(void);
/** Have one packet that is on its way arrive, or data be written. @return whether there was any */
bool case_deliver(void);

/* fuzz_osc_world.c */

void world_start(int *argc, char ***argv);
/** Make the window anew. */
void world_begin(void);
/** Free it, and everything that damage has left in it. */
void world_end(void);
/** What fences and MPI_Win_free will hear from the other members: what has been sent so far. */
void world_count(bool fence);
/** @return displacement of a place in a member's window */
ptrdiff_t world_disp(int target, size_t place);
/** A packet from one member to another. @return memory to be freed, with the other's id of the window */
uint8_t *world_translate(int to, const void *bytes, size_t length);

/** There may be no memory for packets. */
extern bool world_shortage;

/* fuzz_osc_mail.c */

/** Between epochs: have a member look at something in its mailbox, sound or not. */
void mail_case(void);
/** The same for who asks for help. */
void help_case(void);

/* fuzz_osc_scene.c */

void scene_start(void);
/** Make up an epoch and go through it. */
void scene_epoch(void);
/** @return whether a member waits for data of a get there */
bool scene_awaits(uint64_t to, size_t length);
/** Have another member go on, while one waits. @return whether there was one */
bool scene_go_on(void);
/** Look at what the operations of the case have brought, and forget them. */
void scene_end(void);

#endif /* FUZZ_OSC_H */
