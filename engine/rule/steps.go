package rule

import (
	"context"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
	"time"

	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/host"
	"fettle/host/fact/container"
	"fettle/host/format/sysctlconf"
)

// commandLimit is how long a command of a rule may take: dpkg --configure and
// update-initramfs take minutes.
const commandLimit = 15 * time.Minute

// planner makes steps of what a rule says. Several edits of one file become
// one step.
type planner struct {
	*reading
	scope    *scope
	steps    []step.Step
	contents map[string]edited // by path
}

type edited struct {
	step int // index in steps
	file step.File
}

func (b *planner) step(ctx context.Context, st *Step) error {
	var err error
	get := func(name string) string {
		t := st.Args[name]
		if t == nil || err != nil {
			return ""
		}
		var s string
		s, err = t.fill(ctx, b.scope)
		return s
	}
	line := func(name string) string { return strings.TrimSpace(get(name)) }
	var next step.Step
	switch st.Kind {
	case "file":
		name, content, mode := line("path"), get("content"), line("mode")
		if err == nil {
			err = b.file(name, mode, func([]byte, bool) ([]byte, error) { return []byte(content), nil })
		}
	case "edit":
		if failed := b.edit(st, line, get); err == nil { // get's own error counts first
			err = failed
		}
	case "remove":
		var was []byte
		name := line("path")
		if was, err = b.before(name, err); err == nil {
			next = step.Remove{Path: name, Was: was}
		}
	case "rename":
		name, to := line("path"), line("to")
		if err == nil {
			err = b.rename(ctx, name, to)
		}
	case "perm":
		p := step.Perm{Path: line("path"), Mode: -1, UID: -1, GID: -1}
		for arg, into := range map[string]*int{"mode": &p.Mode, "uid": &p.UID, "gid": &p.GID} {
			if v := line(arg); v != "" && err == nil {
				base := 10
				if arg == "mode" {
					base = 8
				}
				var n uint64
				n, err = strconv.ParseUint(v, base, 31)
				*into = int(n)
			}
		}
		next = p
	case "sysctl":
		key, value := sysctlconf.Normalize(line("key")), line("value")
		if err == nil && !sysctlForm().MatchString(key) {
			err = fmt.Errorf("%q is not a key like net.ipv4.ip_forward", key)
		}
		if err == nil {
			err = b.changeable(ctx, "/proc/sys/"+key, container.Has(key))
		}
		if err == nil && line("persist") == "true" {
			name := "/etc/sysctl.d/90-fettle-" + b.rule.ID + ".conf"
			err = b.file(name, "", func(was []byte, _ bool) ([]byte, error) {
				return setLine(was, "", strings.ReplaceAll(key, "/", "."), value, " = "), nil
			})
		}
		next = step.Sysctl{Key: key, Value: value}
	case "sysfs":
		next = step.Sysfs{Path: line("path"), Value: line("value")}
		if err == nil {
			err = b.changeable(ctx, line("path"), false)
		}
	case "unit":
		next = step.Unit{Name: line("name"), Act: line("act")}
	case "command":
		c := step.Command{Differs: line("differs"), Again: line("again") == "true", Limit: commandLimit}
		if err != nil {
			return err
		}
		for arg, into := range map[string]*[]string{"do": &c.Do, "undo": &c.Undo, "probe": &c.Probe, "require": &c.Require,
			"undo_require": &c.UndoRequire} {
			if *into, err = b.words(ctx, st, arg); err != nil {
				return err
			}
		}
		next = c
	case "check":
		c := step.Check{Limit: commandLimit}
		c.Run, err = b.words(ctx, st, "run")
		next = c
	}
	if err == nil && next != nil {
		b.steps = append(b.steps, next)
	}
	return err
}

// words are the words of a command.
func (b *planner) words(ctx context.Context, st *Step, arg string) ([]string, error) {
	var out []string
	for _, w := range st.Words[arg] {
		s, err := w.fill(ctx, b.scope)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// changeable refuses to change in a container what is the whole kernel's.
func (b *planner) changeable(ctx context.Context, name string, own bool) error {
	if own || container.Of(ctx, b.h) == "" {
		return nil
	}
	return remedy.Refuse("this is a container, and %s is its host's: change it there", name)
}

// before is what a file says now.
func (b *planner) before(name string, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(name, "/") {
		return nil, fmt.Errorf("%q is not an absolute path", name)
	}
	return b.content(name)
}

// file changes a file's content: a step of its own, or one more change of the
// step there is.
func (b *planner) file(name, mode string, change func(was []byte, exists bool) ([]byte, error)) error {
	e, again := b.contents[name]
	if !again {
		was, err := b.before(name, nil)
		if host.IsAbsent(err) {
			was, err = nil, nil
		} else if err == nil && was == nil {
			was = []byte{}
		}
		if err != nil {
			return err
		}
		e = edited{len(b.steps), step.File{Path: name, Was: was, Content: was}}
		if mode != "" {
			n, err := strconv.ParseUint(mode, 8, 12)
			if err != nil {
				return fmt.Errorf("mode %q is not like 0644", mode)
			}
			e.file.Mode = fs.FileMode(n)
		}
		b.steps = append(b.steps, nil)
	}
	content, err := change(e.file.Content, e.file.Was != nil)
	if err != nil {
		return err
	}
	e.file.Content = content
	b.contents[name] = e
	b.steps[e.step] = e.file
	return nil
}

// rename writes a file under another name, with the owner, mode, ACL, xattrs and time
// that it has, and removes the old one: two steps that are undone byte for byte. What is
// there already is not overwritten.
func (b *planner) rename(ctx context.Context, name, to string) error {
	content, err := b.before(name, nil)
	if err != nil {
		return err
	}
	st, err := b.h.Lstat(ctx, name)
	if err != nil {
		return err
	}
	switch _, err := b.h.Lstat(ctx, to); {
	case err == nil:
		return remedy.Refuse("%s is there already: rename %s by hand", to, name)
	case !host.IsAbsent(err):
		return err
	}
	secret := st.Mode.Perm()&0o004 == 0
	b.steps = append(b.steps,
		step.File{Path: to, Content: content, Mode: st.Mode.Perm(), Like: name, Secret: secret},
		step.Remove{Path: name, Was: content, Secret: secret})
	return nil
}

func (b *planner) edit(st *Step, line, get func(string) string) error {
	name := line("path")
	return b.file(name, "", func(was []byte, exists bool) ([]byte, error) {
		switch {
		case st.Args["set.key"] != nil:
			sep := " = "
			if v := get("set.separator"); v != "" {
				sep = v
			}
			return setLine(was, line("set.section"), line("set.key"), line("set.value"), sep), nil
		case st.Args["append"] != nil:
			return appendLine(was, strings.TrimRight(get("append"), "\n")), nil
		}
		if !exists {
			return nil, fmt.Errorf("%s is not there", name)
		}
		pattern := line("drop")
		if st.Args["replace.match"] != nil {
			pattern = get("replace.match")
		}
		re, err := compiled(pattern)
		if err != nil {
			return nil, err
		}
		var out strings.Builder
		for l := range strings.Lines(string(was)) {
			text, end := strings.TrimSuffix(l, "\n"), l[len(strings.TrimSuffix(l, "\n")):]
			if !re.MatchString(text) {
				out.WriteString(l)
			} else if st.Args["replace.match"] != nil {
				out.WriteString(re.ReplaceAllString(text, get("replace.with")) + end)
			}
		}
		return []byte(out.String()), nil
	})
}

func appendLine(was []byte, l string) []byte {
	for have := range strings.Lines(string(was)) {
		if strings.TrimRight(have, "\n") == l {
			return was
		}
	}
	s := string(was)
	if s != "" && !strings.HasSuffix(s, "\n") {
		s += "\n"
	}
	return []byte(s + l + "\n")
}

// setLine sets a key: the last line that sets it gets the new value, a
// commented one gets the line after it, and a file without either gets it at
// its end, or at the end of its section.
func setLine(was []byte, section, key, value, sep string) []byte {
	set := regexp.MustCompile(`^\s*` + regexp.QuoteMeta(key) + `(\s*[=:]|\s+\S|\s*$)`)
	commented := regexp.MustCompile(`^\s*[#;]\s*` + regexp.QuoteMeta(key) + `(\s*[=:]|\s+\S|\s*$)`)
	next := key + sep + value
	ls := lines(string(was))
	at, hint, end, in := -1, -1, -1, section == ""
	if in {
		end = len(ls)
	}
	for i, l := range ls {
		t := strings.TrimSpace(l)
		switch {
		case strings.HasPrefix(t, "[") && strings.HasSuffix(t, "]"):
			if section != "" {
				in = strings.Trim(t, "[]") == section
				if in {
					end = i + 1
				}
			}
		case in && set.MatchString(l):
			at = i
		case in && commented.MatchString(l):
			hint = i
		}
		if in && section != "" && t != "" {
			end = i + 1
		}
	}
	insert := func(i int, more ...string) []string {
		return append(append(append([]string{}, ls[:i]...), more...), ls[i:]...)
	}
	switch {
	case at >= 0:
		indent := ls[at][:len(ls[at])-len(strings.TrimLeft(ls[at], " \t"))]
		ls[at] = indent + next
	case hint >= 0:
		ls = insert(hint+1, next)
	case end >= 0:
		ls = insert(end, next)
	default:
		ls = append(ls, "["+section+"]", next)
	}
	return []byte(strings.Join(ls, "\n") + "\n")
}
