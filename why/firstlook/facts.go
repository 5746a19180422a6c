package firstlook

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"fettle/host"
)

// lookUp says what the host knows of one thing, without opening it.
func lookUp(ctx context.Context, h *host.Host, t Thing) (Fact, bool) {
	f := Fact{Thing: t}
	switch t.Kind {
	case "unit":
		f.Command = "systemctl status " + t.Name
		f.Says = unitState(ctx, h, t.Name)
	case "disk":
		f.Command = "lsblk /dev/" + t.Name
		f.Says = diskState(ctx, h, t.Name)
	case "port":
		f.Command = "ss -ltnp 'sport = :" + t.Name + "'"
		f.Says = portState(ctx, h, t.Name)
	case "file":
		f.Command = "stat " + t.Name
		f.Says = fileState(ctx, h, t.Name)
	}
	return f, f.Says != ""
}

func unitState(ctx context.Context, h *host.Host, name string) string {
	res, err := h.Run(ctx, "systemctl", "show", "--property=LoadState,ActiveState,SubState,StateChangeTimestamp,User,NRestarts,Result",
		"--", name)
	if err != nil || res.Exit != 0 {
		return ""
	}
	v := map[string]string{}
	for line := range strings.Lines(string(res.Stdout)) {
		k, val, _ := strings.Cut(strings.TrimRight(line, "\n"), "=")
		v[k] = val
	}
	if v["LoadState"] != "loaded" {
		return "systemd has it as " + v["LoadState"]
	}
	says := v["ActiveState"] + " (" + v["SubState"] + ")"
	if v["StateChangeTimestamp"] != "" {
		says += " since " + v["StateChangeTimestamp"]
	}
	if v["Result"] != "" && v["Result"] != "success" {
		says += ", result " + v["Result"]
	}
	if v["NRestarts"] != "" && v["NRestarts"] != "0" {
		says += ", restarted " + v["NRestarts"] + " times"
	}
	if v["User"] != "" {
		says += ", runs as " + v["User"]
	}
	return says
}

func diskState(ctx context.Context, h *host.Host, name string) string {
	sys := "/sys/class/block/" + name
	sectors, err := h.ReadString(ctx, sys+"/size")
	if host.IsAbsent(err) {
		return "there is no such block device now"
	}
	n, err := strconv.ParseInt(sectors, 10, 64)
	if err != nil {
		return ""
	}
	says := fmt.Sprintf("%.1f GB", float64(n)*512/1e9)
	if model, err := h.ReadString(ctx, sys+"/device/model"); err == nil && model != "" {
		says = model + ", " + says
	}
	if ro, err := h.ReadString(ctx, sys+"/ro"); err == nil && ro == "1" {
		says += ", read-only"
	}
	if at := mountedAt(ctx, h, name); at != "" {
		says += ", mounted on " + at
	}
	return says
}

func mountedAt(ctx context.Context, h *host.Host, disk string) string {
	b, err := h.ReadFile(ctx, "/proc/self/mountinfo")
	if err != nil {
		return ""
	}
	for _, m := range host.ParseMountinfo(string(b)) {
		if m.Device == "/dev/"+disk {
			mode, _, _ := strings.Cut(m.Options, ",")
			return m.Point + " (" + m.Type + ", " + mode + ")"
		}
	}
	return ""
}

func portState(ctx context.Context, h *host.Host, port string) string {
	res, err := h.Run(ctx, "ss", "-ltn")
	if err != nil || res.Exit != 0 {
		return ""
	}
	var on []string
	for line := range strings.Lines(string(res.Stdout)) {
		if f := strings.Fields(line); len(f) > 3 && f[0] == "LISTEN" && strings.HasSuffix(f[3], ":"+port) {
			on = append(on, f[3])
		}
	}
	if len(on) == 0 {
		return "nothing listens on this TCP port now"
	}
	return "a program listens on " + strings.Join(on[:min(len(on), 3)], ", ") + " (TCP)"
}

// fileState says owner and mode. Files on another machine's file system are left alone: it
// may not answer.
func fileState(ctx context.Context, h *host.Host, name string) string {
	b, err := h.ReadFile(ctx, "/proc/self/mountinfo")
	if err != nil {
		return ""
	}
	best := host.MountInfo{}
	for _, m := range host.ParseMountinfo(string(b)) {
		if (name == m.Point || strings.HasPrefix(name, strings.TrimSuffix(m.Point, "/")+"/")) && len(m.Point) >= len(best.Point) {
			best = m
		}
	}
	if host.MayHang(best.Type) {
		return ""
	}
	i, err := h.Lstat(ctx, name)
	switch {
	case host.IsAbsent(err):
		return "does not exist now" + nearest(ctx, h, name)
	case err != nil:
		return ""
	}
	what := "file"
	switch {
	case i.Mode.IsDir():
		what = "folder"
	case i.Mode&fs.ModeSymlink != 0:
		what = "symbolic link"
	case i.Mode&fs.ModeSocket != 0:
		what = "socket"
	}
	return fmt.Sprintf("%s, mode %04o, owner %d:%d, changed %s",
		what, i.Mode.Perm(), i.UID, i.GID, i.ModTime.Format("2006-01-02 15:04"))
}

// nearest names the parent folder if that does not exist either.
func nearest(ctx context.Context, h *host.Host, name string) string {
	dir := path.Dir(name)
	if ok, err := h.Exists(ctx, dir); err == nil && !ok && dir != "/" {
		return ", nor does " + dir
	}
	return ""
}
