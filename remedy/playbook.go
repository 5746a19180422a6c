package remedy

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"fettle/internal/octets"
	"fettle/remedy/machine"
)

// Playbook writes the plan as an Ansible playbook of ansible.builtin modules.
// It stops where a file is not what the plan was made from; copy keeps the old
// content beside the file (backup). It does not verify.
func Playbook(p Plan) (string, error) {
	b := &playbook{}
	b.line("---")
	b.line("# Written by fettle. It does not check afterwards whether it helped.")
	for _, n := range p.Notes {
		b.line("%s", strings.TrimSuffix(comment("# Note: ", n), "\n"))
	}
	b.line("- name: %s", str("fettle: "+p.Title))
	b.line("  hosts: all")
	b.line("  become: true")
	b.line("  gather_facts: false")
	b.line("  tasks:")
	b.rooted(p)
	for i, s := range p.Steps {
		if err := b.step(i, s); err != nil {
			return "", fmt.Errorf("step %d (%s): %w", i+1, s.Describe(), err)
		}
	}
	if err := readable(b.String()); err != nil {
		return "", err
	}
	return b.String(), nil
}

type playbook struct{ strings.Builder }

func (b *playbook) line(format string, args ...any) {
	fmt.Fprintf(&b.Builder, format+"\n", args...)
}

// str is a YAML string: JSON's is one (YAML 1.2 §1.3). What looks like a
// Jinja template is marked as data.
func str(s string) string {
	if !utf8.ValidString(s) {
		return s // JSON would name another file; readable refuses it
	}
	j, _ := json.Marshal(s)
	if strings.Contains(s, "{{") || strings.Contains(s, "{%") || strings.Contains(s, "{#") {
		return "!unsafe " + string(j)
	}
	return string(j)
}

func (b *playbook) task(name string) { b.line("    - name: %s", str(name)) }

func (b *playbook) command(name string, argv []string, more ...string) {
	b.task(name)
	b.line("      ansible.builtin.command:")
	b.line("        argv:")
	for _, a := range argv {
		b.line("          - %s", str(a))
	}
	for _, m := range more {
		b.line("%s", m)
	}
	b.line("      changed_when: true")
}

func (b *playbook) step(i int, s Step) error {
	name := s.Describe()
	switch s := s.(type) {
	case File:
		if s.Secret {
			return ErrSecret
		}
		if !isText(s.Content) {
			return errors.New("content that is not text cannot stand in a playbook")
		}
		b.expect(i, s.Path, s.Was)
		b.task("have the folder of " + s.Path)
		b.line("      ansible.builtin.file:")
		b.line("        path: %s", str(path.Dir(s.Path)))
		b.line("        state: directory")
		b.task(name)
		b.line("      ansible.builtin.copy:")
		b.line("        dest: %s", str(s.Path))
		b.line("        content: %s", str(string(s.Content)))
		b.line("        backup: true")
		b.line("        follow: false")
		if s.Was == nil {
			b.line("        mode: \"%04o\"", s.mode())
		} // else left out: copy keeps the mode of a file that is there
	case Remove:
		b.expect(i, s.Path, s.Was)
		b.command("keep a copy of "+s.Path, []string{"cp", "-a", "--", s.Path, s.Path + ".fettle-removed~"})
		b.task(name)
		b.line("      ansible.builtin.file:")
		b.line("        path: %s", str(s.Path))
		b.line("        state: absent")
	case Perm:
		b.task(name)
		b.line("      ansible.builtin.file:")
		b.line("        path: %s", str(s.Path))
		if s.Mode >= 0 {
			b.line("        mode: \"%04o\"", s.Mode)
		}
		if s.UID >= 0 {
			b.line("        owner: \"%d\"", s.UID)
		}
		if s.GID >= 0 {
			b.line("        group: \"%d\"", s.GID)
		}
	case Sysfs:
		b.command(name, []string{"tee", "--", s.Path}, "        stdin: "+str(s.Value))
	case Unit:
		b.unit(name, s)
	case SolicitRouter:
		b.command(name+" (only speeds things up)", []string{"rdisc6", "-1", "-q", "-r", "1", "-w", "1000", "--", octets.Name(s.Link)}, "      failed_when: false")
	case Command:
		if len(s.Require) > 0 {
			b.command("the precondition of: "+name, s.Require)
		}
		b.command(name, s.Do)
	default:
		a, err := actionOf(s)
		if err != nil {
			return err
		}
		for _, argv := range a.commands() {
			b.command(name, argv)
		}
	}
	return nil
}

// rooted stops the play where others than root could put another file in the
// place of one that it changes, and at a link: the modules would follow it as
// root.
func (b *playbook) rooted(p Plan) {
	var folders, parents []string
	for _, s := range p.Steps {
		a, err := actionOf(s)
		if err != nil || a.target() == "" {
			continue
		}
		dir := path.Dir(path.Clean(a.target()))
		for parents = append(parents, dir); !slices.Contains(folders, dir); dir = path.Dir(dir) {
			folders = append(folders, dir)
		}
	}
	if len(folders) == 0 {
		return
	}
	b.task("look at the folders on the way")
	b.line("      ansible.builtin.command:")
	b.line("        argv:")
	for _, arg := range append([]string{"stat", "-c", "%F %u %a %n", "--"}, folders...) {
		b.line("          - %s", str(arg))
	}
	b.line("      register: fettle_way")
	b.line("      changed_when: false")
	b.line("      failed_when: false # some may be made below root's")
	b.task("only root can replace what is changed")
	b.line("      ansible.builtin.assert:")
	b.line("        that:")
	// In a sticky folder root's entries are safe: those are the next folders.
	b.line("          - fettle_shared | reject('match', 'directory 0 [1357][0-7]{3} ') | list == []")
	b.line("          - fettle_shared | map('regex_replace', '^directory 0 [0-7]+ ', '') | intersect(fettle_parents) == []")
	b.line("        fail_msg: \"others than root may write to, or it is a link: {{ fettle_shared }}; let fettle itself apply the plan\"")
	b.line("        quiet: true")
	b.line("      vars:")
	b.line("        fettle_shared: \"{{ fettle_way.stdout_lines | reject('match', 'directory 0 [0-7]?[0-7][0145][0145] ') | list }}\"")
	b.line("        fettle_parents:")
	for _, dir := range parents {
		b.line("          - %s", str(dir))
	}
}

// expect stops the play when the file is not what the plan was made from.
func (b *playbook) expect(i int, name string, was []byte) {
	v := fmt.Sprintf("fettle_step%d", i+1)
	b.task("look at " + name)
	b.line("      ansible.builtin.stat:")
	b.line("        path: %s", str(name))
	b.line("        follow: false")
	b.line("        checksum_algorithm: sha256")
	b.line("      register: %s", v)
	b.task(name + " is as it was when the plan was made")
	b.line("      ansible.builtin.assert:")
	b.line("        that:")
	if was == nil {
		b.line("          - not %s.stat.exists", v)
		return
	}
	b.line("          - %s.stat.exists and %s.stat.isreg", v, v)
	b.line("          - %s.stat.checksum == '%s'", v, machine.Sum(was))
}

func (b *playbook) unit(name string, s Unit) {
	set := map[string]string{"reload": "state: reloaded", "restart": "state: restarted", "reload-or-restart": "state: reloaded",
		"start": "state: started", "stop": "state: stopped", "enable": "enabled: true", "disable": "enabled: false",
		"daemon-reload": "daemon_reload: true"}[s.Act]
	b.task(name)
	b.line("      ansible.builtin.systemd:")
	if s.Name != "" {
		b.line("        name: %s", str(s.Name))
	}
	b.line("        %s", set)
}
