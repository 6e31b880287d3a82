# SPDX-License-Identifier: Apache-2.0
"""PANIC: published results.

Every figure and table of the evaluation in Lin et al., *PANIC: A high-performance programmable NIC for multi-tenant
networks*, OSDI 2020, measured anew on `presets/panic.toml`, and what the authors' Verilog does in simulation
(`prototype`). Published values are those that text and tables state, and the formulas of the text; curves that are
known as pictures only are no target. Delay units have the period of a packet that the stated rate asks for, rounded
to whole cycles of 4 ns: service, then descriptor and packet, 64 bytes a cycle, then the prototype's gap of 2 cycles.
"""
