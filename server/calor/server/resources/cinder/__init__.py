"""OS::Cinder::…: the volume service."""
