-- What fettle fix changed on hosts, as their agents report it.
CREATE TABLE fixes (
  host BIGINT NOT NULL,
  id TEXT NOT NULL,
  at BIGINT NOT NULL,
  who TEXT NOT NULL,
  trap TEXT NOT NULL,
  subject TEXT NOT NULL,
  summary TEXT NOT NULL,
  phase TEXT NOT NULL,
  verified BIGINT NOT NULL,
  standing TEXT NOT NULL,
  undo TEXT NOT NULL,
  PRIMARY KEY (host, id)
);
CREATE INDEX fixes_trap ON fixes (trap, at);
CREATE INDEX fixes_at ON fixes (at);
