package ldaptlsverify

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/host"
	"fettle/host/format/ldapconf"
	"fettle/internal/sorted"
)

// edits gathers changes to files, and answers as the host would after them.
type edits struct {
	h     *host.Host
	files map[string]*edited
	order []string
	said  []string // each change of a line, in words: what a diff must not show
}

type edited struct {
	was, now []byte
	mode     fs.FileMode // of a new file
	secret   bool
}

func (e *edits) file(ctx context.Context, name string) (*edited, error) {
	if f, ok := e.files[name]; ok {
		return f, nil
	}
	b, err := e.h.ReadFile(ctx, name)
	if err != nil && !host.IsAbsent(err) {
		return nil, err
	}
	f := &edited{was: b, now: slices.Clone(b)}
	if err == nil && f.was == nil {
		f.was = []byte{}
	}
	e.files[name] = f
	e.order = append(e.order, name)
	return f, nil
}

// settingKeys is what a client's settings are called in its own file, and how it is written.
type settingKeys struct{ reqcert, reqsan, cacert, tls, sep string }

var keysOf = map[ldapconf.Program]settingKeys{
	ldapconf.OpenLDAP: {"TLS_REQCERT", "TLS_REQSAN", "TLS_CACERT", "", "\t"},
	ldapconf.SSSD:     {"ldap_tls_reqcert", "", "ldap_tls_cacert", "ldap_id_use_start_tls", " = "},
	ldapconf.NSLCD:    {"tls_reqcert", "", "tls_cacertfile", "ssl", " "},
	ldapconf.PADL:     {"tls_checkpeer", "", "tls_cacertfile", "ssl", " "},
}

// set gives one setting of a client another value: in the line where it
// stands, or in a new line of the client's own file.
func (e *edits) set(ctx context.Context, c *ldapconf.Client, key, value string, at ldapconf.Setting) error {
	line := key + keysOf[c.Program].sep + value
	if at.File == "" || at.Line == 0 || !slices.Contains(c.Files, at.File) && at.File != "/etc/environment" {
		return e.add(ctx, c, line)
	}
	if at.File == "/etc/environment" {
		line = "LDAP" + key + "=" + value
	}
	f, err := e.file(ctx, at.File)
	if err != nil {
		return err
	}
	lines := strings.SplitAfter(string(f.now), "\n")
	if at.Line > len(lines) {
		return fmt.Errorf("%s no longer has a line %d", at.File, at.Line)
	}
	old := lines[at.Line-1]
	if !strings.Contains(strings.ToLower(old), strings.ToLower(key)) {
		return fmt.Errorf("%s is no longer the line of %s", at.Place(), key)
	}
	if c.Program == ldapconf.SSSD && at.Line < len(lines) && strings.HasPrefix(strings.TrimRight(lines[at.Line], "\r\n"), " ") {
		return remedy.Refuse("%s: the value continues on the next line, which fettle does not change; set it to %q by hand", at.Place(), value)
	}
	end := old[len(strings.TrimRight(old, "\r\n")):]
	indent := old[:len(old)-len(strings.TrimLeft(old, " \t"))]
	lines[at.Line-1] = indent + line + end
	f.now = []byte(strings.Join(lines, ""))
	e.said = append(e.said, fmt.Sprintf("%s: %q becomes %q", at.Place(), strings.TrimSpace(old), line))
	f.hide()
	return nil
}

// hide keeps the file's content out of diffs where a password is in it.
func (f *edited) hide() {
	low := bytes.ToLower(f.now)
	for _, w := range []string{"bindpw", "authtok", "rootpwmodpw"} {
		f.secret = f.secret || bytes.Contains(low, []byte(w))
	}
}

// own is the file that a client's new lines go to.
func own(c *ldapconf.Client, exists func(string) bool) (string, error) {
	if c.Program == ldapconf.OpenLDAP {
		for _, f := range slices.Backward(c.Files) {
			if exists(f) {
				return f, nil
			}
		}
		return "", remedy.Refuse("%s has no configuration file", c.Name)
	}
	return c.Files[0], nil
}

func (e *edits) add(ctx context.Context, c *ldapconf.Client, line string) error {
	name, err := own(c, func(f string) bool { ok, err := e.h.Exists(ctx, f); return ok && err == nil })
	if err != nil {
		return err
	}
	if c.Program != ldapconf.SSSD {
		f, err := e.file(ctx, name)
		if err != nil {
			return err
		}
		if len(f.now) > 0 && !bytes.HasSuffix(f.now, []byte("\n")) {
			f.now = append(f.now, '\n')
		}
		f.now = append(f.now, line+"\n"...)
		e.said = append(e.said, fmt.Sprintf("%s: %q is added", name, line))
		f.hide()
		return nil
	}
	section := "[domain/" + strings.TrimPrefix(c.Name, "sssd/") + "]"
	for _, name := range c.Files {
		f, err := e.file(ctx, name)
		if err != nil {
			return err
		}
		lines := strings.SplitAfter(string(f.now), "\n")
		for i, l := range lines {
			if strings.TrimSpace(l) != section {
				continue
			}
			if !strings.HasSuffix(l, "\n") {
				lines[i] += "\n"
			}
			// New lines go last: settings' lines before keep their numbers.
			end := i + 1
			for end < len(lines) && !strings.HasPrefix(strings.TrimSpace(lines[end]), "[") {
				end++
			}
			for end > i+1 && strings.TrimSpace(lines[end-1]) == "" {
				end--
			}
			if !strings.HasSuffix(lines[end-1], "\n") {
				lines[end-1] += "\n"
			}
			lines = slices.Insert(lines, end, line+"\n")
			f.now = []byte(strings.Join(lines, ""))
			e.said = append(e.said, fmt.Sprintf("%s, %s: %q is added", name, section, line))
			f.hide()
			return nil
		}
	}
	return remedy.Refuse("no file has the section %s", section)
}

// steps are the changes; new files, which the others will name, come first.
func (e *edits) steps() (steps []step.Step, secret bool) {
	sorted.By(e.order, func(a, b string) int { return boolInt(e.files[a].was != nil) - boolInt(e.files[b].was != nil) })
	for _, name := range e.order {
		f := e.files[name]
		if bytes.Equal(f.was, f.now) {
			continue
		}
		secret = secret || f.secret
		steps = append(steps, step.File{Path: name, Content: f.now, Was: f.was, Mode: f.mode, Secret: f.secret})
	}
	return steps, secret
}

// after is the host as it will be: files changed, servers answering as they did.
type after struct {
	host.Source
	e       *edits
	answers map[host.PeerQuestion]asked
}

func (a *after) ReadFile(ctx context.Context, name string, limit int64) ([]byte, error) {
	if f, ok := a.e.files[name]; ok && (f.was != nil || f.now != nil) {
		return f.now, nil
	}
	return a.Source.ReadFile(ctx, name, limit)
}

func (a *after) Stat(ctx context.Context, name string, follow bool) (host.Info, error) {
	if f, ok := a.e.files[name]; ok && f.was == nil && f.now != nil {
		return host.Info{Mode: 0o644, Size: int64(len(f.now)), Nlink: 1}, nil
	}
	return a.Source.Stat(ctx, name, follow)
}

func (a *after) Table(ctx context.Context, t host.Table) ([]byte, error) {
	for q, ans := range a.answers {
		if q.Table() == t {
			if ans.err != nil {
				return nil, ans.err
			}
			return json.Marshal(ans.peer)
		}
	}
	return a.Source.Table(ctx, t)
}
