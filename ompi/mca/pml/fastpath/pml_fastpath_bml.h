/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Every call into a BTL that may be refused. With pml_fastpath_debug_fault_percent some
 * of them are refused at random, so that tests reach what happens then on any
 * transport.
 */
#ifndef MCA_PML_FASTPATH_BML_H
#define MCA_PML_FASTPATH_BML_H

#include "opal/mca/common/fastpath/common_fastpath_fault.h"

#include "pml_fastpath.h"
#include "opal/mca/btl/fastsm/btl_fastsm_ext.h"

#include "pml_fastpath_hdr.h"
#include "pml_fastpath_link_find.h"

/** @return whether a call shall be refused for the sake of a test */
static inline bool mca_pml_fastpath_fault(void)
{
    return OPAL_UNLIKELY(0 != mca_pml_fastpath.fault_percent)
           && mca_common_fastpath_fault(mca_pml_fastpath.fault_percent);
}

/** btl_alloc. @return NULL when the BTL has no room */
static inline mca_btl_base_descriptor_t *mca_pml_fastpath_bml_alloc(mca_bml_base_btl_t *bml_btl, size_t size,
                                                                    uint32_t flags)
{
    mca_btl_base_descriptor_t *descriptor = NULL;

    if (!mca_pml_fastpath_fault()) {
        mca_bml_base_alloc(bml_btl, &descriptor, MCA_BTL_NO_ORDER, size, flags);
    }
    return descriptor;
}

/** btl_prepare_src with room for a header. @return NULL when the BTL has no room */
static inline mca_btl_base_descriptor_t *mca_pml_fastpath_bml_prepare(mca_bml_base_btl_t *bml_btl,
                                                                      opal_convertor_t *convertor,
                                                                      size_t hdr_size, size_t *size,
                                                                      uint32_t flags)
{
    mca_btl_base_descriptor_t *descriptor = NULL;

    if (!mca_pml_fastpath_fault()) {
        mca_bml_base_prepare_src(bml_btl, convertor, MCA_BTL_NO_ORDER, hdr_size, size, flags, &descriptor);
    }
    return descriptor;
}

/**
 * btl_send of one of our headers. On error the descriptor has been freed.
 *
 * @param later  set on success: the BTL has not sent it yet, or needs the descriptor still, and calls
 *               back; otherwise no callback comes, unless the descriptor has SEND_ALWAYS_CALLBACK
 */
static inline int mca_pml_fastpath_bml_send_or_later(mca_bml_base_btl_t *bml_btl,
                                                     mca_btl_base_descriptor_t *descriptor, uint8_t type,
                                                     bool *later)
{
    int rc = OMPI_ERR_OUT_OF_RESOURCE;

    ++mca_pml_fastpath.btl_sends;
    if (!mca_pml_fastpath_fault()) {
        rc = mca_bml_base_send(bml_btl, descriptor, MCA_BTL_TAG_PML + type);
        if (OPAL_LIKELY(0 <= rc)) {
            *later = 1 != rc;
            if (OPAL_UNLIKELY(1 != rc && mca_pml_fastpath.fastsm != bml_btl->btl)) {
                mca_pml_fastpath_link_kept(bml_btl->btl_endpoint);
            }
            return OMPI_SUCCESS;
        }
    }
    mca_bml_base_free(bml_btl, descriptor);
    return rc;
}

/** The same for those who need not know when it has left. */
static inline int mca_pml_fastpath_bml_send(mca_bml_base_btl_t *bml_btl,
                                            mca_btl_base_descriptor_t *descriptor, uint8_t type)
{
    bool later;

    return mca_pml_fastpath_bml_send_or_later(bml_btl, descriptor, type, &later);
}

/** btl_sendi of one of our headers and size bytes; convertor may be NULL when size is 0. The BTL has to have
 * one, and the two have to fit into its eager limit. */
static inline int mca_pml_fastpath_bml_sendi_hdr(mca_bml_base_btl_t *bml_btl, opal_convertor_t *convertor,
                                                 void *hdr, size_t hdr_size, size_t size, uint32_t flags,
                                                 uint8_t type)
{
    if (mca_pml_fastpath_fault()) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    return mca_bml_base_sendi(bml_btl, convertor, hdr, hdr_size, size, MCA_BTL_NO_ORDER,
                              flags | MCA_BTL_DES_FLAGS_BTL_OWNERSHIP, MCA_BTL_TAG_PML + type, NULL);
}

/** The same for a whole message. */
static inline int mca_pml_fastpath_bml_sendi(mca_bml_base_btl_t *bml_btl, opal_convertor_t *convertor,
                                             mca_pml_fastpath_match_hdr_t *hdr, size_t size)
{
    return mca_pml_fastpath_bml_sendi_hdr(bml_btl, convertor, hdr, sizeof(*hdr), size,
                                          MCA_BTL_DES_FLAGS_PRIORITY, MCA_PML_FASTPATH_HDR_MATCH);
}

#endif /* MCA_PML_FASTPATH_BML_H */
