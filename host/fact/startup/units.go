// Package startup is what systemd would start if the host started now: the units that are
// active, what starts them at boot, and the text of their files.
package startup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fettle/host"
	"fettle/host/fact/container"
	"fettle/internal/sorted"
)

// Unit is an active unit (org.freedesktop.systemd1(5)).
type Unit struct {
	ID, LoadState, ActiveState, SubState, UnitFileState string
	FragmentPath, SourcePath                            string
	DropIns                                             []string
	Type                                                string // of a service: simple, notify, oneshot, …
	Slice                                               string
	MainPID                                             int
	Transient                                           bool
	NeedsReload                                         bool
	// By are the units whose start starts this one: those that want, require, uphold or are
	// bound to it. TriggeredBy are the sockets, timers, paths and automounts that start it.
	By, TriggeredBy []string
}

// Kind is the unit's type: "service".
func (u *Unit) Kind() string { return u.ID[strings.LastIndexByte(u.ID, '.')+1:] }

const properties = "Id,LoadState,ActiveState,SubState,UnitFileState,FragmentPath,SourcePath,DropInPaths,Transient,NeedDaemonReload," +
	"WantedBy,RequiredBy,RequisiteOf,BoundBy,UpheldBy,TriggeredBy,Type,MainPID,Slice"

// Question is systemctl's arguments that ask for all active units at once.
var Question = []string{"show", "--property=" + properties, "--", "*"}

// Units asks systemd for its active units, sorted by name. Where systemd does not run the host,
// the error is host.ErrNoSystemd or host.ErrNotRunning.
func Units(ctx context.Context, h *host.Host) ([]Unit, error) {
	if err := h.Systemd(ctx); err != nil {
		return nil, err
	}
	out, err := h.Run(ctx, "systemctl", Question...)
	if err != nil {
		return nil, err
	}
	if out.Exit != 0 {
		return nil, fmt.Errorf("systemctl show failed with status %d", out.Exit)
	}
	us := parse(string(out.Stdout))
	if len(us) == 0 {
		return nil, fmt.Errorf("systemctl show named no unit")
	}
	return us, nil
}

// NoManager is why there are no units in a container that no systemd runs.
const NoManager = "no service manager: what starts the container starts its program"

// WithoutManager reports whether err says that systemd does not run the host, and the host is a
// container, in which that is usual.
func WithoutManager(ctx context.Context, h *host.Host, err error) bool {
	return errors.Is(err, host.ErrNoSystemd) && container.Of(ctx, h) != ""
}

// parse reads paragraphs of name=value lines, one a unit. In which order systemctl prints a
// unit's properties differs by version.
func parse(text string) []Unit {
	var out []Unit
	for block := range strings.SplitSeq(text, "\n\n") {
		var u Unit
		for line := range strings.Lines(block) {
			k, v, _ := strings.Cut(strings.TrimRight(line, "\n"), "=")
			u.set(k, v)
		}
		if strings.Contains(u.ID, ".") {
			out = append(out, u)
		}
	}
	sorted.By(out, func(a, b Unit) int { return strings.Compare(a.ID, b.ID) })
	return slices.CompactFunc(out, func(a, b Unit) bool { return a.ID == b.ID })
}

func (u *Unit) set(key, value string) {
	switch key {
	case "Id":
		u.ID = value
	case "LoadState":
		u.LoadState = value
	case "ActiveState":
		u.ActiveState = value
	case "SubState":
		u.SubState = value
	case "UnitFileState":
		u.UnitFileState = value
	case "FragmentPath":
		u.FragmentPath = value
	case "SourcePath":
		u.SourcePath = value
	case "Type":
		u.Type = value
	case "Slice":
		u.Slice = value
	case "DropInPaths":
		u.DropIns = strings.Fields(value)
	case "Transient":
		u.Transient = value == "yes"
	case "NeedDaemonReload":
		u.NeedsReload = value == "yes"
	case "MainPID":
		u.MainPID, _ = strconv.Atoi(value)
	case "WantedBy", "RequiredBy", "RequisiteOf", "BoundBy", "UpheldBy":
		u.By = append(u.By, strings.Fields(value)...)
	case "TriggeredBy":
		u.TriggeredBy = strings.Fields(value)
	}
}
