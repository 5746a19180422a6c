-- What the page keeps: who may come in, what they did, which findings they accepted.
CREATE TABLE users (
  name TEXT PRIMARY KEY,
  role TEXT NOT NULL,
  password TEXT NOT NULL,
  created BIGINT NOT NULL
);
CREATE TABLE sessions (
  hash TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  role TEXT NOT NULL,
  how TEXT NOT NULL,
  created BIGINT NOT NULL,
  seen BIGINT NOT NULL,
  expires BIGINT NOT NULL,
  note TEXT NOT NULL
);
CREATE INDEX sessions_name ON sessions (name);
CREATE INDEX sessions_expires ON sessions (expires);
CREATE TABLE audit (
  id {{id}},
  at BIGINT NOT NULL,
  who TEXT NOT NULL,
  addr TEXT NOT NULL,
  what TEXT NOT NULL,
  subject TEXT NOT NULL,
  details TEXT NOT NULL
);
CREATE TABLE acceptances (
  id {{id}},
  host BIGINT NOT NULL,
  trap TEXT NOT NULL,
  subject TEXT NOT NULL,
  rank BIGINT NOT NULL,
  summary TEXT NOT NULL,
  reason TEXT NOT NULL,
  until TEXT NOT NULL,
  who TEXT NOT NULL,
  at BIGINT NOT NULL,
  UNIQUE (host, trap, subject)
);
CREATE INDEX acceptances_until ON acceptances (until);

-- Why checks could not look, and pages of changes in the order of time.
CREATE INDEX findings_unknown ON findings (trap, summary) WHERE rank = 0;
CREATE INDEX changes_order ON changes (at, id);
CREATE INDEX hosts_failed ON hosts (name) WHERE failed <> '';
CREATE INDEX past_host ON past (host, ended);
DROP INDEX changes_at;
-- own: accepted on the host itself.
ALTER TABLE findings ADD COLUMN own BIGINT NOT NULL DEFAULT 0;
UPDATE findings SET own = accepted;
