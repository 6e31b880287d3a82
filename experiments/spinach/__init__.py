# SPDX-License-Identifier: Apache-2.0
"""Spinach: published results.

The figures and tables of P. Willmann, *Simulation-Driven Design of High-Performance Programmable Network Interface
Cards*, master's thesis, Rice University, 2004, chapters 3 and 4, measured again on `presets/tigon2.toml`,
`presets/tengig.toml` and `experiments/spinach/descriptors.toml`. Expected values are those that text and tables
state. Curves that exist only as pictures are not compared.

The thesis ran Alteon's firmware 12.4.13, Kim's division of it, and a 10 Gigabit firmware derived from it. None of
them is free. Here spinet's own firmware runs, `firmware/tigon2` and `firmware/tengig`, compiled with zig. Its work
per frame, and the limits of the cores that follow from it, are therefore its own. `firmware/tengig` is built with `-D
THESIS`, with the services of the Tigon-2's released firmware (docs/machines/tengig.md, The thesis's work). These
services follow that firmware, not the tables.

Variants of `firmware/tigon2` were compared while the thesis's 66 % and 81 % were known, so these points are fitted.
The points of `polled.toml` (Figure 3.8) are fitted too, because its timeout was chosen with results in view. No
parameter of the two cards was chosen by a result. With Debian's gcc instead of zig, `firmware/tigon2` moves 6 % more
frames with one CPU and 4 % more with two (66.0 and 87.8 % of the peak, unpaced).

Table 4.2 is not measured again. It lists the power that a web server's processor, PCI bus and memory draw from their
supply, with two real cards. spinet models neither a server's processor nor the power of any part. It could only repeat
the table.

Rates count frames while both directions are active, without the first 100 (thesis, 3.4); for the 10 Gigabit NIC, from
2 to 6 ms. The host's driver does not clear the card's memory first, which is empty anyway (`host.clear_end=0`). This
saves 11 ms of simulated time.
"""
