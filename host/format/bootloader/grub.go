package bootloader

import (
	"context"
	"fmt"
	"path"
	"strconv"
	"strings"

	"fettle/host"
)

// grubDefault reads grub.cfg as far as grub-mkconfig writes it (GRUB 2.06, util/grub.d): its
// entries, in which order they are, and which one is the default.
func grubDefault(ctx context.Context, h *host.Host, file, text string) (*Entry, error) {
	env, err := grubEnv(ctx, h, path.Dir(file)+"/grubenv")
	if err != nil {
		return nil, err
	}
	c := parseGrub(file, text)
	if c.bls {
		entries, err := blsEntries(ctx, h, "/boot/loader/entries", env)
		if err != nil {
			return nil, err
		}
		c.entries = append(entries, c.entries...)
	}
	if len(c.entries) == 0 {
		return nil, fmt.Errorf("%s has no entries", file)
	}
	choice := c.def
	if strings.Contains(choice, "saved_entry") {
		choice = env["saved_entry"]
	}
	if env["next_entry"] != "" { // grub-reboot: once
		choice = env["next_entry"]
	}
	e := choose(c.entries, choice)
	if e == nil { // GRUB starts the first where it does not find the one that is named
		e = first(c.entries)
	}
	if e == nil {
		return nil, fmt.Errorf("%s has no entry that fettle understands", file)
	}
	return e, e.locate(ctx, h)
}

// locate turns the loader's paths into this host's.
func (e *Entry) locate(ctx context.Context, h *host.Host, tops ...string) error {
	if e.Kernel == "" || e.Unified {
		return e.err
	}
	var err error
	if e.Kernel, err = onHost(ctx, h, e.Kernel, tops...); err != nil {
		return err
	}
	for i, name := range e.Initrds {
		if e.Initrds[i], err = onHost(ctx, h, name, tops...); err != nil {
			return err
		}
	}
	return nil
}

// grubEnv is GRUB's environment block: a header, name=value lines, and filling (GRUB manual,
// "Environment block").
func grubEnv(ctx context.Context, h *host.Host, file string) (map[string]string, error) {
	env := map[string]string{}
	b, err := h.ReadFile(ctx, file)
	if host.IsAbsent(err) {
		return env, nil
	}
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(b)) {
		if k, v, ok := strings.Cut(strings.TrimRight(line, "\n"), "="); ok && !strings.HasPrefix(k, "#") {
			env[k] = v
		}
	}
	return env, nil
}

// grubConfig is what is read of a grub.cfg.
type grubConfig struct {
	entries []Entry
	def     string // what default is set to
	bls     bool   // blscfg reads entries from files
}

// parseGrub reads the lines. Blocks are followed by their braces; conditions are not judged:
// of several defaults the last counts that does not come from next_entry.
func parseGrub(file, text string) grubConfig {
	var c grubConfig
	root := Entry{}
	open := []*Entry{&root} // nil: a block of another kind
	at := func() *Entry {
		for i := len(open) - 1; i >= 0; i-- {
			if open[i] != nil {
				return open[i]
			}
		}
		return &root
	}
	for line := range strings.Lines(text) {
		w := words(line)
		if len(w) == 0 {
			continue
		}
		switch w[0] {
		case "menuentry", "submenu":
			parent := at()
			parent.inner = append(parent.inner, Entry{Title: title(w), ID: id(w), Source: file})
			open = append(open, &parent.inner[len(parent.inner)-1])
			if w[len(w)-1] != "{" { // a whole entry on one line, or a form that is not known
				open = open[:len(open)-1]
			}
			continue
		case "}":
			if len(open) > 1 {
				open = open[:len(open)-1]
			}
			continue
		case "blscfg":
			c.bls = true
		case "set":
			if v, ok := strings.CutPrefix(strings.Join(w[1:], " "), "default="); ok && !strings.Contains(v, "next_entry") {
				c.def = v
			}
		}
		if w[len(w)-1] == "{" {
			open = append(open, nil)
			continue
		}
		at().command(w)
	}
	c.entries = root.inner
	return c
}

// command is one command of an entry.
func (e *Entry) command(w []string) {
	switch w[0] {
	case "linux", "linuxefi", "linux16":
		if len(w) > 1 {
			e.Kernel, e.Options = w[1], strings.Join(w[2:], " ")
		}
	case "initrd", "initrdefi", "initrd16":
		e.Initrds = w[1:]
	case "chainloader", "fwsetup", "multiboot", "multiboot2", "xen_hypervisor":
		e.other = true
	}
}

// words cuts a line as GRUB's shell does, as far as quotes go; a comment has none.
func words(line string) []string {
	var out []string
	var b strings.Builder
	quote, word := byte(0), false
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			} else {
				b.WriteByte(c)
			}
		case c == '\'' || c == '"':
			quote, word = c, true
		case c == '\\' && i+1 < len(line):
			i++
			b.WriteByte(line[i])
			word = true
		case c == ' ' || c == '\t' || c == '\n' || c == ';' || c == '\r':
			if word {
				out = append(out, b.String())
			}
			b.Reset()
			word = false
		case c == '#' && !word:
			return out
		default:
			b.WriteByte(c)
			word = true
		}
	}
	if word {
		out = append(out, b.String())
	}
	return out
}

func title(w []string) string {
	if len(w) > 1 {
		return w[1]
	}
	return ""
}

// id is what follows --id, or $menuentry_id_option, which expands to it.
func id(w []string) string {
	for i, s := range w {
		if (s == "--id" || s == "$menuentry_id_option" || s == "${menuentry_id_option}") && i+1 < len(w) {
			return w[i+1]
		}
		if v, ok := strings.CutPrefix(s, "--id="); ok {
			return v
		}
	}
	return ""
}

// choose finds an entry by its number, its title or its id; with ">" in a submenu.
func choose(entries []Entry, choice string) *Entry {
	head, rest, deeper := strings.Cut(choice, ">")
	for i := range entries {
		e := &entries[i]
		if n, err := strconv.Atoi(head); err == nil && n == i || head != "" && (e.ID == head || e.Title == head) {
			switch {
			case deeper:
				return choose(e.inner, rest)
			case len(e.inner) > 0: // a submenu: its first entry
				return first(e.inner)
			}
			return e
		}
	}
	return nil
}

func first(entries []Entry) *Entry {
	if len(entries) == 0 {
		return nil
	}
	if e := &entries[0]; len(e.inner) == 0 {
		return e
	}
	return first(entries[0].inner)
}
