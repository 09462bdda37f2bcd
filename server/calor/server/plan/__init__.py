"""Dependency graph; diff of wanted and existing into steps with reasons. Pure."""

from calor.server.plan.diff import Action, Existing, Reason, Step, TypeRules, Wanted, diff
from calor.server.plan.graph import CircularDependency, Graph, build_graph

__all__ = [
    "Action",
    "CircularDependency",
    "Existing",
    "Graph",
    "Reason",
    "Step",
    "TypeRules",
    "Wanted",
    "build_graph",
    "diff",
]
