package lab

import (
	"context"
	"fmt"
	"strings"
	"time"

	"fettle/internal/chart"
)

// Experiment is Go code that runs inside a throwaway machine and brings a
// table home: what a kernel does, rather than whether fettle finds it.
type Experiment struct {
	Name  string // "what-pins"
	About string // one line, what is asked
	Needs Needs
	Long  bool // runs in make lab-long only
	// Named experiments take hours, or need a kernel built for them: they run
	// when they are named, in full or by their own group, not with all of their trap.
	Named bool
	// Run does the work and fills in the bench's table. It runs as root in the guest.
	Run func(ctx context.Context, b *Bench) error
}

// Table is what an experiment brings home.
type Table struct {
	Columns []string     `json:"columns"`
	Rows    [][]string   `json:"rows"`
	Notes   []string     `json:"notes,omitempty"`
	Plots   []chart.Plot `json:"plots,omitempty"`
}

// Bench is what an experiment has in the guest: commands, and the table that
// goes to the host. Rows go immediately, so a machine that dies has told what it knew.
type Bench struct {
	Teller *Teller
	// Exec runs a command of the guest to its end; "fettle" is fettle.
	Exec func(argv []string) (out string, code int, err error)
	// Spawn starts a command that runs on; stop kills it and waits.
	Spawn func(argv []string) (pid int, stop func(), err error)

	table Table
	err   error // the first that the channel had
	last  time.Time
}

// Run runs a command of the guest and returns what it printed. An exit status
// other than 0 is an error with the last line printed.
func (b *Bench) Run(argv ...string) (string, error) {
	out, code, err := b.Exec(argv)
	if err == nil && code != 0 {
		s := strings.TrimSpace(out)
		err = fmt.Errorf("exit status %d: %s", code, s[strings.LastIndexByte(s, '\n')+1:])
	}
	if err != nil {
		return out, fmt.Errorf("%s: %w", strings.Join(argv, " "), err)
	}
	return out, nil
}

// Columns names the table's columns, before the first row.
func (b *Bench) Columns(names ...string) {
	b.table.Columns = names
	b.last = time.Now()
	b.keep(b.Teller.table(&b.table))
}

// Row adds a row.
func (b *Bench) Row(cells ...string) {
	b.table.Rows = append(b.table.Rows, cells)
	now := time.Now()
	b.keep(b.Teller.row(cells, now.Sub(b.last)))
	b.last = now
}

// Note adds a line below the table.
func (b *Bench) Note(format string, args ...any) {
	b.table.Notes = append(b.table.Notes, fmt.Sprintf(format, args...))
}

// Plot adds a plot.
func (b *Bench) Plot(p chart.Plot) { b.table.Plots = append(b.table.Plots, p) }

// Finish sends the whole table.
func (b *Bench) Finish() error {
	b.keep(b.Teller.table(&b.table))
	return b.err
}

func (b *Bench) keep(err error) {
	if b.err == nil {
		b.err = err
	}
}
