-- What each channel was told is so, and has not been told is over.
CREATE TABLE told (
  channel TEXT NOT NULL,
  host BIGINT NOT NULL,
  trap TEXT NOT NULL,
  subject TEXT NOT NULL,
  rank BIGINT NOT NULL,
  name TEXT NOT NULL,
  grp TEXT NOT NULL,
  summary TEXT NOT NULL,
  since BIGINT NOT NULL,
  PRIMARY KEY (channel, host, trap, subject)
);
-- A channel's pace, and the message that it has not delivered yet.
CREATE TABLE channels (
  channel TEXT PRIMARY KEY,
  waiting BIGINT NOT NULL DEFAULT 0,
  sent BIGINT NOT NULL DEFAULT 0,
  digest BIGINT NOT NULL DEFAULT 0,
  message {{blob}},
  tries BIGINT NOT NULL DEFAULT 0,
  retry BIGINT NOT NULL DEFAULT 0,
  failed TEXT NOT NULL DEFAULT ''
);
-- When the first report after a restart came.
ALTER TABLE hosts ADD COLUMN restarted BIGINT NOT NULL DEFAULT 0;
