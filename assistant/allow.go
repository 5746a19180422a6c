package assistant

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// target is where to look: this host unless one of them is given.
type target struct {
	Host    string `json:"host,omitempty" jsonschema:"another host over ssh, if the server's configuration allows it"`
	Root    string `json:"root,omitempty" jsonschema:"a folder with a root file system that is not running, if allowed"`
	Capture string `json:"capture,omitempty" jsonschema:"a capture, sosreport or supportconfig: an absolute path, if allowed"`
}

var errOneTarget = errors.New("host, root and capture exclude each other: give one, or none for this host")

// flags are the target's as fettle takes them. A value is one argument with its flag, so that it
// can be no flag of its own.
func (d *desk) flags(t target) ([]string, error) {
	given := 0
	var out []string
	for _, v := range []string{t.Host, t.Root, t.Capture} {
		if v != "" {
			given++
		}
	}
	if given > 1 {
		return nil, errOneTarget
	}
	if t.Host != "" {
		if err := d.allowedHost(t.Host); err != nil {
			return nil, err
		}
		out = append(out, "--host="+t.Host)
	}
	for flag, v := range map[string]string{"--root": t.Root, "--from": t.Capture} {
		if v == "" {
			continue
		}
		real, err := d.allowedPath(v)
		if err != nil {
			return nil, err
		}
		out = append(out, flag+"="+real)
	}
	return out, nil
}

func (d *desk) allowedHost(host string) error {
	if !slices.Contains(d.Hosts, host) {
		return fmt.Errorf("host %s is not allowed: fettle-mcp --allow-host names the hosts that may be looked at", visible(host, 200))
	}
	return nil
}

// allowedPath is the real path of a file or folder below one that is allowed.
func (d *desk) allowedPath(name string) (string, error) {
	refused := fmt.Errorf("%s is not allowed: fettle-mcp --allow-path names the folders that may be read", visible(name, 400))
	if !filepath.IsAbs(name) || len(d.Paths) == 0 {
		return "", refused
	}
	real, err := filepath.EvalSymlinks(name)
	if err != nil {
		return "", refused // whether it is there is none of the client's business
	}
	for _, p := range d.Paths {
		top, err := filepath.EvalSymlinks(p)
		if err == nil && (real == top || strings.HasPrefix(real, strings.TrimSuffix(top, "/")+"/")) {
			return real, nil
		}
	}
	return "", refused
}

// Names that tools take.
var (
	trapName  = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,63}$`)
	unitName  = regexp.MustCompile(`^[A-Za-z0-9:_.@\\-]{1,255}$`)
	ifaceName = regexp.MustCompile(`^[A-Za-z0-9_.@-]{1,15}$`)
	runName   = regexp.MustCompile(`^(?:now|last|[0-9]{1,4}|[0-9]{8}(?:T[0-9]{0,6}(?:\.[0-9]{1,3}Z?)?)?)$`)
	agentName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]{0,63}$`)
	cursor    = regexp.MustCompile(`^[0-9]{1,19}(?:\.[0-9]{1,19})?$`)
)

// named refuses what is no name of that kind.
func named(what string, is *regexp.Regexp, v string) error {
	if !is.MatchString(v) || strings.HasPrefix(v, "-") {
		return fmt.Errorf("%s %q is not one: expected %s", what, visible(v, 100), is)
	}
	return nil
}
