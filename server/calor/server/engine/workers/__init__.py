"""Processes with limits, for work whose cost a tenant decides."""
