/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

#include "parse.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol.h"

/* The first number of a text; *end is what stands behind it. */
static bool leading(const char *text, long *number, char **end)
{
    errno = 0;
    *number = strtol(text, end, 10);
    return *end != text && 0 == errno;
}

bool commtest_parse_number(const char *option, const char *text, int least, int *number, char *why)
{
    char *end;
    long value;

    if (!leading(text, &value, &end) || '\0' != *end || value < least || value > INT_MAX) {
        snprintf(why, COMMTEST_WHY, "%s takes a number from %d on, not \"%s\"", option, least, text);
        return false;
    }
    *number = (int) value;
    return true;
}

bool commtest_parse_size(const char *option, const char *text, int *size, char *why)
{
    static const char suffixes[] = "KMG";
    const char *suffix;
    char *end;
    long value;
    int shift = 0;

    if (!leading(text, &value, &end) || value < 1) {
        snprintf(why, COMMTEST_WHY, "%s takes a size such as 8, 64K or 2M, not \"%s\"", option, text);
        return false;
    }
    suffix = '\0' == *end ? NULL : strchr(suffixes, *end);
    if (NULL != suffix) {
        shift = 10 * (int) (suffix - suffixes + 1);
        ++end;
    }
    if ('\0' != *end) {
        snprintf(why, COMMTEST_WHY, "%s takes a size such as 8, 64K or 2M, not \"%s\"", option, text);
        return false;
    }
    if (value > (long) INT_MAX >> shift) {
        snprintf(why, COMMTEST_WHY, "%s %s is too much: a message has less than 2 GiB", option, text);
        return false;
    }
    *size = (int) (value << shift);
    return true;
}

int commtest_parse_numbers(const char *option, const char *text, int least, int *numbers, int room, char *why)
{
    int count = 0;

    for (const char *at = text;; ++at) {
        char *end;
        long value;

        if (!leading(at, &value, &end) || value < least || value > INT_MAX || (',' != *end && '\0' != *end)
            || count == room) {
            snprintf(why, COMMTEST_WHY,
                     "%s takes at most %d numbers from %d on with commas between them, not \"%s\"", option,
                     room, least, text);
            return -1;
        }
        numbers[count++] = (int) value;
        at = end;
        if ('\0' == *end) {
            return count;
        }
    }
}

/* The number of the name that a word of some length is, or -1. */
static int find(const char *const *names, const char *word, size_t length)
{
    for (int i = 0; NULL != names[i]; ++i) {
        if (length == strlen(names[i]) && 0 == strncmp(names[i], word, length)) {
            return i;
        }
    }
    return -1;
}

static void complain_of_word(const char *option, const char *text, const char *const *names, char *why)
{
    int used = snprintf(why, COMMTEST_WHY, "%s takes some of", option);

    for (int i = 0; NULL != names[i] && used < COMMTEST_WHY; ++i) {
        used += snprintf(why + used, COMMTEST_WHY - (size_t) used, " %s,", names[i]);
    }
    if (used < COMMTEST_WHY) {
        snprintf(why + used, COMMTEST_WHY - (size_t) used, " or all; not \"%s\"", text);
    }
}

bool commtest_parse_words(const char *option, const char *text, const char *const *names, bool *chosen,
                          bool *all, char *why)
{
    *all = 0 == strcmp("all", text);
    for (int i = 0; NULL != names[i]; ++i) {
        chosen[i] = *all;
    }
    for (const char *at = text; !*all;) {
        size_t length = strcspn(at, ",");
        int number = find(names, at, length);

        if (number < 0) {
            complain_of_word(option, text, names, why);
            return false;
        }
        chosen[number] = true;
        if ('\0' == at[length]) {
            break;
        }
        at += length + 1;
    }
    return true;
}

bool commtest_parse_protocols(const char *text, bool *chosen, bool *all, char *why)
{
    bool some = false;

    *all = 0 == strcmp("all", text);
    for (int i = 0; i < COMMTEST_PROTOCOLS; ++i) {
        chosen[i] = *all;
    }
    for (const char *at = text + strspn(text, " ()"); !*all && '\0' != *at; at += strspn(at, " ()")) {
        const commtest_protocol_t *protocol = NULL;
        int ordered, number, used = 0;

        if (2 == sscanf(at, "%d,%d%n", &ordered, &number, &used)) {
            protocol = commtest_protocol_find(ordered, number);
        }
        if (NULL == protocol) {
            snprintf(why, COMMTEST_WHY,
                     "--protocols takes names such as \"0,3 1,10\", or all; see --list; not \"%s\"", at);
            return false;
        }
        chosen[protocol - commtest_protocols] = some = true;
        at += used;
    }
    if (!some && !*all) {
        snprintf(why, COMMTEST_WHY, "--protocols takes names such as \"0,3 1,10\", or all; see --list");
    }
    return some || *all;
}
