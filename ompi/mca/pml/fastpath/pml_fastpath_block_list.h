/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Data whose description is long, as of MPI_Type_indexed with many blocks: a list of all blocks of an
 * element, in the order in which they are packed.  It is made when the datatype is first used, and freed with
 * the datatype, which has a pointer to it where Open MPI has room for one of the PML's.
 */
#ifndef MCA_PML_FASTPATH_BLOCK_LIST_H
#define MCA_PML_FASTPATH_BLOCK_LIST_H

#include "opal/class/opal_list.h"
#include "opal/datatype/opal_datatype.h"

#include "ompi/datatype/ompi_datatype.h"

/** A block in a list. It ends where the next one begins. */
typedef struct {
    ptrdiff_t disp;       /**< where it is, bytes from the element's address */
    uint64_t offset : 56; /**< where it begins in the packed data of an element, bytes */
    uint64_t unit : 8;    /**< bytes of the predefined elements that it consists of */
} mca_pml_fastpath_listed_t;

/** A datatype's list. */
typedef struct {
    opal_list_item_t super;
    ompi_datatype_t *type;             /**< NULL: the list is not freed with it */
    size_t count;                      /**< of its blocks, not 0 */
    size_t length;                     /**< bytes of each of its blocks; 0: they differ */
    ptrdiff_t extent;                  /**< from one element to the next, bytes; may be negative */
    mca_pml_fastpath_listed_t block[]; /**< count, and one more, whose offset is the size of an element */
} mca_pml_fastpath_block_list_t;

/** Begin without a list. MPI_Type_free() is to free lists from now on. */
void mca_pml_fastpath_block_lists_init(void);
/** Free all lists. */
void mca_pml_fastpath_block_lists_fini(void);

/**
 * The list of a datatype's blocks, which is made if there is none. Any thread may call this.
 *
 * @param datatype  of an ompi_datatype_t that the caller holds
 * @param uses  this is a use more of the datatype, and when there have been so many, up to 16, the list is
 *              made: to make it takes as long as some messages without it do. 0: it is none
 * @return the list; or NULL: not yet, or there is no memory, or it would need more than Open MPI's
 * description does, as where loops have many rounds, or something is not known in that
 */
const mca_pml_fastpath_block_list_t *mca_pml_fastpath_block_list(const opal_datatype_t *datatype,
                                                                 unsigned uses);

/**
 * Copy a part of the data of elements to contiguous memory, or from there.
 *
 * @param data    the address of the first element
 * @param packed  contiguous memory
 * @param offset  of the part, bytes of packed data
 * @param length  of it
 * @param pack    to packed, or else from there
 */
void mca_pml_fastpath_block_list_copy(const mca_pml_fastpath_block_list_t *list, char *data, char *packed,
                                      size_t offset, size_t length, bool pack);

/** @return bytes of a predefined element that lie before an offset within an element of the datatype */
size_t mca_pml_fastpath_block_list_part(const mca_pml_fastpath_block_list_t *list, size_t offset);

#endif /* MCA_PML_FASTPATH_BLOCK_LIST_H */
