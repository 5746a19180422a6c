-- What agents report. Times are milliseconds since 1970, UTC.
CREATE TABLE hosts (
  id {{id}},
  agent TEXT NOT NULL UNIQUE,
  nkey TEXT NOT NULL DEFAULT '',
  name TEXT NOT NULL,
  grp TEXT NOT NULL DEFAULT '',
  labels TEXT NOT NULL DEFAULT '{}',
  machine TEXT NOT NULL DEFAULT '',
  os TEXT NOT NULL DEFAULT '',
  kernel TEXT NOT NULL DEFAULT '',
  arch TEXT NOT NULL DEFAULT '',
  kind TEXT NOT NULL DEFAULT '',
  boot TEXT NOT NULL DEFAULT '',
  fettle TEXT NOT NULL DEFAULT '',
  agent_version TEXT NOT NULL DEFAULT '',
  instance TEXT NOT NULL DEFAULT '',
  seq BIGINT NOT NULL DEFAULT 0,
  digest TEXT NOT NULL DEFAULT '',
  joined BIGINT NOT NULL,
  last_seen BIGINT NOT NULL DEFAULT 0,
  last_check BIGINT NOT NULL DEFAULT 0,
  last_ask TEXT NOT NULL DEFAULT '',
  every_ms BIGINT NOT NULL DEFAULT 0,
  skew_ms BIGINT NOT NULL DEFAULT 0,
  waiting BIGINT NOT NULL DEFAULT 0,
  dropped BIGINT NOT NULL DEFAULT 0,
  refused BIGINT NOT NULL DEFAULT 0,
  bad BIGINT NOT NULL DEFAULT 0,
  bad_last TEXT NOT NULL DEFAULT '',
  failed TEXT NOT NULL DEFAULT '',
  twin BIGINT NOT NULL DEFAULT 0,
  retired BIGINT NOT NULL DEFAULT 0,
  critical BIGINT NOT NULL DEFAULT 0,
  warning BIGINT NOT NULL DEFAULT 0,
  notice BIGINT NOT NULL DEFAULT 0,
  unknown BIGINT NOT NULL DEFAULT 0,
  accepted BIGINT NOT NULL DEFAULT 0,
  clear BIGINT NOT NULL DEFAULT 0,
  not_applicable BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX hosts_name ON hosts (name, id);
CREATE INDEX hosts_group ON hosts (grp, name, id);
CREATE INDEX hosts_seen ON hosts (last_seen);
CREATE INDEX hosts_worst ON hosts (critical DESC, warning DESC, notice DESC, id);
CREATE INDEX hosts_machine ON hosts (machine);

-- Where the messages of an agent's earlier instances ended.
CREATE TABLE instances (
  agent TEXT NOT NULL,
  instance TEXT NOT NULL,
  seq BIGINT NOT NULL,
  ended BIGINT NOT NULL,
  PRIMARY KEY (agent, instance)
);
CREATE INDEX instances_ended ON instances (ended);

-- message.State, packed.
CREATE TABLE states (
  host BIGINT PRIMARY KEY,
  state {{blob}} NOT NULL
);

CREATE TABLE traps (
  id TEXT PRIMARY KEY,
  title TEXT NOT NULL,
  cost TEXT NOT NULL DEFAULT '',
  fixable BIGINT NOT NULL DEFAULT 0
);

-- What is found, or unknown (rank 0), now. Rank is the severity, 1 to 3.
CREATE TABLE findings (
  id {{id}},
  host BIGINT NOT NULL,
  trap TEXT NOT NULL,
  subject TEXT NOT NULL,
  rank BIGINT NOT NULL,
  accepted BIGINT NOT NULL DEFAULT 0,
  summary TEXT NOT NULL,
  since BIGINT NOT NULL,
  outcome {{blob}} NOT NULL,
  UNIQUE (host, trap, subject)
);
CREATE INDEX findings_trap ON findings (trap, rank DESC, host);
CREATE INDEX findings_since ON findings (since);

-- What was found on a host once, and is there no more.
CREATE TABLE past (
  host BIGINT NOT NULL,
  trap TEXT NOT NULL,
  subject TEXT NOT NULL,
  rank BIGINT NOT NULL,
  summary TEXT NOT NULL,
  since BIGINT NOT NULL,
  ended BIGINT NOT NULL,
  resolved BIGINT NOT NULL,
  returns BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (host, trap, subject)
);
CREATE INDEX past_trap ON past (trap, ended);

CREATE TABLE changes (
  id {{id}},
  at BIGINT NOT NULL,
  host BIGINT NOT NULL,
  trap TEXT NOT NULL,
  subject TEXT NOT NULL,
  kind TEXT NOT NULL,
  rank BIGINT NOT NULL,
  summary TEXT NOT NULL
);
CREATE INDEX changes_at ON changes (at);
CREATE INDEX changes_host ON changes (host, id);
CREATE INDEX changes_trap ON changes (trap, id);

-- Hosts of a group by the worst that a trap's check says of them.
CREATE TABLE cells (
  trap TEXT NOT NULL,
  grp TEXT NOT NULL,
  critical BIGINT NOT NULL,
  warning BIGINT NOT NULL,
  notice BIGINT NOT NULL,
  unknown BIGINT NOT NULL,
  accepted BIGINT NOT NULL,
  PRIMARY KEY (trap, grp)
);

-- Findings of a group.
CREATE TABLE totals (
  grp TEXT PRIMARY KEY,
  hosts BIGINT NOT NULL,
  critical BIGINT NOT NULL,
  warning BIGINT NOT NULL,
  notice BIGINT NOT NULL,
  unknown BIGINT NOT NULL,
  accepted BIGINT NOT NULL
);

-- How totals stood at the end of a day (days since 1970, UTC), and what
-- happened on it.
CREATE TABLE daily (
  day BIGINT NOT NULL,
  grp TEXT NOT NULL,
  hosts BIGINT NOT NULL,
  critical BIGINT NOT NULL,
  warning BIGINT NOT NULL,
  notice BIGINT NOT NULL,
  unknown BIGINT NOT NULL,
  accepted BIGINT NOT NULL,
  appeared BIGINT NOT NULL DEFAULT 0,
  resolved BIGINT NOT NULL DEFAULT 0,
  returned BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (day, grp)
);
CREATE TABLE trap_daily (
  day BIGINT NOT NULL,
  trap TEXT NOT NULL,
  hosts BIGINT NOT NULL,
  appeared BIGINT NOT NULL DEFAULT 0,
  resolved BIGINT NOT NULL DEFAULT 0,
  returned BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (trap, day)
);

-- Keys with which agents log in to NATS.
CREATE TABLE agents (
  nkey TEXT PRIMARY KEY,
  agent TEXT NOT NULL,
  how TEXT NOT NULL,
  joined BIGINT NOT NULL,
  revoked BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX agents_agent ON agents (agent);
CREATE INDEX agents_revoked ON agents (revoked);
CREATE TABLE hostkeys (
  fingerprint TEXT PRIMARY KEY,
  agent TEXT NOT NULL
);

-- One-time tokens, by their hash.
CREATE TABLE tokens (
  hash TEXT PRIMARY KEY,
  created BIGINT NOT NULL,
  expires BIGINT NOT NULL,
  uses BIGINT NOT NULL,
  grp TEXT NOT NULL,
  labels TEXT NOT NULL,
  host TEXT NOT NULL,
  note TEXT NOT NULL
);

CREATE TABLE leases (
  name TEXT PRIMARY KEY,
  holder TEXT NOT NULL,
  until BIGINT NOT NULL
);
CREATE TABLE pulse (
  one BIGINT PRIMARY KEY,
  n BIGINT NOT NULL
);
INSERT INTO pulse (one, n) VALUES (1, 0);
