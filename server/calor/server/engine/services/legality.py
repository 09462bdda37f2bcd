"""Which request is legal in which state (api-routes.json, ``state_machine.legality``)."""

from calor.server.errors import NotSupported
from calor.server.store.rows import StackRow
from calor.server.store.states import Action, Status

VERBS = ("suspend", "resume", "check", "cancel_update", "cancel_without_rollback")


def state_of(stack: StackRow) -> str:
    return f"{stack.action.value}_{stack.status.value}"


def check_update(stack: StackRow) -> None:
    if stack.action in (Action.SUSPEND, Action.DELETE):
        raise NotSupported(f"Updating a stack when it is {state_of(stack)} is not supported.")


def check_action(stack: StackRow, verb: str) -> None:
    """Raises `NotSupported` for what may not be asked now."""
    running = stack.action if stack.status is Status.IN_PROGRESS else None
    if verb == "cancel_update" and running is not Action.UPDATE:
        raise NotSupported(f"Cancelling update when stack is {state_of(stack)} is not supported.")
    if verb == "cancel_without_rollback" and running not in (Action.UPDATE, Action.CREATE):
        raise NotSupported(f"Cancelling update without rollback when stack is {state_of(stack)} is not supported.")
    if verb not in VERBS:
        raise NotSupported(f"The action {verb} is not supported.")
    if verb in ("suspend", "resume", "check") and stack.action is Action.DELETE:
        raise NotSupported(f"{verb.capitalize()} of a stack when it is {state_of(stack)} is not supported.")


def is_done(stack: StackRow, verb: str) -> bool:
    """Suspending the suspended and resuming the resumed change nothing."""
    done = {"suspend": Action.SUSPEND, "resume": Action.RESUME}.get(verb)
    return stack.status is Status.COMPLETE and stack.action is done
