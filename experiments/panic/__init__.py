# SPDX-License-Identifier: Apache-2.0
"""PANIC: published results.

Every figure and table of the evaluation in Lin et al., *PANIC: A high-performance programmable NIC for multi-tenant
networks*, OSDI 2020, measured again on `presets/panic.toml`, and the authors' Verilog in simulation (`prototype`).
Expected values are those that text and tables state, and the formulas of the text. Curves that exist only as pictures
are not compared. Delay units have the period that gives the stated rate, rounded to whole cycles of 4 ns: service,
then descriptor and packet at 64 bytes a cycle, then the prototype's gap of 2 cycles.
"""
