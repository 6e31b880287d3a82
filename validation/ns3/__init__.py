# SPDX-License-Identifier: Apache-2.0
"""Networks of spinet against ns-3, and with ns-3 between spinet's cards; `make test-ns3` runs it."""
