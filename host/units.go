package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// ErrNoSystemd says that systemd does not run the host: there are no units.
var ErrNoSystemd = errors.New("this host does not run systemd")

// Unit is what systemd says of one unit (org.freedesktop.systemd1(5),
// systemctl(1) show).
type Unit struct {
	Name          string `json:"name"`            // as it was asked for
	ID            string `json:"id,omitempty"`    // the name it really has, when asked by an alias
	LoadState     string `json:"load_state"`      // loaded, not-found, masked, …
	ActiveState   string `json:"active_state"`    // active, reloading, inactive, failed, activating, deactivating
	SubState      string `json:"sub_state"`       // running, exited, dead, …
	UnitFileState string `json:"unit_file_state"` // enabled, disabled, static, masked, …; empty when it has no file
	FragmentPath  string `json:"fragment_path,omitempty"`
	Type          string `json:"type,omitempty"` // of a service: simple, notify, oneshot, …
	MainPID       int    `json:"main_pid,omitempty"`
	CanReload     bool   `json:"can_reload,omitempty"`
	// NoManualStart and NoManualStop: systemctl refuses to (re)start or stop it.
	NoManualStart bool `json:"no_manual_start,omitempty"`
	NoManualStop  bool `json:"no_manual_stop,omitempty"`
	// NeedsDaemonReload: its files changed since systemd read them.
	NeedsDaemonReload bool `json:"needs_daemon_reload,omitempty"`
	// Partial: only Name, LoadState, ActiveState and SubState are known
	// (from the text of systemctl list-units).
	Partial bool `json:"partial,omitempty"`
}

// Active reports whether the unit runs now.
func (u Unit) Active() bool { return u.ActiveState == "active" || u.ActiveState == "reloading" }

// together are units that are asked about with one command, whoever needs one
// of them: each command costs some milliseconds. It is the same for every
// selection of checks, so that a capture answers all of them.
var together unitNames

type unitNames struct {
	mu    sync.Mutex
	names []string // sorted
}

func (u *unitNames) all() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.names
}

// AskTogether adds units to those that Units asks about with one command.
func AskTogether(names ...string) {
	together.mu.Lock()
	defer together.mu.Unlock()
	together.names = slices.Compact(slices.Sorted(slices.Values(slices.Concat(together.names, names))))
}

const unitProperties = "Id,LoadState,ActiveState,SubState,UnitFileState,FragmentPath,Type,MainPID,CanReload," +
	"RefuseManualStart,RefuseManualStop,NeedDaemonReload"

// Systemd is nil where systemd runs this host, else ErrNoSystemd or ErrNotRunning.
func (h *Host) Systemd(ctx context.Context) error {
	if !h.Running() {
		return ErrNotRunning
	}
	// sd_booted(3): the folder exists if and only if systemd is process 1.
	if _, err := h.Stat(ctx, "/run/systemd/system"); IsAbsent(err) {
		return ErrNoSystemd
	}
	return nil
}

// Unit reads the state of one systemd unit. A unit that systemd does not know
// is no error: its LoadState is not-found. ErrNoSystemd: no systemd runs here.
func (h *Host) Unit(ctx context.Context, name string) (Unit, error) {
	us, err := h.Units(ctx, name)
	return us[name], err
}

// Units is Unit for several units with one command. The result holds every
// name that was asked for. Where all of them are asked about together with others
// (AskTogether), it holds those, too.
func (h *Host) Units(ctx context.Context, names ...string) (map[string]Unit, error) {
	all := together.all()
	for _, n := range names {
		if _, ok := slices.BinarySearch(all, n); !ok {
			return h.unitsAlone(ctx, names)
		}
	}
	us, err := h.unitsAlone(ctx, all)
	if errors.Is(err, ErrNotCollected) { // a capture of another version asked otherwise
		return h.unitsAlone(ctx, names)
	}
	return us, err
}

func (h *Host) unitsAlone(ctx context.Context, names []string) (map[string]Unit, error) {
	out := map[string]Unit{}
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	for _, n := range names {
		if !validUnitName(n) {
			return nil, fmt.Errorf("%q is not the name of a systemd unit", n)
		}
	}
	if len(names) == 0 {
		return out, nil
	}
	if err := h.Systemd(ctx); err != nil {
		return nil, err
	}
	args := append([]string{"show", "--property=" + unitProperties, "--"}, names...)
	res, err := h.Run(ctx, "systemctl", args...)
	if errors.Is(err, ErrNotCollected) {
		return h.listedUnits(ctx, names, err)
	}
	if err != nil {
		return nil, err
	}
	if res.Exit != 0 {
		return nil, fmt.Errorf("systemctl show failed with status %d: %s", res.Exit, firstLine(res.Stderr))
	}
	us := parseUnits(res.Stdout)
	if len(us) != len(names) {
		return nil, fmt.Errorf("systemctl show answered for %d of %d requested units", len(us), len(names))
	}
	for i, n := range names {
		us[i].Name = n
		out[n] = us[i]
	}
	return out, nil
}

// listedUnits makes do with the text of `systemctl list-units`, which a
// sosreport has where it has nothing else.
func (h *Host) listedUnits(ctx context.Context, names []string, instead error) (map[string]Unit, error) {
	res, err := h.Run(ctx, "systemctl", "list-units")
	if err != nil || res.Exit != 0 {
		return nil, instead
	}
	listed := map[string]Unit{}
	for _, u := range ParseListedUnits(res.Stdout) {
		listed[u.Name] = u
	}
	out := map[string]Unit{}
	for _, n := range names {
		u, ok := listed[n]
		if !ok { // list-units leaves out what is not in memory
			return nil, fmt.Errorf("%s is not among the listed units: %w", n, instead)
		}
		out[n] = u
	}
	return out, nil
}

// validUnitName follows systemd.unit(5), "valid unit names".
func validUnitName(n string) bool {
	dot := strings.LastIndexByte(n, '.')
	return dot > 0 && dot < len(n)-1 && len(n) <= 255 && n[0] != '-' &&
		strings.Trim(n, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:-_.\\@") == ""
}

// parseUnits reads the blocks of name=value lines that systemctl show prints,
// one block a unit, an empty line between.
func parseUnits(b []byte) []Unit {
	var out []Unit
	inBlock := false
	for line := range strings.Lines(string(b)) {
		k, v, ok := strings.Cut(strings.TrimRight(line, "\n"), "=")
		if !ok {
			inBlock = inBlock && k != ""
			continue
		}
		if !inBlock {
			out, inBlock = append(out, Unit{}), true
		}
		u := &out[len(out)-1]
		switch k {
		case "Id":
			u.ID = v
		case "LoadState":
			u.LoadState = v
		case "ActiveState":
			u.ActiveState = v
		case "SubState":
			u.SubState = v
		case "UnitFileState":
			u.UnitFileState = v
		case "FragmentPath":
			u.FragmentPath = v
		case "Type":
			u.Type = v
		case "MainPID":
			u.MainPID, _ = strconv.Atoi(v)
		case "CanReload":
			u.CanReload = v == "yes"
		case "RefuseManualStart":
			u.NoManualStart = v == "yes"
		case "RefuseManualStop":
			u.NoManualStop = v == "yes"
		case "NeedDaemonReload":
			u.NeedsDaemonReload = v == "yes"
		}
	}
	return out
}

// TroubledUnits are systemctl's arguments that list the units that have failed, and
// the services that wait for their next start after they ended. ParseListedUnits reads the answer.
var TroubledUnits = []string{"list-units", "--state=failed,auto-restart", "--all", "--plain", "--no-legend", "--no-pager"}

// TroubledUnits lists them. Where systemd does not run the host it is an error.
func (h *Host) TroubledUnits(ctx context.Context) ([]Unit, error) {
	res, err := h.Run(ctx, "systemctl", TroubledUnits...)
	if err != nil {
		return nil, err
	}
	if res.Exit != 0 {
		return nil, fmt.Errorf("systemctl list-units failed with status %d", res.Exit)
	}
	return ParseListedUnits(res.Stdout), nil
}

// ParseListedUnits reads the table that systemctl list-units prints: UNIT LOAD
// ACTIVE SUB DESCRIPTION, with a mark before units in trouble.
func ParseListedUnits(b []byte) []Unit {
	var out []Unit
	for line := range bytes.Lines(b) {
		f := strings.Fields(strings.TrimLeft(string(line), " *●○×↻"))
		if len(f) >= 4 && validUnitName(f[0]) {
			out = append(out, Unit{Name: f[0], LoadState: f[1], ActiveState: f[2], SubState: f[3], Partial: true})
		}
	}
	return out
}

func firstLine(b []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(b)), "\n")
	return line
}
