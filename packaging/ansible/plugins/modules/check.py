#!/usr/bin/python
# Copyright the fettle project
# SPDX-License-Identifier: Apache-2.0

"""fettle check as a module."""

from __future__ import annotations

DOCUMENTATION = r"""
module: check
short_description: Look for traps on a host
description:
  - Runs C(fettle check) on the host and returns what it found. It changes nothing.
version_added: 1.0.0
author:
  - the fettle project (@fettle)
options:
  traps:
    description: Look only for these traps.
    type: list
    elements: str
    default: []
  skip:
    description: Skip these traps.
    type: list
    elements: str
    default: []
  severity:
    description: Return findings of at least this severity.
    type: str
    choices: [notice, warning, critical]
    default: notice
  fail_on:
    description: Fail if there is a finding of at least this severity.
    type: str
    choices: [never, notice, warning, critical]
    default: never
  network:
    description: Also run checks that talk to other hosts.
    type: bool
    default: false
  sample:
    description: Also run sampling checks, for this long, such as V(10s).
    type: str
  full:
    description: Also return the full report, which may be a hundred kilobytes or more.
    type: bool
    default: false
extends_documentation_fragment:
  - fettle.fettle.program
attributes:
  check_mode:
    description: The module changes nothing.
    support: full
  diff_mode:
    description: There is nothing to compare.
    support: none
seealso:
  - module: fettle.fettle.fix
"""

EXAMPLES = r"""
- name: Look for all traps
  fettle.fettle.check:
  register: fettle

- name: Fail if something critical is found
  fettle.fettle.check:
    fail_on: critical
"""

RETURN = r"""
findings:
  description: Findings that are not accepted, the most severe first.
  returned: success
  type: list
  elements: dict
  contains:
    trap:
      description: The trap.
      type: str
      sample: bridge-mtu
    subject:
      description: What it was found on; empty for the whole host.
      type: str
      sample: br0
    severity:
      description: One of notice, warning and critical.
      type: str
      sample: warning
    summary:
      description: One sentence.
      type: str
      sample: the bridge's ports have different MTUs
    fixable:
      description: Whether M(fettle.fettle.fix) can fix it.
      type: bool
unknown:
  description: What could not be inspected, and why.
  returned: success
  type: list
  elements: dict
  contains:
    trap:
      description: The trap.
      type: str
    subject:
      description: What could not be inspected; empty for the whole host.
      type: str
    reason:
      description: Why.
      type: str
counts:
  description: The number of subjects that were found, clear, not applicable, unknown and so on.
  returned: success
  type: dict
fettle:
  description: The version of fettle that ran.
  returned: success
  type: str
report:
  description: The full report, as C(fettle check --format json) writes it.
  returned: when O(full=true)
  type: dict
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.fettle.fettle.plugins.module_utils.program import ARGUMENTS, CHECKED, Program, words

SEVERITIES = ["notice", "warning", "critical"]


def arguments(params):
    """The command line."""
    args = ["check", "--format=json", "--severity=" + params["severity"]]
    args += words("--skip", params["skip"])
    if params["network"]:
        args.append("--network")
    if params["sample"]:
        args.append("--sample=" + params["sample"])
    return args + ["--"] + params["traps"]


def counts_for(outcome):
    """Whether a finding counts: it is not accepted, known or below the severity."""
    accepted = outcome.get("accepted")
    return not outcome.get("below") and not outcome.get("known") and (not accepted or accepted.get("lapsed"))


def outcomes(report):
    """The findings that count, and what is unknown."""
    found, unknown = [], []
    for result in report["results"]:
        for o in result["outcomes"]:
            it = {"trap": o["trap"], "subject": o.get("subject", "")}
            if o["status"] == "found":
                if counts_for(o):
                    found.append(dict(it, severity=o["severity"], summary=o["summary"], fixable=o.get("fixable", False)))
            elif o["status"] not in ("clear", "not-applicable"):
                unknown.append(dict(it, reason=o.get("reason", "")))
    return found, unknown


def main():
    """Run the module."""
    module = AnsibleModule(
        argument_spec=dict(
            ARGUMENTS,
            traps={"type": "list", "elements": "str", "default": []},
            skip={"type": "list", "elements": "str", "default": []},
            severity={"type": "str", "choices": SEVERITIES, "default": "notice"},
            fail_on={"type": "str", "choices": ["never"] + SEVERITIES, "default": "never"},
            network={"type": "bool", "default": False},
            sample={"type": "str"},
            full={"type": "bool", "default": False},
        ),
        supports_check_mode=True,
    )
    report = Program(module).document(arguments(module.params), "fettle-report", good=CHECKED)[1]
    found, unknown = outcomes(report)
    result = {"changed": False, "findings": found, "unknown": unknown, "counts": report["counts"], "fettle": report["fettle"]}
    if module.params["full"]:
        result["report"] = report
    fail_on = module.params["fail_on"]
    if fail_on != "never":
        bad = [f for f in found if SEVERITIES.index(f["severity"]) >= SEVERITIES.index(fail_on)]
        if bad:
            first = bad[0]
            name = first["trap"] + (":" + first["subject"] if first["subject"] else "")
            module.fail_json(msg="%d found, among them %s: %s" % (len(bad), name, first["summary"]), **result)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
