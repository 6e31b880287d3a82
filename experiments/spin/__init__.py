# SPDX-License-Identifier: Apache-2.0
"""sPIN: applications on networks of cards.

Use cases of sPIN (Hoefler et al., SC 2017; the talk at the OFA Workshop 2022; later papers), as complete applications
on simulated networks. Values are judged if they could be read in a primary source, or follow from such values by
arithmetic; others are drawn for their shape only, and each figure says which. Published plots whose numbers could not
be had are not compared.
"""
