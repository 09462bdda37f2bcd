"""Files that travel into instances: standard library only, Python 3.6 or newer, each complete in itself."""
