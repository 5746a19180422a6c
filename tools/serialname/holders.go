package serialname

import (
	"context"
	"slices"
	"strconv"

	"fettle/host"
)

// Holder is a process that has a device open.
type Holder struct {
	PID  int    `json:"pid"`
	Name string `json:"name"` // /proc/PID/comm
}

// Holders tells which processes have which devices open, by the devices'
// kernel names, and how many processes could not be asked.
func Holders(ctx context.Context, h *host.Host, devices []Device) (map[string][]Holder, int) {
	byPath := map[string]string{}
	for i := range devices {
		byPath[devices[i].Dev()] = devices[i].Kernel
	}
	out := map[string][]Holder{}
	if len(byPath) == 0 {
		return out, 0
	}
	unseen := 0
	es, _ := h.ReadDir(ctx, "/proc")
	for _, e := range es {
		pid, err := strconv.Atoi(e.Name)
		if err != nil {
			continue
		}
		fds, err := h.ReadDir(ctx, "/proc/"+e.Name+"/fd")
		if err != nil {
			if !host.IsAbsent(err) {
				unseen++
			}
			continue
		}
		for _, fd := range fds {
			to, err := h.Readlink(ctx, "/proc/"+e.Name+"/fd/"+fd.Name)
			kernel, ok := byPath[to]
			if err != nil || !ok || slices.ContainsFunc(out[kernel], func(x Holder) bool { return x.PID == pid }) {
				continue
			}
			name, _ := h.ReadString(ctx, "/proc/"+e.Name+"/comm")
			out[kernel] = append(out[kernel], Holder{pid, name})
		}
	}
	return out, unseen
}
