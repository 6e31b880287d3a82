# SPDX-License-Identifier: Apache-2.0
"""Published figures and tables, regenerated: `spinet reproduce pspin/fig8`.

An experiment is a file ``experiments/<paper>/<name>.py`` that says what is varied and how a point is measured, and a
file ``<name>.csv`` beside it that says what is expected. docs/experiments/README.md tells how to write one.
"""

from spinet.reproduce.expected import Expectation, Verdict, judge
from spinet.reproduce.experiment import Claim, Experiment, ExperimentError, Point, find, load
from spinet.reproduce.results import Results, Row

__all__ = [
    "Claim",
    "Expectation",
    "Experiment",
    "ExperimentError",
    "Point",
    "Results",
    "Row",
    "Verdict",
    "find",
    "judge",
    "load",
]
