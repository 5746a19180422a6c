#!/usr/bin/python
# Copyright the fettle project
# SPDX-License-Identifier: Apache-2.0

"""fettle fix as a module."""

from __future__ import annotations

DOCUMENTATION = r"""
module: fix
short_description: Fix what a trap's check finds
description:
  - Runs C(fettle fix) on the host. It looks for the trap, makes a plan, applies it, and looks again;
    if the trap is still found, everything is rolled back.
  - If nothing is found, nothing is changed.
  - In check mode the plan is made and nothing is changed; with C(--diff) the plan is shown.
version_added: 1.0.0
author:
  - the fettle project (@fettle)
options:
  trap:
    description: The trap.
    type: str
    required: true
  "on":
    description: Fix only the findings on these subjects.
    type: list
    elements: str
    default: []
  options:
    description: Options of the remedy. C(fettle explain --all TRAP) lists them.
    type: dict
    default: {}
  irreversible:
    description: Also take steps that cannot be undone.
    type: bool
    default: false
  confirm_within:
    description:
      - The host rolls the change back unless C(fettle confirm) is run within this time, such as V(5m).
      - A change that can cut the connection is always guarded in this way, by default for five minutes.
    type: str
extends_documentation_fragment:
  - fettle.fettle.program
attributes:
  check_mode:
    description: Makes the plan and changes nothing.
    support: full
  diff_mode:
    description: Shows the plan, with diffs of files.
    support: full
seealso:
  - module: fettle.fettle.check
"""

EXAMPLES = r"""
- name: Fix bridges whose ports differ in MTU
  fettle.fettle.fix:
    trap: bridge-mtu
  register: mended

- name: Reconnect
  ansible.builtin.meta: reset_connection

- name: Confirm a change that could have cut the connection
  ansible.builtin.command:
    argv: [fettle, confirm, "{{ mended.change.id }}"]
  changed_when: true
  when: mended.change.confirm_by is defined
"""

RETURN = r"""
result:
  description:
    - One of nothing-to-mend, planned (in check mode), mended, refused, unknown, rolled-back, half-way and failed.
  returned: always
  type: str
  sample: mended
findings:
  description: What was found.
  returned: always
  type: list
  elements: dict
refused:
  description: What the remedy refuses to fix, and why.
  returned: always
  type: list
  elements: dict
change:
  description: The change that was made.
  returned: when something was changed
  type: dict
  contains:
    id:
      description: Its ID, for C(fettle undo).
      type: str
      sample: "0007"
    confirm_by:
      description: When the host rolls it back, unless C(fettle confirm) is run before.
      type: str
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.fettle.fettle.plugins.module_utils.program import ARGUMENTS, Program, words


def arguments(params, check_mode):
    """The command line."""
    args = ["fix", "--format=json"] + (["--plan", "--network"] if check_mode else ["--yes"])
    args += words("--on", params["on"])
    args += words("--with", ["%s=%s" % (name, value) for name, value in sorted(params["options"].items())])
    if params["irreversible"] and not check_mode:
        args.append("--yes-irreversible")
    if params["confirm_within"]:
        args.append("--confirm-within=" + params["confirm_within"])
    return args + ["--", params["trap"]]


def main():
    """Run the module."""
    module = AnsibleModule(
        argument_spec=dict(
            ARGUMENTS,
            trap={"type": "str", "required": True},
            on={"type": "list", "elements": "str", "default": []},
            options={"type": "dict", "default": {}},
            irreversible={"type": "bool", "default": False},
            confirm_within={"type": "str"},
        ),
        supports_check_mode=True,
    )
    status, doc = Program(module).document(arguments(module.params, module.check_mode), "fettle-fix")
    plan = doc.get("plan")
    result = {"result": doc["result"], "findings": doc["findings"], "refused": doc["refused"]}
    if doc.get("change"):
        result["change"] = doc["change"]
    result["changed"] = bool(plan) if module.check_mode else bool(doc.get("change"))
    if plan:
        result["diff"] = {"prepared": plan["text"]}
    if status != 0:
        module.fail_json(msg=doc.get("error") or doc["result"], rc=status, **result)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
