/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include "pml_fastpath_take.h"

/* Move the data of a message that has been accepted. @return false when it cannot be had now */
static inline bool move(const mca_btl_fastsm_ext_t *ext, const mca_btl_fastsm_view_t *view,
                        const mca_pml_fastpath_target_t *target)
{
    if (OPAL_LIKELY(NULL == target->data && !view->chunks)) {
        mca_btl_fastsm_view_copy(view, target->buffer, target->accepted);
        return true;
    }
    return ext->move(view, target->buffer, target->data, target->accepted, target->undecided);
}

int mca_pml_fastpath_take_view(mca_pml_fastpath_comm_t *pml_comm, mca_pml_fastpath_member_t *member, int src,
                               unsigned spins, mca_pml_fastpath_target_t *target)
{
    const mca_btl_fastsm_ext_t *ext = member->peer->ext;
    mca_btl_fastsm_view_t view;
    uint64_t header[2];
    bool taken;
    int rc = ext->peek(member->peer->btl_endpoint, spins, &view);

    if (OPAL_UNLIKELY(OPAL_SUCCESS != rc)) {
        return rc;
    }
    fastsm_read_once(header, view.header, sizeof(header));
    taken = MCA_BTL_TAG_PML + MCA_PML_FASTPATH_HDR_MATCH == view.tag
            && mca_pml_fastpath_accept(pml_comm, member, src, header, view.length - sizeof(header), target)
            && move(ext, &view, target);
    mca_btl_fastsm_release(&view, taken);
    if (OPAL_UNLIKELY(!taken)) {
        return OMPI_ERR_NOT_AVAILABLE;
    }
    mca_pml_fastpath_accepted(pml_comm, member, target);
    return OMPI_SUCCESS;
}
