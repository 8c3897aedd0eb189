/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Data that is equal blocks at equal distances, as of MPI_Type_vector, or several such rows of blocks at
 * equal distances, and so on, as of MPI_Type_create_subarray: packed and unpacked by a loop over them. And
 * data of other datatypes, as of MPI_Type_indexed and MPI_Type_create_struct: by a loop over the items of the
 * description where that is short, else over a list of the blocks. A convertor can do the same, and any other
 * data, too, but takes 25 instructions for each block and some hundred to be set up.
 */
#ifndef MCA_PML_FASTPATH_BLOCKS_H
#define MCA_PML_FASTPATH_BLOCKS_H

#include "opal/datatype/opal_convertor.h"
#include "opal/datatype/opal_datatype.h"

#include "pml_fastpath_block_list.h"

/** Bytes of data up to which it is made contiguous on the stack, on its way to or from slots. */
#define MCA_PML_FASTPATH_BLOCKS_SHORT 1024

/** Loops around a row of blocks in one element: those of a subarray of five dimensions. */
#define MCA_PML_FASTPATH_BLOCKS_LOOPS 3

/** Entries of a datatype's description, items and loops, that are read for each message, at most. */
#define MCA_PML_FASTPATH_BLOCKS_ITEMS 256

/** Such entries from which on there is a list in their place, unless it would be too long. */
#define MCA_PML_FASTPATH_BLOCKS_LISTED 8

/** Uses of a datatype after which it gets one: to make it takes as long as that many messages save by it. */
#define MCA_PML_FASTPATH_BLOCKS_USES 16
/** The same where a convertor packs until then. */
#define MCA_PML_FASTPATH_BLOCKS_USES_CONVERTOR 3

/** Where the data of one element of a datatype lies: in rows of blocks, or where the description says. */
typedef struct {
    ptrdiff_t first;  /**< where the first block begins, bytes from the element's address */
    ptrdiff_t stride; /**< from one block of a row to the next, bytes; may be negative */
    size_t block;     /**< bytes of a block, not 0; of the element, if it is items */
    size_t blocks;    /**< of a row; SIZE_MAX: all elements are one row */
    ptrdiff_t extent; /**< from one element to the next, bytes; may be negative */
    size_t unit;      /**< what is packed ends with a multiple of it: bytes of a predefined element, or 1 */
    unsigned items;   /**< entries of the description; 0: rows, else only block and extent are set */
    const dt_elem_desc_t *item;                /**< the first of them */
    const mca_pml_fastpath_block_list_t *list; /**< what there is in their place, or NULL */
    bool columns;                              /**< blocks of several rows lie in one cache line */
    unsigned loops;                            /**< around a row; 0: an element is one row */
    struct {
        size_t count;                      /**< of what it repeats, not 0 */
        ptrdiff_t stride;                  /**< from one to the next, bytes; may be negative */
    } loop[MCA_PML_FASTPATH_BLOCKS_LOOPS]; /**< the innermost one first */
} mca_pml_fastpath_blocks_t;

/**
 * Whether the data of a datatype's elements is of that kind, and in memory that is no accelerator's.
 *
 * @param buf     where the data is, as convertors are told
 * @param blocks  receives what it looks like, if so
 */
bool mca_pml_fastpath_blocks_of(const void *buf, const opal_datatype_t *datatype,
                                mca_pml_fastpath_blocks_t *blocks);

/**
 * Copy a part of such data to contiguous memory.
 *
 * @param buf     the address of the first element
 * @param offset  of the part, bytes of data
 * @param length  of it
 */
void mca_pml_fastpath_blocks_pack(const mca_pml_fastpath_blocks_t *blocks, void *to, const void *buf,
                                  size_t offset, size_t length);

/** The other way round. */
void mca_pml_fastpath_blocks_unpack(const mca_pml_fastpath_blocks_t *blocks, void *buf, const void *from,
                                    size_t offset, size_t length);

/** Such data in a user's memory, piece by piece: the context of what follows. */
typedef struct {
    const mca_pml_fastpath_blocks_t *blocks;
    void *buf; /**< the address of the first element */
} mca_pml_fastpath_blocks_place_t;

/** Packs a piece of such data: a `move` of btl/fastsm's mca_btl_fastsm_data_t. */
void mca_pml_fastpath_blocks_pack_piece(void *place, void *piece, size_t offset, size_t length);

/** The other way round. */
void mca_pml_fastpath_blocks_unpack_piece(void *place, void *piece, size_t offset, size_t length);

/**
 * Have a convertor that has been prepared for data with gaps pack or unpack by these loops, if it is of that
 * kind, and until it is prepared anew: BTLs pack the pieces of long messages by it. As with Open MPI's own
 * function what is packed ends with a predefined element, if there is room for one. Only for the convertor of
 * a request, whose position is set by mca_pml_fastpath_blocks_seek(), or is 0; and not with
 * pml_fastpath_use_immediate_data 0.
 */
void mca_pml_fastpath_blocks_convertor(opal_convertor_t *convertor);

/**
 * Whether such a convertor had better convert all data at once, in memory for that, of which some is kept for
 * other messages (pml_fastpath_kept.h): columns of a matrix, where a piece of a long message holds only a
 * few, if any.
 */
bool mca_pml_fastpath_blocks_want_all(const opal_convertor_t *convertor);

/** Set any convertor to a position, bytes of packed data: mca_common_fastpath_convertor_seek(). */
void mca_pml_fastpath_blocks_seek(opal_convertor_t *convertor, size_t position);

#endif /* MCA_PML_FASTPATH_BLOCKS_H */
