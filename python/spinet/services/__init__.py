# SPDX-License-Identifier: Apache-2.0
"""Services on cards: the host side of `sdk/services`. docs/guides/services.md shows how to use them."""

from spinet.services.classify import Classifier
from spinet.services.client import Answer, Client
from spinet.services.consensus import Consensus
from spinet.services.functions import Functions, HostCosts
from spinet.services.keyvalue import KeyValue, KeyValueClient
from spinet.services.matching import Endpoint, Matching
from spinet.services.patterns import Patterns
from spinet.services.quantize import Quantizer, QuantizerClient
from spinet.services.select import Table, TableClient
from spinet.services.transaction import Coordinator, Participant

__all__ = [
    "Answer",
    "Classifier",
    "Client",
    "Consensus",
    "Coordinator",
    "Endpoint",
    "Functions",
    "HostCosts",
    "KeyValue",
    "KeyValueClient",
    "Matching",
    "Participant",
    "Patterns",
    "Quantizer",
    "QuantizerClient",
    "Table",
    "TableClient",
]
