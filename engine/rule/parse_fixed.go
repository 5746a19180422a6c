package rule

import (
	"github.com/goccy/go-yaml/ast"

	"fettle/host"
	"fettle/host/fact/kernelversion"
)

// fixed reads the versions of distributions that a bug is fixed in.
func (p *parsing) fixed(f *Fact, n ast.Node) {
	for _, i := range items(n) {
		var d FixedIn
		if !p.entries(i, "fixed", func(key string, k, v ast.Node) {
			switch key {
			case "os":
				d.OS = p.str(v, key)
			case "release":
				d.Release = p.str(v, key)
			case "version":
				d.Version = p.str(v, key)
			case "source":
				d.Source = p.str(v, key)
			case "confirmed":
				d.Confirmed = p.day(v)
			default:
				p.errorf(k, "fixed: no key is called %q; there are os, release, version, source and confirmed", key)
			}
		}) {
			continue
		}
		p.need(i, "fixed", map[string]bool{"os": d.OS != "", "version": d.Version != ""}, "os", "version")
		if d.Version != "never" && d.Version != "" && (d.OS == "debian" || d.OS == "ubuntu") {
			if _, err := debCompare(d.Version, "1"); err != nil {
				p.errorf(i, "fixed: %v", err)
			}
		}
		f.Fixed = append(f.Fixed, d)
	}
}

func (p *parsing) checkFixed(f *Fact, n ast.Node) {
	if (f.opt("package", "") == "") == (f.opt("kernel", "") == "") {
		p.errorf(n, "fixed-version: takes package, or kernel: running")
		return
	}
	kernel := f.opt("kernel", "") != ""
	if kernel && f.opt("kernel", "") != "running" {
		p.errorf(n, "kernel: takes running")
	}
	if f.opt("upstream", "") == "" {
		p.errorf(n, "fixed-version: upstream is missing: the first good upstream version")
	}
	for _, o := range []string{"upstream", "introduced"} {
		v := f.opt(o, "")
		if v == "" {
			continue
		}
		if _, err := kernelversion.Compare(v, "1.0"); err != nil && kernel {
			p.errorf(n, "%s: %v", o, err)
		}
		if _, err := debCompare(v, "1"); err != nil && !kernel {
			p.errorf(n, "%s: %v", o, err)
		}
	}
}

func (p *parsing) checkCommand(f *Fact, n ast.Node) {
	if !p.shipped {
		p.errorf(n, "command: a rule of yours may not run commands")
		return
	}
	if len(f.Args) > 0 {
		if err := (host.Command{Name: f.Args[0], Args: f.Args[1:]}).Allowed(); err != nil {
			p.errorf(n, "command: %v", err)
		}
	}
}
