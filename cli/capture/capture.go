package capture

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fettle/before/snapshot"
	"fettle/cli/app"
	"fettle/engine/run"
	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/archive"
	"fettle/internal/files"
	"fettle/internal/ui"
	"fettle/internal/units"
)

// captureOptions are capture's flags.
type captureOptions struct {
	root, file, keyFile string
	redact, network     bool
	limit               time.Duration
	fleet               app.HostFlags
}

// Cmd is fettle capture.
func Cmd(a *app.App) *cobra.Command {
	var o captureOptions
	c := &cobra.Command{
		Use:   "capture [TRAP...]",
		Short: "Save what the checks read to one file, to check elsewhere",
		Long: `Run the checks (all, or those named) and write what they read to one file.
fettle check --from FILE reports the same findings, on any machine.

With --redact, names of hosts, domains and users, addresses and serial numbers
are replaced, and secrets removed. Read the file before you give it away:
tar --zstd -xf FILE.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.limit < 0 {
				return app.Usagef("--limit %s: must not be negative", o.limit)
			}
			if o.fleet.Asked() {
				return captureFleet(cmd.Context(), a, o, args)
			}
			return capture(cmd.Context(), a, o, args)
		},
	}
	f := c.Flags()
	f.StringVar(&o.root, "root", "", "capture the root folder `DIR`, which is not running here")
	f.StringVarP(
		&o.file,
		"output",
		"o",
		"",
		"write `FILE` (- is standard output; default HOST-TIME.tar.zst; with --host the folder to write such files to)",
	)
	f.BoolVar(&o.network, "network", false, "ask other hosts too, for check --from FILE --network")
	f.DurationVar(&o.limit, "limit", 0, "stop every check after this `TIME` (default: each trap's own)")
	f.BoolVar(&o.redact, "redact", false, "replace names and addresses, remove secrets")
	f.StringVar(&o.keyFile, "redact-key", "", "use the key in `FILE` for replacements, to match other captures; created if absent")
	o.fleet.Flags(c)
	c.MarkFlagDirname("root")
	return c
}

func capture(ctx context.Context, a *app.App, o captureOptions, ids []string) error {
	traps, err := instant(a, ids)
	if err != nil {
		return err
	}
	if o.file == "-" && ui.IsTerminal(a.Stdout) {
		return app.Usagef("-o -: standard output is a terminal; send it to a file or through ssh")
	}
	if st, err := os.Stat(o.file); err == nil && o.file != "-" {
		switch {
		case st.IsDir():
			return app.Usagef("-o %s: it is a folder; name a file", o.file)
		case !st.Mode().IsRegular():
			return app.Usagef("-o %s: it is no regular file; for a pipe, use -o - and standard output", o.file)
		}
	}
	tg := run.Target{Network: o.network}
	if o.root != "" {
		if tg.Root, err = filepath.Abs(o.root); err != nil {
			return app.Unread(err, "the folder that holds a root file system (--root)")
		}
		if st, err := os.Stat(tg.Root); err != nil {
			return app.Unread(err, "the folder that holds a root file system (--root)")
		} else if !st.IsDir() {
			return app.Usagef("--root %s: not a folder", o.root)
		}
	}
	rec := &run.Recording{}
	if o.redact || o.keyFile != "" {
		if rec.Key, err = redactKey(o.keyFile); err != nil {
			return err
		}
	}
	// The confined process writes to a file that it is handed open, and opens none.
	var file *files.Pending
	if o.file == "-" {
		if rec.Out, err = archive.TempFile(); err != nil {
			return app.Usagef("making a file for the capture: %w; set TMPDIR to a folder that can be written to", err)
		}
		defer rec.Out.Close()
	} else {
		if file, err = files.Create(o.file, 0o600); err != nil {
			return app.Usagef("making a file for the capture: %w", err)
		}
		defer file.Cleanup()
		rec.Out = file.File
	}
	tg.Record = rec
	var id host.Identity
	err = a.Check(ctx, tg, traps, trap.Options{Limit: o.limit, Network: o.network}, func(ab run.About) error {
		id = ab.Identity
		if ab.Warning != "" {
			fmt.Fprintf(a.Stderr, "fettle: %s\n", ab.Warning)
		}
		return nil
	}, func(trap.Result) {})
	if err != nil {
		return err
	}
	switch {
	case rec.Sum == nil:
		return app.Failf("the checks ended without writing a capture")
	case rec.Sum.Failed != "":
		return app.Failf("writing the capture: %s", rec.Sum.Failed)
	}
	return deliver(a, o, file, rec, id)
}

// instant are the traps named, or all that a capture can be made of.
func instant(a *app.App, ids []string) ([]*trap.Trap, error) {
	for _, id := range ids {
		if strings.ContainsAny(id, "/.") { // a file, as other programs take it
			return nil, app.Usagef("%q is not a trap's name; to write the capture there: -o %s", id, id)
		}
	}
	traps, err := a.Find(ids)
	if err != nil {
		return nil, err
	}
	for _, t := range traps {
		if t.Cost != trap.Instant {
			return nil, app.Usagef("%s is a %s check; a capture holds what instant checks read", t.ID(), t.Cost)
		}
	}
	if len(ids) == 0 {
		traps = slices.DeleteFunc(slices.Clone(a.Traps), func(t *trap.Trap) bool { return t.Cost != trap.Instant })
		traps = append(traps, snapshot.Probe) // for fettle after --from
	}
	return traps, nil
}

// deliver puts the capture where it was asked for and tells what it is.
func deliver(a *app.App, o captureOptions, file *files.Pending, rec *run.Recording, id host.Identity) error {
	st, err := rec.Out.Stat()
	if err != nil {
		return app.Failf("%w", err)
	}
	sum, say, name := rec.Sum, a.Stdout, o.file
	if file == nil {
		say, name = a.Stderr, "standard output"
		if _, err := io.Copy(a.Stdout, io.NewSectionReader(rec.Out, 0, st.Size())); err != nil {
			return app.Failf("writing the capture: %w", err)
		}
	} else {
		if name == "" {
			name = captureName(sum.Name, id.Time)
			file.Rename(name)
		}
		if err := file.Commit(); err != nil {
			return app.Failf("writing the capture: %w", err)
		}
	}
	fmt.Fprintf(say, "wrote %s: %s, %s\n", name, units.Size(st.Size()), count(sum.Answers, "item", "items"))
	if rec.Key != nil {
		out := "nothing was left out"
		if n := len(sum.Dropped); n > 0 {
			out = count(n, "item", "items") + " left out: fettle does not know how to redact them"
		}
		fmt.Fprintf(say, "redacted: names and addresses are replaced\n  %s\n", out)
	}
	if len(sum.Unread) > 0 {
		fmt.Fprintf(say, "could not be read (unknown when the capture is checked):\n")
		for i, u := range sum.Unread {
			if i == 20 {
				fmt.Fprintf(say, "  and %d more\n", len(sum.Unread)-i)
				break
			}
			fmt.Fprintf(say, "  %s\n", u)
		}
	}
	if id.EUID != 0 && (sum.Denied || o.root == "") { // tables of running state may lack a part without any refusal
		fmt.Fprintf(say, "made without root: run as root for a complete capture\n")
	}
	return nil
}

// captureName is HOST-YYYYMMDDTHHMMSSZ.tar.zst; the host's name may hold
// anything where it was read from a file.
func captureName(hostname string, at time.Time) string {
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.' || r == '_' {
			return r
		}
		return -1
	}, hostname)
	if clean = strings.TrimLeft(clean, ".-"); clean == "" {
		clean = "host"
	}
	return clean[:min(len(clean), 64)] + "-" + at.UTC().Format("20060102T150405Z") + ".tar.zst"
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
