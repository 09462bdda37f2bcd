"""Files that are there whole or not at all: ``calor.cfntools.durable``, for the agent's modules."""

from calor.cfntools.durable import (
    create_once,
    make_directory,
    read_json,
    read_map,
    remove,
    sync_directory,
    write,
    write_json,
)

__all__ = ["create_once", "make_directory", "read_json", "read_map", "remove", "sync_directory", "write", "write_json"]
