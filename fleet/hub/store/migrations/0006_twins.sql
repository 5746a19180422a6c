-- Where two machines use one key: what the earlier one said, and who speaks.
ALTER TABLE hosts ADD COLUMN last_sent BIGINT NOT NULL DEFAULT 0;
ALTER TABLE instances ADD COLUMN state {{blob}};
UPDATE hosts SET twin = 0;
CREATE INDEX hosts_twin ON hosts (name) WHERE twin > 0;
CREATE TABLE speakers (
  host BIGINT NOT NULL,
  instance TEXT NOT NULL,
  machine TEXT NOT NULL,
  boot TEXT NOT NULL,
  kernel TEXT NOT NULL,
  seen BIGINT NOT NULL,
  critical BIGINT NOT NULL,
  warning BIGINT NOT NULL,
  notice BIGINT NOT NULL,
  unknown BIGINT NOT NULL,
  PRIMARY KEY (host, instance)
);
