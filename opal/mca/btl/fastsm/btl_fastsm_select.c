/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Whether fastsm is wanted at all.  Installed but not asked for, it must not change
 * what Open MPI does.
 */

#include "opal_config.h"

#include <stdlib.h>
#include <string.h>

#include "opal/mca/base/mca_base_var.h"
#include "opal/util/argv.h"

#include "btl_fastsm.h"

static const char *variable_value(int index)
{
    const char *const *storage = NULL;

    if (0 > index || OPAL_SUCCESS != mca_base_var_get_value(index, &storage, NULL, NULL) || NULL == storage) {
        return NULL;
    }
    return *storage;
}

static bool list_contains(const char *list, const char *name)
{
    bool found = false;
    char **argv;

    /* a list that begins with '^' says what not to use */
    if (NULL == list || '^' == list[0]) {
        return false;
    }
    argv = opal_argv_split(list, ',');
    for (int i = 0; NULL != argv && NULL != argv[i] && !found; ++i) {
        found = (0 == strcmp(argv[i], name));
    }
    opal_argv_free(argv);
    return found;
}

bool mca_btl_fastsm_named(void)
{
    return list_contains(variable_value(mca_base_var_find("opal", "btl", NULL, NULL)), "fastsm");
}

/**
 * BTLs are initialised before the pml framework has registered its variable,
 * so we register it ourselves.  The framework registers it again later and
 * then puts its own storage behind it; until then ours is used, so it has
 * to outlive this component and is never freed.
 *
 * Nothing else here knows of a framework of OMPI's.  But who asks for pml/fastpath wants this BTL without
 * naming it, and no variable of OPAL's tells.
 */
static int pml_variable(void)
{
    int index = mca_base_var_find("ompi", "pml", NULL, NULL);
    char **storage;

    if (0 <= index) {
        return index;
    }
    storage = (char **) calloc(1, sizeof(*storage));
    if (NULL == storage) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    return mca_base_var_register("ompi", "pml", NULL, NULL,
                                 "Default selection set of components for the pml framework",
                                 MCA_BASE_VAR_TYPE_STRING, NULL, 0, MCA_BASE_VAR_FLAG_SETTABLE,
                                 OPAL_INFO_LVL_2, MCA_BASE_VAR_SCOPE_ALL_EQ, storage);
}

bool mca_btl_fastsm_pml_wanted(void)
{
    return list_contains(variable_value(pml_variable()), "fastpath");
}
