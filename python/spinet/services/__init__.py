# SPDX-License-Identifier: Apache-2.0
"""Services on cards: the host side of `sdk/services`. docs/guides/services.md shows how to use them."""

from spinet.services.patterns import Patterns

__all__ = ["Patterns"]
