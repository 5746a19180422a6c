package mdadmbadblocks

import (
	"context"
	"fmt"
	"strings"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/format/mdadmconf"
)

// setting is a CREATE line's word on bad blocks lists. mdadm takes bbl=no and
// bbl=yes, in any case, and complains of all else.
type setting struct {
	mdadmconf.Word
	file string
	off  bool
}

func (s *setting) where() string { return fmt.Sprintf("%s:%d", s.file, s.Line) }

// settingsOf returns the settings in a file's text, and the last word of its
// last CREATE line.
func settingsOf(file, text string) (out []setting, lastCreate *mdadmconf.Word) {
	for _, line := range mdadmconf.Lines(text) {
		if !mdadmconf.IsKeyword(line[0].Text, "create") {
			continue
		}
		lastCreate = &line[len(line)-1]
		for _, w := range line[1:] {
			if no := strings.EqualFold(w.Text, "bbl=no"); no || strings.EqualFold(w.Text, "bbl=yes") {
				out = append(out, setting{w, file, no})
			}
		}
	}
	return out, lastCreate
}

// conf is what mdadm's configuration says.
type conf struct {
	main     string // the file that mdadm reads first, there or not
	settings []setting
	arrays   bool // names an array
	groups   bool // gives an array a spare-group, whose spares mdadm --monitor moves
}

func readConf(ctx context.Context, h *host.Host) (*conf, error) {
	main, files, err := mdadmconf.Files(ctx, h)
	if err != nil {
		return nil, err
	}
	c := &conf{main: main}
	for _, file := range files {
		b, err := h.ReadFile(ctx, file)
		if host.IsAbsent(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		more, _ := settingsOf(file, string(b))
		c.settings = append(c.settings, more...)
		for _, line := range mdadmconf.Lines(string(b)) {
			if !mdadmconf.IsKeyword(line[0].Text, "array") {
				continue
			}
			c.arrays = true
			for _, w := range line[1:] {
				c.groups = c.groups || strings.HasPrefix(strings.ToLower(w.Text), "spare-group=")
			}
		}
	}
	return c, nil
}

// last is the setting that counts; nil where nothing is said.
func (c *conf) last() *setting {
	if len(c.settings) == 0 {
		return nil
	}
	return &c.settings[len(c.settings)-1]
}

// withoutList changes the file's words on bad blocks lists to bbl=no, or adds
// one to its last CREATE line, or a line.
func withoutList(text string) string {
	settings, create := settingsOf("", text)
	for i := len(settings) - 1; i >= 0; i-- {
		s := settings[i]
		text = text[:s.From] + "bbl=no" + text[s.To:]
	}
	if len(settings) > 0 {
		return text
	}
	if create != nil {
		with := text[:create.To] + " bbl=no" + text[create.To:]
		if s, _ := settingsOf("", with); len(s) == 1 { // not where a quote was left open
			return with
		}
	}
	if text != "" {
		text = strings.TrimRight(text, "\n") + "\n\n# No bad blocks lists on members added from now on (fettle, mdadm-bad-blocks)\n"
	}
	return text + "CREATE bbl=no\n"
}

// checkConf reports what arrays made from now on will get.
func checkConf(ctx context.Context, h *host.Host, r *trap.Report) error {
	c, err := readConf(ctx, h)
	if err != nil {
		r.Unknown(confSubject, err)
		return nil
	}
	if !h.Running() && !c.arrays {
		r.NotApplicable("", "mdadm's configuration names no array")
		return nil
	}
	last := c.last()
	switch {
	case last == nil:
		r.Found(trap.Finding{Subject: confSubject, Severity: trap.Notice, Evidence: []trap.Evidence{trap.Ev(c.main, "no CREATE bbl=no")},
			Summary: "arrays and spares added from now on will get a bad blocks list: mdadm's configuration does not turn it off"})
	case !last.off:
		r.Found(trap.Finding{Subject: confSubject, Severity: trap.Notice, Evidence: []trap.Evidence{trap.Ev(last.where(), "CREATE bbl=yes")},
			Summary: "arrays and spares added from now on will get a bad blocks list: mdadm's configuration asks for it"})
	default:
		r.Clear(confSubject, "new arrays get no bad blocks list", trap.Ev(last.where(), "CREATE bbl=no"))
	}
	return nil
}
