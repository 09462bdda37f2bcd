"""Measurements of Calor against the budgets of its design; JSON lines out."""
