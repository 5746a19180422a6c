-- Browsers and addresses from which users logged in: no limit of a name holds for them.
CREATE TABLE devices (
  hash TEXT NOT NULL,
  name TEXT NOT NULL,
  addr TEXT NOT NULL,
  at BIGINT NOT NULL,
  PRIMARY KEY (hash, name)
);
CREATE INDEX devices_name ON devices (name, at);
-- Logins that were refused, counted: apart from what users did.
CREATE TABLE attempts (
  day BIGINT NOT NULL,
  addr TEXT NOT NULL,
  why TEXT NOT NULL,
  name TEXT NOT NULL,
  n BIGINT NOT NULL,
  began BIGINT NOT NULL,
  ended BIGINT NOT NULL,
  PRIMARY KEY (day, addr, why)
);
CREATE INDEX attempts_ended ON attempts (ended);
INSERT INTO attempts (day, addr, why, name, n, began, ended)
  SELECT at / 86400000, addr, CASE WHEN details LIKE 'oidc%' THEN 'single sign-on' ELSE details END AS reason, SUBSTR(MAX(who), 1, 40),
    COUNT(*), MIN(at), MAX(at)
  FROM audit WHERE what = 'log-in refused' GROUP BY 1, 2, 3;
DELETE FROM audit WHERE what = 'log-in refused';
-- When the role of a session was last looked up.
ALTER TABLE sessions ADD COLUMN confirmed BIGINT NOT NULL DEFAULT 0;
