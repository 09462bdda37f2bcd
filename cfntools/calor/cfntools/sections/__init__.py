"""The sections of a config, in the order in which AWS applies them (F078)."""

from calor.cfntools.sections import commands, files, groups, packages, services, sources, users
from calor.cfntools.sections.contract import Run, SectionFailed

SECTIONS = (packages, groups, users, sources, files, commands, services)

__all__ = ["SECTIONS", "Run", "SectionFailed"]
