package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"fettle/engine/rule"
	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/archive"
	"fettle/host/confine"
	"fettle/host/format/keyservers"
	"fettle/host/format/ldapconf"
	"fettle/tools/netboot/tree"
)

// childFailed is the exit status of a child that could do nothing.
const childFailed = 3

// work is what a confined child is told to do.
type work struct {
	Target Target   `json:"Target"`
	Traps  []string `json:"traps"`
	// Rules are the admin's own among them, checked by the parent. They follow the JSON as they are.
	Rules   []byte         `json:"-"`
	own     []*rule.Frozen // what the parent sends as Rules
	Options trap.Options   `json:"options"`
	Spooled bool           `json:"spooled,omitempty"` // a file was handed over to unpack an archive into
	// Ask is one of Answers, instead of checks, and Question what it is asked.
	Ask      string          `json:"ask,omitempty"`
	Question json.RawMessage `json:"question,omitempty"`
	Also     string          `json:"also,omitempty"` // is asked when the checks have ended
}

// saying is one message of the child: first about or failed, then results as
// they settle.
type saying struct {
	About    *About          `json:"about,omitempty"`
	Failed   string          `json:"failed,omitempty"`
	Recorded *Recorded       `json:"recorded,omitempty"` // before the last result
	Place    int             `json:"place"`
	Result   *trap.Result    `json:"result,omitempty"`
	Answer   json.RawMessage `json:"answer,omitempty"`
}

// confined does the work of Check in a child. Not done: no child could
// be had, the warning says why, and nothing has been emitted.
func (e Engine) confined(
	ctx context.Context,
	tg Target,
	traps []*trap.Trap,
	opt trap.Options,
	begin func(About) error,
	emit func(trap.Result),
) (done bool, warning string, err error) {
	w := work{Target: tg, Options: opt}
	for _, t := range traps {
		w.Traps = append(w.Traps, t.ID())
	}
	w.own = e.needed(traps)
	if e.Also != nil {
		w.Also = e.Also.Name
	}
	job, over, err := w.job(len(traps) + 3)
	if err != nil {
		return true, "", err
	}
	defer over()
	child, err := confine.Start(ctx, job)
	if err != nil {
		return false, fmt.Sprintf("checks run unconfined: %v", err), nil
	}
	defer child.Close()
	first, err := receive(ctx, child)
	switch {
	case err != nil:
		return true, "", fmt.Errorf("checking: %s", host.Reason(err))
	case first.Failed != "":
		return true, "", unreadable("%s", first.Failed)
	case first.About == nil:
		return true, "", errors.New("checking: the confined child did not identify its host")
	}
	ab := *first.About
	ab.Warning = ab.Confined.Warning()
	if err := begin(ab); err != nil {
		return true, "", err
	}
	collect(ctx, child, traps, tg.Record, trap.InOrder(len(traps), emit))
	if e.Also != nil {
		e.Also.Err = e.Also.receive(ctx, child, tg)
	}
	return true, "", nil
}

// job is what a child is started for, and what to do once it is over.
func (w *work) job(messages int) (job confine.Job, over func(), err error) {
	tg := w.Target
	job, over = confine.Job{Messages: messages}, func() {}
	if tg.live() {
		if job.Host, err = confine.Live(); err != nil {
			return job, over, err
		}
		if tg.Network {
			job.Grants = func(ctx context.Context, t host.Table) bool { return configured(ctx, job.Host, t) }
		}
	}
	if st, err := os.Stat(tg.From); err == nil && st.Mode().IsRegular() { // an archive is unpacked into a spool
		spool, err := archive.TempFile()
		if err != nil {
			return job, over, fmt.Errorf("making a file for the unpacked archive: %w; set TMPDIR to a folder that can be written to", err)
		}
		over = func() { spool.Close() }
		w.Spooled, job.Files = true, []*os.File{spool}
	}
	if tg.Record != nil {
		job.Files = append(job.Files, tg.Record.Out)
	}
	job.Body, err = w.packed()
	return job, over, err
}

// packed is the work as it is sent.
func (w *work) packed() ([]byte, error) {
	b, err := json.Marshal(w)
	if len(w.own) > 0 {
		b = rule.AppendBook(b, w.own)
	}
	return b, err
}

// unpack reads what packed wrote.
func (w *work) unpack(b []byte) error {
	d := json.NewDecoder(bytes.NewReader(b))
	if err := d.Decode(w); err != nil {
		return err
	}
	w.Rules = b[d.InputOffset():]
	return nil
}

// configured tells whether the host's own configuration names a server: no other is
// talked to for a confined check.
func configured(ctx context.Context, src host.Source, t host.Table) bool {
	if q, ok := t.Peer(); ok {
		return ldapconf.Names(ctx, host.New(src), q)
	}
	if url, ok := t.Page(); ok && tree.Names(ctx, host.New(src), url) {
		return true
	}
	return keyservers.Names(ctx, host.New(src), t)
}

// collect hands on the child's results, and makes up those that it owes.
func collect(ctx context.Context, child *confine.Child, traps []*trap.Trap, rec *Recording, settled func(int, trap.Result)) {
	have := make([]bool, len(traps))
	for range traps {
		s, err := receive(ctx, child)
		if err == nil && s.Recorded != nil && rec != nil && rec.Sum == nil {
			rec.Sum = s.Recorded
			s, err = receive(ctx, child)
		}
		if err == nil && (s.Result == nil || s.Place < 0 || s.Place >= len(traps) || have[s.Place]) {
			err = errors.New("the confined child sent an invalid message")
		}
		if err != nil {
			for i, t := range traps {
				if !have[i] {
					settled(i, trap.NotRun(t, err))
				}
			}
			return
		}
		have[s.Place] = true
		settled(s.Place, trap.Receive(traps[s.Place], *s.Result))
	}
}

func receive(ctx context.Context, child *confine.Child) (saying, error) {
	var s saying
	b, err := child.Receive(ctx)
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	return s, err
}

// Child is what a copy of fettle does that was started under one of the
// verbs of package confine; false: args are a user's.
func Child(args []string, traps []*trap.Trap, answers Answers, stderr io.Writer) (code int, ok bool) {
	if len(args) == 0 {
		return 0, false
	}
	switch args[0] {
	case confine.CheckVerb:
		if err := child(traps, answers); err != nil {
			fmt.Fprintf(stderr, "%v\n", err)
			return childFailed, true
		}
		return 0, true
	}
	return 0, false
}

// child is what the confined child does: it confines itself before it opens what it
// shall look at, and runs the checks.
func child(all []*trap.Trap, answers Answers) error {
	parent, body, err := confine.Join()
	if err != nil {
		return err
	}
	var w work
	if err := w.unpack(body); err != nil {
		return fmt.Errorf("reading the job: %w", err)
	}
	if w.Ask != "" {
		return answer(parent, w, answers)
	}
	own, err := decoded(w.Rules)
	if err != nil {
		return err
	}
	traps, err := named(w.Traps, append(slices.Clip(all), own...))
	if err != nil {
		return err
	}
	// A check that only Talks has its parent do so, and needs no sockets.
	w.Target.Network = w.Target.Network && slices.ContainsFunc(traps, func(t *trap.Trap) bool { return t.Cost == trap.Network })
	state, err := confine.Self(w.rules())
	if err != nil {
		return err
	}
	src, err := w.open(parent)
	if rec := w.Target.Record; rec != nil && err == nil {
		at := 0
		if w.Spooled {
			at = 1
		}
		rec.Out, err = confine.Handed(at)
	}
	if err != nil {
		return say(parent, saying{Failed: err.Error()})
	}
	ab := aboutOf(context.Background(), src) // no part of a capture
	src, recorded := w.Target.Record.start(src)
	ab.Confined = state
	if err := say(parent, saying{About: &ab}); err != nil {
		return err
	}
	left := len(traps)
	h := host.New(src)
	trap.Each(context.Background(), h, traps, w.Options, func(i int, r trap.Result) {
		if left--; left == 0 {
			recorded() // before the last result: then the parent ends this process
			if w.Target.Record != nil {
				err = say(parent, saying{Recorded: w.Target.Record.Sum})
			}
		}
		say(parent, saying{Place: i, Result: &r}) // without a parent this process ends
	})
	if look := answers[w.Also]; look != nil {
		return tell(parent, h, look, nil)
	}
	return err
}

// named looks traps up in the order in which the parent wants them.
func named(ids []string, from []*trap.Trap) ([]*trap.Trap, error) {
	all := map[string]*trap.Trap{}
	for _, t := range from {
		all[t.ID()] = t
	}
	out := make([]*trap.Trap, len(ids))
	for i, id := range ids {
		if out[i] = all[id]; out[i] == nil {
			return nil, fmt.Errorf("the confined child knows no trap %q", id)
		}
	}
	return out, nil
}

// rules is what the child may do. Foreign data is read with no more than
// itself in sight.
func (w *work) rules() confine.Rules {
	r := confine.Rules{Network: w.Target.Network}
	switch {
	case w.Target.Root != "":
		r.Read, r.Resolve = []string{w.Target.Root, "/proc/self"}, true
	case w.Target.From != "":
		r.Read, r.Resolve = []string{w.Target.From, "/proc/self"}, true
	}
	return r
}

func (w *work) open(parent *confine.Parent) (host.Source, error) {
	if w.Spooled {
		spool, err := confine.Handed(0)
		if err != nil {
			return nil, err
		}
		return openFrom(w.Target.From, w.Target.Inside, spool)
	}
	if !w.Target.live() {
		return w.Target.open()
	}
	src, err := host.NewLive()
	if err != nil {
		return nil, err
	}
	return parent.Source(src), nil
}

// say sends a message.
func say(parent *confine.Parent, s saying) error {
	b, err := s.packed()
	if err != nil {
		return err
	}
	return parent.Say(b)
}

// packed is a message as it is sent. A result too big to send becomes one that says so.
func (s saying) packed() ([]byte, error) {
	b, err := json.Marshal(s)
	if s.Result != nil && (err != nil || len(b) > confine.MaxSaying) {
		if err == nil {
			err = fmt.Errorf("what the check said: %w", host.ErrTooBig)
		}
		r := trap.Result{Trap: s.Result.Trap, Took: s.Result.Took,
			Outcomes: []trap.Outcome{{Trap: s.Result.Trap, Status: trap.Unknown, Reason: host.Reason(err)}}}
		return json.Marshal(saying{Place: s.Place, Result: &r})
	}
	return b, err
}
