/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Words, numbers and sizes of command lines.  No function here calls MPI.
 */

#ifndef FASTPATH_COMMTEST_PARSE_H
#define FASTPATH_COMMTEST_PARSE_H

#include <stdbool.h>
#include <stddef.h>

enum { COMMTEST_WHY = 240 };

/** A number from least on.  Returns false and sets why, of COMMTEST_WHY bytes. */
bool commtest_parse_number(const char *option, const char *text, int least, int *number, char *why);

/** Bytes, with or without one of the suffixes K, M and G; fewer than 2 GiB. */
bool commtest_parse_size(const char *option, const char *text, int *size, char *why);

/** Numbers with commas between them.  Returns how many, at most room, or -1 and sets why. */
int commtest_parse_numbers(const char *option, const char *text, int least, int *numbers, int room,
                           char *why);

/**
 * Words of a list of names that ends in NULL, with commas between them; "all" is all of them.  Sets chosen,
 * one flag for each name, and *all.
 */
bool commtest_parse_words(const char *option, const char *text, const char *const *names, bool *chosen,
                          bool *all, char *why);

/** Protocols, as in "0,3 (1,10)", or "all".  Sets chosen, one flag for each of commtest_protocols, and *all.
 */
bool commtest_parse_protocols(const char *text, bool *chosen, bool *all, char *why);

#endif /* FASTPATH_COMMTEST_PARSE_H */
