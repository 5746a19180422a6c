// Package config reads /etc/fettle/fettle.yaml: the defaults of fettle check on
// this host, and who is notified of changes.
package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"fettle/internal/yamlfile"
)

// File is where the configuration is, unless --config names another.
const File = "/etc/fettle/fettle.yaml"

// Config is the file.
type Config struct {
	Check      Check             `yaml:"check"`
	Severities map[string]string `yaml:"severities"` // by trap
	Accepted   string            `yaml:"accepted"`   // a file; empty: the usual ones
	History    History           `yaml:"history"`
	Notify     []Channel         `yaml:"notify"`
	Packs      Packs             `yaml:"packs"`
	Hub        Hub               `yaml:"hub"`

	name string
	tree *ast.File
}

// Check is what is checked.
type Check struct {
	Only    []string `yaml:"only"`
	Skip    []string `yaml:"skip"`
	Network bool     `yaml:"network"`
	Sample  string   `yaml:"sample"` // a time; empty: no sampling
	// UnknownOK are the traps, or AllTraps, whose unknown outcomes do not affect the exit status.
	UnknownOK []string `yaml:"unknown_ok"`
}

// AllTraps in check.unknown_ok are all of them.
const AllTraps = "all"

// Packs is what rules of packs may do beyond finding.
type Packs struct {
	Remedies []string `yaml:"remedies"` // the packs whose remedies fettle fix may apply
}

// Hub is what the hub may decide for this host: nothing, unless it is said here.
type Hub struct {
	Accept bool   `yaml:"accept"` // what operators accept on the hub does not count here, either
	State  string `yaml:"state"`  // the folder of fettle-agent; empty: the usual one
}

// History is how much of it is kept.
type History struct {
	Keep int `yaml:"keep"` // runs; 0: history.DefaultKeep
}

// keepLimit bounds history.keep: every hour for more than a year.
const keepLimit = 10_000

// Default reads File. One that is not there configures nothing; one that this
// user may not read is skipped: what it says is for root.
func Default() (c *Config, skipped, err error) {
	c, err = Load(File)
	if errors.Is(err, fs.ErrPermission) && os.Geteuid() != 0 {
		return &Config{}, err, nil
	}
	return c, nil, err
}

// Load reads a file, strictly: each mistake is an error with file, line and
// column.
func Load(file string) (*Config, error) {
	if file == os.DevNull {
		return &Config{}, nil
	}
	b, err := yamlfile.Read(file)
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	return Parse(file, b)
}

// Parse reads the text of a file of this name.
func Parse(file string, b []byte) (*Config, error) {
	c := &Config{name: file}
	if len(bytes.TrimSpace(b)) == 0 {
		return c, nil
	}
	var err error
	if c.tree, err = yamlfile.Parse(file, b); err != nil {
		return nil, err
	}
	body, err := yamlfile.One(file, c.tree)
	if err != nil {
		return nil, err
	}
	if body == nil {
		return c, nil
	}
	if t := body.Type(); t != ast.MappingType && t != ast.MappingValueType {
		return nil, fmt.Errorf("%s:%d: expected settings such as \"check:\"", file, body.GetToken().Position.Line)
	}
	if err := yamlfile.Guard(func() error { return yaml.NodeToValue(body, c, yaml.Strict()) }); err != nil {
		return nil, yamlfile.Located(file, err)
	}
	return c, c.valid()
}

// At is an error about what stands at a YAML path ("$.check.skip[0]"), with its
// place in the file.
func (c *Config) At(at, format string, args ...any) error {
	msg := fmt.Sprintf(format, args...)
	if p, err := yaml.PathString(at); err == nil && c.tree != nil {
		if n, err := p.FilterFile(c.tree); err == nil && n.GetToken() != nil && n.GetToken().Position != nil {
			return fmt.Errorf("%s:%d:%d: %s", c.name, n.GetToken().Position.Line, n.GetToken().Position.Column, msg)
		}
	}
	return fmt.Errorf("%s: %s", c.name, msg)
}

func (c *Config) valid() error {
	if d, err := time.ParseDuration(c.Check.Sample); c.Check.Sample != "" && (err != nil || d <= 0) {
		return c.At("$.check.sample", "sample %q: expected a time such as 10s", c.Check.Sample)
	}
	for id, s := range c.Severities {
		if !slices.Contains(severities, s) {
			return c.At("$.severities."+id, "severity %q: expected notice, warning or critical", s)
		}
	}
	if c.Accepted != "" && !path.IsAbs(c.Accepted) {
		return c.At("$.accepted", "accepted %q: expected a path that begins with /", c.Accepted)
	}
	if c.Hub.State != "" && !path.IsAbs(c.Hub.State) {
		return c.At("$.hub.state", "state %q: expected a path that begins with /", c.Hub.State)
	}
	if k := c.History.Keep; k < 0 || k > keepLimit {
		return c.At("$.history.keep", "keep %d: expected a number of runs, 1 to %d", k, keepLimit)
	}
	for i := range c.Notify {
		if at, err := c.Notify[i].valid(); err != nil {
			return c.At(fmt.Sprintf("$.notify[%d]%s", i, at), "%v", err)
		}
	}
	return nil
}

// Interval is how long sampling checks look; 0: they are not run.
func (c *Check) Interval() time.Duration {
	d, _ := time.ParseDuration(c.Sample)
	return d
}

// severities are what a finding can be graded as.
var severities = []string{"notice", "warning", "critical"}
