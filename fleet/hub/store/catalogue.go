package store

import (
	"context"
	"maps"
	"slices"
)

// Know tells the database which traps this hub has, and counts again where that has
// changed. Sums over the fleet are of these alone: what else hosts report is theirs to
// name, and is shown by host. Without a catalogue every trap counts.
func (db *DB) Know(ctx context.Context, traps []string) error {
	is := map[string]bool{}
	for _, t := range traps {
		is[t] = true
	}
	had, err := db.readCatalogue(ctx)
	if err == nil && !maps.Equal(had, is) {
		err = db.within(ctx, func(t *tx) error { return t.recatalogue(ctx, is) })
	}
	if err == nil {
		db.catalogue = is
	}
	return err
}

func (db *DB) readCatalogue(ctx context.Context) (map[string]bool, error) {
	rows, err := db.query(ctx, "SELECT trap FROM catalogue")
	list, err := read(rows, err, func(row scanner) (s string, err error) { return s, row.Scan(&s) })
	out := map[string]bool{}
	for _, s := range list {
		out[s] = true
	}
	return out, err
}

// knows reports whether a trap counts.
func (db *DB) knows(trap string) bool { return len(db.catalogue) == 0 || db.catalogue[trap] }

// recatalogue stores another catalogue, and recounts all cells.
func (t *tx) recatalogue(ctx context.Context, is map[string]bool) error {
	for _, q := range []string{"DELETE FROM catalogue", "UPDATE findings SET known = 0 WHERE known <> 0", "DELETE FROM cells",
		"DELETE FROM totals"} {
		if _, err := t.exec(ctx, q); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(is)) {
		if _, err := t.exec(ctx, "INSERT INTO catalogue (trap) VALUES (?)", name); err != nil {
			return err
		}
	}
	for _, q := range []string{
		"UPDATE findings SET known = 1, title = '' WHERE trap IN (SELECT trap FROM catalogue)",
		"DELETE FROM trap_daily WHERE trap NOT IN (SELECT trap FROM catalogue)",
		`INSERT INTO totals (grp, hosts, critical, warning, notice, unknown, accepted)
		SELECT h.grp, COUNT(DISTINCT h.id), COALESCE(SUM(CASE WHEN f.accepted = 0 AND f.rank >= 3 THEN 1 ELSE 0 END), 0),
			COALESCE(SUM(CASE WHEN f.accepted = 0 AND f.rank = 2 THEN 1 ELSE 0 END), 0),
			COALESCE(SUM(CASE WHEN f.accepted = 0 AND f.rank = 1 THEN 1 ELSE 0 END), 0),
			COALESCE(SUM(CASE WHEN f.rank = 0 THEN 1 ELSE 0 END), 0), COALESCE(SUM(CASE WHEN f.accepted <> 0 AND f.rank > 0 THEN 1 ELSE 0 END), 0)
		FROM hosts h LEFT JOIN findings f ON f.host = h.id AND f.known = 1 WHERE h.retired = 0 GROUP BY h.grp`,
		// Of each host the worst of a trap, as worst() weighs it.
		`INSERT INTO cells (trap, grp, critical, warning, notice, unknown, accepted)
		SELECT w.trap, h.grp, SUM(CASE WHEN w.weight >= 5 THEN 1 ELSE 0 END), SUM(CASE WHEN w.weight = 4 THEN 1 ELSE 0 END),
			SUM(CASE WHEN w.weight = 3 THEN 1 ELSE 0 END), SUM(CASE WHEN w.weight = 1 THEN 1 ELSE 0 END),
			SUM(CASE WHEN w.weight = 2 THEN 1 ELSE 0 END)
		FROM (SELECT host, trap, MAX(CASE WHEN rank > 0 AND accepted = 0 THEN 2 + rank WHEN rank > 0 THEN 2 ELSE 1 END) AS weight
			FROM findings WHERE known = 1 GROUP BY host, trap) w JOIN hosts h ON h.id = w.host GROUP BY w.trap, h.grp`,
	} {
		if _, err := t.exec(ctx, q); err != nil {
			return err
		}
	}
	return nil
}

// Foreign is a trap that this hub does not know, on the host that reports it.
type Foreign struct {
	Host     HostRef `json:"host"`
	Trap     string  `json:"trap"`
	Title    string  `json:"title"` // the host's words
	Severity string  `json:"severity"`
	Count    int     `json:"count"` // subjects
}

// Foreigns lists them, by host, and says how many there are.
func (db *DB) Foreigns(ctx context.Context, scope Scope, offset, limit int) (list []Foreign, all int, err error) {
	w := &where{}
	w.and("known = 0")
	if !scope.All || !scope.summed() {
		var hosts where
		scope.hosts(&hosts, "hosts.")
		w.and("host IN (SELECT id FROM hosts"+hosts.String()+")", hosts.args...)
	}
	if err := db.row(ctx, "SELECT COUNT(*) FROM (SELECT host, trap FROM findings"+w.String()+" GROUP BY host, trap) f", w.args...).
		Scan(&all); err != nil {
		return nil, 0, err
	}
	rows, err := db.query(ctx, `SELECT h.agent, h.name, h.grp, f.trap, f.title, f.worst, f.n FROM
		(SELECT host, trap, MAX(title) AS title, MAX(rank) AS worst, COUNT(*) AS n FROM findings`+w.String()+` GROUP BY host, trap
			ORDER BY host, trap LIMIT ? OFFSET ?) f JOIN hosts h ON h.id = f.host ORDER BY f.host, f.trap`, append(w.args, limit, offset)...)
	list, err = read(rows, err, func(row scanner) (f Foreign, err error) {
		var rank int
		err = row.Scan(&f.Host.Agent, &f.Host.Name, &f.Host.Group, &f.Trap, &f.Title, &rank, &f.Count)
		f.Severity = rankName(rank)
		return f, err
	})
	return list, all, err
}
