"""TOSCA templates made into HOT by tosca-parser and heat-translator, which open files and URLs that a template names.

So they run only in a process of their own that is closed (`closing`) before it sees a template; `translation` is what
that process does. Everything else may be called anywhere: none of it imports the two libraries.
"""

from calor.server.tosca.csar import Archive, unpack
from calor.server.tosca.gathering import gather
from calor.server.tosca.recognition import check_installed, is_archive, is_tosca

__all__ = ["Archive", "check_installed", "gather", "is_archive", "is_tosca", "unpack"]
