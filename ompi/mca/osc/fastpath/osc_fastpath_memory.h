/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Data between user buffers, packed bytes and the memory of a window. Both sides of every access use these:
 * a target for what came in packets, and an origin that can reach the target's memory itself.
 */
#ifndef MCA_OSC_FASTPATH_MEMORY_H
#define MCA_OSC_FASTPATH_MEMORY_H

#include "osc_fastpath.h"

/**
 * A position in a buffer that a datatype describes, between which and packed bytes data moves. What is one
 * piece of memory is copied, everything else goes through a convertor.
 */
typedef struct {
    char *memory;               /**< contiguous: where packed byte 0 is; else NULL */
    size_t bytes;               /**< packed bytes in all */
    size_t position;            /**< packed bytes so far */
    opal_convertor_t convertor; /**< if memory is NULL and bytes is not 0 */
} mca_osc_fastpath_cursor_t;

/**
 * Begin at the first byte of `count` elements of `type` at `address`.
 *
 * @param unpack  data will be moved into the buffer, else out of it
 *
 * To be ended with mca_osc_fastpath_cursor_end().
 */
void mca_osc_fastpath_cursor_begin(mca_osc_fastpath_cursor_t *cursor, const void *address, size_t count,
                                   ompi_datatype_t *type, bool unpack);

/** Go on at packed byte `position`. */
void mca_osc_fastpath_cursor_seek(mca_osc_fastpath_cursor_t *cursor, size_t position);

/**
 * Move up to `length` bytes on. Only whole elements of predefined types are packed, so that less than
 * `length` may be moved, and nothing when it is less than one element.
 *
 * @return the bytes moved
 */
size_t mca_osc_fastpath_cursor_pack(mca_osc_fastpath_cursor_t *cursor, void *packed, size_t length);

/** Move `length` bytes into the buffer. */
void mca_osc_fastpath_cursor_unpack(mca_osc_fastpath_cursor_t *cursor, const void *packed, size_t length);

/** Release what the cursor has. */
void mca_osc_fastpath_cursor_end(mca_osc_fastpath_cursor_t *cursor);

/** @return the packed size of `count` elements */
static inline size_t mca_osc_fastpath_packed_size(ompi_datatype_t *type, size_t count)
{
    size_t size;

    (void) opal_datatype_type_size(&type->super, &size);
    return size * count;
}

/**
 * Which bytes `count` elements of `type` cover, relative to their address.
 *
 * @param first  offset of the first byte
 * @param end    offset after the last byte; equals first when there are none
 *
 * @return false when no memory is as large as that
 */
bool mca_osc_fastpath_span(ompi_datatype_t *type, size_t count, ptrdiff_t *first, ptrdiff_t *end);

/** Memory of a window that an operation is about. */
typedef struct {
    void *address; /**< base + displacement x unit */
    ompi_datatype_t *type;
    size_t count;
} mca_osc_fastpath_memory_t;

/** Pieces of memory that a convertor names at a time */
#define MCA_OSC_FASTPATH_PIECES 32

/** The pieces of some memory of a window, one after the other as in its packed form. Nothing is touched. */
typedef struct {
    struct iovec piece[MCA_OSC_FASTPATH_PIECES];
    uint32_t count;
    uint32_t next;              /**< of piece */
    bool ended;                 /**< there are none behind those */
    size_t position;            /**< packed bytes before the next piece */
    bool contiguous;            /**< no convertor is needed */
    opal_convertor_t convertor; /**< unless contiguous */
} mca_osc_fastpath_pieces_t;

/** Begin at packed byte `offset`. To be ended with mca_osc_fastpath_pieces_end(). */
void mca_osc_fastpath_pieces_begin(mca_osc_fastpath_pieces_t *pieces, const mca_osc_fastpath_memory_t *memory,
                                   size_t offset);

/** Get the next piece, or the next `most` bytes of it. @return false when there is no more */
bool mca_osc_fastpath_pieces_next(mca_osc_fastpath_pieces_t *pieces, size_t most, struct iovec *piece);

/** Release what it has. */
void mca_osc_fastpath_pieces_end(mca_osc_fastpath_pieces_t *pieces);

/**
 * Where an update that comes in pieces reads and writes memory, kept from one to the next: the farther a
 * place is, the longer it takes to find it.
 */
typedef struct {
    mca_osc_fastpath_pieces_t pieces[2]; /**< to read, to write */
    mca_osc_fastpath_cursor_t cursor[2];
    bool has_pieces[2]; /**< they have begun */
    bool has_cursor[2];
} mca_osc_fastpath_walk_t;

/** Begin one. To be ended with mca_osc_fastpath_walk_end(). */
static inline void mca_osc_fastpath_walk_begin(mca_osc_fastpath_walk_t *walk)
{
    walk->has_pieces[0] = walk->has_pieces[1] = walk->has_cursor[0] = walk->has_cursor[1] = false;
}

/** @return the pieces of memory from packed byte `offset` on. @param write  those to be written */
mca_osc_fastpath_pieces_t *mca_osc_fastpath_walk_pieces(mca_osc_fastpath_walk_t *walk, bool write,
                                                        const mca_osc_fastpath_memory_t *memory,
                                                        size_t offset);

/** @return the same memory's cursor at packed byte `offset`, to pack or, with `write`, to unpack */
mca_osc_fastpath_cursor_t *mca_osc_fastpath_walk_cursor(mca_osc_fastpath_walk_t *walk, bool write,
                                                        const mca_osc_fastpath_memory_t *memory,
                                                        size_t offset);

/** Release what it has. */
void mca_osc_fastpath_walk_end(mca_osc_fastpath_walk_t *walk);

/** A piece of an accumulate, get_accumulate, fetch_and_op or compare_and_swap. */
typedef struct {
    mca_osc_fastpath_memory_t memory;
    size_t offset;            /**< of the piece in the packed data */
    size_t length;            /**< bytes of the piece: whole elements */
    ompi_datatype_t *element; /**< predefined type of the elements */
    ompi_op_t *op;            /**< NULL: compare and swap */
    const void *origin;       /**< packed data; MPI_NO_OP: unused */
    const void *compare;      /**< compare and swap: what to compare with */
    void *result;             /**< room for what was there before, packed, or NULL */
    bool atomic;              /**< integers of the window are updated by atomic instructions */
    mca_osc_fastpath_walk_t *walk; /**< of an update that comes in pieces, or NULL */
} mca_osc_fastpath_update_t;

/**
 * Carry out an update. The caller has the accumulate lock of the memory's owner, unless
 * mca_osc_fastpath_needs_lock() says that it is not needed.
 *
 * @return OMPI_SUCCESS or OMPI_ERR_OUT_OF_RESOURCE
 */
int mca_osc_fastpath_update(const mca_osc_fastpath_update_t *update);

/**
 * The same where the memory's packed form is at hand, of the bytes that the update is about.
 *
 * @param rc  OMPI_SUCCESS or OMPI_ERR_OUT_OF_RESOURCE
 *
 * @return whether it has changed
 */
bool mca_osc_fastpath_update_packed(const mca_osc_fastpath_update_t *update, void *packed, int *rc);

/** @return index of a predefined operation for packets, or -1 when it is none that windows know */
int mca_osc_fastpath_op_index(const ompi_op_t *op);

/** @return the operation of an index, or NULL when there is none */
ompi_op_t *mca_osc_fastpath_op(int index);

/** @return whether an operation that windows know is defined for a predefined type */
bool mca_osc_fastpath_op_defined(ompi_op_t *op, ompi_datatype_t *element);

/** @return the predefined type that all elements of a type have, or NULL when they have several */
ompi_datatype_t *mca_osc_fastpath_element(ompi_datatype_t *type);

/** @return the predefined type of an id, or NULL when there is none */
ompi_datatype_t *mca_osc_fastpath_predefined(uint32_t id);

#endif /* MCA_OSC_FASTPATH_MEMORY_H */
