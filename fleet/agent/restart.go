package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fettle/fleet/hub/message"
	"fettle/internal/files"
)

// After a start of the host, fettle after says what did not come back as it was. The agent
// reports that as findings of one trap, until each is as it was before. So that there is
// something to compare with, it has a snapshot saved once a day.

const (
	// whyCompared is why the agent speaks when a start has been compared.
	whyCompared   = "restart"
	startedFile   = "started.json"
	snapshotEvery = 24 * time.Hour
	// settleLimit is how long a start may take until it has settled.
	settleLimit = 10 * time.Minute
)

// started is what the agent knows of the host's last start.
type started struct {
	Boot string `json:"boot"`
	// Lost are the subjects that the first comparison found. What is missing later only was
	// taken away by somebody, not by the start.
	Lost []string `json:"lost,omitempty"`
	// Compared is the same start, where there was a snapshot to compare it with.
	Compared string `json:"compared,omitempty"`
	// Saved is when the last snapshot was.
	Saved time.Time `json:"saved,omitzero"`
}

// restart follows what starts of the host took away. The loop of the agent owns it.
type restart struct {
	was  started
	lost []message.Lost // that are still missing
	// first receives the first comparison after a start; nil while none is made.
	first chan compared
}

// compared is a comparison, and whether there was a snapshot to compare with.
type compared struct {
	lost []message.Lost
	done bool
}

// begin compares, beside everything else, if the host has started since the last time.
func (a *Agent) begin(ctx context.Context) {
	if !a.Restarts {
		return
	}
	b, err := files.ReadAtMost(filepath.Join(a.Dir, startedFile), 1<<20)
	if err == nil && json.Unmarshal(b, &a.restart.was) != nil {
		a.restart.was = started{}
	}
	boot := bootID()
	switch {
	case boot == "":
		a.Restarts = false
	case a.restart.was.Boot == "": // there was no agent before: what it missed is not for it to tell
		a.restart.was.Boot = boot
		a.remember()
	case a.restart.was.Boot != boot:
		first := make(chan compared, 1)
		a.restart.first = first
		go func() {
			defer close(first)
			if c, err := a.after(ctx, settleLimit); err == nil {
				first <- c
			}
		}()
	}
}

// started takes the first comparison after a start, and tells the hub.
func (a *Agent) started(c compared, ok bool) {
	a.restart.first = nil
	if !ok {
		return // it is made again when the agent starts again
	}
	w := &a.restart.was
	w.Boot, w.Lost, w.Compared, a.restart.lost = bootID(), subjects(c.lost), "", c.lost
	if c.done {
		w.Compared = w.Boot
	}
	a.remember()
	if a.last != nil && c.done {
		a.tell(a.last.Lacking(c.lost), 0, whyCompared, "")
	}
}

// compareAgain looks whether what was missing still is.
func (a *Agent) compareAgain(ctx context.Context) {
	if !a.Restarts || a.restart.first != nil || len(a.restart.was.Lost) == 0 {
		return
	}
	c, err := a.after(ctx, 0)
	if err != nil {
		return
	}
	was := a.restart.was.Lost
	a.restart.lost = slices.DeleteFunc(c.lost, func(l message.Lost) bool { return !slices.Contains(was, l.Subject) })
	a.restart.was.Lost = subjects(a.restart.lost)
	a.remember()
}

// snapshot saves one where it is due.
func (a *Agent) snapshot(ctx context.Context) {
	since := a.Now().Sub(a.restart.was.Saved)
	if !a.Restarts || a.restart.first != nil || since >= 0 && since < snapshotEvery {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	said := &head{}
	c := child(ctx, a.Fettle, "snapshot")
	c.Stderr = said
	if err := c.Run(); err != nil {
		a.hub.Say("snapshot", fmt.Sprintf("saving a snapshot: %v: %s", err, said))
		return
	}
	a.restart.was.Saved = a.Now()
	a.remember()
}

// after compares the host with what it was before its start.
func (a *Agent) after(ctx context.Context, wait time.Duration) (c compared, err error) {
	ctx, cancel := context.WithTimeout(ctx, wait+checkLimit)
	defer cancel()
	args := []string{"after", "--format", "json"}
	if wait > 0 {
		args = append(args, "--wait", wait.String())
	}
	var d message.Comparison
	exit, err := answer(child(ctx, a.Fettle, args...), &d)
	switch {
	case ctx.Err() != nil:
		return c, ctx.Err()
	case exit == 2: // there is no snapshot
		return c, nil
	case err != nil:
		return c, err
	case !d.Restarted: // there is none of an earlier start
		return c, nil
	}
	c.lost, c.done = d.Lost, true
	return c, nil
}

func subjects(list []message.Lost) (out []string) {
	for i := range list {
		out = append(out, list[i].Subject)
	}
	return out
}

// remember keeps what is known of the start.
func (a *Agent) remember() {
	b, err := json.Marshal(a.restart.was)
	if err == nil {
		err = files.WriteFile(filepath.Join(a.Dir, startedFile), b, 0o600)
	}
	if err != nil {
		a.hub.Say("started", "keeping what is known of this start: "+err.Error())
	}
}

// systemctl says whether the whole host stops.
const systemctl = "/usr/bin/systemctl"

// farewell says, where the agent ends because the host stops, that it does: a hub knows at
// once who is about to come back.
func (a *Agent) farewell() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if _, err := os.Stat("/run/systemd/system"); err != nil || !a.Restarts {
		return
	}
	said, _ := child(ctx, systemctl, "is-system-running").Output()
	if strings.TrimSpace(string(said)) != "stopping" {
		return
	}
	a.stopping()
}

// stopping tells the hub that the host stops.
func (a *Agent) stopping() {
	m := a.message(message.Beat, message.Stopping, "")
	if a.last != nil {
		m.Digest = a.last.Digest()
	}
	a.keep(m)
	a.send()
	if a.conn.IsConnected() {
		_ = a.conn.FlushTimeout(2 * time.Second)
	}
}
