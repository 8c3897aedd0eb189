/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * A helper that sleeps in a futex for who sleeps in the event library: common_fastpath_relay.h.
 */
#include "opal_config.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "opal/mca/btl/base/base.h"

#include "common_fastpath_relay.h"
#include "common_fastpath_thread.h"

/* Those that reach processes of the node only: where a sleep is announced, btl/fastsm reaches all of these.
 */
static bool btl_is_local(const char *name)
{
    static const char *const local[] = {"fastsm", "self", "sm", "vader"};

    for (size_t i = 0; i < sizeof(local) / sizeof(local[0]); ++i) {
        if (0 == strcmp(local[i], name)) {
            return true;
        }
    }
    return false;
}

/* Whether all that BTLs deliver ends a sleep. @param fastsm  what processes of the node send does */
static bool all_by_events(bool fastsm)
{
    const mca_btl_base_selected_module_t *selected;

    OPAL_LIST_FOREACH(selected, &mca_btl_base_modules_initialized, mca_btl_base_selected_module_t)
    {
        const mca_btl_base_component_t *component = selected->btl_component;

        if (NULL != component->btl_progress
            && !(fastsm && btl_is_local(component->btl_version.mca_component_name))) {
            return false;
        }
    }
    return true;
}

static void helper_sleep(const mca_common_fastpath_relay_t *relay, uint32_t word, uint64_t time)
{
    const struct timespec slice = {.tv_nsec = (long) time};

    if (0 != word) {
        (void) relay->ext->sleep(relay->fastsm, word, time);
    } else {
        (void) nanosleep(&slice, NULL);
    }
}

/* The helper.  It may come back from a sleep that nobody waits for any more, or not for that one: then
 * another one has been asked for, or there is nothing to do. */
static void *help_sleep(void *context)
{
    mca_common_fastpath_relay_t *relay = context;
    unsigned long served = 0;
    uint32_t word;
    uint64_t time;

    pthread_mutex_lock(&relay->lock);
    while (!relay->stop) {
        if (relay->asked == served || !relay->asleep) {
            pthread_cond_wait(&relay->changed, &relay->lock);
            continue;
        }
        served = relay->asked;
        word = relay->word;
        time = relay->time;
        pthread_mutex_unlock(&relay->lock);
        helper_sleep(relay, word, time);
        pthread_mutex_lock(&relay->lock);
        if (relay->asked == served && relay->asleep) {
            (void) eventfd_write(relay->fd, 1);
        }
    }
    pthread_mutex_unlock(&relay->lock);
    return NULL;
}

/* What ends the event library's loop; end_sleep() reads the descriptor. */
static void rung(int fd, short flags, void *context)
{
    (void) fd;
    (void) flags;
    (void) context;
}

static bool begin_relay(mca_common_fastpath_relay_t *relay)
{
    relay->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (0 > relay->fd) {
        return false;
    }
    pthread_mutex_init(&relay->lock, NULL);
    pthread_cond_init(&relay->changed, NULL);
    opal_event_set(opal_sync_event_base, &relay->event, relay->fd, OPAL_EV_READ | OPAL_EV_PERSIST, rung,
                   relay);
    if (!mca_common_fastpath_thread_start(&relay->helper, help_sleep, relay)) {
        pthread_cond_destroy(&relay->changed);
        pthread_mutex_destroy(&relay->lock);
        close(relay->fd);
        return false;
    }
    return true;
}

bool mca_common_fastpath_relay_usable(mca_common_fastpath_relay_t *relay, mca_btl_base_module_t *fastsm,
                                      const mca_btl_fastsm_ext_t *ext)
{
    if (opal_using_threads()) {
        return false;
    }
    if (MCA_COMMON_FASTPATH_RELAY_UNKNOWN == relay->state) {
        relay->fastsm = fastsm;
        relay->ext = ext;
        relay->state = all_by_events(NULL != ext) && begin_relay(relay) ? MCA_COMMON_FASTPATH_RELAY_STARTED
                                                                        : MCA_COMMON_FASTPATH_RELAY_REFUSED;
    }
    return MCA_COMMON_FASTPATH_RELAY_STARTED == relay->state;
}

/* The helper writes between these two only, so the descriptor has nothing of an earlier sleep. */
static void begin_sleep(mca_common_fastpath_relay_t *relay, uint32_t word, uint64_t time)
{
    pthread_mutex_lock(&relay->lock);
    ++relay->asked;
    relay->asleep = true;
    relay->word = word;
    relay->time = time;
    pthread_cond_signal(&relay->changed);
    pthread_mutex_unlock(&relay->lock);
}

/* @return whether the helper has ended the sleep */
static bool end_sleep(mca_common_fastpath_relay_t *relay)
{
    eventfd_t count = 0;

    pthread_mutex_lock(&relay->lock);
    relay->asleep = false;
    pthread_mutex_unlock(&relay->lock);
    return 0 == eventfd_read(relay->fd, &count);
}

mca_common_fastpath_relay_result_t mca_common_fastpath_relay_sleep(mca_common_fastpath_relay_t *relay,
                                                                   uint32_t word, uint64_t time)
{
    mca_common_fastpath_relay_result_t result;
    bool helper;

    if (0 != opal_event_add(&relay->event, NULL)) {
        return (mca_common_fastpath_relay_result_t){.announced = 0 != word}; /* no memory; awake, then */
    }
    begin_sleep(relay, word, time);
    (void) opal_event_loop(opal_sync_event_base, OPAL_EVLOOP_ONCE);
    helper = end_sleep(relay);
    (void) opal_event_del(&relay->event);
    result.announced =
        0 != word && word == atomic_load_explicit(relay->ext->asleep(NULL), memory_order_relaxed);
    result.woken = !helper || (0 != word && !result.announced);
    return result;
}

void mca_common_fastpath_relay_fini(mca_common_fastpath_relay_t *relay)
{
    if (MCA_COMMON_FASTPATH_RELAY_STARTED != relay->state) {
        return;
    }
    pthread_mutex_lock(&relay->lock);
    relay->stop = true;
    pthread_cond_signal(&relay->changed);
    pthread_mutex_unlock(&relay->lock);
    if (NULL != relay->ext) {
        fastsm_wake_if_asleep(relay->ext->asleep(NULL));
    }
    (void) pthread_join(relay->helper, NULL);
    pthread_cond_destroy(&relay->changed);
    pthread_mutex_destroy(&relay->lock);
    close(relay->fd);
    relay->state = MCA_COMMON_FASTPATH_RELAY_UNKNOWN;
    relay->stop = false;
}
