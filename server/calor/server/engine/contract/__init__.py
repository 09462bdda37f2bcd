"""What the API and the tools call: the services' protocols, and the values they answer."""
