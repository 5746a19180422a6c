// Package paste builds a small host from pasted output, so that the checks of traps can judge
// it: /proc/mdstat, KSM's files, sysctl -a, ip -d address. What was not pasted counts as not
// collected, so no check can call the host healthy.
package paste

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fettle/engine/message"
	"fettle/host"
	"fettle/host/sample"
	"fettle/host/sosreport"
	"fettle/internal/lazy"
)

// Limit is how long a paste may be, in bytes.
const Limit = 256 << 10

// Host is the host that a paste shows, and what it was made of ("/proc/mdstat"); nil where
// the paste has none of the forms that are read.
func Host(text string) (*host.Host, []string) {
	if len(text) > Limit {
		return nil, nil
	}
	p := parts{files: map[string]string{}}
	for line := range strings.Lines(text) {
		p.lines = append(p.lines, message.ParseLine(line).Raw)
	}
	p.mdstat()
	p.ksm()
	p.sysctl()
	links := p.ip(text)
	if len(p.files) == 0 && links == nil {
		return nil, nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "hostname: paste\nincomplete: true\n")
	for name, content := range p.files {
		fmt.Fprintf(&b, "-- root%s --\n%s\n", name, content)
	}
	if links != nil {
		fmt.Fprintf(&b, "-- table/links --\n%s\n", links)
	}
	src, _, err := sample.Parse([]byte(b.String()))
	if err != nil {
		return nil, nil
	}
	return host.New(listed{src, p.folders}), p.of
}

// listed is a host of which some folders were shown as a whole: what they do not have is
// absent.
type listed struct {
	host.Source
	folders []string
}

func (l listed) ReadFile(ctx context.Context, path string, limit int64) ([]byte, error) {
	b, err := l.Source.ReadFile(ctx, path, limit)
	return b, l.absent(path, err)
}

func (l listed) Stat(ctx context.Context, path string, follow bool) (host.Info, error) {
	i, err := l.Source.Stat(ctx, path, follow)
	return i, l.absent(path, err)
}

func (l listed) absent(path string, err error) error {
	if errors.Is(err, host.ErrNotCollected) && slices.ContainsFunc(l.folders, func(f string) bool { return strings.HasPrefix(path, f) }) {
		return host.ErrAbsent
	}
	return err
}

// Empty is a host of which nothing is known: what a check says of it, a paste does not say.
func Empty() *host.Host {
	src, _, err := sample.Parse([]byte("hostname: paste\nincomplete: true\n"))
	if err != nil {
		panic(err) // this very text
	}
	return host.New(src)
}

type parts struct {
	lines   []string
	folders []string // shown as a whole
	files   map[string]string
	of      []string
}

func (p *parts) saw(what string) {
	if !slices.Contains(p.of, what) {
		p.of = append(p.of, what)
	}
}

var (
	mdHead = lazy.Regexp(`^(md[\w.-]+) : active (?:\([\w-]+\) )?raid\d+ `)
	mdSize = lazy.Regexp(`\[(\d+)/(\d+)\] \[[U_]+\]`)
	mdSync = lazy.Regexp(`^\[[=>.]+\] +(recovery|resync|reshape|check) =|^(recovery|resync|reshape)=(?:PENDING|DELAYED)`)
)

// mdstat reads /proc/mdstat as drivers/md/md.c (md_seq_show) prints it, into the files that
// say the same below /sys.
func (p *parts) mdstat() {
	dir := ""
	for _, line := range p.lines {
		if m := mdHead().FindStringSubmatch(line); m != nil {
			dir = "/sys/block/" + m[1] + "/md/"
			continue
		}
		if dir == "" {
			continue
		}
		if m := mdSize().FindStringSubmatch(line); m != nil {
			all, _ := strconv.Atoi(m[1])
			there, _ := strconv.Atoi(m[2])
			if there > all {
				continue
			}
			p.files[dir+"raid_disks"], p.files[dir+"degraded"] = m[1], strconv.Itoa(all-there)
			p.files[dir+"sync_action"] = "idle"
			p.saw("/proc/mdstat")
		}
		if m := mdSync().FindStringSubmatch(line); m != nil && p.files[dir+"degraded"] != "" {
			p.files[dir+"sync_action"] = strings.Replace(m[1]+m[2], "recovery", "recover", 1)
		}
	}
}

const ksmDir = "/sys/kernel/mm/ksm/"

var ksmFile = lazy.Regexp(`^(?:/sys/kernel/mm/ksm/)?(run|sleep_millisecs|pages_\w+|full_scans|max_page_sharing|merge_across_nodes|stable_node_\w+|` +
	`use_zero_pages|ksm_zero_pages|general_profit|advisor_\w+|smart_scan)\s*[:= ]\s*(-?\d+|none \[scan-time\]|\[none\] scan-time)$`)

// ksm reads the files of /sys/kernel/mm/ksm, as grep . prints them, or by their names.
func (p *parts) ksm() {
	found := map[string]string{}
	for _, line := range p.lines {
		if m := ksmFile().FindStringSubmatch(line); m != nil {
			found[ksmDir+m[1]] = m[2]
		}
	}
	if len(found) < 3 || found[ksmDir+"pages_to_scan"] == "" {
		return
	}
	if found[ksmDir+"run"] == "" && found[ksmDir+"pages_sharing"] != "" && found[ksmDir+"pages_sharing"] != "0" {
		found[ksmDir+"run"] = "1" // pages are shared: it runs, or was stopped with them kept
	}
	for _, name := range []string{"pages_unshared", "pages_volatile", "pages_sharing", "pages_shared"} {
		if found[ksmDir+name] == "" { // at least: no check finds less than there is
			found[ksmDir+name] = "0"
		}
	}
	for name, value := range found {
		p.files[name] = value
	}
	p.folders = append(p.folders, ksmDir)
	p.saw(ksmDir)
}

var sysctlLine = lazy.Regexp(`^((?:abi|debug|dev|fs|kernel|net|sunrpc|user|vm)\.[\w./*-]+(?:\.[\w/-]+)*) = ?(.*)$`)

// sysctl reads what sysctl prints.
func (p *parts) sysctl() {
	for _, line := range p.lines {
		m := sysctlLine().FindStringSubmatch(line)
		if m == nil || strings.Contains(m[1], "..") || strings.Contains(m[1], "*") {
			continue
		}
		// sysctl has dots for slashes, and slashes for the dots of a name (procps, proc/escape).
		name := strings.NewReplacer(".", "/", "/", ".").Replace(m[1])
		p.files["/proc/sys/"+name] = m[2]
		p.saw("sysctl " + m[1])
	}
	if len(p.of) > 6 {
		p.of = append(p.of[:5], "and other settings of sysctl")
	}
}

var ipHead = lazy.Regexp(`(?m)^\d+: [^\s:]+: <[A-Z0-9_,-]+> mtu \d+ `)

// ip reads what ip -d link and ip -d address print.
func (p *parts) ip(text string) []byte {
	at := ipHead().FindStringIndex(text)
	if at == nil {
		return nil
	}
	links, err := sosreport.ParseLinks(strings.ReplaceAll(text[at[0]:], "\r", ""))
	if err != nil {
		return nil
	}
	b, err := json.Marshal(links)
	if err != nil {
		return nil
	}
	p.saw("ip address")
	return b
}
