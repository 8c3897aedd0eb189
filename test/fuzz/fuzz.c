/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "fuzz.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BATCH = 10000, HANG_SECONDS = 60, WORDS = 64 };

const char *fuzz_broken = "";

/* What children tell the runner. */
static struct {
    uint64_t now; /* case */
    uint64_t clean;
    char what[400];
} * shared;

static uint64_t state;
static jmp_buf end_of_case;
static uint64_t words[WORDS];
static unsigned n_words;

static uint64_t next(void)
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * UINT64_C(0x2545f4914f6cdd1d);
}

/* Numbers of neighbouring cases have nothing in common. */
static void begin(uint64_t seed, uint64_t number)
{
    state = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15) ^ (number + 1) * UINT64_C(0xd1342543de82ef95);
    state = 0 == state ? 1 : state;
    for (int i = 0; i < 4; i++) {
        (void) next();
    }
    n_words = 0;
}

uint64_t fuzz_below(uint64_t limit)
{
    return (next() >> 16) % limit;
}

bool fuzz_one_in(unsigned n)
{
    return 0 == fuzz_below(n);
}

void fuzz_clean(void)
{
    longjmp(end_of_case, 1);
}

void fuzz_fail(const char *format, ...)
{
    va_list list;

    va_start(list, format);
    vsnprintf(shared->what, sizeof(shared->what), format, list);
    va_end(list);
    _exit(3);
}

void fuzz_learn(const void *bytes, size_t size)
{
    for (size_t at = 0; at + sizeof(words[0]) <= size; at += sizeof(words[0])) {
        memcpy(&words[n_words++ % WORDS], (const char *) bytes + at, sizeof(words[0]));
    }
}

static uint64_t limit_number(void)
{
    static const uint64_t limits[] = {0, 1, 2, 8, 16, 64, 255, 256, 1024, 4096, 65535, 65536};
    uint64_t number = limits[fuzz_below(sizeof(limits) / sizeof(limits[0]))];

    if (fuzz_one_in(3)) {
        number = UINT64_C(1) << fuzz_below(64);
    }
    number += fuzz_below(5) - 2;
    return fuzz_one_in(4) ? 0 - number : number;
}

void fuzz_change(void *bytes, size_t size)
{
    uint8_t *byte = bytes;
    uint64_t number = limit_number();
    size_t width = (size_t) 1 << fuzz_below(4);
    size_t at;

    width = width < size ? width : 1;
    at = fuzz_below(size / width) * width;
    switch (fuzz_below(4)) {
    case 0:
        byte[fuzz_below(size)] ^= (uint8_t) (1u << fuzz_below(8));
        return;
    case 1:
        number = next();
        break;
    case 2:
        if (0 < n_words) {
            number = words[fuzz_below(n_words < WORDS ? n_words : WORDS)];
        }
        break;
    default: /* near what it was */
        if (fuzz_one_in(2)) {
            uint64_t old = 0;

            memcpy(&old, byte + at, width);
            number = old + (fuzz_one_in(2) ? fuzz_below(16) : -fuzz_below(16));
        }
        break;
    }
    memcpy(byte + at, &number, width);
}

size_t fuzz_length(size_t length, size_t more)
{
    return fuzz_one_in(2) && 0 < length ? fuzz_below(length) : length + 1 + fuzz_below(more);
}

static void run_one(const fuzz_target_t *target, uint64_t seed, uint64_t number)
{
    shared->now = number;
    begin(seed, number);
    if (0 == setjmp(end_of_case)) {
        target->run();
    } else {
        ++shared->clean;
    }
}

static void child(const fuzz_target_t *target, uint64_t seed, uint64_t first, uint64_t end)
{
    for (uint64_t number = first; number < end; number++) {
        if (0 == (number - first) % 100) {
            alarm(HANG_SECONDS);
        }
        run_one(target, seed, number);
    }
    _exit(0);
}

/* How a child has ended, in words; NULL: well. */
static const char *trouble(int status)
{
    if (WIFEXITED(status)) {
        return 0 == WEXITSTATUS(status)   ? NULL
               : 3 == WEXITSTATUS(status) ? shared->what
                                          : "a sanitizer's report, see above";
    }
    return SIGALRM == WTERMSIG(status) ? "it hangs" : strsignal(WTERMSIG(status));
}

static const char *batch(const fuzz_target_t *target, uint64_t seed, uint64_t first, uint64_t end)
{
    pid_t pid;
    int status;

    fflush(NULL);
    pid = fork();
    if (0 == pid) {
        child(target, seed, first, end);
    }
    if (-1 == pid || pid != waitpid(pid, &status, 0)) {
        return "fork";
    }
    return trouble(status);
}

static uint64_t number_of(const char *option, const char *variable, uint64_t otherwise)
{
    const char *text = NULL != option ? option : getenv(variable);

    return NULL != text && '\0' != *text ? strtoull(text, NULL, 0) : otherwise;
}

int fuzz_main(int argc, char **argv, const fuzz_target_t *target)
{
    const char *cases = NULL, *seed_text = NULL, *first_text = NULL, *found = NULL;
    uint64_t seed, first, end;

    for (int i = 1; i + 1 < argc; i += 2) {
        if (0 == strcmp(argv[i], "--cases")) {
            cases = argv[i + 1];
        } else if (0 == strcmp(argv[i], "--seed")) {
            seed_text = argv[i + 1];
        } else if (0 == strcmp(argv[i], "--first")) {
            first_text = argv[i + 1];
        } else if (0 == strcmp(argv[i], "--break")) {
            fuzz_broken = argv[i + 1];
        }
    }
    seed = number_of(seed_text, "FP_FUZZ_SEED", (uint64_t) time(NULL));
    first = number_of(first_text, "", 0);
    end = first + number_of(cases, "FP_FUZZ_CASES", 0 == target->cases ? 500000 : target->cases);
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    target->start(&argc, &argv);
    printf("# repeat with: %s --seed %llu\n", argv[0], (unsigned long long) seed);
    for (uint64_t now = first; NULL == found && now < end; now += BATCH) {
        found = batch(target, seed, now, now + BATCH < end ? now + BATCH : end);
    }
    if (NULL != found) {
        printf("not ok - %s%s%s: %s\n# the case alone: %s --seed %llu --first %llu --cases 1\n", target->name,
               '\0' == *fuzz_broken ? "" : " without ", fuzz_broken, found, argv[0],
               (unsigned long long) seed, (unsigned long long) shared->now);
    } else {
        printf("ok - %s%s%s: %llu cases, of which %llu were reported\n", target->name,
               '\0' == *fuzz_broken ? "" : " without ", fuzz_broken, (unsigned long long) (end - first),
               (unsigned long long) shared->clean);
    }
    fflush(NULL);
    _exit(NULL != found ? 1 : 0); /* what it has made of Open MPI is not fit for MPI_Finalize */
}
