# SPDX-License-Identifier: Apache-2.0
"""A distributed file system's data path on cards: clients, storage nodes, Reed-Solomon codes.

The handlers are `sdk/storage/storage.c`. docs/guides/storage.md shows how to use all of this.
"""

from spinet.storage.client import Client, Request, blocks, recover
from spinet.storage.metadata import Metadata
from spinet.storage.node import capture, events, memory, node
from spinet.storage.wire import CARD_AT

__all__ = ["CARD_AT", "Client", "Metadata", "Request", "blocks", "capture", "events", "memory", "node", "recover"]
