"""Texts of any size in what `calor stack` and `calor deployment` print: a bounded part, with the whole's size."""

import json
import time

from played_api import Api, calor, resource, run, stack

from calor.server.cli.shown import MOST_CHARACTERS, MOST_LINES, shortened

LARGE = "x" * 540 + "\n" + "ab\n" * 85_000
FACTS = {"id": "shop-id", "description": "", "parameters": {"big": LARGE}, "outputs": []}


def test_the_output_of_a_stack_is_cut_and_told_how_to_see_whole(api: Api) -> None:
    found = stack("CREATE_COMPLETE")["stack"] | FACTS
    found["outputs"] = [{"output_key": "o", "output_value": LARGE}, {"output_key": "p", "output_value": ["y" * 9000]}]
    api.answers["GET", "/stacks/shop/shop-id"] = {"stack": found}
    api.answers["GET", "/stacks/shop/shop-id/progress"] = {"guests": [], "deployments": []}
    began = time.process_time()
    done = calor("stack", "show", "shop")
    assert time.process_time() - began < 30  # it was minutes
    assert done.exit_code == 0, done.exception
    assert len(done.output) < 3 * MOST_CHARACTERS
    assert "85,001 lines, 255,541 characters in all: `--format json` shows all" in done.output
    assert "`openstack stack output show shop OUTPUT` this one" in done.output
    whole = json.loads(calor("stack", "show", "shop", "--format", "json").output)
    assert [one["output_value"] for one in whole["outputs"]] == [LARGE, ["y" * 9000]]


def test_what_is_short_is_shown_whole() -> None:
    text = "\n".join(str(number) for number in range(MOST_LINES))
    assert shortened(text) == text
    assert shortened("x" * MOST_CHARACTERS) == "x" * MOST_CHARACTERS


def test_of_a_failed_deployment_the_last_lines_are_shown_however_long_they_are(api: Api) -> None:
    here = "/stacks/shop/shop-id"
    api.answers["GET", f"{here}/resources"] = {"resources": [resource("install", "CREATE_FAILED", "exit code 3")]}
    api.answers["GET", here] = stack("CREATE_FAILED")
    outputs = {"deploy_stdout": "z" * 300_000 + "end", "deploy_status_code": 3}
    api.answers["GET", f"{here}/progress"] = {"guests": [], "deployments": [run(output_values=outputs)]}
    short, whole = calor("stack", "failures", "shop").output, calor("stack", "failures", "--long", "shop").output
    assert len(short) < 2 * MOST_CHARACTERS
    assert "[… 1 line, 300,003 characters in all: `calor stack failures --long` shows all]" in short
    assert "zzzend\n" in short
    assert len(whole) > 300_000


def test_a_failures_output_is_told_once_and_cut_where_every_text_is(api: Api) -> None:
    here = "/stacks/shop/shop-id"
    text = "\n".join(f"line {number}" for number in range(28))
    code = "deploy_status_code : Deployment exited with non-zero status code: 3"
    reason = f"{code}, fault : {text}; last lines: line 26\nline 27"
    api.answers["GET", f"{here}/resources"] = {"resources": [resource("install", "CREATE_FAILED", reason)]}
    api.answers["GET", here] = stack("CREATE_FAILED")
    api.answers["GET", f"{here}/progress"] = {"guests": [], "deployments": [run(output_values={"fault": text})]}
    shown = calor("stack", "failures", "shop").output
    assert f"{code}, fault : see below\n" in shown
    assert [shown.count(f"line {number}\n") for number in range(28)] == [1] * 28
    reason = f"{code}, fault : {LARGE[:300]} … {LARGE[-300:]}"  # as a server bounds it
    api.answers["GET", f"{here}/resources"] = {"resources": [resource("install", "CREATE_FAILED", reason)]}
    api.answers["GET", f"{here}/progress"] = {"guests": [], "deployments": [run(output_values={"fault": LARGE})]}
    assert f"{code}, fault : see below\n" in calor("stack", "failures", "shop").output


def test_a_deployments_output_and_a_reason_in_a_list_are_cut(api: Api) -> None:
    names = ("on_demand_of", "resource_name", "server_name", "action", "state", "status", "status_reason")
    shown = dict.fromkeys(names, "") | run(output_values={"deploy_stdout": LARGE})
    api.answers["GET", "/software_deployments/d1/runs/d1"] = {"run": shown}
    assert len(calor("deployment", "show", "d1").output) < 2 * MOST_CHARACTERS
    event = {"event_time": "", "resource_name": "a", "resource_status": "CREATE_FAILED"}
    api.answers["GET", "/stacks/shop/shop-id/events"] = {"events": [event | {"resource_status_reason": LARGE}]}
    assert len(calor("stack", "events", "shop").output) < 3 * MOST_LINES * 600


def test_a_large_reason_is_cut_when_a_watched_stack_fails(api: Api) -> None:
    here = "/stacks/shop/shop-id"
    api.answers["GET", here] = stack("CREATE_FAILED", LARGE)
    api.answers["GET", f"{here}/progress"] = {"guests": [], "deployments": []}
    api.answers["GET", f"{here}/resources"] = {"resources": []}
    api.answers["GET", f"{here}/logs"] = {"pieces": [], "next": 0, "over": True}
    done = calor("stack", "watch", "shop")
    assert (done.exit_code, len(done.output) < 2 * MOST_CHARACTERS) == (1, True)
