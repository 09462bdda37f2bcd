"""One pass of cfn-hup: look at each resource once, start what has stopped, run the actions of what has changed."""

import json
import os
from typing import Any, Dict, List, NamedTuple, Optional

from calor.cfntools import access, cloudformation, configsets, credentials, httpclient, metadata, processes
from calor.cfntools.hup_settings import Hook, Settings
from calor.cfntools.hup_state import Seen, State
from calor.cfntools.init import KEY
from calor.cfntools.narration import Narrator
from calor.cfntools.sections import SectionFailed, services

LONGEST = 120 * 1024
"""Bytes of a value in an action's environment: the kernel starts no program with one of 128 KiB."""


class Change(NamedTuple):
    event: str
    old: Seen
    new: Seen


class Pass:
    """The API alone is asked: what lies on disk may be old, and no action is run for it (F090)."""

    def __init__(self, settings: Settings, state: State, ask: cloudformation.Ask, narrator: Narrator) -> None:
        self._settings = settings
        self._state = state
        self._ask = ask
        self._narrator = narrator
        self._problems = 0

    def run(self) -> int:
        """How many hooks or services there were that could not be dealt with."""
        for resource in sorted({hook.resource for hook in self._settings.hooks}):
            hooks = [hook for hook in self._settings.hooks if hook.resource == resource]
            try:
                self._look_at(resource, hooks)
            except (httpclient.TransportError, cloudformation.ApiRefused) as exc:
                self._problem("{}: {}".format(resource, exc))
        return self._problems

    def _look_at(self, resource: str, hooks: List[Hook]) -> None:
        baseline = _cached(self._settings.given, resource)
        found = self._describe(resource, hooks)
        if found is not None and found.is_in_progress:
            self._narrator.detail("{} is {}: left for the next pass".format(resource, found.status))
            return
        for hook in hooks:
            if self._state.seen(_id(hook)) is None:
                self._state.remember(_id(hook), _first(hook, baseline))
        if found is not None:
            metadata.keep(self._settings.given, resource, found.metadata)
            self._watch_services(found.metadata, hooks)
        for hook in hooks:
            change = self._change(hook, found)
            if change is not None:
                self._deal_with(hook, change)

    def _describe(self, resource: str, hooks: List[Hook]) -> Optional[cloudformation.Description]:
        """None once a resource that was seen is no more."""
        try:
            return cloudformation.describe_stack_resource(self._ask, self._settings.stack, resource)
        except cloudformation.ApiRefused as exc:
            if exc.is_gone and any(self._state.seen(_id(hook)) for hook in hooks):
                return None
            raise

    def _watch_services(self, found: Dict[str, Any], hooks: List[Hook]) -> None:
        for wanted in _services(found):
            try:
                for name in services.start_stopped(wanted):
                    self._narrator.say("service {} had stopped and was started again".format(name))
                    for hook in hooks:
                        if "service.restarted" in hook.triggers:
                            self._act(hook, {})
            except SectionFailed as exc:
                self._problem(str(exc))

    def _change(self, hook: Hook, found: Optional[cloudformation.Description]) -> Optional[Change]:
        """What has happened since the hook's last success, remembered at once where no action belongs to it."""
        new = _value(hook, found)
        old = self._state.seen(_id(hook)) or Seen(None)
        if old.value is None:
            event = "post.add" if new.value is not None else ""
        elif new.value is None:
            event = "post.remove"
        else:
            event = "post.update" if new.value != old.value else ""
        if event and event in hook.triggers:
            return Change(event, old, new)
        self._state.remember(_id(hook), new)
        return None

    def _deal_with(self, hook: Hook, change: Change) -> None:
        attempts = self._state.begin(_id(hook), change.new.value)
        if attempts > self._settings.attempts:
            self._problem("{}: given up after {} attempts".format(hook.name, self._settings.attempts))
            self._state.remember(_id(hook), change.new)
            return
        self._narrator.say("{}: {} of {}".format(hook.name, change.event, hook.path))
        if self._act(hook, _environment(hook, change)):
            self._state.remember(_id(hook), change.new)

    def _act(self, hook: Hook, more: Dict[str, str]) -> bool:
        environment = dict(os.environ, **more)
        try:
            if hook.runas:
                environment.update(processes.identity(hook.runas))
            code = processes.run(hook.action, processes.Setting("/", environment, hook.runas))
        except processes.CannotRun as exc:
            self._problem("{}: {}; tried again at the next pass".format(hook.name, exc))
            return False
        if code != 0:
            self._problem("{}: exit code {}; tried again at the next pass".format(hook.name, code))
        return code == 0

    def _problem(self, line: str) -> None:
        self._problems += 1
        self._narrator.warn(line)


def _id(hook: Hook) -> str:
    return "{}|{}".format(hook.name, hook.path)


def _value(hook: Hook, found: Optional[cloudformation.Description]) -> Seen:
    """A path that names the resource alone means its metadata, as Heat's cfn-hup has it."""
    if found is None or found.status == "DELETE_COMPLETE":
        return Seen(None)
    if hook.part == "physicalresourceid":
        return Seen(found.physical_id or None, found.last_updated)
    value = metadata.lookup(found.metadata, hook.key) if hook.key else found.metadata
    return Seen(value or None, found.last_updated)


def _first(hook: Hook, baseline: Optional[Dict[str, Any]]) -> Seen:
    """A hook that is new begins from nothing where it waits for ``post.add``; else from the metadata that cfn-init has
    applied, so that what has changed in between counts."""
    if baseline is None or "post.add" in hook.triggers or hook.part == "physicalresourceid":
        return Seen(None)
    return _value(hook, cloudformation.Description(baseline))


def _cached(given: credentials.Given, resource: str) -> Optional[Dict[str, Any]]:
    for path in metadata.cached(given, resource):
        try:
            return metadata.load(path)
        except (OSError, ValueError, metadata.NoMetadata):
            continue
    return None


def _services(found: Dict[str, Any]) -> List[Dict[str, Any]]:
    """The services of the configs that cfn-init applies when it is asked for none by name."""
    init = found.get(KEY)
    try:
        configs = configsets.resolve(init, []) if isinstance(init, dict) else []
    except configsets.UnknownConfig:
        return []
    return [config["services"] for _, config in configs if isinstance(config.get("services"), dict)]


def _environment(hook: Hook, change: Change) -> Dict[str, str]:
    """Old and new value under AWS's names."""
    kind = {"metadata": "METADATA", "physicalresourceid": "PHYSICAL_RESOURCE_ID"}.get(hook.part, "METADATA")
    found: Dict[str, str] = {}
    for age, seen in (("OLD", change.old), ("NEW", change.new)):
        if seen.value is not None:
            text = seen.value if isinstance(seen.value, str) else json.dumps(seen.value)
            if len(text.encode("utf-8", "surrogatepass")) <= LONGEST:
                found["CFN_{}_{}".format(age, kind)] = text
        if seen.last_updated and not hook.part:
            found["CFN_{}_LAST_UPDATED".format(age)] = seen.last_updated
    return found


def new_pass(settings: Settings, state: State, native: access.Native, narrator: Narrator) -> Pass:
    """Raises access.NoAccess, credentials.Unreadable."""
    return Pass(settings, state, access.find(settings.given, native), narrator)
