# SPDX-License-Identifier: Apache-2.0
"""Collective operations on cards and in switches: the host side of `sdk/collectives`.

docs/guides/collectives.md shows how to use it.
"""

from spinet.collectives.flare import Flare
from spinet.collectives.group import Group
from spinet.collectives.peers import Peer, headers
from spinet.collectives.sparse import SparseFlare

__all__ = ["Flare", "Group", "Peer", "SparseFlare", "headers"]
