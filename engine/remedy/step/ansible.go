package step

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"fettle/engine/remedy/machine"
)

// Tasks are the tasks of an Ansible playbook, as YAML.
type Tasks struct {
	strings.Builder
	step int // that is being written, from 1
	// changers are the variables of the tasks so far that tell whether they changed
	// anything: what follows such a task is done only if one did.
	changers []string
}

// Step begins the next step.
func (b *Tasks) Step(s Step) error {
	b.step++
	return s.Ansible(b)
}

// Line writes one line, which brings its indent along.
func (b *Tasks) Line(format string, args ...any) {
	fmt.Fprintf(&b.Builder, format+"\n", args...)
}

// YAML is a YAML string: JSON's is one (YAML 1.2 §1.3). What looks like a
// Jinja template is marked as data.
func YAML(s string) string {
	if !utf8.ValidString(s) {
		return s // JSON would name another file; the export is refused
	}
	j, _ := json.Marshal(s)
	if strings.Contains(s, "{{") || strings.Contains(s, "{%") || strings.Contains(s, "{#") {
		return "!unsafe " + string(j)
	}
	return string(j)
}

// Task begins a task.
func (b *Tasks) Task(name string) { b.Line("    - name: %s", YAML(name)) }

// Command is a task that runs a command; more are further lines of it. The
// playbook can be run again: after tasks that know whether they change anything
// it is run only if one of them did.
func (b *Tasks) Command(name string, argv []string, more ...string) {
	b.Task(name)
	b.argv(argv)
	for _, m := range more {
		b.Line("%s", m)
	}
	b.Line("      changed_when: true")
	b.IfChanged()
}

func (b *Tasks) argv(argv []string) {
	b.Line("      ansible.builtin.command:")
	b.Line("        argv:")
	for _, a := range argv {
		b.Line("          - %s", YAML(a))
	}
}

// Ask is a task that runs a command which changes nothing, and whose failure stops
// the play.
func (b *Tasks) Ask(name string, argv []string) {
	b.Task(name)
	b.argv(argv)
	b.Line("      changed_when: false")
}

// Commands are tasks that run a step's commands. What sets a value is done where
// the value is another.
func (b *Tasks) Commands(s Step) error {
	for _, argv := range s.Commands() {
		if v, ok := s.(Setter); ok {
			b.Set(s.Describe(), v, argv)
			continue
		}
		b.Command(s.Describe(), argv)
	}
	return nil
}

// Set is two tasks: they read a value, and run a command where it is another. Files
// of /sys may list all words there are, with the one that holds in brackets.
func (b *Tasks) Set(name string, v Setter, argv []string, more ...string) {
	file, value := v.Sets()
	now := fmt.Sprintf("fettle_now%d", b.step)
	b.Task("look at " + file)
	b.argv([]string{"cat", "--", file})
	b.Line("      register: %s", now)
	b.Line("      changed_when: false")
	b.Line("      check_mode: false")
	b.Task(name)
	b.argv(argv)
	for _, m := range more {
		b.Line("%s", m)
	}
	b.Line("      vars:")
	b.Line("        fettle_want: %s", YAML(value))
	b.Line("      when: %s.stdout.split() != fettle_want.split() and ('[' ~ fettle_want ~ ']') not in %s.stdout.split()", now, now)
	b.Changer("      changed_when: true")
}

// Changer ends a task that others may have to follow; more are further lines of it.
func (b *Tasks) Changer(more ...string) {
	for _, m := range more {
		b.Line("%s", m)
	}
	v := fmt.Sprintf("fettle_done%d", b.step)
	b.Line("      register: %s", v)
	b.changers = append(b.changers, v)
}

// IfChanged ends a task that is of use only after a change.
func (b *Tasks) IfChanged() {
	if len(b.changers) > 0 {
		b.Line("      when: %s is changed", strings.Join(b.changers, " is changed or "))
	}
}

// Expect stops the play when the file is neither what the plan was made from nor
// what the step makes of it; nil is no file. The variable it returns has the file's
// stat.
func (b *Tasks) Expect(name string, was, will []byte) (variable string) {
	v := fmt.Sprintf("fettle_step%d", b.step)
	b.Task("look at " + name)
	b.Line("      ansible.builtin.stat:")
	b.Line("        path: %s", YAML(name))
	b.Line("        follow: false")
	b.Line("        checksum_algorithm: sha256")
	b.Line("      register: %s", v)
	b.Task(name + " is as it was when the plan was made, or as it is to be")
	b.Line("      ansible.builtin.assert:")
	b.Line("        that:")
	var sums []string
	for _, c := range [][]byte{was, will} {
		if c != nil {
			sums = append(sums, "'"+machine.Sum(c)+"'")
		}
	}
	if was == nil || will == nil {
		b.Line("          - not %s.stat.exists or %s.stat.isreg", v, v)
		b.Line("          - not %s.stat.exists or %s.stat.checksum in [%s]", v, v, strings.Join(sums, ", "))
		return v
	}
	b.Line("          - %s.stat.exists and %s.stat.isreg", v, v)
	b.Line("          - %s.stat.checksum in [%s]", v, strings.Join(sums, ", "))
	return v
}
