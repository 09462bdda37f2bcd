"""Access rules: Heat's, overridable by the operator."""

import json
import os
from pathlib import Path

import pytest

from calor.server.auth import Policy
from calor.server.auth.policies import HEATS, RULES
from calor.server.config import ConfigurationFault, load
from calor.server.errors import Forbidden, ServiceUnavailable
from calor.server.identity import Caller

ROUTES = Path(__file__).parents[4] / "shared/reference/api-routes.json"


def caller(*roles: str, project_id: str = "p", system: bool = False) -> Caller:
    return Caller(
        user_id="u", project_id=project_id, roles=frozenset(roles), is_admin="admin" in roles, system_scope=system
    )


@pytest.mark.skipif(not ROUTES.exists(), reason="the reference facts are not here")
def test_every_rule_of_heat_is_there_with_its_check() -> None:
    wanted = json.loads(ROUTES.read_text())["policy_rules"]
    assert {rule.name: rule.check for rule in HEATS} == {name: one["check"] for name, one in wanted.items()}
    assert {rule.name: list(rule.scopes) for rule in HEATS} == {
        name: one["scopes"] or [] for name, one in wanted.items()
    }


def test_every_rule_says_what_it_is_for() -> None:
    assert all(rule.description.endswith(".") for rule in RULES)
    assert len({rule.name for rule in RULES}) == len(RULES)


def test_roles_count_each_for_itself() -> None:
    policy = Policy(load().raw)
    assert policy.may(caller("reader"), "stacks:index")
    assert not policy.may(caller("member"), "stacks:index")
    assert policy.may(caller("member"), "stacks:create")
    assert policy.may(caller("heat_stack_user"), "resource:metadata")
    assert not policy.may(caller("heat_stack_user"), "resource:show")
    assert policy.may(caller("admin"), "service:index")
    assert not policy.may(caller("admin", "member", "reader"), "stacks:global_index")


def test_a_system_token_has_no_project_rights() -> None:
    assert not Policy(load().raw).may(caller("admin", "member", "reader", system=True), "stacks:create")


def test_a_refusal_names_the_rule() -> None:
    with pytest.raises(Forbidden, match="stacks:create"):
        Policy(load().raw).require(caller("reader"), "stacks:create")


def test_an_operator_overrides_a_rule(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(
        '"stacks:create": "role:stack_maker"\n"stacks:global_index": "role:auditor"\n'
    )
    conf = tmp_path / "calor.conf"
    conf.write_text(f"[oslo_policy]\npolicy_file = {tmp_path}/policy.yaml\n")
    policy = Policy(load([conf]).raw)
    assert policy.may(caller("stack_maker"), "stacks:create")
    assert not policy.may(caller("member"), "stacks:create")
    assert policy.may(caller("auditor"), "stacks:global_index")
    assert policy.may(caller("reader"), "stacks:index")


@pytest.mark.parametrize("text", ['"stacks:create": "role:', "a: [", '"stacks:create": 5'])
def test_a_policy_file_that_cannot_be_read_is_named_at_start(tmp_path: Path, text: str) -> None:
    (tmp_path / "policy.yaml").write_text(text)
    conf = tmp_path / "calor.conf"
    conf.write_text(f"[oslo_policy]\npolicy_file = {tmp_path}/policy.yaml\n")
    with pytest.raises(ConfigurationFault, match=r"policy\.yaml"):
        Policy(load([conf]).raw)


def test_an_edit_that_breaks_the_file_refuses_everything(tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text('"stacks:create": "role:stack_maker"\n')
    conf = tmp_path / "calor.conf"
    conf.write_text(f"[oslo_policy]\npolicy_file = {file}\n")
    policy = Policy(load([conf]).raw)
    assert policy.may(caller("stack_maker"), "stacks:create")
    file.write_text("a: [")
    os.utime(file, (0, 2**31))
    with pytest.raises(ServiceUnavailable):
        policy.may(caller("stack_maker"), "stacks:create")
