package bootdevicegone

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/format/fstab"
)

const crypttabFile = "/etc/crypttab"

// volume is one line of crypttab(5).
type volume struct {
	name, device, key string
	options           []string
	line              int
}

func (v *volume) has(option string) bool { return slices.Contains(v.options, option) }

func crypttab(ctx context.Context, h *host.Host) ([]volume, error) {
	b, err := h.ReadFile(ctx, crypttabFile)
	if host.IsAbsent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []volume
	n := 0
	for line := range strings.Lines(string(b)) {
		n++
		f := strings.Fields(line)
		if len(f) < 2 || f[0][0] == '#' {
			continue
		}
		v := volume{name: f[0], device: f[1], line: n}
		if len(f) > 2 && f[2] != "none" && f[2] != "-" {
			v.key = f[2]
		}
		if len(f) > 3 {
			v.options = strings.Split(f[3], ",")
		}
		out = append(out, v)
	}
	return out, nil
}

// volume judges one line: its device, and the file of its key where that is a file on this host.
func (w *world) volume(ctx context.Context, v volume, r *trap.Report) {
	if v.has("noauto") {
		w.gone[v.name] = ""
		return
	}
	subject := "encrypted volume " + v.name
	why, err := w.locked(ctx, v)
	if err != nil {
		r.Unknown(subject, err)
		return
	}
	if why == "" {
		return
	}
	w.gone[v.name] = "is unlocked from " + v.device + " by " + crypttabFile + ", and " + why
	if v.has("nofail") {
		return
	}
	at := fmt.Sprintf("%s:%d", crypttabFile, v.line)
	r.Found(trap.Finding{
		Subject:  subject,
		Severity: trap.Warning,
		Start:    trap.StartWithout,
		Summary:  "is open, and the next start cannot unlock it",
		Detail:   trap.Prose(why),
		Evidence: []trap.Evidence{trap.Ev(at, "%s %s", v.name, v.device), trap.Ev(at, "%s", why)},
		ByHand:   "correct " + at + ", or add nofail to its options if the host can do without it",
	})
}

// locked says why a volume cannot be unlocked; empty if nothing is seen that keeps it locked.
func (w *world) locked(ctx context.Context, v volume) (string, error) {
	dev, there, err := fstab.There(ctx, w.h, v.device)
	if dev == "" && path.IsAbs(v.device) { // a file
		dev = v.device
		there, err = w.h.Exists(ctx, dev)
	}
	if err != nil {
		return "", err
	}
	if !there {
		return dev + " does not exist", nil
	}
	// With ":" the key is on another device, and with a script it is no file to be read.
	script := slices.ContainsFunc(v.options, func(o string) bool { return strings.HasPrefix(o, "keyscript=") })
	if !path.IsAbs(v.key) || strings.Contains(v.key, ":") || strings.HasPrefix(v.key, "/dev/") || script {
		return "", nil
	}
	there, err = w.h.Exists(ctx, v.key)
	if err != nil || there {
		return "", err
	}
	return "its key " + v.key + " does not exist", nil
}
