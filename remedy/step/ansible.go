package step

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"fettle/remedy/machine"
)

// Tasks are the tasks of an Ansible playbook, as YAML.
type Tasks struct {
	strings.Builder
	step int // that is being written, from 1
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

// Command is a task that runs a command; more are further lines of it.
func (b *Tasks) Command(name string, argv []string, more ...string) {
	b.Task(name)
	b.Line("      ansible.builtin.command:")
	b.Line("        argv:")
	for _, a := range argv {
		b.Line("          - %s", YAML(a))
	}
	for _, m := range more {
		b.Line("%s", m)
	}
	b.Line("      changed_when: true")
}

// Commands are tasks that run a step's commands.
func (b *Tasks) Commands(s Step) error {
	for _, argv := range s.Commands() {
		b.Command(s.Describe(), argv)
	}
	return nil
}

// Expect stops the play when the file is not what the plan was made from.
func (b *Tasks) Expect(name string, was []byte) {
	v := fmt.Sprintf("fettle_step%d", b.step)
	b.Task("look at " + name)
	b.Line("      ansible.builtin.stat:")
	b.Line("        path: %s", YAML(name))
	b.Line("        follow: false")
	b.Line("        checksum_algorithm: sha256")
	b.Line("      register: %s", v)
	b.Task(name + " is as it was when the plan was made")
	b.Line("      ansible.builtin.assert:")
	b.Line("        that:")
	if was == nil {
		b.Line("          - not %s.stat.exists", v)
		return
	}
	b.Line("          - %s.stat.exists and %s.stat.isreg", v, v)
	b.Line("          - %s.stat.checksum == '%s'", v, machine.Sum(was))
}
