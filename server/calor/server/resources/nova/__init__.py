"""OS::Nova::…: the compute service."""
