"""OS::Neutron::…: the network service."""
