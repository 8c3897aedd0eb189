/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * What the fuzz targets share: numbers, changes to valid messages, and a runner. A target plays the peers of
 * one component in one process: it builds a state with valid messages, changes one of them, and looks at what
 * becomes of it. A crash, a hang and a wrong result fail; a clean end of the job is what the component owes.
 *
 * Each case has numbers of its own, so that it can be repeated alone. Cases run in child processes, a batch
 * in each: a crash costs one of them, and what a case leaves behind when the component would have ended the
 * job goes with it.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A target. */
typedef struct {
    const char *name;
    void (*start)(int *argc, char ***argv); /**< once, before the first child */
    void (*run)(void);                      /**< one case, from a fresh state */
    uint64_t cases;                         /**< unless it is told how many; 0: 500000 */
} fuzz_target_t;

/** Run a target's cases as the command line says. @return the exit status */
int fuzz_main(int argc, char **argv, const fuzz_target_t *target);

/** What --break names, or "": a check that the target takes away, to see that it is missed. */
extern const char *fuzz_broken;

/** @return a number of the case's, below limit, which is not 0 */
uint64_t fuzz_below(uint64_t limit);
/** @return true in one of n cases */
bool fuzz_one_in(unsigned n);

/** The component has said what it owes when it finds damage: ends the case, and counts it. Does not return.
 */
void fuzz_clean(void) __attribute__((noreturn));
/** Something is wrong: fails, and names the case. Does not return. */
void fuzz_fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/** @return the byte at a place of a message */
static inline uint8_t fuzz_byte(uint32_t message, uint64_t offset)
{
    return (uint8_t) (message * 131 + offset * 7 + (offset >> 8) * 13 + 5);
}

/** Remember words of valid messages, to be put into others. */
void fuzz_learn(const void *bytes, size_t size);

/**
 * Change some bytes: one bit, a field to a number that is near a limit, or to one from another message.
 *
 * @param size  of what may be changed, at least 1
 */
void fuzz_change(void *bytes, size_t size);

/** @return another length, for a message of this one: shorter, or up to more bytes longer */
size_t fuzz_length(size_t length, size_t more);

#endif /* FUZZ_H */
