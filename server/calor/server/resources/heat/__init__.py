"""OS::Heat::…: what the server itself provides."""
