"""CloudFormation helper tools for inside an instance: standard library only, Python 3.6 and newer."""

__version__ = "0.1.0"
