package notify

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"fettle/engine/trap"
	"fettle/internal/files"
	"fettle/internal/ui"
	"fettle/report"
)

// MessageID is the MESSAGE_ID of entries in the journal (systemd.journal-fields(7)).
const MessageID = "f2b5d3b1c1d54d2f8a4c2b7a9e0d6c11"

// journal writes one entry with the native protocol
// (https://systemd.io/JOURNAL_NATIVE_PROTOCOL): fields may occur more than once.
func (s Sender) journal(m *Message) error {
	var b bytes.Buffer
	field := func(name, value string) {
		value = ui.Visible(value)
		if !strings.Contains(value, "\n") {
			fmt.Fprintf(&b, "%s=%s\n", name, value)
			return
		}
		b.WriteString(name + "\n")
		_ = binary.Write(&b, binary.LittleEndian, uint64(len(value)))
		b.WriteString(value + "\n")
	}
	text := m.Text
	for i, f := range append(m.New[:len(m.New):len(m.New)], m.Resolved...) {
		if i == 5 {
			text += fmt.Sprintf(", and %d more", len(m.New)+len(m.Resolved)-i)
			break
		}
		text += map[bool]string{true: "; ", false: ", "}[i == 0] + f.ID()
	}
	field("MESSAGE", text)
	field("MESSAGE_ID", MessageID)
	field("PRIORITY", map[trap.Severity]string{0: "6", trap.Notice: "5", trap.Warning: "4", trap.Critical: "2"}[m.worst()]) // syslog(3)
	field("SYSLOG_IDENTIFIER", "fettle")
	for _, l := range []struct {
		name string
		list []Finding
	}{{"FETTLE_NEW", m.New}, {"FETTLE_RESOLVED", m.Resolved}} {
		for i := range l.list[:min(len(l.list), named)] {
			field(l.name, l.list[i].ID())
			field("FETTLE_TRAP", l.list[i].Trap)
		}
	}
	c := m.Counts.Severities
	field("FETTLE_CRITICAL", strconv.Itoa(c.Critical))
	field("FETTLE_WARNING", strconv.Itoa(c.Warning))
	field("FETTLE_NOTICE", strconv.Itoa(c.Notice))
	field("FETTLE_UNKNOWN", strconv.Itoa(m.Counts.Unknown))
	to, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: s.Journal, Net: "unixgram"})
	if err != nil {
		return fmt.Errorf("the journal is not there: %w", err)
	}
	defer to.Close()
	_ = to.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := to.Write(b.Bytes()); err != nil {
		return fmt.Errorf("writing to the journal: %w", err)
	}
	return nil
}

// textfile writes the run for node_exporter's textfile collector.
func textfile(name string, r Run) error {
	var b bytes.Buffer
	w, err := report.New("prometheus", &b, report.Options{})
	if err != nil {
		return err
	}
	if err := w.Begin(r.Meta, r.Traps); err != nil {
		return err
	}
	for _, res := range r.Results {
		if err := w.Result(res); err != nil {
			return err
		}
	}
	if err := w.End(r.Took); err != nil {
		return err
	}
	return files.Replace(name, func(w io.Writer) error { _, err := w.Write(b.Bytes()); return err })
}
