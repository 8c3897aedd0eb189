/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

#include "opal_config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common_fastpath_machine.h"

#define NIBBLES (2 * MCA_COMMON_FASTPATH_BOOT_ID_SIZE)

/* The kernel shows it as hexadecimal digits with dashes between. */
bool mca_common_fastpath_boot_id(uint8_t id[MCA_COMMON_FASTPATH_BOOT_ID_SIZE])
{
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    char text[64] = "";
    size_t nibbles = 0;

    memset(id, 0, MCA_COMMON_FASTPATH_BOOT_ID_SIZE);
    if (NULL == file) {
        return false;
    }
    if (NULL == fgets(text, sizeof(text), file)) {
        text[0] = '\0';
    }
    fclose(file);

    for (const char *c = text; '\0' != *c && nibbles < NIBBLES; ++c) {
        char digit[2] = {*c, '\0'};
        char *end;
        unsigned long value = strtoul(digit, &end, 16);

        if (end != digit) {
            id[nibbles / 2] |= (uint8_t) (value << (0 == nibbles % 2 ? 4 : 0));
            ++nibbles;
        }
    }
    return NIBBLES == nibbles;
}

uint64_t mca_common_fastpath_namespace(const char *kind)
{
    char path[64];
    struct stat status;

    snprintf(path, sizeof(path), "/proc/self/ns/%s", kind);
    return 0 == stat(path, &status) ? (uint64_t) status.st_ino : 0;
}
