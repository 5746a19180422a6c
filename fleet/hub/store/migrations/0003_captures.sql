-- Captures of hosts that operators attached.
CREATE TABLE captures (
  id {{id}},
  host BIGINT NOT NULL,
  at BIGINT NOT NULL,
  who TEXT NOT NULL,
  taken BIGINT NOT NULL,
  fettle TEXT NOT NULL,
  size BIGINT NOT NULL,
  sha256 TEXT NOT NULL,
  content {{blob}} NOT NULL
);
CREATE INDEX captures_host ON captures (host, at);
CREATE INDEX captures_at ON captures (at);
