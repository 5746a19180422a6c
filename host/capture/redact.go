package capture

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"

	"fettle/host"
	"fettle/host/mdraid"
	"fettle/host/redact"
)

// Redact replaces all that identifies the host in a recorded capture.
// Dropped are the questions whose answers could not be redacted: they are
// answered "not collected" from then on.
func (c *Capture) Redact(r *redact.Redactor) (dropped []string, err error) {
	r.LearnHost(c.Identity.Hostname)
	for _, a := range c.Answers {
		if a.Op == OpRead {
			r.LearnFile(string(a.Path), a.content)
		}
	}
	for i := range c.Answers {
		a := &c.Answers[i]
		if !c.Answers[i].redact(r) {
			dropped = append(dropped, string(a.Op)+" "+string(a.Path))
			a.drop(r)
		}
		a.Question = a.Question.redact(r)
	}
	c.Redacted = true
	c.Identity.Hostname = r.Host(c.Identity.Hostname)
	c.Identity.Release, c.Identity.Version = r.Text(c.Identity.Release), r.Text(c.Identity.Version)
	c.Identity.BootID = r.Text(c.Identity.BootID)
	if name := string(c.Name); strings.HasPrefix(name, "/") {
		c.Name = text(r.Path(name))
	} else {
		c.Name = text(r.Host(name))
	}
	return dropped, nil
}

func (q Question) redact(r *redact.Redactor) Question {
	out := Question{Op: q.Op, Path: text(r.Path(string(q.Path))), Attr: text(r.Text(string(q.Attr))), As: q.As}
	for _, a := range q.Args {
		out.Args = append(out.Args, text(r.Path(string(a))))
	}
	return out
}

// errRedacted is what a dropped question answers.
var errRedacted = fmt.Errorf("left out by redaction: %w", host.ErrNotCollected)

// drop takes everything from an answer but the question.
func (a *Answer) drop(r *redact.Redactor) {
	*a = Answer{Question: a.Question, Failure: failure(&fs.PathError{Op: string(a.Op), Path: r.Path(string(a.Path)), Err: errRedacted})}
}

// redact replaces in one answer; false: it cannot be told what is in it.
func (a *Answer) redact(r *redact.Redactor) bool {
	if a.Failure != nil {
		a.Failure.redact(r)
		return true
	}
	ok := true
	switch a.Op {
	case OpRead:
		a.content, ok = r.File(string(a.Path), a.content)
	case OpDir:
		for i := range a.Entries {
			full := strings.TrimSuffix(string(a.Path), "/") + "/" + string(a.Entries[i].Name)
			red := r.Path(full)
			a.Entries[i].Name = text(red[strings.LastIndexByte(red, '/')+1:])
		}
	case OpLink:
		*a.Target = text(r.Path(string(*a.Target)))
	case OpXattr:
		// Access control lists hold numbers only (acl(5)); capabilities bits.
		ok = strings.HasPrefix(string(a.Attr), "system.posix_acl_") || a.Attr == "security.capability"
	case OpCommand:
		if string(a.Path) == "dmsetup" {
			a.content = []byte(redactVolumes(r, string(a.content)))
		}
		a.content, a.Stderr = []byte(redactOutput(r, string(a.content))), text(redactOutput(r, string(a.Stderr)))
	case OpTable:
		switch {
		case string(a.Path) == string(host.TableMD):
			a.content, ok = redactMD(r, a.content)
		case string(a.Path) == string(host.TableJournal):
			a.content, ok = redactJournal(r, a.content)
		case host.Table(a.Path).Talks(): // certificates and signed lists cannot be changed
			ok = false
		default:
			a.content, ok = redactJSON(r, a.content)
		}
	}
	return ok
}

// redactVolumes replaces the names of volumes, with which the lines of dmsetup begin.
func redactVolumes(r *redact.Redactor, s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		name, rest, ok := strings.Cut(line, ": ")
		if !ok {
			b.WriteString(line)
			continue
		}
		b.WriteString(r.Volume(name) + ": " + rest)
	}
	return b.String()
}

// redactOutput redacts what a command printed. Values of environments may
// hold anything.
func redactOutput(r *redact.Redactor, s string) string {
	var b strings.Builder
	for line := range strings.Lines(redact.Secrets(s)) {
		if k, _, ok := strings.Cut(line, "="); ok && strings.HasPrefix(k, "Environment") {
			b.WriteString(k + "=" + redact.Dropped + "\n")
			continue
		}
		body := strings.TrimSuffix(line, "\n")
		b.WriteString(r.Output(body) + line[len(body):])
	}
	return b.String()
}

// redactMD takes names and UUIDs out of superblocks, which are raw bytes.
func redactMD(r *redact.Redactor, b []byte) ([]byte, bool) {
	var ms []host.MDMember
	if json.Unmarshal(b, &ms) != nil {
		return nil, false
	}
	for i := range ms {
		m := &ms[i]
		m.Array, m.Device, m.Failed = r.Text(m.Array), r.Text(m.Device), r.Text(m.Failed)
		m.Superblock = mdraid.Anonymous(m.Superblock)
	}
	out, err := json.Marshal(ms)
	return out, err == nil
}

// redactJournal takes secrets out of what was logged, and names.
func redactJournal(r *redact.Redactor, b []byte) ([]byte, bool) {
	var j host.Journal
	if json.Unmarshal(b, &j) != nil {
		return nil, false
	}
	for _, l := range []*host.Log{&j.Kernel, &j.Manager, &j.Failed, &j.Recent} {
		l.Missing = r.Text(l.Missing)
		for i := range l.Messages {
			m := &l.Messages[i]
			m.Text, m.By, m.Unit = r.Log(m.Text), r.Text(m.By), r.Text(m.Unit)
		}
	}
	b, err := json.Marshal(j)
	return b, err == nil
}

// redactJSON replaces in every string of a table.
func redactJSON(r *redact.Redactor, b []byte) ([]byte, bool) {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return nil, false
	}
	out, err := json.Marshal(redactValue(r, v))
	return out, err == nil
}

func redactValue(r *redact.Redactor, v any) any {
	switch v := v.(type) {
	case string:
		if strings.HasPrefix(v, "/") {
			return r.Path(v)
		}
		return r.Text(v)
	case []any:
		for i := range v {
			v[i] = redactValue(r, v[i])
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			switch s, _ := e.(string); {
			case k == "device" && s != "":
				out[k] = r.Source(s)
			case k == "options" && s != "":
				out[k] = r.Options(s)
			case k == "comm" && s != "":
				out[k] = r.Title(s)
			default:
				out[r.Text(k)] = redactValue(r, e)
			}
		}
		return out
	}
	return v
}

// redact replaces in an error's words. Of a path error only the parts are
// known; the message is put together again.
func (f *Failure) redact(r *redact.Redactor) {
	old := string(f.Op) + " " + string(f.Path) + ": " + string(f.Inner)
	f.Path, f.Inner = text(r.Path(string(f.Path))), text(r.Text(string(f.Inner)))
	if string(f.Message) == old {
		f.Message = f.Op + " " + f.Path + ": " + f.Inner
		return
	}
	f.Message = text(r.Text(string(f.Message)))
}
