package notify

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"time"

	"fettle/engine/trap"
	"fettle/internal/files"
	"fettle/internal/journald"
	"fettle/report"
)

// MessageID is the MESSAGE_ID of entries in the journal (systemd.journal-fields(7)).
const MessageID = "f2b5d3b1c1d54d2f8a4c2b7a9e0d6c11"

// journal writes one entry, with the findings as fields.
func (s Sender) journal(m *Message) error {
	var entry []journald.Field
	field := func(name, value string) { entry = append(entry, journald.Field{Name: name, Value: value}) }
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
	return journald.Write(s.Journal, 10*time.Second, entry...)
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
