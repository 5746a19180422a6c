# Copyright the fettle project
# SPDX-License-Identifier: Apache-2.0

"""What the documentation of all modules has in common."""

from __future__ import annotations


class ModuleDocFragment:
    """The options of every module that runs fettle."""

    DOCUMENTATION = r"""
options:
  executable:
    description:
      - The program on the host. The role P(fettle.fettle.install#role) installs it.
    type: str
    default: fettle
requirements:
  - fettle on the host
notes:
  - Without C(become), fettle inspects and changes only what the user has access to.
"""
