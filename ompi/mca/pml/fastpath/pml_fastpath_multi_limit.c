/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "opal_config.h"

#include <string.h>

#include "opal/mca/common/fastpath/common_fastpath_host.h"
#include "opal/mca/common/fastpath/common_fastpath_param.h"

#include "pml_fastpath_multi_limit.h"

/* Copy what comes before a separator, without the spaces around it. @return false when that is nothing, or
 * too much */
static bool word_copy(char *to, size_t room, const char *from, size_t length)
{
    while (0 < length && ' ' == *from) {
        ++from;
        --length;
    }
    while (0 < length && ' ' == from[length - 1]) {
        --length;
    }
    if (0 == length || room <= length) {
        return false;
    }
    memcpy(to, from, length);
    to[length] = '\0';
    return true;
}

/* One entry of the list, of so many characters. */
static bool limit_read(const char *text, size_t length, mca_pml_fastpath_multi_limit_t *limit)
{
    const char *colon = memchr(text, ':', length);
    char number[32];
    int64_t value;

    if (NULL == colon || !word_copy(limit->name, sizeof(limit->name), text, (size_t) (colon - text))
        || !word_copy(number, sizeof(number), colon + 1, length - (size_t) (colon + 1 - text))
        || !mca_common_fastpath_param_parse(number, &value) || 0 > value) {
        return false;
    }
    limit->limit = (size_t) value;
    return true;
}

static bool is_named(const mca_pml_fastpath_multi_limit_t *limits, size_t count, const char *name)
{
    for (size_t i = 0; i < count; ++i) {
        if (0 == strcmp(limits[i].name, name)) {
            return true;
        }
    }
    return false;
}

static size_t refuse(const char *text)
{
    if (mca_common_fastpath_reporting_rank()) {
        mca_common_fastpath_show_help("help-fastpath.txt", "parameter clamped",
                                      "pml_fastpath_multi_eager_limits", text,
                                      "transports, each once, with bytes, such as tcp:1m,ofi:128k",
                                      "nothing: no transport has a limit");
    }
    return 0;
}

size_t mca_pml_fastpath_multi_limits_read(const char *text, mca_pml_fastpath_multi_limit_t *limits)
{
    const char *entry = text;
    size_t count = 0;

    if (NULL == text || '\0' == text[strspn(text, " ")]) {
        return 0;
    }
    for (;;) {
        const size_t length = strcspn(entry, ",");

        if (MCA_PML_FASTPATH_MULTI_BTLS == count || !limit_read(entry, length, &limits[count])
            || is_named(limits, count, limits[count].name)) {
            return refuse(text);
        }
        ++count;
        if ('\0' == entry[length]) {
            return count;
        }
        entry += length + 1;
    }
}
