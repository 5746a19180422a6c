-- When a host said that it stops, until it speaks again; the start that it compared with before; up to when a channel was told of windows.
ALTER TABLE hosts ADD COLUMN down BIGINT NOT NULL DEFAULT 0;
ALTER TABLE hosts ADD COLUMN compared TEXT NOT NULL DEFAULT '';
ALTER TABLE channels ADD COLUMN windows BIGINT NOT NULL DEFAULT 0;
CREATE INDEX hosts_restarted ON hosts (restarted);
