"""What ansible-playbook prints names the tasks that failed."""

from calor.agent.hooks.ansible_output import Failure, failures

PRINTED = """\
TASK [cut off] ***
fatal: [a]: FAILED! => {"msg": "harmless"}
...ignoring

TASK [install : packages [all]] ************************
ok: [a]
fatal: [b -> c]: FAILED! => {
    "changed": false,
    "msg": "no package\\nby that name",
    "stderr": ""
}
failed: [a] (item=x) => {"ansible_loop_var": "item", "item": "x", "msg": "non-zero return code", "stderr": "1\\n2"}

RUNNING HANDLER [restart] ***
fatal: [d]: UNREACHABLE! => {"changed": false, "msg": "Failed to connect", "unreachable": true}

PLAY RECAP *********************************************************************
"""


def test_each_task_that_failed_has_its_name_its_host_and_a_message_of_all_lines() -> None:
    assert failures(PRINTED) == [
        Failure("install : packages [all]", "b", "no package\nby that name"),
        Failure("install : packages [all]", "a", "non-zero return code: 1\n2"),
        Failure("restart", "d", "Failed to connect"),
    ]


def test_results_in_yaml_are_read_too() -> None:
    text = (
        "TASK [t] ***\nfatal: [h]: FAILED! => \n    changed: no\n    msg: |-\n        one\n        two\n    rc: 1\n\n"
    )
    assert failures(text) == [Failure("t", "h", "one\ntwo")]


def test_what_is_no_result_is_passed_over() -> None:
    assert failures("") == []
    assert failures("ERROR! the playbook is none\n") == []
    assert failures("TASK [t] ***\nfatal: [h]: FAILED! => {cut off") == [Failure("t", "h", "{cut off")]
