"""CloudFormation's resource types."""
