/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

#include "opal_config.h"

#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opal/constants.h"
#include "opal/mca/base/mca_base_vari.h" /* Open MPI's own: what a parameter file says, as text */
#include "opal/mca/common/fastpath/common_fastpath_host.h"
#include "opal/mca/common/fastpath/common_fastpath_param.h"

static int64_t capped(uint64_t value)
{
    return value > INT64_MAX ? INT64_MAX : (int64_t) value;
}

/* The range a value has to end up in, as signed numbers whatever the type. */
static void range_of(const mca_common_fastpath_param_t *param, int64_t *min, int64_t *max)
{
    bool whole_type = 0 == param->min && 0 == param->max;

    switch (param->type) {
    case MCA_COMMON_FASTPATH_INT:
        *min = whole_type ? INT_MIN : (int64_t) param->min;
        *max = whole_type ? INT_MAX : (int64_t) param->max;
        break;
    case MCA_COMMON_FASTPATH_UINT:
        *min = capped(param->min);
        *max = whole_type ? UINT_MAX : capped(param->max);
        break;
    default:
        *min = capped(param->min);
        *max = whole_type ? capped(SIZE_MAX) : capped(param->max);
        break;
    }
}

static void store(const mca_common_fastpath_param_t *param, int64_t value)
{
    switch (param->type) {
    case MCA_COMMON_FASTPATH_INT:
        *(int *) param->storage = (int) value;
        break;
    case MCA_COMMON_FASTPATH_UINT:
        *(unsigned int *) param->storage = (unsigned int) value;
        break;
    case MCA_COMMON_FASTPATH_SIZE:
        *(size_t *) param->storage = (size_t) value;
        break;
    case MCA_COMMON_FASTPATH_BOOL:
        *(bool *) param->storage = 0 != value;
        break;
    case MCA_COMMON_FASTPATH_STRING:
        *(const char **) param->storage = param->string;
        break;
    }
}

/* Open MPI's names of the types. */
static const mca_base_var_type_t var_types[] = {
    [MCA_COMMON_FASTPATH_INT] = MCA_BASE_VAR_TYPE_INT,
    [MCA_COMMON_FASTPATH_UINT] = MCA_BASE_VAR_TYPE_UNSIGNED_INT,
    [MCA_COMMON_FASTPATH_SIZE] = MCA_BASE_VAR_TYPE_SIZE_T,
    [MCA_COMMON_FASTPATH_BOOL] = MCA_BASE_VAR_TYPE_BOOL,
    [MCA_COMMON_FASTPATH_STRING] = MCA_BASE_VAR_TYPE_STRING,
};

/* What Open MPI knows of a parameter; NULL: it has none of that name. */
static const mca_base_var_t *find_var(const mca_base_component_t *component, const char *name)
{
    const mca_base_var_t *var;
    const int index = mca_base_var_find(component->mca_project_name, component->mca_type_name,
                                        component->mca_component_name, name);

    return 0 <= index && OPAL_SUCCESS == mca_base_var_get(index, &var) ? var : NULL;
}

/*
 * What the user wrote, or NULL where the default stands.
 *
 * Open MPI keeps only the number it read, and it reads "12abc" as 12, "abc" as 0 and "-1" as a huge
 * number where the type is unsigned; so we look at the text itself, in Open MPI's own order: the
 * environment, which also carries the command line, then the parameter files.
 */
static const char *given_text(const mca_base_var_t *var)
{
    const char *const names[] = {var->mbv_long_name, var->mbv_full_name};
    const mca_base_var_file_value_t *file = var->mbv_file_value;

    for (size_t i = 0; i < 2; ++i) {
        char *env_name = NULL;
        const char *text = NULL;

        if (MCA_BASE_VAR_SOURCE_OVERRIDE != var->mbv_source
            && OPAL_SUCCESS == mca_base_var_env_name(names[i], &env_name)) {
            text = getenv(env_name);
            free(env_name);
        }
        if (NULL != text) {
            return text;
        }
    }
    return NULL != file ? file->mbvfv_value : NULL;
}

bool mca_common_fastpath_param_parse(const char *text, int64_t *value)
{
    static const char suffixes[] = "kmg";
    const char *suffix;
    char *end;
    int64_t limit, number;

    number = strtoll(text, &end, 0);
    if (end == text) {
        return false;
    }
    if ('\0' != *end) {
        suffix = strchr(suffixes, tolower((unsigned char) *end));
        if (NULL == suffix || '\0' != end[1]) {
            return false;
        }
        limit = INT64_MAX >> (10 * (suffix - suffixes + 1));
        if (number > limit || number < -limit) {
            number = number < 0 ? INT64_MIN : INT64_MAX;
        } else {
            number *= INT64_C(1) << (10 * (suffix - suffixes + 1));
        }
    }
    *value = number;
    return true;
}

static int64_t next_power_of_two(int64_t value)
{
    int64_t power = 1;

    while (power < value && power <= INT64_MAX / 2) {
        power <<= 1;
    }
    return power;
}

/* The nearest value that can be used; `max` is a power of two where one is asked for. */
static int64_t usable_value(const mca_common_fastpath_param_t *param, int64_t value)
{
    int64_t min, max;

    if (param->or_zero && 0 == value) {
        return 0;
    }
    range_of(param, &min, &max);
    if (value < min) {
        value = min;
    }
    if (value > max) {
        value = max;
    }
    return param->power_of_two && value > 0 ? next_power_of_two(value) : value;
}

/* The processes of a node have the same parameters, as a rule, so one of them speaks. */
static void announce_correction(const mca_base_var_t *var, const char *allowed, const char *used)
{
    const char *given = given_text(var);

    if (mca_common_fastpath_reporting_rank()) {
        mca_common_fastpath_show_help("help-fastpath.txt", "parameter clamped", var->mbv_full_name,
                                      NULL != given ? given : "", allowed, used);
    }
}

/* Where it is no number, its suffix may be the reason. */
static void announce_number(const mca_common_fastpath_param_t *param, const mca_base_var_t *var,
                            bool is_number, int64_t used)
{
    const bool meaning = 0 == used && NULL != param->zero;
    char allowed[128], now[64];
    bool or_zero = param->or_zero;
    int64_t min, max;

    range_of(param, &min, &max);
    if (param->power_of_two && 0 == min) { /* which is none */
        or_zero = true;
        min = 1;
    }
    snprintf(allowed, sizeof(allowed), "%s%s%" PRId64 " to %" PRId64 "%s", or_zero ? "0 or " : "",
             param->power_of_two ? "a power of two from " : "a whole number from ", min, max,
             is_number ? "" : "; it may end in k, m or g");
    snprintf(now, sizeof(now), "%" PRId64 "%s%s%s", used, meaning ? " (" : "", meaning ? param->zero : "",
             meaning ? ")" : "");
    announce_correction(var, allowed, now);
}

static void check_number(const mca_common_fastpath_param_t *param, const mca_base_var_t *var)
{
    const char *given = given_text(var);
    int64_t value = param->value, used;
    bool is_number = NULL == given || mca_common_fastpath_param_parse(given, &value);

    used = usable_value(param, value);
    store(param, used);
    if (NULL != given && (!is_number || used != value)) {
        announce_number(param, var, is_number, used);
    }
}

void mca_common_fastpath_param_refuse(const mca_base_component_t *component, const char *name,
                                      const char *allowed, const char *used)
{
    const mca_base_var_t *var = find_var(component, name);

    if (NULL != var) {
        announce_correction(var, allowed, used);
    }
}

static int register_one(const mca_base_component_t *component, const mca_common_fastpath_param_t *param)
{
    const mca_base_var_t *var;
    int index;

    store(param, param->value);
    index = mca_base_component_var_register(component, param->name, param->text, var_types[param->type], NULL,
                                            0, 0, param->level, MCA_BASE_VAR_SCOPE_READONLY, param->storage);
    /* a value that does not fit: registered all the same, and the storage still holds the default */
    if (0 > index && OPAL_ERR_VALUE_OUT_OF_BOUNDS != index) {
        return index;
    }
    var = find_var(component, param->name);
    if (NULL == var) {
        return OPAL_ERROR;
    }
    if (MCA_COMMON_FASTPATH_BOOL == param->type) {
        if (0 > index) { /* Open MPI reads the words itself; it does not say what happens then */
            announce_correction(var, "true or false", 0 != param->value ? "true" : "false");
        }
    } else if (MCA_COMMON_FASTPATH_STRING != param->type) {
        check_number(param, var);
    }
    return OPAL_SUCCESS;
}

int mca_common_fastpath_param_register(const mca_base_component_t *component,
                                       const mca_common_fastpath_param_t *table, size_t count)
{
    for (size_t i = 0; i < count; ++i) {
        int rc = register_one(component, table + i);

        if (OPAL_SUCCESS != rc) {
            return rc;
        }
    }
    return OPAL_SUCCESS;
}

void mca_common_fastpath_param_check(const mca_base_component_t *component,
                                     const mca_common_fastpath_param_t *table, size_t count)
{
    for (size_t i = 0; i < count; ++i) {
        const mca_base_var_t *var = find_var(component, table[i].name);

        if (NULL != var) {
            check_number(table + i, var);
        }
    }
}
