package ssh

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"time"

	transport "fettle/internal/ssh"
)

// What is run on a host is one of these constant scripts, given to /bin/sh
// whatever the login shell is; so they hold no quote, "!", backslash or
// newline, which shells read differently. $1 is the SHA-256 of the binary.
//
// Hashing the binary takes longer than a short check. So the first run after
// each boot hashes it, and writes beside it what was hashed: device, inode,
// size, the times of its last write and change, owner and mode. A run goes by
// that while the two files are the user's own and the copy is the same to the
// nanosecond: whoever writes to a file changes its ctime, which nobody but root
// can set back. A crash can leave other bytes on the disk than those that were
// hashed; hence the boot's id.
const (
	verified = `d="$HOME/.cache/fettle/$1"; f="$d/fettle"; v="$d/verified"; ` +
		`{ read -r b < /proc/sys/kernel/random/boot_id; read -r w < "$v"; } 2> /dev/null; ` +
		`s="$b $(stat -c "%d %i %s %y %z %u %a" "$f" 2> /dev/null)"; ` +
		`ok() { [ -f "$f" ] || return 1; ` +
		`[ -O "$f" ] && [ -O "$v" ] && [ "$b" ] && [ "$s" = "$w" ] && [ "$s" = "${s%700}700" ] && return 0; ` +
		`[ "$(sha256sum < "$f")" = "$1  -" ] && { (umask 077; rm -f "$v"; set -C; echo "$s" > "$v") 2> /dev/null; return 0; }; }; `
	// check the copy, and run it with the arguments that are left
	verify = verified + `if ok "$1"; then shift; `
	orSay  = `; fi; echo "` + needed + ` $(uname -s) $(uname -m)" >&2; exit 97`
	runIt  = verify + `exec "$f" "$@"` + orSay
	sudoIt = verify + `exec sudo -n -- "$f" "$@"` + orSay
	keepIt = `umask 077; d="$HOME/.cache/fettle/$1"; t="$d/new.$$"; mkdir -p "$d" && chmod 700 "$d" && ` +
		`gzip -dc > "$t" && [ "$(sha256sum < "$t")" = "$1  -" ] && chmod 700 "$t" && mv -f "$t" "$d/fettle" ` +
		`|| { rm -f "$t"; echo "the copy of fettle in $d does not verify" >&2; exit 98; }; ` +
		// copies of other versions that were made more than 30 days ago; who still needs one copies it again
		`find "$HOME/.cache/fettle" -mindepth 1 -maxdepth 1 -type d -mtime +30 -not -name "$1" ` +
		`-name "????????????????????????????????????????????????????????????????" -exec rm -rf {} + > /dev/null 2>&1; exit 0`
	needed  = "FETTLE-NEEDED"
	exitNot = 97 // the binary is not there
)

// remote makes the command for ssh.
func remote(script, hash string, args []string) (string, error) {
	return transport.Command(script, append([]string{hash}, args...))
}

// Run runs fettle on a host with these arguments, copying it there first if
// it is not there. The exit status is fettle's own; errs is what it (or sudo)
// wrote to standard error. Any error is an *Error.
func (f *Fleet) Run(ctx context.Context, host string, args []string, out io.Writer) (exit int, errs string, err error) {
	reached := false
	fail := func(err error) (int, string, error) {
		if ctx.Err() != nil {
			f.HangUp(host)
		}
		return 0, "", &Error{Host: host, Reached: reached, Why: err.Error()}
	}
	script := runIt
	if f.sudo {
		script = sudoIt
	}
	bin, said := f.bins.first(), ""
	for copied := false; ; {
		hash, err := bin.load()
		if err != nil {
			return fail(err)
		}
		command, err := remote(script, hash, args)
		if err != nil {
			return fail(err)
		}
		exit, errs, err := admitted(ctx, func() (int, string, error) { return f.Client.Run(ctx, host, command, nil, out) })
		if err != nil {
			return fail(err)
		}
		reached = true
		system, machine, missing := need(exit, errs)
		if !missing {
			return exit, errs, nil
		}
		is := system + " " + machine
		right, err := f.bins.lookup(system, machine)
		switch {
		case err != nil:
			return fail(err)
		case said != "" && said != is: // it could go on for ever
			return fail(fmt.Errorf("the host identifies itself as %q, and did so before as %q", is, said))
		case right != bin:
			bin, said = right, is // it may be there already
			continue
		case copied:
			return fail(fmt.Errorf("the copy of fettle was made and is gone, or sha256sum is missing there: %s", words(errs)))
		}
		packed, err := bin.pack()
		if err != nil {
			return fail(err)
		}
		if command, err = remote(keepIt, hash, nil); err != nil {
			return fail(err)
		}
		exit, errs, err = f.Client.Run(ctx, host, command, bytes.NewReader(packed), nil)
		if err != nil {
			return fail(err)
		}
		if exit != 0 {
			return fail(fmt.Errorf("copying fettle there: exit status %d: %s", exit, words(errs)))
		}
		copied, said = true, is
	}
}

// need reads what a host says that does not have the binary.
func need(exit int, errs string) (system, machine string, missing bool) {
	if exit != exitNot {
		return "", "", false
	}
	for line := range strings.Lines(errs) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == needed {
			return f[1], f[2], true
		}
	}
	return "", "", false
}

// admitted is run, again where a server turned the connection away for having
// too many at once (sshd_config(5), MaxStartups): fifty hosts behind one jump
// host are such a crowd.
func admitted(ctx context.Context, run func() (int, string, error)) (exit int, errs string, err error) {
	for try := 1; ; try++ {
		exit, errs, err = run()
		if err == nil || try == tries || !strings.Contains(errs, "kex_exchange_identification:") {
			return exit, errs, err
		}
		pause := time.Duration(try)*500*time.Millisecond + rand.N(time.Duration(try)*time.Second)
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

const tries = 6

// words makes the last lines of an error output one line, without what is said to fettle.
func words(errs string) string {
	var keep strings.Builder
	for line := range strings.Lines(errs) {
		if !strings.HasPrefix(strings.TrimSpace(line), needed) {
			keep.WriteString(line)
		}
	}
	return transport.Words(keep.String())
}
