package check

import (
	"path/filepath"
	"time"

	"fettle/cli/app"
	"fettle/engine/trap"
	"fettle/fleet/ssh"
	"fettle/report"
	"fettle/report/accept"
	"fettle/report/history"
)

// fleetHosts is what is remembered and recorded here of other hosts: below the
// state folder, a file or a folder for each, by the name that ssh was given.
type fleetHosts struct {
	opt     outputOptions
	state   string
	known   func(report.TrapInfo) *trap.Trap
	seen    map[string]*accept.Seen // of hosts that are done too: saved when the report is written
	running map[string]*recorder
}

func newFleetHosts(a *app.App, opt outputOptions) (*fleetHosts, error) {
	h := &fleetHosts{opt: opt, seen: map[string]*accept.Seen{}, running: map[string]*recorder{},
		known: func(i report.TrapInfo) *trap.Trap { return a.Trap(i.ID) }}
	if !opt.fresh && !opt.record {
		return h, nil
	}
	var err error
	if h.state, err = accept.StateDir(); err != nil {
		return nil, app.Failf("%w", err)
	}
	return h, nil
}

// event takes in what one host says, and marks what an earlier run showed.
func (h *fleetHosts) event(e *ssh.Event) error {
	switch l := &e.Line; {
	case e.Err != nil:
		delete(h.running, e.Host) // half a run is none
		delete(h.seen, e.Host)
	case l.Type == "begin":
		return h.begin(e.Host, l)
	case l.Result != nil:
		if r := h.running[e.Host]; r != nil {
			r.result(*l.Result)
		}
		if s := h.seen[e.Host]; s != nil {
			s.Mark(l.Result)
		}
	case l.Type == "end":
		r := h.running[e.Host]
		delete(h.running, e.Host)
		if r != nil && l.Took != nil {
			return r.add(history.In(app.HostState(h.state, e.Host)), *l.Took, 0)
		}
	}
	return nil
}

func (h *fleetHosts) begin(host string, l *report.Line) (err error) {
	if h.opt.record {
		r := &recorder{}
		var traps []*trap.Trap
		for _, i := range l.Traps {
			if t := h.known(i); t != nil {
				traps = append(traps, t)
			}
		}
		r.begin(*l.Meta, traps)
		h.running[host] = r
	}
	if h.opt.fresh {
		h.seen[host], err = accept.OpenSeen(filepath.Join(h.state, "new"), "ssh", host, time.Now())
	}
	return err
}

// save remembers what was shown.
func (h *fleetHosts) save() error {
	for _, s := range h.seen {
		if err := s.Save(); err != nil {
			return app.Failf("%w", err)
		}
	}
	return nil
}
