/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * pml/fastpath under fuzz_pml.c: the processes it talks to, and what they say.
 */
#ifndef FUZZ_PML_H
#define FUZZ_PML_H

#include "ompi_config.h"

#include "ompi/mca/pml/fastpath/pml_fastpath.h"
#include "ompi/mca/pml/fastpath/pml_fastpath_hdr.h"

#include "fuzz_world.h"

/** bytes that a packet may become longer by */
enum { MORE = 64 };

/** A message from a peer. */
typedef struct {
    uint32_t id; /**< says what its bytes are */
    int src;
    int tag;
    uint16_t seq;
    size_t length;
    size_t other_length; /**< damaged: what its header may say now */
    bool damaged;
    bool cancelled; /**< its sender has asked for it back */
    bool answered;  /**< its receiver has said what it wants */
    bool received;
} message_t;

/** A receive of ours, for one message. */
typedef struct {
    message_t *message;
    uint8_t *buffer;
    size_t room;   /**< elements of one byte */
    size_t stride; /**< bytes from one to the next */
    int tag;
    ompi_request_t *request;
} receive_t;

/** A message of ours. */
typedef struct {
    uint32_t id;
    uint8_t *buffer;
    uint8_t *sink; /**< where its receiver has it written */
    size_t size;
    int tag;
    ompi_request_t *request;
} send_t;

/** A packet to the PML. */
typedef struct {
    uint8_t type;
    size_t hdr_size;
    size_t length;      /**< of header and data */
    message_t *message; /**< that it is of, or NULL */
    uint8_t bytes[];
} packet_t;

extern message_t messages[];
extern receive_t receives[];
extern send_t sends[];
extern unsigned n_messages, n_receives, n_sends;

/**
 * Have a packet sent. What follows its header are bytes of the message, from offset on.
 * @return it, until it has been sent
 */
packet_t *packet_add(uint8_t type, const void *hdr, size_t hdr_size, message_t *message, uint64_t offset,
                     size_t length);

/** A packet has been damaged in this case. */
bool world_is_damaged(void);

/* fuzz_pml_world.c: the PML, and what the BTL of its peers can do */
void world_start(int *argc, char ***argv);
void world_begin(void);
void world_end(void);
extern ompi_communicator_t *world_comm;
/** The BTL wants memory registered in this case. */
extern bool world_registers;
/** The PML can write to its peers in this case. */
extern bool world_helps;

/** The message that the PML is called for: what it may do with it, and what it has done. */
extern mca_btl_fastsm_handed_t world_handed;

/** The PML has sent a packet to a peer. */
void scene_heard(int peer, uint8_t type, const void *bytes, size_t length);
/** Is this a PASSED with rank 1's number that another process says? */
bool scene_is_foreign(uint8_t type, const void *bytes);
/** Number of the message of ours that rank 1 has told that its turn has come. */
uint32_t scene_passed(void);
/** Make up some traffic. */
void scene_any(void);
/** Post the receives of what came before them. */
void scene_post_late(void);
/** Give back what the last case has. */
void scene_forget(void);
/** Bytes at an address that the other side was told. @return whether there are that many */
bool scene_get(uint64_t address, void *to, size_t size);
bool scene_put(uint64_t address, const void *from, size_t size);

#endif /* FUZZ_PML_H */
