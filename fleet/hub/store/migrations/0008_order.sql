-- Labels of hosts, one a row, to find hosts by them; hosts.labels has a host's own all together.
CREATE TABLE labels (
  host BIGINT NOT NULL,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (host, name)
);
CREATE INDEX labels_value ON labels (name, value, host);
INSERT INTO labels (host, name, value) {{labels}};
-- What a host calls itself, where an operator gave it another name.
ALTER TABLE hosts ADD COLUMN own_name TEXT NOT NULL DEFAULT '';
ALTER TABLE hosts ADD COLUMN pinned BIGINT NOT NULL DEFAULT 0;
UPDATE hosts SET own_name = name;
-- The groups of hosts that somebody sees: * for all, or a JSON list.
ALTER TABLE users ADD COLUMN sees TEXT NOT NULL DEFAULT '*';
ALTER TABLE sessions ADD COLUMN sees TEXT NOT NULL DEFAULT '*';
-- Grows whenever something of a group was stored.
ALTER TABLE totals ADD COLUMN pulse BIGINT NOT NULL DEFAULT 0;
-- Findings of a trap that are accepted on many hosts. counted: the hosts were counted
-- anew since the rule came, ended or was removed.
CREATE TABLE accept_rules (
  id {{id}},
  trap TEXT NOT NULL,
  any_grp BIGINT NOT NULL,
  grp TEXT NOT NULL,
  label TEXT NOT NULL,
  rank BIGINT NOT NULL,
  reason TEXT NOT NULL,
  until TEXT NOT NULL,
  who TEXT NOT NULL,
  at BIGINT NOT NULL,
  counted BIGINT NOT NULL DEFAULT 0,
  removed BIGINT NOT NULL DEFAULT 0,
  UNIQUE (trap, any_grp, grp, label)
);
