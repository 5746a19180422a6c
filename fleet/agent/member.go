// Package agent checks its host on a schedule, at events and on request, and
// reports to a hub. It only checks: a hub can ask it for nothing else.
package agent

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"fettle/fleet/hub/join"
	"fettle/internal/files"
	"fettle/report/onhub"
)

// Member is what an agent knows of its hub.
type Member struct {
	Agent   string   `json:"agent"`
	Name    string   `json:"name"`               // as which the host joined
	OwnName bool     `json:"own_name,omitempty"` // it is called what it calls itself at the time
	URLs    []string `json:"urls"`
	CA      string   `json:"ca,omitempty"`
	Machine string   `json:"machine"` // on which it joined: see machineHash

	joined time.Time // when, by the host's clock
}

// Files of the state folder.
const (
	memberFile = "member.json"
	credsFile  = "nats.creds"
	spoolDir   = "spool"
)

// ErrNotJoined: this host has no hub yet.
var ErrNotJoined = errors.New("this host has joined no hub: run fettle-agent join with the line that fettle-hub invite prints")

// Load reads what was written when the host joined.
func Load(dir string) (*Member, error) {
	file := filepath.Join(dir, memberFile)
	b, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return nil, ErrNotJoined
	}
	if err != nil {
		return nil, err
	}
	m := &Member{}
	if err := json.Unmarshal(b, m); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	st, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	m.joined = st.ModTime()
	return m, nil
}

// Save writes what a host got by joining, and forgets what waited for the hub
// of before.
func Save(dir, name string, own bool, a *join.Admitted) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	machine, err := machineHash()
	if err != nil {
		return err
	}
	b, err := json.Marshal(Member{Agent: a.Agent, Name: name, OwnName: own, URLs: a.URLs, CA: string(a.CA), Machine: machine})
	if err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(dir, spoolDir)); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(dir, onhub.File)); err != nil && !os.IsNotExist(err) {
		return err
	}
	if err := files.WriteFile(filepath.Join(dir, credsFile), a.Creds, 0o600); err != nil {
		return err
	}
	return files.WriteFile(filepath.Join(dir, memberFile), b, 0o600)
}

// ErrCopied: the state folder came here from another machine.
var ErrCopied = errors.New("this agent's folder was copied from another machine, whose place at the hub it would take: join again")

// sameMachine refuses to be the machine that this one was copied from.
func (m *Member) sameMachine() error {
	is, err := machineHash()
	if err == nil && is != m.Machine {
		err = ErrCopied
	}
	return err
}

// machineHash tells machines apart without telling who they are: machine-id is
// not to leave the host (machine-id(5)). The firmware's number tells copies of a
// virtual machine apart whose machine-id is the same.
func machineHash() (string, error) {
	id, err := os.ReadFile("/etc/machine-id")
	if err != nil && !os.IsNotExist(err) {
		return "", err
	}
	board, _ := os.ReadFile("/sys/class/dmi/id/product_uuid") // not everywhere, and for root alone
	h := hmac.New(sha256.New, []byte("fettle agent machine"))
	h.Write([]byte(strings.TrimSpace(string(id)) + "\n" + strings.TrimSpace(string(board))))
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}
