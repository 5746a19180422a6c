// Package agent is fettle-agent's command line.
package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/crypto/ssh"

	"fettle/cli/app"
	"fettle/fleet/agent"
	"fettle/fleet/hub/join"
	"fettle/internal/files"
	"fettle/internal/folded"
)

// Name is the program's.
const Name = "fettle-agent"

// stateDir is where an agent keeps its credentials, and what the hub does not
// have yet.
const stateDir = "/var/lib/fettle-agent"

// changesDir is where fettle fix keeps what it changed (engine/remedy).
const changesDir = "/var/lib/fettle"

// packsDir is where fettle keeps packs (engine/pack).
const packsDir = "/var/lib/fettle/packs"

type program struct {
	*app.App
	dir string // --state
}

// Main runs one command line and returns the exit status.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	p := &program{App: &app.App{Program: app.CalledAs(Name), Stdin: stdin, Stdout: stdout, Stderr: stderr}}
	ctx, stop := app.Interruptible(context.Background())
	defer stop()
	return p.Execute(ctx, args, p.root)
}

func (p *program) root() *cobra.Command {
	c := &cobra.Command{
		Use:   Name,
		Short: "Check this host on a schedule, and report to a hub",
		Long: `fettle-agent runs fettle check on a schedule, when links change, after package
runs and when the hub asks, and sends what is found to a fettle-hub. It connects
to the hub and listens on no port. It only checks: a hub can ask it for a check,
and for nothing else. With run --packs, fettle also installs what the hub hands
on of packs that a key signed which root pinned on this host.`,
		PersistentPreRunE: app.NoEmptyFlags,
	}
	app.StateFlag(c, &p.dir, stateDir, "the agent's `FOLDER`: credentials, and what the hub does not have yet")
	return app.Grow(c, p.runCmd(), p.joinCmd(), p.packCmd())
}

func (p *program) joinCmd() *cobra.Command {
	var name, hostKey string
	c := &cobra.Command{
		Use: "join LINE", Args: cobra.ExactArgs(1),
		Short: "Join a hub with the line that fettle-hub invite prints",
		Long: `Joins a hub. LINE is what fettle-hub invite prints; "-" reads it from standard
input, so that the token does not show in the list of processes. A line of
fettle-hub invite --ssh contains no token: the host proves that it has the ssh
host key that the hub knows.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			line := args[0]
			if line == "-" {
				b, err := files.AtMost(p.Stdin, "standard input", 16<<10)
				if err != nil {
					return app.Usagef("%w", err)
				}
				line = string(b)
			}
			invite, err := join.ParseInvite(strings.TrimPrefix(strings.TrimSpace(line), Name+" join "))
			if err != nil {
				return app.Usagef("%w", err)
			}
			var key ssh.Signer
			if invite.Token == "" {
				if key, err = readKey(hostKey); err != nil {
					return app.Usagef("--host-key: %w", err)
				}
			}
			own := name == ""
			if own {
				if name, err = os.Hostname(); err != nil {
					return app.Failf("this host's name: %w", err)
				}
			}
			admitted, err := join.As(cmd.Context(), invite, name, key)
			if err != nil {
				return app.Failf("%w", err)
			}
			if err := agent.Save(p.dir, name, own, admitted); err != nil {
				return app.Failf("%w", err)
			}
			fmt.Fprintf(p.Stdout, "joined as %s; start it: systemctl enable --now fettle-agent\n", admitted.Agent)
			return nil
		},
	}
	c.Flags().StringVar(&name, "name", "", "the host's `NAME`, for good (default: its own, also when that changes)")
	c.Flags().StringVar(&hostKey, "host-key", "/etc/ssh/ssh_host_ed25519_key", "the private ssh host key: a `FILE`")
	_ = c.MarkFlagFilename("host-key")
	return c
}

func readKey(file string) (ssh.Signer, error) {
	b, err := files.ReadAtMost(file, 64<<10)
	if err != nil {
		return nil, err
	}
	s, err := ssh.ParsePrivateKey(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return s, nil
}

func (p *program) runCmd() *cobra.Command {
	var c agent.Config
	var mib int
	var packs bool
	cmd := &cobra.Command{
		Use: "run [-- FLAG...]", Args: cobra.ArbitraryArgs,
		Short: "Check this host and report to the hub, until SIGTERM",
		Long: `Checks this host regularly and reports to the hub, until SIGTERM. It runs fettle
check each time; flags after -- are passed to it.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			c.Dir, c.Args, c.MaxKept, c.Changes = p.dir, args, int64(mib)<<20, changesDir
			if packs {
				c.Packs = packsDir
			}
			if c.Every < time.Minute {
				return app.Usagef("--every %s: a minute is the least", c.Every)
			}
			if c.Soon < 0 {
				return app.Usagef("--soon %s: must not be negative", c.Soon)
			}
			if mib < 1 {
				return app.Usagef("--keep is at least 1")
			}
			lines := log.New(p.Stderr, "", 0)
			c.Log = func(s string) { lines.Print(folded.Line(s)) }
			var err error
			if c.Fettle, err = findFettle(c.Fettle); err != nil {
				return app.Failf("%w", err)
			}
			// An agent is in the way of nobody: one thread at work, little garbage.
			runtime.GOMAXPROCS(1)
			debug.SetGCPercent(30)
			debug.SetMemoryLimit(20 << 20)
			err = agent.Run(cmd.Context(), c)
			switch {
			case errors.Is(err, agent.ErrNotJoined), errors.Is(err, agent.ErrCopied):
				return app.Usagef("%w", err)
			case err != nil:
				return app.Failf("%w", err)
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.DurationVar(&c.Every, "every", time.Hour, "time between checks, give or take a tenth")
	f.DurationVar(&c.Soon, "soon", 15*time.Second, "time within which the first check starts")
	f.IntVar(&mib, "keep", 32, "space for results while the hub cannot be reached, in `MIB`")
	f.BoolVar(&c.Events, "events", true, "also check when links change, after package runs, and when the clock is set")
	f.BoolVar(&c.Restarts, "restarts", true, "report what a restart took away, and save a snapshot of the host once a day for that")
	f.BoolVar(&packs, "packs", false, "install packs that the hub hands on, if a pinned key signed them")
	f.StringVar(&c.Fettle, "fettle", "", "the `PROGRAM` fettle (default: beside this one, or on PATH)")
	return cmd
}

// findFettle is the absolute path of fettle.
func findFettle(given string) (string, error) {
	abs, err := app.FindFettle(given)
	if err != nil {
		return "", err
	}
	return abs, agent.Runnable(abs)
}
