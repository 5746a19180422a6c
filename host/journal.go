package host

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// TableJournal is a Journal: what the log of this boot says, message by
// message. Read it with Host.Journal.
const TableJournal Table = "journal"

// Journal is a digest of the log since the host's last start. Lines that
// differ in numbers alone are one message with a count, so that it stays small
// whatever fills the log.
type Journal struct {
	// Kernel are the kernel's lines that complain of something.
	Kernel Log `json:"kernel"`
	// Manager are the warnings and errors of process 1, where it is systemd.
	Manager Log `json:"manager"`
	// Failed are the last lines of the units that have failed, and of services that
	// wait for their next start.
	Failed Log `json:"failed"`
	// Recent are the most frequent messages among the last lines of all.
	Recent Log `json:"recent"`
}

// Log is one part of a Journal.
type Log struct {
	Source string    `json:"source"`         // "journalctl", "dmesg", or a file's path
	Since  time.Time `json:"since,omitzero"` // the first line that was looked at
	Until  time.Time `json:"until,omitzero"` // up to when was looked
	Lines  int       `json:"lines"`          // that were looked at
	// Cut: this boot has earlier lines, which were not looked at.
	Cut bool `json:"cut,omitempty"`
	// Missing says why nobody could look; Denied that root could.
	Missing  string    `json:"missing,omitempty"`
	Denied   bool      `json:"denied,omitempty"`
	Messages []Message `json:"messages,omitempty"` // the one that came last is last
}

// Message is what one or more lines say.
type Message struct {
	By       string    `json:"by"`             // who said it: kernel, systemd, sshd
	Unit     string    `json:"unit,omitempty"` // of whom it speaks, where that is known
	Text     string    `json:"text"`           // the last of the lines
	Priority int       `json:"priority"`       // syslog(3); -1 where it is not known
	Count    int       `json:"count"`
	First    time.Time `json:"first"`
	Last     time.Time `json:"last"`
}

// Err is the reason why nobody could look at this part; nil where somebody did.
func (l *Log) Err() error {
	switch {
	case l.Missing == "" && l.Source == "":
		return ErrNotCollected
	case l.Missing == "":
		return nil
	case l.Denied:
		return fmt.Errorf("%s: %w", l.Missing, ErrDenied)
	case l.Missing == ErrNoSystemd.Error():
		return ErrNoSystemd
	}
	return errors.New(l.Missing)
}

// Journal reads the log of this boot, as far back as its bounds allow: some
// thousand lines of each part.
func (h *Host) Journal(ctx context.Context) (Journal, error) {
	return Memo(ctx, h, "journal", func() (Journal, error) { return readTable[Journal](ctx, h, TableJournal) })
}
