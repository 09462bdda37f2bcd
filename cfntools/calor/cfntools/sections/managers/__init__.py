"""The package managers that ``packages`` knows, in the order in which they are called."""

from calor.cfntools.sections.managers.apt import Apt
from calor.cfntools.sections.managers.contract import Manager
from calor.cfntools.sections.managers.python import Python
from calor.cfntools.sections.managers.repositories import Dnf, Yum, Zypper
from calor.cfntools.sections.managers.rpm import Rpm
from calor.cfntools.sections.managers.rubygems import RubyGems

MANAGERS = (Rpm(), Apt(), Yum(), Dnf(), Zypper(), Python(), RubyGems())

__all__ = ["MANAGERS", "Manager"]
