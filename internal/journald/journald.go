// Package journald writes entries to systemd's journal.
package journald

import (
	"bytes"
	"fmt"
	"net"
	"time"

	"fettle/internal/ui"
)

// Socket is where journald takes entries.
const Socket = "/run/systemd/journal/socket"

// Field is one of an entry; names may occur more than once (systemd.journal-fields(7)).
type Field struct{ Name, Value string }

// Write writes one entry of fettle's with the native protocol
// (https://systemd.io/JOURNAL_NATIVE_PROTOCOL), and waits no longer than limit.
func Write(socket string, limit time.Duration, entry ...Field) error {
	var b bytes.Buffer
	for _, f := range append(entry[:len(entry):len(entry)], Field{"SYSLOG_IDENTIFIER", "fettle"}) {
		fmt.Fprintf(&b, "%s=%s\n", f.Name, ui.Visible(f.Value)) // without line breaks, which need another form
	}
	to, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		return fmt.Errorf("the journal is not there: %w", err)
	}
	defer to.Close()
	_ = to.SetDeadline(time.Now().Add(limit))
	if _, err := to.Write(b.Bytes()); err != nil {
		return fmt.Errorf("writing to the journal: %w", err)
	}
	return nil
}
