// Package startup is what systemd would start if the host started now: the units that are
// active, what starts them at boot, and the text of their files.
package startup

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fettle/host"
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

// Instance tells whether it is made of a template.
func (u *Unit) Instance() bool { return strings.Contains(u.ID, "@") }

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
	text := map[string]*string{"Id": &u.ID, "LoadState": &u.LoadState, "ActiveState": &u.ActiveState, "SubState": &u.SubState,
		"UnitFileState": &u.UnitFileState, "FragmentPath": &u.FragmentPath, "SourcePath": &u.SourcePath, "Type": &u.Type, "Slice": &u.Slice}
	switch key {
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
	default:
		if at := text[key]; at != nil {
			*at = value
		}
	}
}
