# SPDX-License-Identifier: Apache-2.0
"""sPIN: applications on networks of cards.

Use cases of sPIN (Hoefler et al., SC 2017; the talk at the OFA Workshop 2022; later papers), as complete applications
on simulated networks. The experiments judge values that could be read in a primary source, or that follow from such
values by arithmetic. Other values are drawn for their shape only; each figure says which. Published plots are not
compared if their numbers were not available.
"""
