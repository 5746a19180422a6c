package cli

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fettle/host"
	"fettle/host/capture"
	"fettle/host/redact"
	"fettle/trap"
)

// captureOptions are capture's flags.
type captureOptions struct {
	root, file, keyFile string
	redact              bool
	fleet               fleetOptions
}

func (a *app) captureCmd() *cobra.Command {
	var o captureOptions
	c := &cobra.Command{
		Use:   "capture [TRAP…]",
		Short: "Write what the checks read to one file, to be checked elsewhere",
		Long: `Run the checks (all, or those named) and write what they read to one file.
fettle check --from FILE says of the file what it would say of this host, on
any machine.

With --redact, names of hosts, domains and users, addresses and serial numbers
are replaced, and secrets dropped. Look into the file before you give it away:
tar --zstd -xf FILE.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.fleet.asked() {
				return a.captureFleet(cmd.Context(), o, args)
			}
			return a.capture(cmd.Context(), o, args)
		},
	}
	f := c.Flags()
	f.StringVar(&o.root, "root", "", "capture the root folder `DIR`, which is not running here")
	f.StringVarP(&o.file, "output", "o", "", "write `FILE` (- is standard output; default HOST-TIME.tar.zst; with --host the folder to write such files to)")
	f.BoolVar(&o.redact, "redact", false, "replace names and addresses, drop secrets")
	f.StringVar(&o.keyFile, "redact-key", "", "make the replacements with the key in `FILE`, to match other captures; made if absent")
	o.fleet.flags(c)
	c.MarkFlagDirname("root")
	return c
}

// recording tells a check run to write what was read to File.
type recording struct {
	File string `json:"file"`          // absolute; beside it comes File + ".json", a recorded
	Key  []byte `json:"key,omitempty"` // redact with this key
}

// recorded is what a recording was.
type recorded struct {
	Name    string   `json:"name"` // of the host, redacted if the capture is
	Answers int      `json:"answers"`
	Unread  []string `json:"unread"`  // what could not be read, with reasons
	Denied  bool     `json:"denied"`  // some of it for lack of permission
	Dropped []string `json:"dropped"` // what redaction left out
}

// start puts a recorder around src; done writes the file. The path of a
// capture below its own root is no business of the host's, so both belong to
// the process that runs the checks.
func (r *recording) start(src host.Source) (_ host.Source, done func() error) {
	if r == nil {
		return src, func() error { return nil }
	}
	rec := capture.NewRecorder(src)
	return rec, func() error { return r.write(rec.Capture()) }
}

func (r *recording) write(c *capture.Capture) error {
	sum := recorded{Name: c.Identity.Hostname}
	c.Fettle = Version()
	for _, u := range c.Unread() {
		why := u.Err
		var pe *fs.PathError
		if errors.As(why, &pe) { // the path is said already
			why = pe.Err
		}
		reason := host.Reason(why)
		if errors.Is(why, host.ErrDenied) {
			sum.Denied, reason = true, "needs root"
		}
		sum.Unread = append(sum.Unread, u.What+": "+reason)
	}
	if r.Key != nil {
		red, err := redact.New(r.Key)
		if err != nil {
			return err
		}
		if sum.Dropped, err = c.Redact(red); err != nil {
			return err
		}
		sum.Name = c.Identity.Hostname
	}
	sum.Answers = len(c.Answers)
	f, err := os.OpenFile(r.File, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if err := c.Write(f); err != nil {
		f.Close()
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	b, err := json.Marshal(sum)
	if err != nil {
		return err
	}
	return os.WriteFile(r.File+".json", b, 0o600)
}

func (a *app) capture(ctx context.Context, o captureOptions, ids []string) error {
	traps, err := a.instant(ids)
	if err != nil {
		return err
	}
	if f, ok := a.stdout.(*os.File); ok && o.file == "-" {
		if st, err := f.Stat(); err == nil && st.Mode()&fs.ModeCharDevice != 0 {
			return usagef("-o -: standard output is a terminal; send it to a file or through ssh")
		}
	}
	tg := target{}
	if o.root != "" {
		if tg.Root, err = filepath.Abs(o.root); err != nil {
			return usagef("--root: %w", err)
		}
		if st, err := os.Stat(tg.Root); err != nil {
			return usagef("--root: %w", err)
		} else if !st.IsDir() {
			return usagef("--root %s: not a folder", o.root)
		}
	}
	rec := &recording{}
	if o.redact || o.keyFile != "" {
		if rec.Key, err = redactKey(o.keyFile); err != nil {
			return err
		}
	}
	// The file is made in a folder of its own beside where it shall be: the
	// confined process may write there and nowhere else.
	where := os.TempDir()
	if o.file != "-" {
		where = filepath.Dir(o.file)
	}
	dir, err := os.MkdirTemp(where, ".fettle-capture-")
	if err != nil {
		return usagef("making a folder for the capture: %w", err)
	}
	defer os.RemoveAll(dir)
	if dir, err = filepath.Abs(dir); err != nil {
		return failf("%w", err)
	}
	rec.File = filepath.Join(dir, "capture")
	tg.Record = rec
	var id host.Identity
	err = a.checkTarget(ctx, tg, traps, trap.Options{}, func(ab about) error {
		id = ab.Identity
		if ab.Warning != "" {
			fmt.Fprintf(a.stderr, "fettle: %s\n", ab.Warning)
		}
		return nil
	}, func(trap.Result) {})
	if err != nil {
		return err
	}
	var sum recorded
	b, err := os.ReadFile(rec.File + ".json")
	if err == nil {
		err = json.Unmarshal(b, &sum)
	}
	if err != nil {
		return failf("the checks ended without writing a capture: %w", err)
	}
	return a.deliver(o, rec, sum, id)
}

// instant are the traps named, or all that a capture can be made of.
func (a *app) instant(ids []string) ([]*trap.Trap, error) {
	traps, err := a.find(ids)
	if err != nil {
		return nil, err
	}
	for _, t := range traps {
		if t.Cost != trap.Instant {
			return nil, usagef("%s is a %s check; a capture holds what instant checks read", t.ID(), t.Cost)
		}
	}
	if len(ids) == 0 {
		traps = slices.DeleteFunc(slices.Clone(a.traps), func(t *trap.Trap) bool { return t.Cost != trap.Instant })
	}
	return traps, nil
}

// deliver puts the capture where it was asked for and tells what it is.
func (a *app) deliver(o captureOptions, rec *recording, sum recorded, id host.Identity) error {
	st, err := os.Stat(rec.File)
	if err != nil {
		return failf("%w", err)
	}
	say := a.stdout
	name := o.file
	switch name {
	case "-":
		say, name = a.stderr, "standard output"
		f, err := os.Open(rec.File)
		if err != nil {
			return failf("%w", err)
		}
		defer f.Close()
		if _, err := io.Copy(a.stdout, f); err != nil {
			return failf("writing the capture: %w", err)
		}
	default:
		if name == "" {
			name = captureName(sum.Name, id.Time)
		}
		if err := os.Rename(rec.File, name); err != nil {
			return failf("writing the capture: %w", err)
		}
	}
	fmt.Fprintf(say, "wrote %s: %s, %d answers\n", name, bytesText(st.Size()), sum.Answers)
	if rec.Key != nil {
		fmt.Fprintf(say, "redacted: names and addresses are replaced; %s left out\n", count(len(sum.Dropped), "answer of no known kind", "answers of no known kind"))
	}
	if len(sum.Unread) > 0 {
		fmt.Fprintf(say, "could not be read (checks of the capture will say unknown):\n")
		for i, u := range sum.Unread {
			if i == 20 {
				fmt.Fprintf(say, "  and %d more\n", len(sum.Unread)-i)
				break
			}
			fmt.Fprintf(say, "  %s\n", u)
		}
	}
	if sum.Denied && id.EUID != 0 {
		fmt.Fprintf(say, "run as root for a complete capture\n")
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

func bytesText(n int64) string {
	if n < 10<<10 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%d KiB", n>>10)
}

// redactKey reads the key from a file, in hexadecimal; makes both if the file
// is absent. Without a file the key is random and forgotten.
func redactKey(file string) ([]byte, error) {
	key := make([]byte, 32)
	rand.Read(key)
	if file == "" {
		return key, nil
	}
	b, err := os.ReadFile(file)
	if err == nil {
		key, err := hex.DecodeString(strings.TrimSpace(string(b)))
		if err != nil || len(key) < 16 {
			return nil, usagef("--redact-key %s: not a key: at least 32 hexadecimal digits are needed", file)
		}
		return key, nil
	}
	if !os.IsNotExist(err) {
		return nil, usagef("--redact-key: %w", err)
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, usagef("--redact-key: %w", err)
	}
	if _, err = fmt.Fprintln(f, hex.EncodeToString(key)); err == nil {
		err = f.Close()
	}
	if err != nil {
		return nil, failf("--redact-key: %w", err)
	}
	return key, nil
}
