package remedy

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"fettle/engine/remedy/step"
)

// Playbook writes the plan as an Ansible playbook of ansible.builtin modules.
// It stops where a file is neither what the plan was made from nor what it is to be;
// copy keeps the old content beside the file (backup). A second run changes nothing.
// It does not verify.
func Playbook(p Plan) (string, error) {
	p = p.normal()
	b := &step.Tasks{}
	b.Line("---")
	b.Line("# Written by fettle. It does not check afterwards whether it helped.")
	for _, n := range p.Notes {
		b.Line("%s", strings.TrimSuffix(comment("# Note: ", n), "\n"))
	}
	b.Line("- name: %s", step.YAML("fettle: "+p.Title))
	b.Line("  hosts: all")
	b.Line("  become: true")
	b.Line("  gather_facts: false")
	b.Line("  tasks:")
	rooted(b, p)
	for i, s := range p.Steps {
		if err := b.Step(s); err != nil {
			return "", fmt.Errorf("step %d (%s): %w", i+1, s.Describe(), err)
		}
	}
	if err := readable(b.String()); err != nil {
		return "", err
	}
	return b.String(), nil
}

// rooted stops the play where others than root could put another file in the
// place of one that it changes, and at a link: the modules would follow it as
// root.
func rooted(b *step.Tasks, p Plan) {
	var folders, parents []string
	for _, s := range p.Steps {
		target := step.Target(s)
		if target == "" {
			continue
		}
		dir := path.Dir(path.Clean(target))
		for parents = append(parents, dir); !slices.Contains(folders, dir); dir = path.Dir(dir) {
			folders = append(folders, dir)
		}
	}
	if len(folders) == 0 {
		return
	}
	b.Task("look at the folders on the way")
	b.Line("      ansible.builtin.command:")
	b.Line("        argv:")
	for _, arg := range append([]string{"stat", "-c", "%F %u %a %n", "--"}, folders...) {
		b.Line("          - %s", step.YAML(arg))
	}
	b.Line("      register: fettle_way")
	b.Line("      check_mode: false")
	b.Line("      changed_when: false")
	b.Line("      failed_when: false # some may be made below root's")
	b.Task("only root can replace what is changed")
	b.Line("      ansible.builtin.assert:")
	b.Line("        that:")
	// In a sticky folder root's entries are safe: those are the next folders.
	b.Line("          - fettle_shared | reject('match', 'directory 0 [1357][0-7]{3} ') | list == []")
	b.Line("          - fettle_shared | map('regex_replace', '^directory 0 [0-7]+ ', '') | intersect(fettle_parents) == []")
	b.Line("        fail_msg: \"others than root may write to, or it is a link: {{ fettle_shared }}; let fettle itself apply the plan\"")
	b.Line("        quiet: true")
	b.Line("      vars:")
	b.Line("        fettle_shared: \"{{ fettle_way.stdout_lines | reject('match', 'directory 0 [0-7]?[0-7][0145][0145] ') | list }}\"")
	b.Line("        fettle_parents:")
	for _, dir := range parents {
		b.Line("          - %s", step.YAML(dir))
	}
}
