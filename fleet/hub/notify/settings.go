package notify

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"fettle/engine/trap"
	"fettle/fleet/hub/store"
	"fettle/internal/config"
	"fettle/internal/yamlfile"
)

// Settings are the hub's channels and maintenance windows: a YAML file.
type Settings struct {
	Channels    []Channel `yaml:"channels"`
	Maintenance []Window  `yaml:"maintenance"`
}

// Channel is a channel of fettle notify, and what of the fleet goes through it.
type Channel struct {
	config.Channel `yaml:",inline"`

	Match `yaml:",inline"`
	// Gather is how long a message waits for more of its kind; a minute unless set.
	Gather string `yaml:"gather"`
	Quiet  *Quiet `yaml:"quiet"`
	// Digest makes the channel one that gets a digest, daily or weekly, and nothing else.
	Digest string `yaml:"digest"`
	// At is when: 07:00, or mon 07:00.
	At string `yaml:"at"`

	gather time.Duration
	least  int
	due    schedule
}

// Match chooses findings: patterns with * and ?; what is empty matches all.
type Match struct {
	Groups config.Words `yaml:"groups"`
	Hosts  config.Words `yaml:"hosts"`
	Traps  config.Words `yaml:"traps"`
	// Labels are no patterns: NAME=VALUE, or NAME for any value; a host must have all of them.
	Labels config.Words `yaml:"labels"`

	labels []store.Label
}

func (m *Match) matches(t *store.Tidings) (bool, error) {
	if !among(m.Groups, t.Group) || !among(m.Hosts, t.Host) || !among(m.Traps, t.Trap) {
		return false, nil
	}
	return t.Labelled(m.labels)
}

func among(patterns []string, s string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(p string) bool {
		ok, _ := path.Match(p, s)
		return ok
	})
}

func (m *Match) valid() (err error) {
	for _, p := range slices.Concat(m.Groups, m.Hosts, m.Traps) {
		if _, err := path.Match(p, ""); err != nil {
			return fmt.Errorf("%q: not a pattern", p)
		}
	}
	if m.labels, err = store.ParseLabels(strings.Join(m.Labels, ",")); err != nil {
		return err
	}
	for _, l := range m.labels {
		if err := store.CheckLabel(l.Name, l.Value); err != nil {
			return err
		}
	}
	return nil
}

// kinds of channels that a hub has: the others are files of one host.
var kinds = []string{"mail", "webhook", "alertmanager"}

// gatherUsually is how long a message waits for more.
const gatherUsually = time.Minute

// Read reads the file, strictly.
func Read(file string) (*Settings, error) {
	if _, err := os.Stat(file); err != nil {
		return nil, err
	}
	b, err := yamlfile.Read(file)
	if err != nil {
		return nil, err
	}
	s := &Settings{}
	if err := yamlfile.Decode(file, b, s); err != nil {
		return nil, err
	}
	if err := s.valid(); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return s, nil
}

func (s *Settings) valid() error {
	names := map[string]bool{}
	for i := range s.Channels {
		c := &s.Channels[i]
		err := c.valid()
		if err == nil && names[c.key()] {
			err = errors.New("the same as one before it")
		}
		if err != nil {
			return fmt.Errorf("channels: number %d: %w", i+1, err)
		}
		names[c.key()] = true
	}
	for i := range s.Maintenance {
		if err := s.Maintenance[i].valid(); err != nil {
			return fmt.Errorf("maintenance: number %d: %w", i+1, err)
		}
	}
	return nil
}

func (c *Channel) valid() (err error) {
	if err := errors.Join(c.Check(), c.Match.valid()); err != nil {
		return err
	}
	if !slices.Contains(kinds, c.Kind()) {
		return fmt.Errorf("a hub's channel is one of %s", strings.Join(kinds, ", "))
	}
	least, _ := trap.ParseSeverity(c.Severity)
	c.least, c.gather = int(least), gatherUsually
	if c.Gather != "" {
		if c.gather, err = time.ParseDuration(c.Gather); err != nil || c.gather < 0 {
			return fmt.Errorf("gather %q: expected a time such as 5m", c.Gather)
		}
	}
	if c.Quiet != nil {
		if err := c.Quiet.valid(); err != nil {
			return err
		}
	}
	switch {
	case c.Digest == "" && c.At == "":
	case c.Digest != "daily" && c.Digest != "weekly":
		return fmt.Errorf("digest %q: expected daily or weekly", c.Digest)
	case c.Kind() == "alertmanager":
		return errors.New("alertmanager takes no digest")
	default:
		c.due, err = parseSchedule(c.Digest, c.At)
	}
	return err
}

// key names a channel in the database, for as long as it means the same. URLs of
// webhooks are secret.
func (c *Channel) key() string {
	parts := []string{c.Name(), c.Digest, strings.Join(c.Groups, ","), strings.Join(c.Hosts, ","), strings.Join(c.Traps, ",")}
	if len(c.Labels) > 0 {
		parts = append(parts, strings.Join(c.Labels, ","))
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:12])
}
