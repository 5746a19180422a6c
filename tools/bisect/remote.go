package bisect

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fettle/internal/shell"
	"fettle/internal/ssh"
)

// remote is a folder on another host, into which a worktree of this one is
// carried before each run. It needs sh, tar, find, xargs, timeout and setsid.
type remote struct {
	*worktree
	command *Command
	fleet   *ssh.Client
	name    string
	id      string           // the folder's name there
	sent    map[string]stamp // what is there already
}

// stamp tells a file that has changed since it was sent.
type stamp struct {
	mode fs.FileMode
	size int64
	time time.Time
}

// What is run on a host (fleet's script.go says what may be in it). $1 is the
// folder's name.
const (
	folder = `umask 077; d="$HOME/.cache/fettle/bisect/$1"; `
	begins = folder + `rm -rf "$d" && mkdir -p "$d/tree"`
	// Files alone: what is left empty is no more than that.
	lists = folder + `echo ` + listMark + `; cd "$d/tree" && find . -type f -print0 -o -type l -print0`
	drops = folder + `cd "$d/tree" && xargs -0 rm -f --`
	// The times are of that host's clock: make compares them with what it builds there.
	takes  = folder + `cd "$d" && tar -xmpf -`
	starts = folder + `cd "$d/tree" && exec /bin/sh ../run "$2" "$3"`
	leaves = folder + `rm -rf "$d"`

	listMark  = "FETTLE-FILES"
	listLimit = 256 << 20
	// grace is how long a host may take to end what ran there.
	grace = 20 * time.Second
)

// runScript goes there beside the line. The line ends with its group when its
// time is up ($2, seconds), and when standard input ends: the connection is
// lost, or closed because the hunt is over. 255 would say that ssh failed.
const runScript = `exec 3<&0
FETTLE_COMMIT="$1" setsid /bin/sh -c "$(cat ../line)" </dev/null 3<&- &
line=$!
{ timeout "$2" cat <&3; kill -KILL "-$line"; } >/dev/null 2>&1 &
watch=$!
exec 3<&-
wait "$line"
status=$?
kill -KILL "$watch" 2>/dev/null
kill -KILL "-$line" 2>/dev/null
[ "$status" -lt 255 ] || status=254
exit "$status"
`

// lostHost is that a host cannot be reached, or does not do what every host can:
// no fault of the commit's.
type lostHost struct{ err error }

func (l *lostHost) Error() string { return l.err.Error() }

func newRemote(w *worktree, c *Command, f *ssh.Client, host, n string) *remote {
	self, _ := os.Hostname()
	sum := sha256.Sum256([]byte(self + "\x00" + w.dir))
	return &remote{worktree: w, command: c, fleet: f, name: host, id: hex.EncodeToString(sum[:8]) + "-" + n}
}

func (r *remote) host() string { return r.name }

func (r *remote) read(ctx context.Context, c Commit, log io.Writer) (float64, error) {
	if err := r.checkout(ctx, c.Hash); err != nil {
		return 0, unlessOver(ctx, err)
	}
	if err := r.carry(ctx); err != nil {
		return 0, err
	}
	return r.command.read(ctx, r.there(c.Hash), log)
}

func (r *remote) leave(ctx context.Context) {
	_ = r.do(ctx, leaves, nil, nil) // what stays is removed by the next hunt
	_ = r.remove(ctx)
}

// do runs a script of ours, which must end well.
func (r *remote) do(ctx context.Context, script string, in io.Reader, out io.Writer) error {
	ctx, stop := context.WithTimeoutCause(ctx, 10*time.Minute, errors.New("took longer than 10 minutes"))
	defer stop()
	var errs bytes.Buffer
	status, err := r.fleet.Script(ctx, r.name, script, []string{r.id}, in, out, &limited{w: &errs, left: 4096})
	if err == nil && status != 0 {
		err = fmt.Errorf("%s: a command of fettle's ended with status %d: %s", r.name, status, strings.Join(strings.Fields(errs.String()), " "))
	}
	if err != nil {
		return &lostHost{err}
	}
	return nil
}

// there runs lines in the folder of the host.
func (r *remote) there(hash string) runner {
	return func(ctx context.Context, in []string, line string, log io.Writer, out *figure) (int, error) {
		if len(in) > 0 { // a program of this machine: there it is on the PATH
			line = shell.Join(append([]string{filepath.Base(in[0])}, append(slices.Clone(in[1:]), line)...))
		}
		text, err := packed(map[string]string{"line": line, "run": runScript})
		if err != nil {
			return 0, err
		}
		if err := r.do(ctx, takes, text, nil); err != nil {
			return 0, err
		}
		return r.sh(ctx, hash, log, out)
	}
}

// sh runs the line that is there.
func (r *remote) sh(ctx context.Context, hash string, log io.Writer, out *figure) (int, error) {
	hold, life, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer hold.Close()
	defer life.Close()
	over, stop := context.WithTimeout(ctx, r.command.Limit)
	defer stop()
	context.AfterFunc(over, func() { life.Close() }) // which ends it there
	// Until then the host has the time to do so and to say that it has.
	patient, give := context.WithCancelCause(context.WithoutCancel(ctx))
	defer give(nil)
	context.AfterFunc(over, func() {
		time.AfterFunc(grace, func() { give(fmt.Errorf("did not end a run within %v", grace)) })
	})
	bounded := &limited{w: log, left: logLimit}
	var stdout io.Writer = bounded
	if out != nil {
		stdout = io.MultiWriter(bounded, out)
	}
	seconds := fmt.Sprint(int((r.command.Limit + 2*grace).Seconds()))
	status, err := r.fleet.Script(patient, r.name, starts, []string{r.id, hash, seconds}, hold, stdout, bounded)
	switch {
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case err != nil:
		return 0, &lostHost{err}
	case over.Err() != nil:
		return 0, r.command.tooLong()
	}
	return status, nil
}
