"""Resource types: one folder a service, one declarative class a type."""
