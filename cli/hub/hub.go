// Package hub is fettle-hub's command line.
package hub

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/fleet/hub"
	"fettle/fleet/hub/store"
	"fettle/internal/ui"
)

// Name is the program's.
const Name = "fettle-hub"

// program is what the verbs are given.
type program struct {
	*app.App
	dir string // --state
}

// Main runs one command line and returns the exit status.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := app.Interruptible(context.Background())
	defer stop()
	return mainWith(ctx, args, stdin, stdout, stderr)
}

// mainWith is Main until ctx ends.
func mainWith(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	p := &program{App: &app.App{Program: Name, Stdin: stdin, Stdout: stdout, Stderr: stderr}}
	return p.Execute(ctx, args, p.root)
}

// stateDir is where a hub keeps what it knows.
const stateDir = "/var/lib/fettle-hub"

func (p *program) root() *cobra.Command {
	c := &cobra.Command{
		Use:   Name,
		Short: "Gather what the agents of many hosts report",
		Long: `fettle-hub collects the reports of fettle-agent from many hosts, stores them in
a database, and shows them. fettle-hub serve alone is a complete hub, with an
embedded NATS server and database. fettle-hub invite prints the line with which
a host joins.`,
		PersistentPreRunE: app.NoEmptyFlags,
	}
	app.StateFlag(c, &p.dir, stateDir, "the hub's `FOLDER`: keys, database, messages")
	return app.Grow(
		c,
		p.serveCmd(),
		p.inviteCmd(),
		p.hostsCmd(),
		p.restartsCmd(),
		p.hostCmd(),
		p.acceptCmd(),
		p.packCmd(),
		p.askCmd(),
		p.retireCmd(),
		p.rekeyCmd(),
		p.attachCmd(),
		p.usersCmd(),
		p.tokenCmd(),
		p.notifyCmd(),
		p.backupCmd(),
		p.restoreCmd(),
		p.natsConfigCmd(),
	)
}

// list prints rows of what hosts and users may have named.
func (p *program) list(header string, rows [][]string) {
	t := ui.Table{Header: strings.Fields(header)}
	for _, row := range rows {
		for i := range row {
			row[i] = ui.Visible(row[i])
		}
		t.Rows = append(t.Rows, row)
	}
	p.Table(&t)
}

// open opens the database of the hub that serves from the folder.
func (p *program) open(ctx context.Context) (hub.Known, *store.DB, error) {
	k, err := hub.ReadKnown(p.dir)
	if err != nil {
		return k, nil, app.Usagef("%w", err)
	}
	db, err := store.Open(ctx, k.Where(p.dir))
	if err != nil {
		return k, nil, app.Failf("%w", err)
	}
	return k, db, nil
}
