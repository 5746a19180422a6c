# Copyright the fettle project
# SPDX-License-Identifier: Apache-2.0

"""Runs fettle on the host, and reads what it says."""

from __future__ import annotations

import json


ARGUMENTS = {"executable": {"type": "str", "default": "fettle"}}

# Exit statuses of check that say how it went, and not that it failed.
CHECKED = (0, 1, 4)


class Program:
    """fettle on this host."""

    def __init__(self, module):
        self.module = module
        self.path = module.get_bin_path(module.params["executable"], required=True)

    def run(self, args):
        """Return the exit status, and both outputs."""
        return self.module.run_command(
            [self.path] + args,
            environ_update={"LC_ALL": "C.UTF-8"},
            expand_user_and_vars=False,  # $ and ~ are parts of names
        )

    def document(self, args, form, good=None):
        """Return the exit status and the JSON object of that form; fail where there is none."""
        status, out, err = self.run(args)
        try:
            doc = json.loads(out)
        except ValueError:
            doc = {}
        if not isinstance(doc, dict) or doc.get("format") != form or good is not None and status not in good:
            self.module.fail_json(
                msg="fettle %s: exit status %d: %s" % (" ".join(args), status, (err or out).strip()),
                rc=status,
            )
        if doc.get("schema") != 1:
            self.module.fail_json(msg="fettle on the host writes version %s of %s; this collection reads 1" % (doc.get("schema"), form))
        return status, doc


def words(flag, values):
    """One argument for each value of an option that may be repeated."""
    return ["%s=%s" % (flag, v) for v in values or []]
