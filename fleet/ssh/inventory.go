package ssh

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os/exec"
	"slices"
	"strings"
	"time"

	transport "fettle/internal/ssh"
)

// Bounds of what ansible-inventory may take and say.
const (
	inventoryTime = time.Minute
	inventorySize = 64 << 20 // bytes
)

// Inventory are the hosts of an Ansible inventory, as ansible-inventory(1)
// reads it: a file, a folder, or a script; of these groups, or of all. Where the
// inventory gives an address, a user or a port, ssh is given these; else the name,
// which ssh's own configuration may know.
func Inventory(ctx context.Context, file string, groups []string) ([]string, error) {
	program, err := exec.LookPath("ansible-inventory")
	if err != nil {
		return nil, errors.New("reading an inventory needs the program ansible-inventory, of the package ansible-core")
	}
	ctx, cancel := context.WithTimeout(ctx, inventoryTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "--list", "-i", file)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	b, rerr := io.ReadAll(io.LimitReader(out, inventorySize+1))
	if len(b) > inventorySize {
		cancel()
		rerr = fmt.Errorf("ansible-inventory prints more than %d MiB", inventorySize>>20)
	}
	if err := cmd.Wait(); err != nil && rerr == nil {
		return nil, fmt.Errorf("ansible-inventory -i %s: %w: %s", file, err, words(errs.String()))
	}
	if rerr != nil {
		return nil, rerr
	}
	hosts, err := parseInventory(b, groups)
	if err == nil && len(hosts) == 0 {
		err = fmt.Errorf("%s: no host: %s", file, words(errs.String()))
	}
	return hosts, err
}

// hostVars are the variables of a host that say how to reach it.
type hostVars struct {
	Host string `json:"ansible_host"`
	User string `json:"ansible_user"`
	Port any    `json:"ansible_port"` // a number, or a string of one
}

// inventoryGroup is a group of what ansible-inventory --list prints.
type inventoryGroup struct {
	Hosts    []string `json:"hosts"`
	Children []string `json:"children"`
}

func parseInventory(b []byte, groups []string) ([]string, error) {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(b, &raw); err != nil {
		return nil, fmt.Errorf("the output of ansible-inventory is not JSON: %w", err)
	}
	var meta struct {
		Hostvars map[string]hostVars `json:"hostvars"`
	}
	if err := json.Unmarshal(raw["_meta"], &meta); err != nil {
		return nil, fmt.Errorf("output of ansible-inventory for hosts: %w", err)
	}
	delete(raw, "_meta")
	if len(groups) == 0 {
		groups = []string{"all"}
	}
	seen, names := map[string]bool{}, []string(nil)
	for len(groups) > 0 {
		g := groups[0]
		groups = groups[1:]
		if seen[g] {
			continue
		}
		seen[g] = true
		text, ok := raw[g]
		if !ok {
			if g == "all" || g == "ungrouped" ||
				slices.ContainsFunc(slices.Collect(maps.Values(raw)), func(t json.RawMessage) bool { return bytes.Contains(t, []byte(`"`+g+`"`)) }) {
				continue // a group without hosts is not printed
			}
			return nil, fmt.Errorf("the inventory has no group %q", g)
		}
		var group inventoryGroup
		if err := json.Unmarshal(text, &group); err != nil {
			return nil, fmt.Errorf("output of ansible-inventory for group %q: %w", g, err)
		}
		names = append(names, group.Hosts...)
		groups = append(groups, group.Children...)
	}
	slices.Sort(names)
	var out []string
	for _, name := range slices.Compact(names) {
		hosts, err := transport.ParseHosts("inventory host "+name, meta.Hostvars[name].address(name), nil, nil)
		if err != nil {
			return nil, err
		}
		out = append(out, hosts...)
	}
	return out, nil
}

// address is what ssh is given for a host.
func (v hostVars) address(name string) string {
	host := v.Host
	if host == "" {
		host = name
	}
	port := ""
	if v.Port != nil {
		port = strings.TrimSuffix(fmt.Sprint(v.Port), ".0")
	}
	at := host
	if v.User != "" {
		at = v.User + "@" + host
	}
	if port == "" || port == "22" {
		return at
	}
	at = net.JoinHostPort(host, port)
	if v.User != "" {
		at = v.User + "@" + at
	}
	return "ssh://" + at
}
