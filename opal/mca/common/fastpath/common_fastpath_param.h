/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * MCA parameters described by a table: name, text, type, level, default and allowed range stand in one
 * place, and every bad value is answered in the same way.
 */
#ifndef MCA_COMMON_FASTPATH_PARAM_H
#define MCA_COMMON_FASTPATH_PARAM_H

#include "opal_config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "opal/mca/base/mca_base_var.h"
#include "opal/mca/mca.h"

typedef enum {
    MCA_COMMON_FASTPATH_INT,    /**< storage is an int */
    MCA_COMMON_FASTPATH_UINT,   /**< storage is an unsigned int */
    MCA_COMMON_FASTPATH_SIZE,   /**< storage is a size_t */
    MCA_COMMON_FASTPATH_BOOL,   /**< storage is a bool */
    MCA_COMMON_FASTPATH_STRING, /**< storage is a char *; Open MPI owns the string */
} mca_common_fastpath_type_t;

/** A row of the table; what follows the range, which most rows do not have all of, is named there. */
typedef struct {
    /** name without the framework_component_ prefix */
    const char *name;
    mca_common_fastpath_type_t type;
    mca_base_var_info_lvl_t level;
    /** variable of the given type; has to outlive the component's registration */
    void *storage;
    /** default of all types but STRING */
    int64_t value;
    /**
     * Inclusive range, unused for BOOL and STRING.  For INT both are taken as int64_t.  Both 0 means:
     * whatever the type can hold.  Limits beyond INT64_MAX count as INT64_MAX.
     */
    uint64_t min, max;
    /** a value above 0 is rounded up to a power of two; max then has to be one */
    bool power_of_two;
    /** 0 can be used too, although it is below min: the component then chooses */
    bool or_zero;
    /** what 0 means if it is not the minimum, such as "unlimited": for messages that name the value used */
    const char *zero;
    /** default of STRING, may be NULL */
    const char *string;
    /** what it does, with units; the default is printed by ompi_info and does not belong here */
    const char *text;
} mca_common_fastpath_param_t;

/**
 * Register every parameter of a table with mca_base_component_var_register().
 *
 * A value that is no number, outside its range or not a power of two where one is needed is replaced by
 * the nearest usable one (no number: by the default).  Each replacement is announced by one help text
 * with the full name of the parameter, the value given, the range and the value now used.
 *
 * @return OPAL_SUCCESS, or the error of Open MPI when a parameter could not be registered at all.
 */
int mca_common_fastpath_param_register(const mca_base_component_t *component,
                                       const mca_common_fastpath_param_t *table, size_t count);

/**
 * Check numbers that somebody else has registered, such as mca_btl_base_param_register(), in the same way.
 *
 * Of the table only name, type, storage, value, range and power_of_two are read.  A default outside the
 * range, which may depend on other parameters, is moved into it without a word.  Names that are not
 * registered in this series are passed over.
 */
void mca_common_fastpath_param_check(const mca_base_component_t *component,
                                     const mca_common_fastpath_param_t *table, size_t count);

/**
 * Announce that the value of a parameter is none of the words that it may have, as where
 * mca_base_component_var_register() has said so (OPAL_ERR_VALUE_OUT_OF_BOUNDS): it is registered all the
 * same, and its storage holds the default.
 *
 * @param allowed  the words
 * @param used     what it is instead
 */
void mca_common_fastpath_param_refuse(const mca_base_component_t *component, const char *name,
                                      const char *allowed, const char *used);

/**
 * Read a number with an optional suffix k, m or g (powers of 1024), as Open MPI does, but all of the text.
 * Numbers beyond int64_t become its nearest limit.
 * @return false when the text is not a number
 */
bool mca_common_fastpath_param_parse(const char *text, int64_t *value);

#endif /* MCA_COMMON_FASTPATH_PARAM_H */
