package counterwrap

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/fact/kernelversion"
	"fettle/internal/lazy"
)

// vif is how Xen's toolstack names the backend of domain N's device M.
var vif = lazy.Regexp(`^vif[0-9]+\.[0-9]+$`)

// words32 are machines whose unsigned long has 32 bits: there struct
// net_device_stats, which xen-netback fills, holds 32 bits in any version.
var words32 = []string{"i386", "i486", "i586", "i686", "x86", "armv6l", "armv7l", "arm"}

// narrow tells whether xen-netback of a kernel counts in 32 bits, and why.
//
// Linux 3.16 gave each queue counters of its own, of type unsigned int
// (drivers/net/xen-netback/common.h, struct xenvif_stats); 4.10 made them u64
// (commit ebf692f85ff7). Before 3.16 the device's own counters of type
// unsigned long were used.
func narrow(id host.Identity) (yes bool, why string, err error) {
	v, err := kernelversion.Parse(id.Release)
	if err != nil {
		return false, "", fmt.Errorf("the kernel's version is not known: uname -r is %q", id.Release)
	}
	switch {
	case slices.Contains(words32, id.Machine):
		return true, "the kernel is a 32-bit one", nil
	case v.Before("3.16-rc1"): // both came in a merge window
		return false, "kernels before 3.16 count per device in 64 bits", nil
	case v.Before("4.10-rc1"):
		return true, "xen-netback of Linux 3.16 to 4.9 counts each queue in 32 bits", nil
	}
	return false, "since Linux 4.10 xen-netback counts in 64 bits", nil
}

func checkNetback(ctx context.Context, h *host.Host, r *trap.Report) {
	if !h.Running() {
		r.NotApplicable(netback, host.ErrNotRunning.Error())
		return
	}
	links, err := h.Links(ctx)
	if err != nil {
		r.Unknown(netback, err)
		return
	}
	var vifs []string
	for _, l := range links {
		if vif().MatchString(l.Name) {
			vifs = append(vifs, l.Name)
		}
	}
	if len(vifs) == 0 {
		r.NotApplicable(netback, "there is no Xen guest backend (vifN.M) here")
		return
	}
	ev := []trap.Evidence{trap.Ev("links", "%s", some(vifs)), trap.Ev("uname", "%s %s", h.Identity().Release, h.Identity().Machine)}
	xen, xenErr := underXen(ctx, h) // another program may call an interface so
	if xenErr == nil && !xen {
		r.NotApplicable(netback, "this kernel does not run under Xen", ev...)
		return
	}
	yes, why, err := narrow(h.Identity())
	if err != nil {
		r.Unknown(netback, err, ev...)
		return
	}
	if !yes {
		r.Clear(netback, "counts in 64 bits", append(ev, trap.Ev("kernel", "%s", why))...)
		return
	}
	w, err := wide(ctx, h, vifs)
	if w != nil {
		// Distributions take fixes into older versions.
		r.Clear(netback, "counts in more than 32 bits", append(ev, *w)...)
		return
	}
	if err := cmp.Or(xenErr, err); err != nil {
		r.Unknown(netback, err, append(ev, trap.Ev("kernel", "%s", why))...)
		return
	}
	r.Found(trap.Finding{Subject: netback, Severity: trap.Warning,
		Summary: "the traffic counters of guests wrap at 32 bits behind 64-bit files",
		Detail: trap.Lines(
			fmt.Sprintf(
				"%d interfaces. %s, so a counter wraps every 5 minutes at 114.5 "+
					"Mbit/s, every minute at 573 Mbit/s: pollers then show less than there was,"+
					" with SNMP's 64-bit counters too. Several queues are added up, so readings may exceed 2^32 and fall by 2^32.",
				len(vifs),
				capital(why),
			),
			"To see it: fettle measure counters "+vifs[0]+" --for 10m",
		),
		Evidence: append(ev, trap.Ev("kernel", "%s", why))})
}

func underXen(ctx context.Context, h *host.Host) (bool, error) {
	xen, err := h.Exists(ctx, "/proc/xen")
	if xen {
		return true, nil
	}
	typ, typErr := h.ReadString(ctx, "/sys/hypervisor/type")
	if host.IsAbsent(typErr) {
		typErr = nil
	}
	if typ == "xen" {
		return true, nil
	}
	return false, cmp.Or(err, typErr)
}

// wide looks for a reading that 32-bit queues cannot have: the kernel's
// version says that it is affected, and its distribution may have fixed it.
func wide(ctx context.Context, h *host.Host, vifs []string) (*trap.Evidence, error) {
	if slices.Contains(words32, h.Identity().Machine) {
		return nil, nil
	}
	var unread error
	for _, name := range vifs {
		dir := path.Join("/sys/class/net", name)
		queues, err := h.Glob(ctx, dir+"/queues", "rx-*")
		if err != nil || len(queues) == 0 {
			unread = cmp.Or(unread, err)
			continue // how many there are must be known
		}
		for _, file := range []string{"rx_bytes", "tx_bytes"} {
			s, err := h.ReadString(ctx, dir+"/statistics/"+file)
			if err != nil {
				if !host.IsAbsent(err) {
					unread = cmp.Or(unread, err)
				}
				continue
			}
			n, err := strconv.ParseUint(s, 10, 64)
			if err == nil && n > uint64(len(queues))<<32 {
				return &trap.Evidence{
					Source: dir + "/statistics/" + file,
					Value:  fmt.Sprintf("%d, more than %d queues of 32 bits hold", n, len(queues)),
				}, nil
			}
		}
	}
	return nil, unread
}

// some names a few of many.
func some(names []string) string {
	if len(names) > 8 {
		return strings.Join(names[:8], " ") + fmt.Sprintf(" and %d more", len(names)-8)
	}
	return strings.Join(names, " ")
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
