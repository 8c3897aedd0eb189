/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Info keys of windows: what they say, and what MPI_Win_get_info returns.
 */
#include "ompi_config.h"

#include "osc_fastpath_info.h"

static bool is_true(const char *value)
{
    return 0 == strcasecmp(value, "true") || 0 == strcasecmp(value, "yes") || 0 == strcmp(value, "1");
}

static bool is_false(const char *value)
{
    return 0 == strcasecmp(value, "false") || 0 == strcasecmp(value, "no") || 0 == strcmp(value, "0");
}

/* What a key with a boolean value returns. Open MPI shows what the user has given, unless it is told by NULL
 * that the key is ignored; so that is the answer where what is in force is something else. */
static fastpath_info_text_t in_force(bool is, fastpath_info_text_t given)
{
    if (NULL != given && (is ? !is_true(given) : !is_false(given))) {
        return NULL;
    }
    return (fastpath_info_text_t) (is ? "true" : "false");
}

static mca_osc_fastpath_module_t *module_of(opal_infosubscriber_t *subscriber)
{
    return mca_osc_fastpath_module((ompi_win_t *) subscriber);
}

/* Take a boolean value over, if it is one. */
static void take_over_boolean(bool *is, fastpath_info_text_t given)
{
    if (NULL != given && (is_true(given) || is_false(given))) {
        *is = is_true(given);
    }
}

/* MPI_Win_lock and MPI_Win_lock_all are errors while this is true. */
static fastpath_info_text_t no_locks(opal_infosubscriber_t *subscriber, fastpath_info_text_t key,
                                     fastpath_info_text_t value)
{
    mca_osc_fastpath_module_t *module = module_of(subscriber);

    (void) key;
    take_over_boolean(&module->no_locks, value);
    if (module->no_locks) {
        module->win->w_flags |= OMPI_WIN_NO_LOCKS;
    } else {
        module->win->w_flags &= (uint16_t) ~OMPI_WIN_NO_LOCKS;
    }
    return in_force(module->no_locks, value);
}

/* Where a key that is taken over as it is given is kept. Promises about sizes are looked at and not
 * believed. */
static bool *kept_in(mca_osc_fastpath_module_t *module, const char *key)
{
    return 0 == strcmp("same_size", key)        ? &module->same_size
           : 0 == strcmp("same_disp_unit", key) ? &module->same_disp_unit
                                                : &module->eager;
}

static fastpath_info_text_t boolean(opal_infosubscriber_t *subscriber, fastpath_info_text_t key,
                                    fastpath_info_text_t value)
{
    bool *is = kept_in(module_of(subscriber), key);

    take_over_boolean(is, value);
    return in_force(*is, value);
}

/* Where the memory lies is settled when the window is made. */
static fastpath_info_text_t noncontig(opal_infosubscriber_t *subscriber, fastpath_info_text_t key,
                                      fastpath_info_text_t value)
{
    (void) key;
    return in_force(module_of(subscriber)->noncontig, value);
}

/* All accumulates of an origin are in order, whatever less would do. */
static fastpath_info_text_t ordering(opal_infosubscriber_t *subscriber, fastpath_info_text_t key,
                                     fastpath_info_text_t value)
{
    mca_osc_fastpath_module_t *module = module_of(subscriber);

    (void) key;
    if (NULL != value) {
        snprintf(module->ordering, sizeof(module->ordering), "%s", value);
    }
    return module->ordering;
}

/* All operations are atomic with all others, whatever less would do. */
static fastpath_info_text_t acc_ops(opal_infosubscriber_t *subscriber, fastpath_info_text_t key,
                                    fastpath_info_text_t value)
{
    (void) key;
    if (NULL != value) {
        if (0 != strcmp(value, "same_op") && 0 != strcmp(value, "same_op_no_op")) {
            return NULL;
        }
        module_of(subscriber)->same_op = 0 == strcmp(value, "same_op");
    }
    return (fastpath_info_text_t) (module_of(subscriber)->same_op ? "same_op" : "same_op_no_op");
}

static fastpath_info_text_t max_pending(opal_infosubscriber_t *subscriber, fastpath_info_text_t key,
                                        fastpath_info_text_t value)
{
    mca_osc_fastpath_module_t *module = module_of(subscriber);
    unsigned long number = NULL == value ? 0 : strtoul(value, NULL, 10);

    (void) key;
    if (0 < number && UINT32_MAX >= number) {
        module->max_pending = (unsigned) number;
    } else if (NULL != value) {
        return NULL;
    }
    snprintf(module->max_pending_text, sizeof(module->max_pending_text), "%u", module->max_pending);
    return module->max_pending_text;
}

static bool get_bool(opal_info_t *info, const char *key)
{
    char value[16];

    return fastpath_info_get(info, key, value, sizeof(value)) && is_true(value);
}

int mca_osc_fastpath_info_init(mca_osc_fastpath_module_t *module, opal_info_t *info)
{
    static const struct {
        const char *key;
        opal_key_interest_callback_t *callback;
    } keys[] = {
        {"no_locks", no_locks},
        {"same_size", boolean},
        {"same_disp_unit", boolean},
        {"alloc_shared_noncontig", noncontig},
        {"accumulate_ordering", ordering},
        {"accumulate_ops", acc_ops},
        {"fastpath_eager", boolean},
        {"fastpath_max_pending", max_pending},
    };
    int rc = OMPI_SUCCESS;

    module->noncontig = get_bool(info, "alloc_shared_noncontig");
    module->eager = mca_osc_fastpath_component.eager;
    module->max_pending = mca_osc_fastpath_component.max_pending;
    snprintf(module->ordering, sizeof(module->ordering), "rar,raw,war,waw");
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]) && OMPI_SUCCESS == rc; ++i) {
        char *key = (char *) keys[i].key;
        char given[64] = "", value[64];

        bool is_given = fastpath_info_get(info, key, given, sizeof(given));
        const char *answer = keys[i].callback(&module->win->super, key, is_given ? given : NULL);

        if (NULL == answer) { /* the window's copy of the keys says what is in force instead */
            answer = keys[i].callback(&module->win->super, key, NULL);
            rc = opal_info_set(module->win->super.s_info, key, answer);
        }
        snprintf(value, sizeof(value), "%s", answer);
        rc = OMPI_SUCCESS != rc ? rc
                                : opal_infosubscribe_subscribe(&module->win->super, (char *) keys[i].key,
                                                               value, keys[i].callback);
    }
    return rc;
}
