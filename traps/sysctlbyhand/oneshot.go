package sysctlbyhand

import (
	"context"
	"regexp"
	"strings"

	"fettle/host"
	"fettle/internal/lazy"
)

// oneshot is a service that turns forwarding on at boot, and leaves no process of its own.
type oneshot struct {
	unit string // a link to it in a target's wants enables it
	conf []string
	on   func() *regexp.Regexp // a line with it is needed; nil: it does unless a line has off
	off  func() *regexp.Regexp
}

var oneshots = []oneshot{
	// lxc-net, line 139 of LXC 5.0.2
	{unit: "lxc-net.service", conf: []string{"/etc/default/lxc", "/etc/default/lxc-net"}, off: lazy.Regexp(`(?m)^\s*USE_LXC_BRIDGE="?false`)},
	{unit: "shorewall.service", conf: []string{"/etc/shorewall/shorewall.conf"}, on: lazy.Regexp(`(?mi)^\s*IP_FORWARDING="?(?:on|yes)`)},
	{unit: "shorewall6.service", conf: []string{"/etc/shorewall6/shorewall6.conf"}, on: lazy.Regexp(`(?mi)^\s*IP_FORWARDING="?(?:on|yes)`)},
}

// forwarding tells whether such a service is enabled.
func forwarding(ctx context.Context, h *host.Host) (bool, error) {
	for i := range oneshots {
		yes, err := oneshots[i].forwards(ctx, h)
		if yes || err != nil {
			return yes, err
		}
	}
	return false, nil
}

func (o *oneshot) forwards(ctx context.Context, h *host.Host) (bool, error) {
	enabled := false
	for _, target := range []string{"multi-user", "basic", "network-online"} {
		_, err := h.Readlink(ctx, "/etc/systemd/system/"+target+".target.wants/"+o.unit)
		if err != nil && !host.IsAbsent(err) {
			return false, err
		}
		enabled = enabled || err == nil
	}
	if !enabled {
		return false, nil
	}
	var text strings.Builder
	for _, f := range o.conf {
		t, err := h.ReadString(ctx, f)
		if err != nil && !host.IsAbsent(err) {
			return false, err
		}
		text.WriteString(t + "\n")
	}
	return o.on != nil && o.on().MatchString(text.String()) || o.off != nil && !o.off().MatchString(text.String()), nil
}
