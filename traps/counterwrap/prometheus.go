package counterwrap

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/internal/lazy"
	"fettle/internal/yamlfile"
)

// What snmp_exporter reads is in its own file, what of it is asked for, and
// how often, in that of Prometheus.
const prometheusFile = "/etc/prometheus/prometheus.yml"

var snmpFiles = []string{"/etc/prometheus/snmp.yml", "/etc/snmp_exporter/snmp.yml"}

// snmpModule is what one module of snmp_exporter gets from an agent.
type snmpModule struct {
	line32 int // where the first 32-bit octet counter stands; 0: none
	wide   bool
	v1     bool // in files for snmp_exporter before 0.23, where modules have a version
}

// snmpConf is the part of snmp.yml that matters here.
type snmpConf struct {
	modules map[string]snmpModule
	v1      map[string]bool // credentials for SNMP version 1
}

var (
	yamlKey = lazy.Regexp(`^( *)["']?([A-Za-z0-9_./-]+)["']?:(.*)$`)
	snmp32  = lazy.Regexp(`^[ -]*oid: *["']?\.?1\.3\.6\.1\.2\.1\.2\.2\.1\.1[06]["']?\s*$`)
	snmp64  = lazy.Regexp(`^[ -]*oid: *["']?\.?1\.3\.6\.1\.2\.1\.31\.1\.1\.1\.(?:6|10)["']?\s*$`)
	snmpV1  = lazy.Regexp(`^ +version: *["']?1["']?\s*$`)
)

// parseSNMP reads snmp.yml line by line: it is generated, always in one form,
// and has tens of thousands of lines. Since snmp_exporter 0.23 modules and
// credentials are below modules: and auths:, before that each module is a
// key of its own.
func parseSNMP(b []byte) snmpConf {
	c := snmpConf{modules: map[string]snmpModule{}, v1: map[string]bool{}}
	top, name, depth, n := "", "", 0, 0
	for line := range strings.Lines(string(b)) {
		n++
		line = strings.TrimRight(line, " \r\n")
		if m := yamlKey().FindStringSubmatch(line); m != nil {
			switch indent := len(m[1]); {
			case indent == 0:
				top, name, depth = m[2], "", 0
				if top != "modules" && top != "auths" {
					name = top
				}
			case top != "modules" && top != "auths":
			case depth == 0 || indent == depth:
				depth, name = indent, m[2]
			}
		}
		m := c.modules[name]
		switch {
		case name == "":
			continue
		case snmpV1().MatchString(line) && top == "auths":
			c.v1[name] = true
			continue
		case top == "auths":
			continue
		case snmpV1().MatchString(line):
			m.v1 = true
		case snmp32().MatchString(line) && m.line32 == 0:
			m.line32 = n
		case snmp64().MatchString(line):
			m.wide = true
		}
		c.modules[name] = m
	}
	return c
}

// scrapeConf is the part of prometheus.yml that matters here.
type scrapeConf struct {
	Global struct {
		Every string `yaml:"scrape_interval"`
	} `yaml:"global"`
	Elsewhere []string    `yaml:"scrape_config_files"`
	Jobs      []scrapeJob `yaml:"scrape_configs"`
}

type scrapeJob struct {
	Name   string              `yaml:"job_name"`
	Path   string              `yaml:"metrics_path"`
	Every  string              `yaml:"scrape_interval"`
	Params map[string][]string `yaml:"params"`
	Static []struct {
		Labels map[string]string `yaml:"labels"`
	} `yaml:"static_configs"`
	Relabel []struct {
		Target string `yaml:"target_label"`
	} `yaml:"relabel_configs"`
	Files []any `yaml:"file_sd_configs"`
	HTTP  []any `yaml:"http_sd_configs"`
}

// asked are the modules and the credentials that a job names; sure is false
// where they come from elsewhere.
func (j scrapeJob) asked() (modules []string, auth string, sure bool) {
	sure = true
	for _, s := range j.Params["module"] {
		modules = append(modules, strings.Split(s, ",")...)
	}
	if len(modules) == 0 {
		modules, sure = []string{"if_mib"}, len(j.Files)+len(j.HTTP) == 0
	}
	if auth = "public_v2"; len(j.Params["auth"]) > 0 {
		auth = j.Params["auth"][0]
	}
	for _, r := range j.Relabel {
		sure = sure && r.Target != "__param_module" && r.Target != "__param_auth"
	}
	for _, s := range j.Static {
		sure = sure && s.Labels["__param_module"] == "" && s.Labels["__param_auth"] == ""
	}
	return modules, auth, sure
}

// narrowest tells where a job's modules take 32-bit counters and no 64-bit
// ones, which SNMP version 1 has not.
func (c snmpConf) narrowest(modules []string, auth string) (module string, line int, why string) {
	for _, name := range modules {
		m := c.modules[name]
		old := m.v1 || c.v1[auth]
		if m.wide && !old {
			return "", 0, ""
		}
		if m.line32 > 0 && line == 0 {
			module, line, why = name, m.line32, "reads no 64-bit counters"
			if m.wide {
				why = "is polled by SNMP version 1, which has no 64-bit counters"
			}
		}
	}
	return module, line, why
}

// judgeSNMP says what Prometheus gets through snmp_exporter. jobs is nil where
// Prometheus itself is not configured here.
func judgeSNMP(file string, b []byte, conf *scrapeConf) verdict {
	c := parseSNMP(b)
	var v verdict
	var narrow []string
	for name, m := range c.modules {
		v.asks = v.asks || m.wide || m.line32 > 0
		if m.line32 > 0 && (!m.wide || m.v1) {
			narrow = append(narrow, name)
		}
	}
	if len(narrow) > 0 || len(c.v1) > 0 && v.asks {
		v.unsure = file + ": which modules and credentials are used is set in Prometheus, which has no job for them in " + prometheusFile
	}
	if conf == nil {
		if len(narrow) == 0 { // version 1 is in every file as generated
			v.unsure = ""
		}
		return v
	}
	polls, sure := false, len(conf.Elsewhere) == 0
	for _, j := range conf.Jobs {
		if !strings.HasSuffix(strings.TrimRight(j.Path, "/"), "/snmp") {
			continue
		}
		polls = true
		modules, auth, clear := j.asked()
		if !clear {
			sure = false
			continue
		}
		module, line, why := c.narrowest(modules, auth)
		if line == 0 {
			continue
		}
		every := j.Every
		if every == "" {
			every = conf.Global.Every
		}
		if every == "" {
			every = "1m" // Prometheus's default
		}
		v.bad = append(v.bad, trap.Ev(fmt.Sprintf("%s:%d", file, line), "module %s %s; job %s asks every %s", module, why, j.Name, every))
	}
	switch {
	case !sure && v.unsure != "":
		v.unsure = fmt.Sprintf("%s: not all requested modules are in %s", file, prometheusFile)
	case polls || len(narrow) == 0:
		v.unsure = ""
	}
	v.detail = "Prometheus's rate() and increase() treat a falling counter as one that was reset to 0: each wrap loses what was counted " +
		"from the last scrape to" +
		" the wrap. At 1 Gbit/s 32 bits wrap every 34 s: scraped every 15 s that is about a fifth of the traffic, every minute most of it."
	return v
}

var prometheus = poller{name: "Prometheus",
	trapped: "Prometheus polls 32-bit counters, and mistakes each wrap for a reset",
	well:    "Prometheus polls 64-bit counters",
}

// checkPrometheus looks at snmp_exporter's files. unknown is told of what cannot be read.
func checkPrometheus(ctx context.Context, h *host.Host, r *trap.Report, unknown func(subject string, err error)) (found bool) {
	var conf *scrapeConf
	for _, file := range snmpFiles {
		b, err := h.ReadFile(ctx, file)
		if host.IsAbsent(err) {
			continue
		}
		if err != nil {
			unknown(file, err)
			continue
		}
		found = true
		if conf == nil {
			p, err := h.ReadFile(ctx, prometheusFile)
			switch {
			case host.IsAbsent(err):
			case err != nil:
				r.Unknown(file, fmt.Errorf("what it polls: %w", err))
				continue
			default:
				conf = &scrapeConf{}
				if err := yamlfile.Guard(func() error { return yaml.Unmarshal(p, conf) }); err != nil {
					r.Unknown(file, errors.New(prometheusFile+" is not YAML that Prometheus can read: what it polls is not known"))
					conf = nil
					continue
				}
			}
		}
		report(r, prometheus, file, judgeSNMP(file, b, conf))
	}
	return found
}
