package rule

import (
	"bytes"
	"fmt"
	"strings"

	"fettle/host"
)

// Bounds of a log fact.
const (
	logTail = 1 << 20
)

var defaultLogs = []string{"/var/log/syslog", "/var/log/messages", "/var/log/kern.log"}

// readLog looks for lines in the ends of log files. The journal is not read:
// where none of the files is there, nobody knows. A rule for which a log is
// only a further sign asks for it as optional.
func readLog(r *reading, f *Fact) (*logFact, error) {
	re, err := compiled(f.arg())
	if err != nil {
		return nil, err
	}
	files, err := r.inFiles(f, defaultLogs...)
	if err != nil {
		return nil, err
	}
	optional := f.on("optional", false)
	looked, count := 0, 0
	var first, last, at string
	for _, name := range files {
		b, err := r.content(name)
		if host.IsAbsent(err) || err != nil && optional && r.ctx.Err() == nil {
			continue
		}
		if err != nil {
			return nil, err
		}
		looked++
		if len(b) > logTail {
			b = b[len(b)-logTail:]
			b = b[max(0, bytes.IndexByte(b, '\n')):]
		}
		err = eachMatch(r.ctx, re, b, func(_ int, line string) {
			line = strings.TrimSpace(line)
			if count++; count == 1 {
				first = line
			}
			last, at = line, name
		})
		if err != nil {
			return nil, err
		}
	}
	if looked == 0 && !optional {
		return nil, fmt.Errorf("none of %s is there, and the journal is not read", strings.Join(files, ", "))
	}
	o := &logFact{
		seen:   seen{strings.Join(files, ", "), "no line matches " + f.arg()},
		Looked: looked > 0,
		Found:  count > 0,
		Count:  count,
		First:  first,
		Last:   last,
	}
	switch {
	case count > 0:
		o.source, o.brief = at, last
	case looked == 0:
		o.source = "" // no evidence
	}
	return o, nil
}
