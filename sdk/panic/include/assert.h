/* SPDX-License-Identifier: Apache-2.0 */
/* assert() in a PANIC unit, which has no console: traps, which drops the packet and is reported with the place in the program. */
#ifndef SPIN_ASSERT_H
#define SPIN_ASSERT_H

#undef assert
#ifdef NDEBUG
#define assert(condition) ((void)0)
#else
#define assert(condition) ((condition) ? (void)0 : __builtin_trap())
#endif

#define static_assert _Static_assert

#endif
