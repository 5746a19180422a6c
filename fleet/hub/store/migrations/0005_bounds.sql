-- What one host costs, and what was not stored of it.
ALTER TABLE hosts ADD COLUMN cost_day BIGINT NOT NULL DEFAULT 0;
ALTER TABLE hosts ADD COLUMN cost_work BIGINT NOT NULL DEFAULT 0;
ALTER TABLE hosts ADD COLUMN cost_rows BIGINT NOT NULL DEFAULT 0;
ALTER TABLE hosts ADD COLUMN cost_bytes BIGINT NOT NULL DEFAULT 0;
ALTER TABLE hosts ADD COLUMN folded BIGINT NOT NULL DEFAULT 0;
ALTER TABLE hosts ADD COLUMN held BIGINT NOT NULL DEFAULT 0;
-- A trap that the hub does not know, and what the host calls it.
ALTER TABLE findings ADD COLUMN known BIGINT NOT NULL DEFAULT 1;
ALTER TABLE findings ADD COLUMN title TEXT NOT NULL DEFAULT '';
CREATE INDEX findings_foreign ON findings (host, trap) WHERE known = 0;
DROP TABLE traps;
-- Why checks could not look, by hosts.
DROP INDEX findings_unknown;
CREATE INDEX findings_reasons ON findings (trap, summary, host) WHERE rank = 0 AND known = 1;
-- The traps that this hub knows, to count anew what another one counted.
CREATE TABLE catalogue (
  trap TEXT PRIMARY KEY
);
