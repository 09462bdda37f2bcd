"""Leads a tree of stacks to its revision: decides, works on each resource, records, starts again after a kill."""
