# SPDX-License-Identifier: Apache-2.0
"""PsPIN: published results.

Every figure and table of the evaluation in Di Girolamo et al., *A RISC-V in-network accelerator for flexible
high-performance low-power packet processing*, ISCA 2021, measured again on `presets/pspin-paper.toml`: the paper's
machine with the host of its simulation, a data sink at the rate of PCIe 5.0 x16. Expected values are those that text
and tables state. Curves that exist only as pictures are not compared. If the paper and the published RTL (spcl/pspin
a49fec8, measured under Verilator) disagree, spinet follows the RTL, and both values are shown.
`presets/pspin-rtl.toml` gives the same numbers within 2 %. `presets/pspin.toml`, with PCIe's packets and an IOMMU, is
shown where it differs. Stages of the latency must agree to the nanosecond; the tolerance of throughput is 10 %.
"""
