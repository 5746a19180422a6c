package storetest

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"fettle/engine/trap"
	"fettle/fleet/hub/message"
	"fettle/fleet/hub/store"
	"fettle/fleet/hub/synthetic"
)

// Large is a fleet that is written straight into SQLite's tables, because so
// much would take hours to report: what is found now is synthetic's, what
// happened in the days before is drawn by lot.
type Large struct {
	synthetic.Fleet
	Days    int // of history
	Changes int // of each host in that time
	Now     time.Time
}

// Fill makes the database file.
func (l Large) Fill(t testing.TB, file string) {
	t.Helper()
	ctx := context.Background()
	db, err := store.Open(ctx, file) // makes the tables
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	raw, err := sql.Open(
		"sqlite",
		"file:"+file+"?_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)&_pragma=cache_size(-400000)&_pragma=temp_store(MEMORY)",
	)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	raw.SetMaxOpenConns(1)
	tx, err := raw.Begin()
	if err != nil {
		t.Fatal(err)
	}
	w := &filling{Large: l, t: t, tx: tx, r: rand.New(rand.NewPCG(l.Seed, 1)), ready: map[string]*sql.Stmt{}}
	for i := range l.Hosts {
		w.host(i)
	}
	w.sums()
	w.daily()
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if _, err := raw.Exec("ANALYZE"); err != nil {
		t.Fatal(err)
	}
}

type filling struct {
	Large
	t     testing.TB
	tx    *sql.Tx
	r     *rand.Rand
	ready map[string]*sql.Stmt
}

func (w *filling) exec(q string, args ...any) {
	s := w.ready[q]
	if s == nil {
		var err error
		if s, err = w.tx.Prepare(q); err != nil {
			w.t.Fatal(q, err)
		}
		w.ready[q] = s
	}
	if _, err := s.Exec(args...); err != nil {
		w.t.Fatal(q, err)
	}
}

// ago is a moment in the history, evenly drawn.
func (w *filling) ago() int64 {
	return w.Now.Add(-time.Duration(w.r.Float64() * float64(w.Days) * 24 * float64(time.Hour))).UnixMilli()
}

func (w *filling) host(i int) {
	s := w.State(i, 0)
	packed, err := s.Pack()
	if err != nil {
		w.t.Fatal(err)
	}
	id := int64(i + 1)
	seen := w.Now.Add(-time.Duration(w.r.IntN(55)) * time.Minute)
	if i%400 == 7 {
		seen = w.Now.Add(-time.Duration(2+w.r.IntN(20)) * 24 * time.Hour)
	}
	m := s.Meta
	w.exec(
		`INSERT INTO hosts (id, agent, name, grp, os, kernel, arch, kind, boot, fettle, agent_version, instance, seq, digest, joined, last_seen, last_check, every_ms)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, '1.0', '1.0', 'i', 1, ?, ?, ?, ?, 3600000)`,
		id,
		w.Agent(i),
		w.Name(i),
		w.Group(i),
		m.Machine.Distribution,
		m.Identity.Release,
		m.Identity.Machine,
		m.Machine.Kind,
		m.Identity.BootID,
		s.Digest(),
		w.Now.AddDate(0, 0, -w.Days).UnixMilli(),
		seen.UnixMilli(),
		seen.UnixMilli(),
	)
	w.exec("INSERT INTO states (host, state) VALUES (?, ?)", id, packed)
	clear, not := 0, 0
	for _, res := range s.Results {
		clear, not = clear+res.Clear, not+res.NotApplicable
		w.findings(id, &res)
	}
	w.exec("UPDATE hosts SET clear = ?, not_applicable = ? WHERE id = ?", clear, not, id)
	samples := synthetic.Samples()
	for range w.Changes {
		sample := &samples[int(math.Pow(w.r.Float64(), 2)*float64(len(samples)))]
		if len(sample.Outcomes) == 0 {
			continue
		}
		o := sample.Outcomes[0][0]
		kind := []string{"new", "resolved", "new", "resolved", "changed", "unseen", "seen", "returned"}[w.r.IntN(8)]
		at := w.ago()
		w.exec(
			"INSERT INTO changes (at, host, trap, subject, kind, rank, summary) VALUES (?, ?, ?, ?, ?, ?, ?)",
			at,
			id,
			sample.ID,
			o.Subject,
			kind,
			int(o.Severity),
			o.Summary+o.Reason,
		)
		if kind == "resolved" {
			w.exec(
				"INSERT OR IGNORE INTO past (host, trap, subject, rank, summary, since, ended, resolved, returns) VALUES (?, ?, ?, ?, ?, ?, ?, 1, ?)",
				id,
				sample.ID,
				o.Subject,
				int(o.Severity),
				o.Summary,
				at-int64(w.r.IntN(1e9)),
				at,
				w.r.IntN(8)/6,
			)
		}
	}
}

func (w *filling) findings(id int64, res *message.Result) {
	for _, o := range res.Outcomes {
		doc, err := json.Marshal(o)
		if err != nil {
			w.t.Fatal(err)
		}
		rank := 0
		if o.Status == trap.Found {
			rank = int(o.Severity)
		}
		w.exec("INSERT INTO findings (host, trap, subject, rank, accepted, summary, since, outcome) VALUES (?, ?, ?, ?, 0, ?, ?, ?)",
			id, o.Trap, o.Subject, rank, o.Summary+o.Reason, w.ago(), doc)
	}
}

// sums are made of what was written, as ingestion keeps them.
func (w *filling) sums() {
	w.exec(
		`UPDATE hosts SET (critical, warning, notice, unknown) = (SELECT COUNT(CASE WHEN rank = 3 THEN 1 END), COUNT(CASE WHEN rank = 2 THEN 1 END),
		COUNT(CASE WHEN rank = 1 THEN 1 END), COUNT(CASE WHEN rank = 0 THEN 1 END) FROM findings WHERE host = hosts.id)`,
	)
	w.exec(`INSERT INTO totals (grp, hosts, critical, warning, notice, unknown, accepted)
		SELECT grp, COUNT(*), SUM(critical), SUM(warning), SUM(notice), SUM(unknown), 0 FROM hosts GROUP BY grp`)
	w.exec(`INSERT INTO cells (trap, grp, critical, warning, notice, unknown, accepted)
		SELECT trap, grp, SUM(worst = 3), SUM(worst = 2), SUM(worst = 1), SUM(worst = 0), 0
		FROM (SELECT f.trap, h.grp, MAX(f.rank) AS worst FROM findings f JOIN hosts h ON h.id = f.host GROUP BY f.host, f.trap, h.grp) GROUP BY trap, grp`)
}

// daily bends today's sums into a year that rises, falls and trembles.
func (w *filling) daily() {
	today := w.Now.UnixMilli() / (24 * 3600 * 1000)
	for back := range w.Days {
		at := float64(back)
		bend := 1 + 0.25*math.Sin(at/29) + 0.004*at + 0.02*w.r.Float64()
		if back == 0 {
			bend = 1
		}
		w.exec(fmt.Sprintf(`INSERT INTO daily (day, grp, hosts, critical, warning, notice, unknown, accepted, appeared, resolved, returned)
			SELECT ?, grp, hosts, CAST(critical * %[1]f AS INTEGER), CAST(warning * %[1]f AS INTEGER), CAST(notice * %[1]f AS INTEGER), unknown, accepted, hosts / 20, hosts / 18, hosts / 200 FROM totals`, bend), today-int64(back))
		w.exec(fmt.Sprintf(`INSERT INTO trap_daily (day, trap, hosts, appeared, resolved, returned)
			SELECT ?, trap, CAST(SUM(critical + warning + notice) * %[1]f AS INTEGER), 2, 2, 1 FROM cells GROUP BY trap`, bend), today-int64(back))
	}
}
