/* SPDX-License-Identifier: Apache-2.0 */
/* assert() for handlers: prints the condition that is false, then traps, which ends the task and counts as a fault. */
#ifndef SPIN_ASSERT_H
#define SPIN_ASSERT_H

#undef assert
#ifdef NDEBUG
#define assert(condition) ((void)0)
#else
#include <stdio.h>
#define assert(condition)                                                                      \
    ((condition) ? (void)0                                                                     \
                 : (printf("%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition),       \
                    __builtin_trap()))
#endif

#define static_assert _Static_assert

#endif
