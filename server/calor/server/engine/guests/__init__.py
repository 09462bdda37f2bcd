"""What the engine knows and keeps of instances: identities, contacts, deployments, output, signals."""
