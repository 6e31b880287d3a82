# SPDX-License-Identifier: Apache-2.0
"""FPsPIN: published measurements.

Measurements of PsPIN on an FPGA (Xu et al., *FPsPIN*, arXiv 2405.16378), from the authors' repositories spcl/FPsPIN
(f5feca1, data of May 2024) and KireinaHoro/pspin (201c3d1, data of August and September 2023), repeated on
`presets/fpspin.toml`. `experiments/fpspin/measured` has all their values in a compact form: 180 rows of echoes, 409
of file transfers, 50 of datatypes.

The experiments judge cycles of handlers, their slopes, and ratios. Round-trip times and rates depend on the programs
and the kernel of the authors' host, which we do not have, so only their shape is shown. `experiments/fpspin/host.py`
states the host's costs.

FPsPIN compiles handlers with PULP's gcc for rv32imacxpulpv2, spinet with zig cc for rv32imac, so instruction counts
differ. No parameter was chosen to bring a count closer.

FPsPIN's own UDP echo, compiled with gcc 12.2 for rv32imac, was run on FPsPIN's RTL (f5feca1, Verilator, functional
models of the NIC). With a payload of 16 bytes it takes 130 cycles on the HPU and 217 with the host, by the authors'
counting; the FPGA took 139 and 228. In spinet it takes 130 cycles on the HPU, too, with gcc 8.3 as well as 12.2. With
packets of the same length, the FPGA's handlers of UDP and ICMP take 6 to 9 cycles more on the HPU than these programs
in spinet, and nearly the same number at all sizes. The cause is not known: the authors' compiler, PULP's gcc 7, was not
available. No experiment here repeats this, because FPsPIN's programs are not part of spinet.
"""
