-- Signed packs of rules that the hub hands on: one version of each.
CREATE TABLE packs (
  name TEXT PRIMARY KEY,
  version BIGINT NOT NULL,
  signer TEXT NOT NULL,
  canary TEXT NOT NULL,
  stage TEXT NOT NULL,
  why TEXT NOT NULL DEFAULT '',
  who TEXT NOT NULL,
  began BIGINT NOT NULL,
  wait BIGINT NOT NULL,
  stop_at BIGINT NOT NULL,
  may BIGINT NOT NULL DEFAULT 0,
  file {{blob}} NOT NULL
);
CREATE TABLE pack_traps (
  pack TEXT NOT NULL,
  trap TEXT NOT NULL,
  PRIMARY KEY (pack, trap)
);
-- The hosts that the offered version was handed to, and what became of it there.
CREATE TABLE pack_hosts (
  pack TEXT NOT NULL,
  host BIGINT NOT NULL,
  sent BIGINT NOT NULL,
  taken BIGINT NOT NULL DEFAULT 0,
  refused TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (pack, host)
);
CREATE INDEX pack_hosts_host ON pack_hosts (host);
