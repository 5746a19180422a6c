#!/usr/bin/python
# Copyright the fettle project
# SPDX-License-Identifier: Apache-2.0

"""fettle capture as a module."""

from __future__ import annotations

DOCUMENTATION = r"""
module: capture
short_description: Write what checks read on a host to one file
description:
  - Runs C(fettle capture) on the host. The file can be checked elsewhere, with C(fettle check --from).
  - An existing file is left as it is, unless O(force=true). One that somebody else put there, or a link, is refused.
version_added: 1.0.0
author:
  - the fettle project (@fettle)
options:
  dest:
    description: The file on the host. M(ansible.builtin.fetch) copies it to the controller.
    type: path
    required: true
  traps:
    description: Capture only what the checks of these traps read.
    type: list
    elements: str
    default: []
  redact:
    description: Replace names, addresses and secrets.
    type: bool
    default: false
  network:
    description: Also capture what is read by checks that talk to other hosts.
    type: bool
    default: false
  force:
    description: Overwrite an existing file.
    type: bool
    default: false
extends_documentation_fragment:
  - fettle.fettle.program
attributes:
  check_mode:
    description: Reports whether it would write the file.
    support: full
  diff_mode:
    description: The file is compressed.
    support: none
"""

EXAMPLES = r"""
- name: Capture the host
  fettle.fettle.capture:
    dest: /root/fettle.tar.zst
    redact: true

- name: Copy the capture to the controller
  ansible.builtin.fetch:
    src: /root/fettle.tar.zst
    dest: captures/
"""

RETURN = r"""
dest:
  description: The file.
  returned: success
  type: str
size:
  description: Its size in bytes.
  returned: when the file exists
  type: int
"""

import os
import stat

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.fettle.fettle.plugins.module_utils.program import ARGUMENTS, Program


def arguments(params):
    """The command line."""
    args = ["capture", "--output=" + params["dest"]]
    for flag in ("redact", "network"):
        if params[flag]:
            args.append("--" + flag)
    return args + ["--"] + params["traps"]


def planted(dest):
    """Why the file is not one that this module made; empty where it may be."""
    try:
        st = os.lstat(dest)
    except OSError:
        return ""
    if not stat.S_ISREG(st.st_mode):
        return "is no regular file"
    if st.st_uid != os.geteuid():
        return "belongs to another user (uid %d)" % st.st_uid
    return ""


def main():
    """Run the module."""
    module = AnsibleModule(
        argument_spec=dict(
            ARGUMENTS,
            dest={"type": "path", "required": True},
            traps={"type": "list", "elements": "str", "default": []},
            redact={"type": "bool", "default": False},
            network={"type": "bool", "default": False},
            force={"type": "bool", "default": False},
        ),
        supports_check_mode=True,
    )
    dest = module.params["dest"]
    program = Program(module)
    why = planted(dest)
    if why:
        module.fail_json(msg="%s %s: choose a folder that nobody else can write to" % (dest, why))
    result = {"dest": dest, "changed": module.params["force"] or not os.path.exists(dest)}
    if result["changed"] and not module.check_mode:
        status, out, err = program.run(arguments(module.params))
        if status != 0:
            module.fail_json(msg="fettle capture: exit status %d: %s" % (status, (err or out).strip()), rc=status)
    if os.path.exists(dest):
        result["size"] = os.stat(dest).st_size
    module.exit_json(**result)


if __name__ == "__main__":
    main()
