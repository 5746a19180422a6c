package sosreport

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"fettle/host"
)

// tables lists from which outputs each table is made. The names are those
// that sos gives (sos/report/plugins, _mangle_command): blanks become "_".
var tables = map[host.Table]func(*Source) (any, error){
	host.TableLinks: func(s *Source) (any, error) {
		text, err := s.output(ipAddress...)
		if err != nil {
			return nil, err
		}
		return ParseLinks(text)
	},
	host.TableRoutes6: func(s *Source) (any, error) {
		text, err := s.output("sos_commands/networking/ip_-6_route_show_table_all")
		if err != nil {
			return nil, err
		}
		return parseRoutes(text)
	},
	host.TableProcesses:   func(s *Source) (any, error) { return s.processes() },
	host.TableOpenFiles:   func(s *Source) (any, error) { return s.openFiles() },
	host.TableFilesystems: func(s *Source) (any, error) { return s.filesystems() },
	host.TableJournal:     func(s *Source) (any, error) { return s.journal() },
}

// ipAddress is where sos keeps the links and their addresses.
var ipAddress = []string{"sos_commands/networking/ip_-d_address", "sos_commands/networking/ip_address", "sos_commands/networking/ip_addr"}

func (s *Source) Table(_ context.Context, t host.Table) ([]byte, error) {
	read, ok := tables[t]
	if !ok {
		return nil, host.ErrNotCollected
	}
	once, _ := s.tables.LoadOrStore(t, sync.OnceValues(func() ([]byte, error) {
		v, err := read(s)
		if err != nil {
			return nil, err
		}
		return json.Marshal(v)
	}))
	return once.(func() ([]byte, error))()
}

// Command answers a command that sos ran with the same arguments, and those
// that other outputs tell.
func (s *Source) Command(_ context.Context, c host.Command) (host.Output, error) {
	if done, ok := s.man.byExec[c.String()]; ok && done.usable() {
		if b, err := s.tree.ReadFile("/"+done.File, host.ReadLimit); err == nil {
			return host.Output{Stdout: b, Exit: done.Code}, nil
		}
	}
	switch {
	case c.Name == "systemctl" && slices.Equal(c.Args, host.TroubledUnits):
		return s.troubledUnits()
	case c.Name == "systemctl" && len(c.Args) > 0 && c.Args[0] == "show":
		return s.systemctlShow(c.Args[1:])
	case c.Name == "mdadm" && len(c.Args) == 2 && c.Args[0] == "--examine":
		return s.mdadmExamine(c.Args[1])
	case c.Name == "rpm" && slices.Equal(c.Args[:min(2, len(c.Args))], []string{"-qa", "--qf"}):
		return s.rpmList(c.Args[2])
	case c.String() == "ss -ltn":
		return s.listeners()
	case c.Name == "lvs":
		return s.lvs()
	case c.String() == "dmsetup status":
		text, err := s.output(dmsetupStatus)
		return host.Output{Stdout: []byte(text)}, err
	}
	return host.Output{}, host.ErrNotCollected
}

// listeners answers `ss -ltn` from `ss -peaonmi`, which names the kind of
// socket before its state and has no heading to rely on.
func (s *Source) listeners() (host.Output, error) {
	text, err := s.output("sos_commands/networking/ss_-peaonmi")
	if err != nil {
		return host.Output{}, err
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) > 5 && f[0] == "tcp" && f[1] == "LISTEN" {
			b.WriteString(strings.Join(f[1:6], " ") + "\n")
		}
	}
	return host.Output{Stdout: []byte(b.String())}, nil
}

// shownServices has the properties of all services.
const shownServices = "sos_commands/systemd/systemctl_show_service_--all"

// systemctlShow answers `systemctl show UNIT… [-p NAME,…] [--value]` from
// `systemctl show *service --all`: paragraphs of NAME=VALUE, one a unit.
func (s *Source) systemctlShow(args []string) (host.Output, error) {
	units, props, bare, ok := showArgs(args)
	if !ok || len(units) == 0 {
		return host.Output{}, host.ErrNotCollected
	}
	shown, err := s.shown()
	if err != nil {
		return host.Output{}, err
	}
	var out []string
	for _, u := range units {
		if u == "*.service" { // all of them
			for _, b := range shown.blocks {
				if strings.Contains(b, "Id=") {
					out = append(out, pickProps(b, props, bare))
				}
			}
			continue
		}
		b, ok := shown.unit(u)
		if !ok {
			return host.Output{}, host.ErrNotCollected
		}
		out = append(out, pickProps(b, props, bare))
	}
	return host.Output{Stdout: []byte(strings.Join(out, "\n"))}, nil
}

// showArgs reads the arguments that are understood; others are refused.
func showArgs(args []string) (units, props []string, bare, ok bool) {
	for i := 0; i < len(args); i++ {
		a := args[i]
		if v, is := strings.CutPrefix(a, "--property="); is {
			props = append(props, strings.Split(v, ",")...)
			continue
		}
		switch {
		case a == "--property" || a == "-p":
			if i++; i == len(args) {
				return nil, nil, false, false
			}
			props = append(props, strings.Split(args[i], ",")...)
		case strings.HasPrefix(a, "-p"):
			props = append(props, strings.Split(a[2:], ",")...)
		case a == "--value":
			bare = true
		case a == "--no-pager" || a == "--all" || a == "-a" || a == "--":
		case strings.HasPrefix(a, "-"):
			return nil, nil, false, false
		default:
			units = append(units, a)
		}
	}
	return units, props, bare, true
}

// shownUnits are the paragraphs of systemctl show, and by a unit's name which is its own.
type shownUnits struct {
	blocks []string
	of     map[string]int
}

func (s *Source) readShown() (shownUnits, error) {
	text, err := s.output(shownServices)
	return parseShown(text), err
}

func parseShown(text string) shownUnits {
	u := shownUnits{blocks: strings.Split(text, "\n\n"), of: map[string]int{}}
	for i, b := range u.blocks {
		for _, name := range append(strings.Fields(property(b, "Names")), property(b, "Id")) {
			if _, ok := u.of[name]; !ok {
				u.of[name] = i
			}
		}
	}
	return u
}

// property is the value of the line NAME=VALUE in a paragraph.
func property(block, name string) string {
	rest, first := strings.CutPrefix(block, name+"=")
	if !first {
		_, rest, _ = strings.Cut(block, "\n"+name+"=")
	}
	value, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(value)
}

func (u shownUnits) unit(name string) (string, bool) {
	if !strings.Contains(name, ".") {
		name += ".service"
	}
	i, ok := u.of[name]
	if !ok {
		return "", false
	}
	return u.blocks[i], true
}

// pickProps keeps the wanted properties, in the order of the output, as
// systemctl does.
func pickProps(block string, props []string, bare bool) string {
	var b strings.Builder
	for line := range strings.Lines(strings.Trim(block, "\n") + "\n") {
		k, v, ok := strings.Cut(line, "=")
		switch {
		case !ok || len(props) > 0 && !slices.Contains(props, k):
		case bare:
			b.WriteString(v)
		default:
			b.WriteString(line)
		}
	}
	return b.String()
}

var installedRPMs = []string{
	"installed-rpms",
	"sos_commands/rpm/sh_-c_rpm_--nodigest_-qa_--qf_NAME_-_VERSION_-_RELEASE_._ARCH_INSTALLTIME_date_awk_-F_printf_-59s_s_n_1_2_sort_-V",
}

// rpmList answers `rpm -qa --qf` of name, version and architecture between
// tabs from installed-rpms. That has no epochs, so versions come without.
func (s *Source) rpmList(format string) (host.Output, error) {
	for _, want := range []string{"%{NAME}\\t", "%{VERSION}-%{RELEASE}\\t", "%{ARCH}\\n"} {
		_, rest, ok := strings.Cut(format, want)
		if !ok {
			return host.Output{}, host.ErrNotCollected
		}
		format = rest
	}
	text, err := s.output(installedRPMs...)
	if err != nil {
		return host.Output{}, err
	}
	return host.Output{Stdout: parseRPMs(text)}, nil
}

// parseRPMs reads name-version-release.arch, the first word of each line.
func parseRPMs(text string) []byte {
	var b strings.Builder
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		nvra := f[0]
		dot := strings.LastIndexByte(nvra, '.')
		rel := strings.LastIndexByte(nvra[:max(dot, 0)], '-')
		ver := strings.LastIndexByte(nvra[:max(rel, 0)], '-')
		if ver > 0 {
			b.WriteString(nvra[:ver] + "\t" + nvra[ver+1:dot] + "\t" + nvra[dot+1:] + "\n")
		}
	}
	return []byte(b.String())
}
